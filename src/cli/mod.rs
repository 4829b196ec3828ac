//! The command line: one file a verb.

use std::process::ExitCode;

/// Runs the program with the arguments of this process.
pub fn main() -> ExitCode {
    ExitCode::SUCCESS
}
