//! The name of this machine.

use std::{path::Path, process::Command};

use crate::files;

/// Returns the first label of the host name, which is the default name of this device in a team; `laptop` if it is
/// unknown.
pub fn machine_name() -> String {
    ["/proc/sys/kernel/hostname", "/etc/hostname"]
        .iter()
        .find_map(|file| first_label(&files::text(Path::new(file), files::MAX_SETTINGS).ok()?))
        .or_else(|| first_label(&String::from_utf8(Command::new("hostname").output().ok()?.stdout).ok()?))
        .unwrap_or_else(|| "laptop".to_owned())
}

fn first_label(host: &str) -> Option<String> {
    let name = host.trim().split('.').next().unwrap_or_default();
    (!name.is_empty() && name != "localhost").then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_name_gives_its_first_part_unless_it_says_nothing() {
        assert_eq!(first_label("ada-laptop.example.org\n").as_deref(), Some("ada-laptop"));
        assert_eq!((first_label("localhost.localdomain"), first_label(" \n")), (None, None));
        assert!(!machine_name().is_empty());
    }
}
