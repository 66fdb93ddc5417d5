//! Keys that were written where they do not belong: found, and never shown.

use std::borrow::Cow;
use std::ops::Range;

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
/// As long as this, nothing is a word that a person wants to read.
const LONGEST: usize = 1024;

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
    let mut masked = Cow::Borrowed(text);
    let mut start = 0;
    for word in text.split_inclusive(|c: char| !c.is_ascii() || !is_of_key(c as u8)) {
        let end = start
            + word
                .trim_end_matches(|c: char| !c.is_ascii() || !is_of_key(c as u8))
                .len();
        // A key may be the end of a longer word: `api_key=sk-…`, `models.sk-…`, `/path/sk-…`.
        let starts = text[start..end]
            .match_indices(['=', '.', '/'])
            .map(|(at, _)| start + at + 1);
        let mut starts = std::iter::once(start).chain(starts);
        let key = match end - start {
            ..LONGEST => starts.find(|&from| looks_secret(&text[from..end])),
            _ => Some(start),
        };
        if let Some(from) = key {
            masked.to_mut().replace_range(from..end, &"*".repeat(end - from));
        }
        start += word.len();
    }
    for password in passwords(text) {
        let stars = "*".repeat(password.len());
        masked.to_mut().replace_range(password, &stars);
    }
    masked
}

/// Where the passwords of addresses stand: `https://user:password@host`. They have no form of their own, so too much is better than too
/// little.
fn passwords(text: &str) -> impl Iterator<Item = Range<usize>> {
    text.match_indices("://").filter_map(|(at, mark)| {
        let start = at + mark.len();
        let address = text[start..]
            .split(|c: char| c.is_whitespace() || "\"'`".contains(c))
            .next()?;
        let (colon, end) = (address.find(':')?, address.rfind('@')?);
        (colon < end).then(|| start + colon + 1..start + end)
    })
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
        assert!(super::masked("models.sk-proj-abcdefghijklmnop").starts_with("models.***"));
    }

    #[test]
    fn the_password_of_an_address_is_masked_and_a_port_is_not() {
        assert_eq!(masked("\"postgres://me:p/w@h:1/db\""), "\"postgres://me:***@h:1/db\"");
        assert_eq!(masked("http://host:80/v1, a@b"), "http://host:80/v1, a@b");
    }

    proptest! {
        #[test]
        fn masking_never_changes_the_length(text in any::<String>()) {
            prop_assert_eq!(masked(&text).len(), text.len());
        }
    }
}
