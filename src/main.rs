//! The `ergo` program: everything lives in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    ergo::cli::main()
}
