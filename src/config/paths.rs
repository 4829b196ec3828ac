//! The paths of ergo's files: in `ERGO_HOME` if it is set, otherwise in the XDG directories.

use std::{
    ffi::OsString,
    fs,
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

use etcetera::BaseStrategy;

use super::{ConfigError, privacy};

/// The maximum length of a socket path, in bytes: `sun_path` has 104 on macOS and 108 on Linux.
pub const MAX_SOCKET_PATH: usize = 100;

/// The absolute paths of ergo's files on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    /// The file of the settings.
    pub config: PathBuf,
    /// The folder of the store.
    pub data: PathBuf,
    /// The folder of this machine's state: device key, token, log, the daemon's record.
    pub state: PathBuf,
    /// The socket on which the daemon listens.
    pub socket: PathBuf,
    /// `ERGO_HOME`, if it is set. A client passes it on to a daemon that it starts.
    pub home: Option<PathBuf>,
}

impl Paths {
    /// Returns the paths that the environment determines.
    ///
    /// # Errors
    /// [`ConfigError::NoHome`] if neither `ERGO_HOME` nor `HOME` is set.
    pub fn find() -> Result<Self, ConfigError> {
        if let Some(home) = set("ERGO_HOME") {
            let home = std::path::absolute(&home).map_err(|e| ConfigError::io("find", home, e))?;
            return Ok(Self::under(home));
        }
        let xdg = etcetera::choose_base_strategy().map_err(|_| ConfigError::NoHome)?;
        let state = xdg.state_dir().unwrap_or_else(|| xdg.data_dir()).join("ergo");
        let runtime = xdg.runtime_dir().map_or_else(|| state.clone(), |dir| dir.join("ergo"));
        Ok(Self {
            config: xdg.config_dir().join("ergo/config.toml"),
            data: xdg.data_dir().join("ergo"),
            socket: socket_in(&runtime),
            state,
            home: None,
        })
    }

    /// Returns the paths under one folder, as with `ERGO_HOME`.
    pub fn under(home: impl Into<PathBuf>) -> Self {
        let home = home.into();
        Self {
            config: home.join("config.toml"),
            data: home.clone(),
            state: home.clone(),
            socket: socket_in(&home.join("run")),
            home: Some(home),
        }
    }

    /// The user's key bindings for the app.
    pub fn keys(&self) -> PathBuf {
        self.config.with_file_name("keys.toml")
    }

    /// The user's theme for the app.
    pub fn theme(&self) -> PathBuf {
        self.config.with_file_name("theme.toml")
    }

    /// The store's file.
    pub fn store(&self) -> PathBuf {
        self.data.join("ergo.db")
    }

    /// The lock file of the store.
    pub fn lock(&self) -> PathBuf {
        self.data.join("ergo.db.lock")
    }

    /// The folder of model files, and of the record of the chosen ones.
    pub fn models(&self) -> PathBuf {
        self.data.join("models")
    }

    /// The daemon's record of its addresses.
    pub fn record(&self) -> PathBuf {
        self.state.join("daemon.json")
    }

    /// The daemon's log.
    pub fn log(&self) -> PathBuf {
        self.state.join("daemon.log")
    }

    /// The token for TCP, unless `ERGO_API_TOKEN` is set.
    pub fn token(&self) -> PathBuf {
        self.state.join("token")
    }

    /// The device's signing key.
    pub fn device_key(&self) -> PathBuf {
        self.state.join("device.key")
    }

    /// The app's state.
    pub fn app(&self) -> PathBuf {
        self.state.join("tui.json")
    }

    /// The list of followed rule files, and what was last read from them.
    pub fn notes(&self) -> PathBuf {
        self.state.join("notes.json")
    }

    /// The sync mode that was chosen on this machine.
    pub fn sync_mode(&self) -> PathBuf {
        self.state.join("sync-mode")
    }

    /// Creates the folders of store, state and socket, private to this user.
    ///
    /// # Errors
    /// [`ConfigError::NotPrivate`] if another user owns, or may write to, a folder, the store or a secret.
    pub fn make(&self) -> Result<(), ConfigError> {
        for folder in [&self.data, &self.state] {
            make_private(folder)?;
            privacy::check_folder(folder)?;
        }
        for file in [self.store(), self.device_key(), self.token()] {
            privacy::check_file(&file)?;
        }
        if let Some(folder) = self.socket.parent() {
            make_private(folder)?;
            close_folder(folder)?;
        }
        Ok(())
    }
}

/// Returns an environment variable, or `None` if it is unset or empty.
fn set(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Returns `folder/ergo.sock`, or a shorter path in the temporary directory if that is too long for a socket address.
fn socket_in(folder: &Path) -> PathBuf {
    let usual = folder.join("ergo.sock");
    if usual.as_os_str().len() <= MAX_SOCKET_PATH {
        return usual;
    }
    let hash = blake3::hash(folder.as_os_str().as_encoded_bytes()).to_hex();
    let user = rustix::process::getuid().as_raw();
    let name = format!("ergo-{user}-{}/ergo.sock", hash.get(..12).unwrap_or_default());
    let short = std::env::temp_dir().join(&name);
    if short.as_os_str().len() <= MAX_SOCKET_PATH { short } else { Path::new("/tmp").join(name) }
}

fn make_private(folder: &Path) -> Result<(), ConfigError> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|e| ConfigError::io("create the folder", folder, e))
}

/// Closes the socket's folder to other users. Fails if another user owns it or may write to it, since a socket in it
/// may be someone else's.
fn close_folder(folder: &Path) -> Result<(), ConfigError> {
    privacy::check_folder(folder)?;
    let meta = fs::metadata(folder).map_err(|e| ConfigError::io("read the folder", folder, e))?;
    if meta.mode() & 0o077 != 0 {
        let closed = fs::Permissions::from_mode(0o700);
        fs::set_permissions(folder, closed)
            .map_err(|e| ConfigError::io("restrict the permissions of the folder", folder, e))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_home_gets_a_short_socket_that_is_its_own() {
        let deep = |name: &str| Paths::under(PathBuf::from("/home").join("d".repeat(120)).join(name));
        let (one, two) = (deep("one"), deep("two"));
        assert!(one.socket.as_os_str().len() <= MAX_SOCKET_PATH, "{}", one.socket.display());
        assert_ne!(one.socket, two.socket, "two homes never share a socket");
        assert_eq!(one, deep("one"), "and it does not change from call to call");
        assert_eq!(Paths::under("/h").socket, Path::new("/h/run/ergo.sock"));
    }

    #[test]
    fn a_home_or_store_that_others_may_write_to_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::under(dir.path().join("home"));
        let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        paths.make().unwrap();
        for path in [paths.store(), paths.device_key(), paths.token()] {
            fs::write(&path, "").unwrap();
            set(&paths.data, 0o755);
            set(&path, 0o666);
            let error = paths.make().unwrap_err();
            assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
            set(&path, 0o600);
            paths.make().unwrap();
        }
        set(&paths.data, 0o777);
        assert!(matches!(paths.make().unwrap_err(), ConfigError::NotPrivate { .. }));
    }

    #[test]
    fn the_sockets_folder_is_closed_and_one_open_to_writers_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::under(dir.path().join("home"));
        let folder = paths.socket.parent().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        paths.make().unwrap();
        assert_eq!((mode(&paths.state), mode(folder)), (0o700, 0o700));
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
        paths.make().unwrap();
        assert_eq!(mode(folder), 0o700);
        fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).unwrap();
        let error = paths.make().unwrap_err();
        assert!(matches!(error, ConfigError::NotPrivate { .. }), "{error}");
        assert!(error.hint().unwrap().contains("chmod go-w"));
    }
}
