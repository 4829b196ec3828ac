//! The token of a request, and who may receive it.

use std::{fmt, net::SocketAddr};

use super::daemon_address::loopback;
use crate::{
    config::{DaemonRecord, Paths, StoreLock},
    files,
};

/// The token of a client's requests.
#[derive(Clone)]
pub(super) enum Credential {
    None,
    /// The token that a person gave for this address.
    Given(String),
    /// This home's token, for its own daemon only.
    Home(OwnDaemon),
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The token must not be logged.
        f.write_str(match self {
            Self::None => "None",
            Self::Given(_) => "Given",
            Self::Home(_) => "Home",
        })
    }
}

impl Credential {
    /// Returns the token to send now.
    ///
    /// # Errors
    /// If this home's daemon no longer listens at the client's address: another program there must not see the
    /// token.
    pub(super) fn token(&self) -> Result<Option<String>, String> {
        match self {
            Self::None => Ok(None),
            Self::Given(token) => Ok(Some(token.clone())),
            Self::Home(own) => match OwnDaemon::at(&own.paths, &own.authority) {
                Some(_) => Ok(own.token()),
                None => Err("this home's daemon no longer listens there".to_owned()),
            },
        }
    }
}

/// The TCP listener of the daemon that owns this home's store.
#[derive(Clone, Debug)]
pub(super) struct OwnDaemon {
    paths: Paths,
    authority: String,
    address: SocketAddr,
}

impl OwnDaemon {
    /// Returns this home's daemon if it listens at `host:port`.
    ///
    /// Its record alone proves nothing, since a crash leaves it behind and the port may be another program's now: the
    /// process that wrote the record must hold the store's lock.
    pub(super) fn at(paths: &Paths, authority: &str) -> Option<Self> {
        let record = DaemonRecord::of(paths)?;
        let address: SocketAddr = record.tcp?.parse().ok()?;
        let named = loopback(authority).contains(&address);
        let alive = StoreLock::owner(paths).is_some_and(|owner| owner.pid == record.pid && owner.role == "daemon");
        (named && alive).then(|| Self { paths: paths.clone(), authority: authority.to_owned(), address })
    }

    /// Returns the exact address, so that no other listener of the same name is reached.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    fn token(&self) -> Option<String> {
        let text = files::text(&self.paths.token(), files::MAX_SETTINGS).ok()?;
        Some(text.trim().to_owned()).filter(|token| !token.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn record(paths: &Paths, tcp: &str) {
        let record = DaemonRecord {
            socket: paths.socket.clone(),
            tcp: Some(tcp.to_owned()),
            pid: std::process::id(),
            version: "1.2.3".to_owned(),
            store: paths.store(),
            log: paths.log(),
        };
        record.write(&paths.record()).unwrap();
    }

    #[test]
    fn the_homes_token_is_for_the_daemon_that_holds_its_store() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::under(dir.path());
        fs::write(paths.token(), "secret\n").unwrap();
        record(&paths, "127.0.0.1:8788");
        assert!(OwnDaemon::at(&paths, "127.0.0.1:8788").is_none(), "a record that a crash left");
        let lock = StoreLock::take(&paths, "daemon").unwrap();
        for own in ["127.0.0.1:8788", "localhost:8788"] {
            assert_eq!(OwnDaemon::at(&paths, own).unwrap().address(), "127.0.0.1:8788".parse().unwrap(), "{own}");
        }
        for other in ["127.0.0.1:8789", "127.0.0.2:8788", "[::1]:8788", "example.com:8788"] {
            assert!(OwnDaemon::at(&paths, other).is_none(), "{other}");
        }
        let credential = Credential::Home(OwnDaemon::at(&paths, "127.0.0.1:8788").unwrap());
        assert_eq!(credential.token(), Ok(Some("secret".to_owned())));
        assert!(!format!("{credential:?}").contains("secret"));
        drop(lock);
        assert!(credential.token().is_err(), "a client outlived its daemon");
        let _doctor = StoreLock::take(&paths, "doctor").unwrap();
        assert!(credential.token().is_err(), "who holds the store now is no daemon");
    }
}
