//! From a module doc, as rustdoc reads it, to a page that any Markdown reader shows well.

/// The page's text: headings one level down (the page has its own title), hidden example lines left out, code blocks marked as Rust, and
/// links that only rustdoc can follow reduced to their words.
pub(super) fn page_text(doc: &[String]) -> String {
    let mut text = String::new();
    // The fence that opened the block we are in, and whether the block is Rust.
    let mut open: Option<(String, bool)> = None;
    for line in doc {
        let line = line.strip_prefix(' ').unwrap_or(line).trim_end();
        let shown = match &open {
            Some((fence, _)) if line.trim() == fence => {
                open = None;
                line.to_owned()
            }
            Some((_, true)) => match example_line(line) {
                Some(line) => line.to_owned(),
                None => continue,
            },
            Some((_, false)) => line.to_owned(),
            None => match fence(line) {
                Some((fence, info)) => {
                    let is_rust = is_rust(info);
                    let shown = format!("{fence}{}", if is_rust { "rust" } else { info });
                    open = Some((fence.to_owned(), is_rust));
                    shown
                }
                None if line.starts_with('#') => format!("#{}", words_of_links(line)),
                None => words_of_links(line),
            },
        };
        text.push_str(&shown);
        text.push('\n');
    }
    text.trim().to_owned()
}

/// The first sentence of a doc, on one line: the row of an index.
pub(super) fn first_sentence(doc: &[String]) -> String {
    let paragraph: Vec<&str> = doc
        .iter()
        .map(|line| line.trim())
        .take_while(|line| !line.is_empty())
        .collect();
    let paragraph = words_of_links(&paragraph.join(" "));
    match paragraph.find(". ") {
        Some(end) => paragraph.get(..=end).unwrap_or(&paragraph).to_owned(),
        None => paragraph,
    }
}

/// Text for a table's cell.
pub(super) fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn fence(line: &str) -> Option<(&str, &str)> {
    let trimmed = line.trim_start();
    let info = trimmed.trim_start_matches('`');
    let fence = trimmed.get(..trimmed.len() - info.len())?;
    (fence.len() >= 3).then_some((fence, info.trim()))
}

/// No word, or only words for rustdoc.
fn is_rust(info: &str) -> bool {
    let known = ["rust", "no_run", "compile_fail", "should_panic", "edition2024", ""];
    info.split([',', ' ']).all(|word| known.contains(&word))
}

/// A line of an example as rustdoc shows it: `# ` hides, `##` stands for `#`.
fn example_line(line: &str) -> Option<&str> {
    let code = line.trim_start();
    if code == "#" || code.starts_with("# ") {
        return None;
    }
    Some(if code.starts_with("##") {
        code.get(1..).unwrap_or(code)
    } else {
        line
    })
}

/// `[words](self)` and `[words]` become their words; links to pages stay.
fn words_of_links(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    // Inside a code span nothing is a link.
    let mut in_code = false;
    while let Some(at) = rest.find(['[', '`']) {
        let (before, from) = rest.split_at(at);
        text.push_str(before);
        if from.starts_with('`') {
            in_code = !in_code;
            text.push('`');
            rest = from.get(1..).unwrap_or_default();
            continue;
        }
        let close = from.find(']').filter(|_| !in_code);
        let Some((words, after)) = close.and_then(|close| Some((from.get(1..close)?, from.get(close + 1..)?))) else {
            text.push('[');
            rest = from.get(1..).unwrap_or_default();
            continue;
        };
        let target = after.strip_prefix('(').and_then(|target| target.split_once(')'));
        match target {
            Some((target, after)) if is_page(target) => {
                text.push_str(&format!("[{words}]({target})"));
                rest = after;
            }
            Some((_, after)) => {
                text.push_str(words);
                rest = after;
            }
            None if words.starts_with('`') && words.ends_with('`') => {
                text.push_str(words);
                rest = after;
            }
            None => {
                text.push_str(&format!("[{words}]"));
                rest = after;
            }
        }
    }
    text.push_str(rest);
    text
}

/// Whether a link's target is a page, and not a Rust path.
fn is_page(target: &str) -> bool {
    target.contains("//") || target.starts_with('#') || target.contains(".md") || target.starts_with("mailto:")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn an_example_is_shown_as_rustdoc_shows_it() {
        let doc = lines(
            " Caps.\n\n # Order\n\n ```no_run\n # use a::b;\n #[derive(Debug)]\n ## raw\n let a = 1;\n #\n ```\n\n ```toml\n # a comment\n ```\n",
        );
        let page =
            "Caps.\n\n## Order\n\n```rust\n#[derive(Debug)]\n# raw\nlet a = 1;\n```\n\n```toml\n# a comment\n```";
        assert_eq!(page_text(&doc), page);
    }

    #[test]
    fn links_for_rustdoc_become_words_and_links_to_pages_stay() {
        assert_eq!(
            words_of_links("see the [module](self), [`Turn`], [`a`](crate::b) and [this](https://a.example/b)."),
            "see the module, `Turn`, `a` and [this](https://a.example/b)."
        );
        assert_eq!(words_of_links("`calls[0]` of [ a list"), "`calls[0]` of [ a list");
        assert_eq!(words_of_links("[guide](guide.md#x) [x] y"), "[guide](guide.md#x) [x] y");
    }

    #[test]
    fn the_first_sentence_ends_at_its_full_stop() {
        let sentence = |text: &str| first_sentence(&lines(text));
        assert_eq!(
            sentence(" Caps how often,\n per run. More.\n\n Else."),
            "Caps how often, per run."
        );
        assert_eq!(sentence(" Without a stop"), "Without a stop");
        assert_eq!(sentence(""), "");
    }
}
