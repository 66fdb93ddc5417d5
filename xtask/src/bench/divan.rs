//! Numbers out of the tree that divan prints.

/// What one benchmark measured. Times are nanoseconds for one iteration.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Measured {
    /// Target, groups and arguments, joined by `/`: `chain/all_hooks/100`.
    pub(super) name: String,
    pub(super) fastest_ns: f64,
    pub(super) slowest_ns: f64,
    pub(super) median_ns: f64,
    pub(super) mean_ns: f64,
    pub(super) samples: u64,
    pub(super) iters: u64,
}

/// Signs a level of the tree is drawn with, three to a level.
const BRANCHES: [&str; 4] = ["├─ ", "╰─ ", "│  ", "   "];

/// All benchmarks in the output. Lines without a time (titles, groups, counters, allocations) only give names to those below.
pub(super) fn read(output: &str) -> Vec<Measured> {
    let mut path: Vec<String> = Vec::new();
    let mut found = Vec::new();
    for line in output.lines() {
        let (depth, rest) = depth(line);
        let mut columns = rest.split('│').map(str::trim);
        let first = columns.next().unwrap_or_default();
        let rest: Vec<&str> = columns.collect();
        let is_title = depth == 0 && rest.first().is_some_and(|column| *column == "slowest");
        if depth == 0 && !is_title {
            continue;
        }
        // A counter's or an allocation's line continues the one above and has no branch of its own.
        if depth > 0 && !line.contains("─ ") {
            continue;
        }
        let (name, fastest) = split_name(first, &rest);
        path.truncate(depth);
        path.push(name.to_owned());
        found.extend(measured(&path, fastest, &rest));
    }
    found
}

fn depth(line: &str) -> (usize, &str) {
    let mut rest = line;
    let mut depth = 0;
    while let Some(after) = BRANCHES.iter().find_map(|branch| rest.strip_prefix(branch)) {
        rest = after;
        depth += 1;
    }
    (depth, rest)
}

/// The first column holds the name and, of a benchmark, its fastest time: `all_hooks   1.25 µs`.
fn split_name<'a>(first: &'a str, rest: &[&str]) -> (&'a str, &'a str) {
    let is_number = rest.first().is_some_and(|slowest| nanoseconds(slowest).is_some());
    let is_title = rest.first().is_some_and(|slowest| *slowest == "slowest");
    match first.split_once("  ") {
        Some((name, fastest)) if is_number => (name.trim(), fastest.trim()),
        Some((name, _)) if is_title => (name.trim(), ""),
        _ => (first, ""),
    }
}

fn measured(path: &[String], fastest: &str, rest: &[&str]) -> Option<Measured> {
    let [slowest, median, mean, samples, iters] = rest else {
        return None;
    };
    Some(Measured {
        name: path.join("/"),
        fastest_ns: nanoseconds(fastest)?,
        slowest_ns: nanoseconds(slowest)?,
        median_ns: nanoseconds(median)?,
        mean_ns: nanoseconds(mean)?,
        samples: samples.parse().ok()?,
        iters: iters.parse().ok()?,
    })
}

fn nanoseconds(text: &str) -> Option<f64> {
    let (number, unit) = text.split_once(' ')?;
    let factor = match unit {
        "ps" => 1e-3,
        "ns" => 1.0,
        "µs" | "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" => 60e9,
        "h" => 3_600e9,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
Timer precision: 20 ns
chain             fastest       │ slowest       │ median        │ mean          │ samples │ iters
├─ all_hooks      1.25 µs       │ 3.812 µs      │ 1.5 µs        │ 1.6 µs        │ 100     │ 200
│                 10 MB/s       │ 3 MB/s        │ 9 MB/s        │ 8 MB/s        │         │
├─ wave                         │               │               │               │         │
│  ├─ 2           0.626 ns      │ 1.735 ns      │ 0.657 ns      │ 0.672 ns      │ 100     │ 819200
│  ╰─ 4 threads   6.267 ms      │ 6.954 ms      │ 6.283 ms      │ 6.344 ms      │ 100     │ 100
╰─ off            (ignored)     │               │               │               │         │

guards            fastest       │ slowest       │ median        │ mean          │ samples │ iters
╰─ pii            1 s           │ 1 s           │ 1 s           │ 1 s           │ 1       │ 1
";

    #[test]
    fn benchmarks_are_read_with_their_groups_and_units() {
        let found = read(OUTPUT);
        let names: Vec<&str> = found.iter().map(|bench| bench.name.as_str()).collect();
        assert_eq!(
            names,
            ["chain/all_hooks", "chain/wave/2", "chain/wave/4 threads", "guards/pii"]
        );
        let medians: Vec<f64> = found.iter().map(|bench| bench.median_ns).collect();
        assert_eq!(medians, [1_500.0, 0.657, 6_283_000.0, 1e9]);
        assert_eq!((found[1].samples, found[1].iters), (100, 819_200));
    }
}
