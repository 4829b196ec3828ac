//! The scripts for developers. Of `scripts/setup.sh`: each check of a build requirement, against folders and programs that only
//! resemble it.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use crate::support::skip;

/// Runs lines of bash in the repository's folder, with `environment` set.
fn bash(lines: &str, environment: &[(&str, &Path)]) -> Output {
    let mut bash = Command::new("bash");
    bash.args(["-c", lines]).current_dir(env!("CARGO_MANIFEST_DIR")).envs(environment.iter().copied());
    bash.output().unwrap()
}

/// Writes a program for `sh` into a folder.
fn program(folder: &Path, name: &str, lines: &str) {
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\n{lines}\n")).unwrap();
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
}

/// The `PATH` with a folder before all others.
fn path_with(folder: &Path) -> std::path::PathBuf {
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap()).into()
}

/// Calls one function of the script, with `environment` set; whether it succeeded.
fn proves(function: &str, environment: &[(&str, &str)]) -> bool {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/setup.sh");
    let mut bash = Command::new("bash");
    // Under its own name the script would take itself for the one that was called.
    bash.args(["-c", "source \"$1\"; \"$2\"", "bash", script, function]);
    bash.env("CARGO_TARGET_DIR", env!("CARGO_TARGET_TMPDIR")).envs(environment.iter().copied());
    bash.status().unwrap().success()
}

fn libclang_in(folder: &Path) -> bool {
    proves("have_libclang", &[("LIBCLANG_PATH", folder.to_str().unwrap())])
}

/// The loader that bindgen uses passes over `libclang-cpp` and over what is no ELF file.
#[test]
fn libraries_that_only_look_like_libclang_do_not_pass_for_it() {
    let folder = tempfile::tempdir().unwrap();
    assert!(!libclang_in(folder.path()), "an empty folder");
    let real = std::env::current_exe().unwrap();
    for name in ["libclang-cpp.so.14", "libclang-cpp.so", "libclang_rt.asan-x86_64.so", "libclangAST.so.14"] {
        std::os::unix::fs::symlink(&real, folder.path().join(name)).unwrap();
    }
    assert!(!libclang_in(folder.path()), "other libraries of clang's");
    fs::write(folder.path().join("libclang.so"), "INPUT(libclang.so.1)\n").unwrap();
    assert!(!libclang_in(folder.path()), "a linker script");
    std::os::unix::fs::symlink("/nowhere/libclang.so.1", folder.path().join("libclang.so.1")).unwrap();
    assert!(!libclang_in(folder.path()), "a dangling link");
    fs::write(folder.path().join("libclang-14.so"), b"\x7fELF\x02 cut off").unwrap();
    assert!(!libclang_in(folder.path()), "a library that does not load");
}

/// ergo was built here, so each need is met here.
#[test]
fn what_this_build_used_is_found() {
    for function in ["have_c", "have_cxx", "have_cmake", "have_libclang", "have_git"] {
        assert!(proves(function, &[]), "{function}");
    }
}

#[test]
fn programs_that_only_have_the_name_do_not_pass() {
    assert!(!proves("have_c", &[("CC", "true")]));
    assert!(!proves("have_cxx", &[("CXX", "true")]));
    let folder = tempfile::tempdir().unwrap();
    for (name, says) in [("cmake", "cmake version 3.5.1"), ("git", "not here"), ("make", "not here")] {
        program(folder.path(), name, &format!("echo '{says}'\n[ {name} = cmake ]"));
    }
    let path = path_with(folder.path());
    let path = path.to_str().unwrap();
    assert!(!proves("have_cmake", &[("PATH", path)]), "too old");
    assert!(!proves("have_git", &[("PATH", path)]), "a program that fails");
    fs::remove_file(folder.path().join("cmake")).unwrap();
    assert!(!proves("have_cmake", &[("PATH", path)]), "a make that fails");
}

#[test]
fn a_failed_build_is_followed_by_the_command_that_installs_everything() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/setup.sh");
    let output = Command::new("bash").args([script, "--after-failed-build"]).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    let last = stderr.lines().last().unwrap();
    assert!(last.contains("apt-get install gcc libc6-dev g++ make cmake libclang-dev git"), "{stderr}");
}

#[test]
fn the_advice_about_an_old_rust_is_for_how_it_was_installed() {
    let folder = tempfile::tempdir().unwrap();
    // Only these and what the check itself calls: this machine has its own rustup.
    let folders = std::env::var_os("PATH").unwrap();
    for name in ["bash", "dirname", "sed", "awk", "sort", "head"] {
        let mut found = std::env::split_paths(&folders).map(|folder| folder.join(name));
        std::os::unix::fs::symlink(found.find(|path| path.exists()).unwrap(), folder.path().join(name)).unwrap();
    }
    program(folder.path(), "cargo", "echo 'cargo 1.85.0'");
    program(folder.path(), "rustc", "echo 'rustc 1.85.0 (4d91de4e4 2025-02-17)'");
    let advice = || {
        let output = bash("exec bash scripts/setup.sh", &[("PATH", folder.path())]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(advice().contains("Install Rust from https://rustup.rs"), "{}", advice());
    program(folder.path(), "rustup", "echo 'rustup 1.28'");
    assert!(advice().contains("Run: rustup update stable"), "{}", advice());
}

/// `make` itself is replaced by its own rules: only the `PATH` that it hands on is shown.
#[test]
fn the_rust_of_rustup_comes_before_the_systems() {
    let home = tempfile::tempdir().unwrap();
    let lines = "printf 'include Makefile\\nshow:\\n\\t@echo $$PATH\\n' | make --no-print-directory -f - show";
    let output = bash(lines, &[("HOME", home.path())]);
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.starts_with(&format!("{}/.cargo/bin:", home.path().display())), "{shown}");
}

/// Stands in for cargo and for the fuzzer that it builds: says which crates would be instrumented, and whether the corpora exist.
const FUZZER: &str = r#"mkdir -p "$CARGO_TARGET_DIR/debug"
for crate in ergo ergo_core event serde; do "$RUSTC_WRAPPER" echo --crate-name $crate --edition=2024; done
printf '#!/bin/sh\nwhile [ $# -gt 2 ]; do shift; done\n[ -d "$1" ] && [ -d "$2" ] && echo both corpora\n' >"$CARGO_TARGET_DIR/debug/event"
chmod +x "$CARGO_TARGET_DIR/debug/event""#;

#[test]
fn the_fuzzer_finds_its_folders_and_instruments_what_is_fuzzed() {
    let folder = tempfile::tempdir().unwrap();
    program(folder.path(), "cargo", FUZZER);
    let (path, target) = (path_with(folder.path()), folder.path().join("target"));
    let output = bash("exec scripts/fuzz.sh event 1", &[("PATH", &path), ("CARGO_TARGET_DIR", &target)]);
    let shown = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<_> = shown.lines().collect();
    assert_eq!(lines.len(), 5, "{shown}");
    for (line, instrumented) in lines.iter().zip([true, true, true, false]) {
        assert_eq!(line.contains("sancov"), instrumented, "{line}");
    }
    assert_eq!(lines[4], "both corpora");
    let unknown = bash("exec scripts/fuzz.sh events 1", &[("PATH", &path), ("CARGO_TARGET_DIR", &target)]);
    assert_eq!(unknown.status.code(), Some(2), "{unknown:?}");
    assert!(!Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/events").exists());
}

/// On macOS there is an archive alone.
#[test]
fn packages_of_one_form_have_checksums() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("ergo-1-arm64-darwin.tar.gz"), "").unwrap();
    let output = bash("source scripts/package/build.sh; checksums", &[("ERGO_PACKAGES", folder.path())]);
    assert!(output.status.success(), "{output:?}");
    let sums = fs::read_to_string(folder.path().join("SHA256SUMS")).unwrap();
    assert!(sums.ends_with("  ergo-1-arm64-darwin.tar.gz\n"), "{sums}");
}

#[test]
fn the_test_of_packages_says_which_package_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let none = bash("exec scripts/package/test.sh", &[("ERGO_PACKAGES", folder.path())]);
    assert!(String::from_utf8_lossy(&none.stderr).contains("run make package first"), "{none:?}");
    let (package, older) = (folder.path().join("ergo.deb"), folder.path().join("older.deb"));
    fs::write(&package, "").unwrap();
    let lines = "exec scripts/package/test.sh \"$NEW\" \"$OLD\"";
    let missing = bash(lines, &[("NEW", &package), ("OLD", &older)]);
    assert!(String::from_utf8_lossy(&missing.stderr).contains("no older package"), "{missing:?}");
    assert!(!older.exists());
}

/// They may name another daemon, into whose store the statements would go.
#[test]
fn a_comparison_hands_on_no_variable_of_ergos() {
    if Command::new("python3").arg("--version").output().is_err() {
        return skip("python3 is not installed");
    }
    let lines = "python3 -B -c 'import sys; sys.path.insert(0, \"scripts\"); from compare import environment; \
        print([n for n in environment({\"ERGO_HOME\": \"/tmp/home\"}) if n.startswith(\"ERGO_\")])'";
    let output = bash(lines, &[("ERGO_API_URL", Path::new("http://127.0.0.1:1"))]);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "['ERGO_HOME']\n");
}
