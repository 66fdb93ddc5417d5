//! The system prompt: sections, not a string.
//!
//! Each [`Section`] has an owner and a [`Stability`]. Rendered, stable sections come first, so that providers' prompt caches hit; within
//! one stability the order is the one in which they were added, which is plan order. Text from outside goes in as [`Fenced`]: its tags
//! are escaped, so it cannot close its fence.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// How long a section stays the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stability {
    /// As long as the agent's configuration.
    Static,
    /// As long as the thread.
    PerThread,
    /// For this run.
    PerRun,
    /// For this model call.
    PerTurn,
}

/// A piece of the system prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    // Not public: only `Prompt::push` makes sections, and it takes no text from outside that is not fenced.
    owner: Arc<str>,
    stability: Stability,
    text: Arc<str>,
}

impl Section {
    /// The middleware that wrote it, or `agent`.
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// How long it stays the same.
    pub fn stability(&self) -> Stability {
        self.stability
    }

    /// The text as the model reads it; text from outside is fenced already.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// The system prompt of one model call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prompt {
    // Shared until someone writes: a request is cloned for every attempt and before every hook.
    sections: Arc<Vec<Section>>,
}

impl Prompt {
    /// Adds a section.
    pub fn push(&mut self, owner: impl Into<Arc<str>>, stability: Stability, text: impl PromptText) {
        let text = text.into_text();
        if !text.is_empty() {
            Arc::make_mut(&mut self.sections).push(Section {
                owner: owner.into(),
                stability,
                text: text.into(),
            });
        }
    }

    /// Adds sections made before.
    pub(crate) fn extend(&mut self, sections: impl IntoIterator<Item = Section>) {
        Arc::make_mut(&mut self.sections).extend(sections);
    }

    /// The sections in the order in which they were added.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// Drops the sections that `keep` refuses.
    pub fn retain(&mut self, keep: impl FnMut(&Section) -> bool) {
        Arc::make_mut(&mut self.sections).retain(keep);
    }

    /// Whether `other` is this very list, not only an equal one.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.sections, &other.sections)
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.sections.is_empty()
    }

    /// The sections as the model reads them: stable first, otherwise in the order in which they were added.
    pub fn ordered(&self) -> Vec<&Section> {
        let mut sections: Vec<&Section> = self.sections.iter().collect();
        sections.sort_by_key(|section| section.stability);
        sections
    }

    /// The text as the model reads it, sections set apart by an empty line.
    pub fn render(&self) -> String {
        let sections = self.ordered();
        let mut text = String::with_capacity(sections.iter().map(|s| s.text.len() + 2).sum());
        for section in sections {
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            text.push_str(&section.text);
        }
        text
    }
}

/// Text that may become part of the system prompt.
///
/// Implemented for text in the program (`&'static str`), for [`Fenced`] text from outside, and for [`Trusted`] text of the operator.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot become part of the system prompt as it is",
    note = "text from outside (skills, memories, documents, people) must be fenced: `Fenced::new(\"tag\", text)`",
    note = "text that the operator wrote, such as a prompt from the configuration, is marked with `Trusted(text)`"
)]
pub trait PromptText: sealed::Sealed {
    /// The text as the model reads it.
    fn into_text(self) -> Cow<'static, str>;
}

/// Text that the operator of the agent wrote.
#[derive(Clone, Debug)]
pub struct Trusted(pub String);

/// Text from outside: put between tags, and escaped so that it cannot close them.
#[derive(Clone, Debug)]
pub struct Fenced {
    tag: &'static str,
    attributes: Vec<(&'static str, String)>,
    text: String,
}

impl Fenced {
    /// Fences `text` with `<tag>` and `</tag>`.
    pub fn new(tag: &'static str, text: impl Into<String>) -> Self {
        Self {
            tag,
            attributes: Vec::new(),
            text: text.into(),
        }
    }

    /// With an attribute on the opening tag; its value is escaped as well.
    #[must_use]
    pub fn attribute(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.attributes.push((name, value.into()));
        self
    }
}

impl PromptText for &'static str {
    fn into_text(self) -> Cow<'static, str> {
        Cow::Borrowed(self)
    }
}

impl PromptText for Trusted {
    fn into_text(self) -> Cow<'static, str> {
        Cow::Owned(self.0)
    }
}

impl PromptText for Fenced {
    fn into_text(self) -> Cow<'static, str> {
        let mut out = format!("<{}", self.tag);
        for (name, value) in &self.attributes {
            out.push_str(&format!(
                " {name}=\"{}\"",
                escape(value).replace('"', "&quot;").replace(['\n', '\r'], " ")
            ));
        }
        out.push_str(">\n");
        out.push_str(&escape(&self.text));
        out.push_str(&format!("\n</{}>", self.tag));
        Cow::Owned(out)
    }
}

/// Escapes what could open or close a tag.
///
/// Angle brackets are escaped everywhere, not only in the fence's own tag: a model reads `</ memory >` and full-width forms as tags too,
/// and a list of spellings would never be complete. Full-width brackets become escapes of the plain ones.
pub fn escape(text: &str) -> Cow<'_, str> {
    const SPECIAL: [char; 7] = ['<', '>', '&', '\u{ff1c}', '\u{ff1e}', '\u{fe64}', '\u{fe65}'];
    if !text.contains(SPECIAL) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' | '\u{ff1c}' | '\u{fe64}' => out.push_str("&lt;"),
            '>' | '\u{ff1e}' | '\u{fe65}' => out.push_str("&gt;"),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for &'static str {}
    impl Sealed for super::Trusted {}
    impl Sealed for super::Fenced {}
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn stable_sections_come_first_and_the_rest_keeps_its_order() {
        let mut prompt = Prompt::default();
        prompt.push("a", Stability::PerTurn, "turn");
        prompt.push("b", Stability::Static, "base");
        prompt.push("c", Stability::PerRun, "run 1");
        prompt.push("d", Stability::PerRun, "run 2");
        assert_eq!(prompt.render(), "base\n\nrun 1\n\nrun 2\n\nturn");
    }

    #[test]
    fn attributes_cannot_break_out_either() {
        let text = Fenced::new("skill", "x").attribute("name", "a\"><b>\n").into_text();
        assert_eq!(text, "<skill name=\"a&quot;&gt;&lt;b&gt; \">\nx\n</skill>");
    }

    proptest! {
        #[test]
        fn fenced_text_never_closes_its_fence(text in ".*|.*</memory>.*|(<|/|memory|>|＜|＞){0,12}") {
            let fenced = Fenced::new("memory", text).into_text().into_owned();
            let inner = fenced.strip_prefix("<memory>\n").and_then(|t| t.strip_suffix("\n</memory>")).unwrap();
            prop_assert!(!inner.contains(['<', '>', '＜', '＞']), "{inner}");
        }
    }
}
