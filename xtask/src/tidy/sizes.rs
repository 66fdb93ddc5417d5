//! How long files and functions are: the budget is printed, the limits are enforced.
//!
//! Lines are counted as they stand, comments and blank ones too. Tests, examples and benches do not count.

use super::RustFile;

/// Half of all files have at most so many product lines; a budget.
const FILE_MEDIAN: usize = 180;
/// Nine of ten files have at most so many; a budget.
const FILE_P90: usize = 400;
/// No file has more without a reason at its top; a limit.
const FILE_MAX: usize = 600;
/// Ninety-nine of a hundred functions have at most so many lines; a budget.
const FN_P99: usize = 80;
/// No function has more; a limit.
const FN_MAX: usize = 150;

/// Prints the numbers and returns what is over a limit.
pub(super) fn check(files: &[RustFile]) -> Vec<String> {
    let product: Vec<&RustFile> = files.iter().filter(|file| file.is_product()).collect();
    let sizes = sorted(product.iter().map(|file| file.source.product_lines()));
    let functions = || {
        product.iter().flat_map(|file| {
            let functions = file.source.functions.iter().filter(|function| !function.in_test);
            functions.map(move |function| (*file, function))
        })
    };
    let lengths = sorted(functions().map(|(_, function)| function.length));
    let longest = functions().max_by_key(|(_, function)| function.length);

    let all: usize = files.iter().map(|file| file.source.lines).sum();
    let ours: usize = sizes.iter().sum();
    println!("lines      {ours} product, {} test and sample", all - ours);
    println!(
        "files      {} · median {} · p90 {} · max {}",
        sizes.len(),
        budget(percentile(&sizes, 50), FILE_MEDIAN),
        budget(percentile(&sizes, 90), FILE_P90),
        budget(percentile(&sizes, 100), FILE_MAX)
    );
    println!(
        "functions  {} · p99 {} · longest {} {}",
        lengths.len(),
        budget(percentile(&lengths, 99), FN_P99),
        budget(percentile(&lengths, 100), FN_MAX),
        longest.map_or(String::new(), |(file, function)| format!(
            "({}, {}:{})",
            function.name, file.shown, function.line
        ))
    );

    let long_files = product
        .iter()
        .filter(|file| file.source.product_lines() > FILE_MAX && file.excuse().is_none());
    let long_files = long_files.map(|file| {
        format!(
            "{}: {} product lines, the limit is {FILE_MAX}: split it by idea, or say why not in `// tidy: <reason>` at its top",
            file.shown,
            file.source.product_lines()
        )
    });
    let long_functions = functions().filter(|(_, function)| function.length > FN_MAX);
    let long_functions = long_functions.map(|(file, function)| {
        format!(
            "{}:{}: `{}` has {} lines, the limit is {FN_MAX}",
            file.shown, function.line, function.name, function.length
        )
    });
    long_files.chain(long_functions).collect()
}

fn sorted(numbers: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut numbers: Vec<usize> = numbers.collect();
    numbers.sort_unstable();
    numbers
}

/// The smallest number that `percent` of the sorted numbers do not exceed; 0 of none.
fn percentile(sorted: &[usize], percent: usize) -> usize {
    let rank = (sorted.len() * percent).div_ceil(100);
    let index = rank.saturating_sub(1);
    sorted.get(index).copied().unwrap_or_default()
}

fn budget(found: usize, budget: usize) -> String {
    if found > budget {
        format!("{found} (over {budget}!)")
    } else {
        format!("{found} (≤ {budget})")
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::file;
    use super::*;
    use crate::workspace::Role;

    #[test]
    fn a_percentile_is_one_of_the_numbers() {
        let hundred: Vec<usize> = (1..=100).collect();
        assert_eq!(percentile(&hundred, 50), 50);
        assert_eq!(percentile(&hundred, 99), 99);
        assert_eq!(percentile(&[7], 50), 7);
        assert_eq!(percentile(&[], 90), 0);
    }

    #[test]
    fn a_long_file_needs_a_reason_and_a_long_function_has_none() {
        let pile = "const A: u8 = 0;\n".repeat(FILE_MAX);
        let fits = file("fits.rs", Role::Product, &pile);
        let long = file("long.rs", Role::Product, &format!("//! Doc.\n{pile}"));
        let excused = file("excused.rs", Role::Product, &format!("// tidy: one table\n{pile}"));
        let test = file("tests/long.rs", Role::Test, &format!("//! Doc.\n{pile}"));
        let body = "    let _ = 0;\n".repeat(FN_MAX - 1);
        let function = file("function.rs", Role::Product, &format!("\nfn long() {{\n{body}}}\n"));
        let problems = check(&[fits, long, excused, test, function]);
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[0].starts_with("long.rs: 601 product lines"));
        assert!(problems[1].starts_with("function.rs:2: `long` has 151 lines"));
    }
}
