//! Keys that were written where they do not belong: found, and never shown.

use std::borrow::Cow;

/// What the keys of well-known services start with.
const PREFIXES: &[&str] = &[
    "sk-",
    "sk_",
    "pk-",
    "rk_",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xai-",
    "gsk_",
    "hf_",
    "AIza",
    "AKIA",
];
/// Shorter than this nothing is a key.
const SHORTEST: usize = 16;
/// As long as this, hexadecimal digits or a mixture of letters and digits are no word.
const LONG: usize = 32;

/// Whether a text looks like a key, and not like the name of one.
pub(crate) fn looks_secret(text: &str) -> bool {
    let text = text.trim();
    let text = text.strip_prefix("Bearer ").unwrap_or(text);
    let plain = text.len() >= SHORTEST && text.bytes().all(is_of_key);
    plain && (PREFIXES.iter().any(|prefix| text.starts_with(prefix)) || is_long_and_random(text))
}

fn is_long_and_random(text: &str) -> bool {
    let has = |kind: fn(&u8) -> bool| text.bytes().any(|byte| kind(&byte));
    let mixed = has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_digit);
    text.len() >= LONG && (mixed || text.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn is_of_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_+/=.".contains(&byte)
}

/// Whether a key of this name may hold a secret.
pub(crate) fn names_secret(key: &str) -> bool {
    let key = key.to_ascii_lowercase().replace('-', "_");
    ["key", "key_env", "token", "secret", "password", "authorization"]
        .iter()
        .any(|end| key.ends_with(end))
}

/// The text with everything that looks like a key made unreadable. It stays as long as it was.
pub(crate) fn masked(text: &str) -> Cow<'_, str> {
    let mut out: Option<String> = None;
    let mut start = 0;
    // What is not of a key parts words, and is one byte or more; a word is ASCII.
    for word in text.split(|c: char| !c.is_ascii() || !is_of_key(c as u8)) {
        let at = start + text[start..].find(word).unwrap_or(0);
        start = at + word.len();
        // `api_key=sk-…` is one word to the loop above.
        let from = word.find('=').map_or(0, |equals| equals + 1).min(word.len());
        for (offset, part) in [(at, word), (at + from, &word[from..])] {
            if looks_secret(part) {
                let out = out.get_or_insert_with(|| text.to_owned());
                out.replace_range(offset..offset + part.len(), &"*".repeat(part.len()));
            }
        }
    }
    out.map_or(Cow::Borrowed(text), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keys_are_told_from_names_of_keys() {
        for key in [
            "sk-proj-abcdefghijklmnop",
            "Bearer sk-ant-abcdefghijklmnop",
            "0123456789abcdef0123456789abcdef",
            "AIzaSyA1234567890abcdefghijk",
            "Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4MTIz",
        ] {
            assert!(looks_secret(key), "{key}");
        }
        for name in [
            "OPENAI_API_KEY",
            "sk-short",
            "MY_VERY_LONG_NAME_OF_A_VARIABLE_KEY",
            "openai:gpt-5-mini",
            "",
        ] {
            assert!(!looks_secret(name), "{name}");
        }
    }

    #[test]
    fn a_masked_line_keeps_its_columns() {
        let line = "api_key = \"sk-proj-abcdefghijklmnop\" # ü sk-proj-abcdefghijklmnop";
        let masked = masked(line);
        assert_eq!(masked.len(), line.len());
        assert!(!masked.contains("abcdef"), "{masked}");
        assert!(super::masked("api_key=sk-proj-abcdefghijklmnop").starts_with("api_key=***"));
    }

    proptest! {
        #[test]
        fn masking_never_changes_the_length(text in any::<String>()) {
            prop_assert_eq!(masked(&text).len(), text.len());
        }
    }
}
