//! Reads figures of a process from `/proc`, if it exists.

use std::{fs, path::Path};

/// The most memory that a process has had so far, in bytes; 0 where the system does not say.
pub(crate) fn peak(pid: u32) -> u64 {
    line(format!("/proc/{pid}/status"), "VmHWM:").unwrap_or(0) * 1024
}

/// How often the threads of a process went to sleep and were woken again, until now.
pub(super) fn wake_ups(pid: u32) -> u64 {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    threads.filter_map(|thread| line(thread.path().join("status"), "voluntary_ctxt_switches:")).sum()
}

/// The processes that a process has started and that still run.
pub(super) fn children(pid: u32) -> Vec<u32> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|child| parent(*child) == Some(pid))
        .collect()
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may hold anything.
    stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()
}

/// The number in a line of a status file.
fn line(path: impl AsRef<Path>, name: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_is_found_by_its_parent_and_has_had_memory() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let me = std::process::id();
        assert!(children(me).contains(&child.id()));
        assert!(peak(me) > 1024 * 1024);
        let before = wake_ups(me);
        std::thread::sleep(std::time::Duration::from_millis(5));
        assert!(wake_ups(me) > before);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!((peak(child.id()), wake_ups(child.id())), (0, 0), "it is gone");
    }
}
