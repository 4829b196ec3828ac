//! Reads figures of a process from `/proc`, if it exists.

use std::fs;

use crate::measure::status_number;

/// Returns how often the threads of a process have gone to sleep and been woken again.
pub(super) fn wake_ups(pid: u32) -> u64 {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    threads.filter_map(|thread| status_number(thread.path().join("status"), "voluntary_ctxt_switches:")).sum()
}

/// Returns the running child processes of a process.
pub(super) fn children(pid: u32) -> Vec<u32> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|child| parent(*child) == Some(pid))
        .collect()
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may contain spaces and parentheses.
    stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_is_found_by_its_parent_and_wakes_up() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let me = std::process::id();
        assert!(children(me).contains(&child.id()));
        let before = wake_ups(me);
        std::thread::sleep(std::time::Duration::from_millis(5));
        assert!(wake_ups(me) > before);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(wake_ups(child.id()), 0, "it is gone");
    }
}
