//! The name of this machine.

use std::{path::Path, process::Command};

use crate::files;

/// Returns the first part of the host name, the default name of this device in a team.
pub fn machine_name() -> String {
    ["/proc/sys/kernel/hostname", "/etc/hostname"]
        .iter()
        .find_map(|file| named(&files::text(Path::new(file), files::MAX_SETTINGS).ok()?))
        .or_else(|| named(&String::from_utf8(Command::new("hostname").output().ok()?.stdout).ok()?))
        .unwrap_or_else(|| "laptop".to_owned())
}

fn named(host: &str) -> Option<String> {
    let name = host.trim().split('.').next().unwrap_or_default();
    (!name.is_empty() && name != "localhost").then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_name_gives_its_first_part_unless_it_says_nothing() {
        assert_eq!(named("ada-laptop.example.org\n").as_deref(), Some("ada-laptop"));
        assert_eq!((named("localhost.localdomain"), named(" \n")), (None, None));
        assert!(!machine_name().is_empty());
    }
}
