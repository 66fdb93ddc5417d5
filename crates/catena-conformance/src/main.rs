//! `catena-conformance [DIR]`: plays the conformance scenarios on catena.
//!
//! Without an argument the directory is the one that `CATENA_CONFORMANCE_DIR` names, else `tests/conformance` below the working directory.
//! The last line is `N passed, N failed`; the exit status is 0 if nothing failed, 1 if something did, and 2 if the arguments make no sense.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use catena_conformance::adapter::Catena;
use catena_conformance::command::{DEFAULT_DIR, DIR_VARIABLE, Scenarios, execute};

#[expect(
    clippy::disallowed_methods,
    reason = "a program of the workshop, which has no configuration"
)]
fn main() -> io::Result<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let (dir, more) = (arguments.next(), arguments.next());
    if more.is_some() {
        writeln!(io::stderr(), "usage: catena-conformance [DIR]")?;
        return Ok(ExitCode::from(2));
    }
    let scenarios = Scenarios::choose(dir, std::env::var_os(DIR_VARIABLE), Path::new(DEFAULT_DIR));
    let good = execute(&scenarios, &Catena, &mut io::stdout().lock())?;
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
