//! Starts the daemon with the user's session: by a systemd user unit on Linux, or a launchd agent on macOS.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::DaemonError;
use crate::config::{ConfigError, Paths};

/// The service file to write or remove, and the commands to run afterwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServicePlan {
    /// The path of the service file.
    pub path: PathBuf,
    /// The link to the service file that `systemctl --user enable` creates.
    link: Option<PathBuf>,
    /// The content of the service file.
    pub text: String,
    /// The commands that activate the service, in order.
    pub after_writing: Vec<String>,
    /// The commands that end the service, in order.
    pub after_removing: Vec<String>,
}

/// The service manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceSystem {
    /// A user unit under `systemd/user`.
    Systemd,
    /// An agent under `~/Library/LaunchAgents`.
    Launchd,
}

impl ServiceSystem {
    /// Returns the service manager of this machine.
    pub fn here() -> Self {
        if cfg!(target_os = "macos") { Self::Launchd } else { Self::Systemd }
    }
}

/// Returns the service file for this program with these paths, without writing it.
///
/// # Errors
/// If the path of this program or the home directory cannot be found.
pub fn plan(system: ServiceSystem, paths: &Paths) -> Result<ServicePlan, DaemonError> {
    let program = std::env::current_exe().map_err(DaemonError::system("find this program's file"))?;
    let home = etcetera::home_dir().map_err(|_| ConfigError::NoHome)?;
    let config = std::env::var_os("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .unwrap_or_else(|| home.join(".config"));
    Ok(plan_for(system, &program, &home, &config, paths))
}

/// Ends a daemon that a command started: it holds the store, which the service needs.
const STOP: &str = "ergo daemon stop";

fn plan_for(system: ServiceSystem, program: &Path, home: &Path, config: &Path, paths: &Paths) -> ServicePlan {
    match system {
        ServiceSystem::Systemd => {
            let units = config.join("systemd/user");
            ServicePlan {
                path: units.join("ergo.service"),
                link: Some(units.join("default.target.wants/ergo.service")),
                text: systemd(program, paths),
                after_writing: vec![
                    STOP.to_owned(),
                    "systemctl --user daemon-reload".to_owned(),
                    "systemctl --user enable --now ergo.service".to_owned(),
                ],
                after_removing: vec![
                    "systemctl --user stop ergo.service".to_owned(),
                    "systemctl --user daemon-reload".to_owned(),
                ],
            }
        }
        ServiceSystem::Launchd => {
            let path = home.join("Library/LaunchAgents/dev.ergo.daemon.plist");
            let bootstrap = format!("launchctl bootstrap gui/$(id -u) {}", shell_quote(&path));
            ServicePlan {
                path,
                link: None,
                text: launchd(program, paths),
                after_writing: vec![STOP.to_owned(), bootstrap],
                after_removing: vec!["launchctl bootout gui/$(id -u)/dev.ergo.daemon".to_owned()],
            }
        }
    }
}

/// Writes the service file, and creates its folder if it is absent.
pub fn write(plan: &ServicePlan) -> Result<(), ConfigError> {
    if let Some(folder) = plan.path.parent() {
        fs::create_dir_all(folder).map_err(|e| ConfigError::io("make the folder", folder, e))?;
    }
    fs::write(&plan.path, &plan.text).map_err(|e| ConfigError::io("write", &plan.path, e))
}

/// Removes the service file, and the link to it that starts it at login. Returns whether there was a service file.
pub fn remove(plan: &ServicePlan) -> Result<bool, ConfigError> {
    // A link to another unit is that of a package.
    if let Some(link) = plan.link.as_ref().filter(|link| fs::read_link(link).is_ok_and(|to| to == plan.path)) {
        fs::remove_file(link).map_err(|e| ConfigError::io("remove", link, e))?;
    }
    match fs::remove_file(&plan.path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(ConfigError::io("remove", &plan.path, error)),
    }
}

/// When systemd starts the daemon again. Exit code 2 means settings that it cannot use, 3 a daemon that holds the store:
/// neither ends by itself. 5 means that the program was replaced, so that its successor has to start.
const RESTARTS: &str = "Restart=on-failure\nRestartSec=2\nRestartPreventExitStatus=2 3\nSuccessExitStatus=5\n\
                        RestartForceExitStatus=5\n";

fn systemd(program: &Path, paths: &Paths) -> String {
    let home = match &paths.home {
        Some(home) => format!("Environment={}\n", systemd_word(&format!("ERGO_HOME={}", home.display()))),
        None => String::new(),
    };
    format!(
        "[Unit]\nDescription=ergo: memory for coding agents\n\n[Service]\nType=exec\nExecStart={} daemon run\n{home}\
         {RESTARTS}NoNewPrivileges=true\n\n[Install]\nWantedBy=default.target\n",
        systemd_word(&program.display().to_string()).replace('$', "$$"),
    )
}

/// Quotes a word for a unit file, so that systemd expands no specifier such as `%h` in it. `$` is not escaped, since
/// systemd expands it only in command lines.
fn systemd_word(text: &str) -> String {
    let plain = text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
    format!("\"{plain}\"")
}

fn launchd(program: &Path, paths: &Paths) -> String {
    let home = match &paths.home {
        Some(home) => format!(
            "  <key>EnvironmentVariables</key>\n  <dict>\n    <key>ERGO_HOME</key>\n    <string>{}</string>\n  </dict>\n",
            xml_escape(&home.display().to_string())
        ),
        None => String::new(),
    };
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <plist version=\"1.0\">\n<dict>\n  <key>Label</key>\n  <string>dev.ergo.daemon</string>\n  \
         <key>ProgramArguments</key>\n  <array>\n    <string>{}</string>\n    <string>daemon</string>\n    \
         <string>run</string>\n  </array>\n{home}  <key>RunAtLoad</key>\n  <true/>\n  <key>KeepAlive</key>\n  \
         <dict>\n    <key>SuccessfulExit</key>\n    <false/>\n  </dict>\n</dict>\n</plist>\n",
        xml_escape(&program.display().to_string()),
    )
}

fn xml_escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn shell_quote(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(system: ServiceSystem, paths: &Paths) -> ServicePlan {
        plan_for(
            system,
            Path::new("/opt/a b/100%$/ergo"),
            Path::new("/home/ada"),
            Path::new("/home/ada/.config"),
            paths,
        )
    }

    #[test]
    fn a_unit_quotes_what_systemd_would_expand() {
        let plan = made(ServiceSystem::Systemd, &Paths::under("/tmp/5%$h"));
        assert_eq!(plan.path, Path::new("/home/ada/.config/systemd/user/ergo.service"));
        assert!(plan.text.contains("ExecStart=\"/opt/a b/100%%$$/ergo\" daemon run\n"), "{}", plan.text);
        assert!(plan.text.contains("Environment=\"ERGO_HOME=/tmp/5%%$h\"\n"), "{}", plan.text);
        // A daemon that runs already would hold the store.
        assert_eq!(plan.after_writing[0], "ergo daemon stop");
    }

    #[test]
    fn the_unit_of_packages_differs_only_in_the_program() {
        let paths = Paths { home: None, ..Paths::under("/tmp/h") };
        let written = systemd(Path::new("/usr/bin/ergo"), &paths).replace("\"/usr/bin/ergo\"", "/usr/bin/ergo");
        assert_eq!(include_str!("../../packaging/ergo.service"), written);
    }

    #[test]
    fn only_what_was_installed_is_removed() {
        let config = tempfile::tempdir().unwrap();
        let plan = plan_for(
            ServiceSystem::Systemd,
            Path::new("/opt/ergo"),
            Path::new("/home/ada"),
            config.path(),
            &Paths::under("/tmp/h"),
        );
        let link = plan.link.clone().unwrap();
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink("/usr/lib/systemd/user/ergo.service", &link).unwrap();
        assert!(!remove(&plan).unwrap());
        assert!(link.is_symlink(), "the unit of a package stays enabled");
        fs::remove_file(&link).unwrap();
        write(&plan).unwrap();
        std::os::unix::fs::symlink(&plan.path, &link).unwrap();
        assert!(remove(&plan).unwrap());
        assert!(!link.is_symlink() && !plan.path.exists());
    }

    #[test]
    fn an_agent_is_escaped_and_names_no_home_that_was_not_set() {
        let paths = Paths { home: None, ..Paths::under("/tmp/h") };
        let plan = made(ServiceSystem::Launchd, &paths);
        assert!(plan.text.contains("<string>/opt/a b/100%$/ergo</string>"), "{}", plan.text);
        assert!(!plan.text.contains("ERGO_HOME"), "{}", plan.text);
        let amp = made(ServiceSystem::Launchd, &Paths::under("/tmp/<&>"));
        assert!(amp.text.contains("/tmp/&lt;&amp;&gt;"), "{}", amp.text);
    }
}
