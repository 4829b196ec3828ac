//! The names of this machine and of its user.

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

/// Returns the user's login name: `USER`, otherwise `LOGNAME`, otherwise the name in `/etc/passwd` (containers often
/// set neither variable), otherwise `user-` and the numeric id.
pub(super) fn login_name() -> String {
    let id = rustix::process::getuid().as_raw();
    ["USER", "LOGNAME"]
        .into_iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.trim().is_empty())
        .or_else(|| name_in(&files::text(Path::new("/etc/passwd"), files::MAX_SETTINGS).ok()?, id))
        .unwrap_or_else(|| format!("user-{id}"))
}

/// Returns the name of a user from `list`, the text of `/etc/passwd`.
fn name_in(list: &str, id: u32) -> Option<String> {
    let id = id.to_string();
    list.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == id && !name.is_empty()).then(|| name.to_owned())
    })
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

    #[test]
    fn a_user_is_found_by_id_in_the_systems_list() {
        let list = "root:x:0:0:root:/root:/bin/sh\n# a comment\nada:x:1000:1000::/home/ada:/bin/sh\n";
        assert_eq!(name_in(list, 1000).as_deref(), Some("ada"));
        assert_eq!(name_in(list, 100), None);
    }
}
