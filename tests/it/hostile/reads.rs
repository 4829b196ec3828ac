//! Checks that files named by a user or a peer are opened only through `files`.

use std::{fs, path::Path};

/// Ways to read a file without a limit, or to wait for a pipe.
const OPENING: [&str; 3] = ["fs::read(", "fs::read_to_string(", "File::open("];

/// Places where that is done on purpose: file, reason.
const OWN: &[(&str, &str)] = &[
    ("src/client/injected.rs", "this machine's state"),
    ("src/client/launch.rs", "the end of the daemon's log"),
    ("src/files/", "the place itself"),
    ("src/infer/catalogue/fetch.rs", "a part of a download, and its folder"),
    ("src/infer/worker/hardware.rs", "what the system says"),
    ("src/infer/worker/prefix_cache.rs", "the worker's own cache"),
    ("src/store/open.rs", "the machine's id"),
    ("src/tui/runtime/terminal_background.rs", "the terminal"),
    ("src/worker/process.rs", "what the system says"),
];

fn walk(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path.to_string_lossy().into_owned());
        }
    }
}

#[test]
fn every_file_that_somebody_names_is_read_with_a_limit() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    walk(&root.join("src"), &mut files);
    let (mut stray, mut used) = (Vec::new(), vec![false; OWN.len()]);
    for file in files {
        let name = file.strip_prefix(root.to_str().unwrap()).unwrap().trim_start_matches('/');
        if name.ends_with("tests.rs") || name.contains("/tests/") {
            continue;
        }
        let source = fs::read_to_string(&file).unwrap();
        let program = source.split("#[cfg(test)]\nmod tests").next().unwrap();
        let own = OWN.iter().position(|(place, _)| name.starts_with(place));
        for (at, line) in program.lines().enumerate() {
            let line = line.replace("files::open(", "");
            if !OPENING.iter().any(|way| line.contains(way)) {
                continue;
            }
            match own {
                Some(own) => used[own] = true,
                None => stray.push(format!("{name}:{}: {}", at + 1, line.trim())),
            }
        }
    }
    assert!(stray.is_empty(), "read these with `crate::files`:\n{}", stray.join("\n"));
    let unused: Vec<_> = OWN.iter().zip(used).filter(|(_, used)| !used).map(|((place, _), _)| place).collect();
    assert!(unused.is_empty(), "these read nothing past `files` any more: {unused:?}");
}

#[test]
fn git_is_run_in_one_place() {
    let mut files = Vec::new();
    walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    let naming = files.iter().filter(|file| fs::read_to_string(file).unwrap().contains("Command::new(\"git\")"));
    let naming: Vec<_> = naming.collect();
    assert!(matches!(&naming[..], [one] if one.ends_with("src/cli/git.rs")), "{naming:?}");
}
