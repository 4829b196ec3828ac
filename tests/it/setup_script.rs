//! `scripts/setup.sh`: each check of a build requirement, against folders and programs that only resemble it.

use std::{fs, path::Path, process::Command};

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
        let path = folder.path().join(name);
        fs::write(&path, format!("#!/bin/sh\necho '{says}'\n[ {name} = cmake ]\n")).unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    assert!(!proves("have_cmake", &[("PATH", &path)]), "too old");
    assert!(!proves("have_git", &[("PATH", &path)]), "a program that fails");
    fs::remove_file(folder.path().join("cmake")).unwrap();
    assert!(!proves("have_cmake", &[("PATH", &path)]), "a make that fails");
}

#[test]
fn a_failed_build_is_followed_by_the_command_that_installs_everything() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/setup.sh");
    let output = Command::new("bash").args([script, "--after-failed-build"]).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    let last = stderr.lines().last().unwrap();
    assert!(last.contains("apt-get install gcc libc6-dev g++ make cmake libclang-dev git"), "{stderr}");
}
