//! The walk over a file's tokens, item by item and into every group.

use std::iter::Peekable;

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree, token_stream};

use super::attribute::{self, Attribute};
use super::{Function, Source};

/// Macros that stand for code nobody has written yet, or that somebody forgot.
const UNFINISHED: [&str; 3] = ["todo", "unimplemented", "dbg"];

type Tokens = Peekable<token_stream::IntoIter>;

/// Collects a [`Source`].
#[derive(Default)]
pub(crate) struct Walk {
    source: Source,
    modules: Vec<String>,
    /// Whether we are inside something that is only compiled for tests.
    in_test: bool,
}

/// What was read of an item so far.
#[derive(Default)]
struct Pending {
    doc: Vec<String>,
    is_test: bool,
    only_for_tests: bool,
    /// Line of its first token.
    start: Option<usize>,
    /// How many `<` are open: a comma between them does not end an item.
    angles: usize,
    last_punct: char,
    last_word: String,
}

impl Walk {
    /// Walks over a whole file.
    pub(crate) fn over(tokens: TokenStream) -> Source {
        let mut walk = Self::default();
        walk.level(tokens);
        walk.source
    }

    fn level(&mut self, tokens: TokenStream) {
        let mut tokens = tokens.into_iter().peekable();
        let mut item = Pending::default();
        while let Some(token) = tokens.next() {
            item.start.get_or_insert(token.span().start().line);
            match token {
                TokenTree::Punct(punct) if punct.as_char() == '#' => {
                    self.attribute(&mut item, &mut tokens);
                }
                TokenTree::Punct(punct) => {
                    if ends_item(&mut item, punct.as_char()) {
                        self.finish(&mut item, punct.span().end().line);
                    }
                }
                TokenTree::Ident(word) => self.word(&mut item, &word, &mut tokens),
                TokenTree::Group(group) => {
                    self.group(&item, &group);
                    if group.delimiter() == Delimiter::Brace {
                        self.finish(&mut item, group.span_close().end().line);
                    }
                }
                TokenTree::Literal(_) => {}
            }
        }
        let end = item.start.unwrap_or_default();
        self.finish(&mut item, end);
    }

    fn attribute(&mut self, item: &mut Pending, tokens: &mut Tokens) {
        let is_inner = tokens
            .next_if(|token| matches!(token, TokenTree::Punct(punct) if punct.as_char() == '!'))
            .is_some();
        let Some(TokenTree::Group(group)) = tokens.next_if(|token| matches!(token, TokenTree::Group(_))) else {
            return;
        };
        if is_inner {
            // It belongs to what is around it, so the next item starts behind it.
            item.start = None;
        }
        match attribute::read(&group) {
            Attribute::Doc(line) if is_inner => {
                if self.modules.is_empty() {
                    self.source.doc.push(line);
                }
            }
            Attribute::Doc(line) => item.doc.push(line),
            Attribute::Test => item.is_test = true,
            Attribute::OnlyForTests => item.only_for_tests = true,
            Attribute::Ignore => self.offend(
                group.span_open().start().line,
                "an ignored test proves nothing: repair or remove it",
            ),
            Attribute::Other => {}
        }
    }

    fn word(&mut self, item: &mut Pending, word: &Ident, tokens: &mut Tokens) {
        let text = word.to_string();
        let line = word.span().start().line;
        let next_is = |tokens: &mut Tokens, mark: char| matches!(tokens.peek(), Some(TokenTree::Punct(punct)) if punct.as_char() == mark);
        if UNFINISHED.contains(&text.as_str()) && next_is(tokens, '!') {
            self.offend(line, &format!("`{text}!` is not finished code"));
        }
        let in_test = self.in_test || item.only_for_tests;
        if text == "for" && item.last_word == "Middleware" && !in_test {
            self.source.implements_middleware = true;
        }
        if matches!(text.as_str(), "fn" | "mod")
            && let Some(TokenTree::Ident(name)) = tokens.next_if(|token| matches!(token, TokenTree::Ident(_)))
        {
            let name = name.to_string();
            if text == "fn" {
                self.function(item, name, line, tokens);
            } else {
                self.module(item, name, tokens);
            }
            return;
        }
        item.last_word = text;
    }

    fn function(&mut self, item: &mut Pending, name: String, line: usize, tokens: &mut Tokens) {
        let in_test = self.in_test || item.is_test || item.only_for_tests;
        for token in tokens {
            match token {
                TokenTree::Punct(punct) if punct.as_char() == ';' => {
                    return self.finish(item, punct.span().end().line);
                }
                TokenTree::Group(body) if body.delimiter() == Delimiter::Brace => {
                    let end = body.span_close().end().line;
                    self.source.functions.push(Function {
                        name,
                        modules: self.modules.clone(),
                        doc: std::mem::take(&mut item.doc),
                        line,
                        length: end + 1 - line,
                        is_test: item.is_test,
                        in_test,
                    });
                    self.inside(in_test, body.stream());
                    return self.finish(item, end);
                }
                _ => {}
            }
        }
    }

    fn module(&mut self, item: &mut Pending, name: String, tokens: &mut Tokens) {
        match tokens.next() {
            Some(TokenTree::Group(body)) => {
                self.modules.push(name);
                self.inside(self.in_test || item.only_for_tests, body.stream());
                self.modules.pop();
                self.finish(item, body.span_close().end().line);
            }
            Some(other) => {
                if item.only_for_tests {
                    self.source.test_modules.push(name);
                }
                self.finish(item, other.span().end().line);
            }
            None => {}
        }
    }

    fn group(&mut self, item: &Pending, group: &Group) {
        self.inside(self.in_test || item.only_for_tests, group.stream());
    }

    fn inside(&mut self, in_test: bool, tokens: TokenStream) {
        let outside = std::mem::replace(&mut self.in_test, in_test);
        self.level(tokens);
        self.in_test = outside;
    }

    /// The item ends at `end`; what follows starts afresh. Lines inside a test are counted once, by the outermost.
    fn finish(&mut self, item: &mut Pending, end: usize) {
        let item = std::mem::take(item);
        if (item.is_test || item.only_for_tests) && !self.in_test {
            let start = item.start.unwrap_or(end);
            self.source.test_lines.push(start..=end);
        }
    }

    fn offend(&mut self, line: usize, reason: &str) {
        self.source.offences.push((line, reason.to_owned()));
    }
}

fn ends_item(item: &mut Pending, mark: char) -> bool {
    match mark {
        '<' => item.angles += 1,
        '>' if !matches!(item.last_punct, '-' | '=') => item.angles = item.angles.saturating_sub(1),
        _ => {}
    }
    item.last_punct = mark;
    mark == ';' || (mark == ',' && item.angles == 0)
}
