//! The sync mode: `sync.mode` in config.toml, otherwise the one chosen with `ergo sync mode` on this machine.

use std::{path::PathBuf, sync::Arc};

use super::Teams;
use crate::{
    api::{ApiError, ErrorCode, ModeRequest, SyncMode, SyncStatus},
    config::{self, Config, Paths, write_private},
    files,
    sync::endpoint::NetworkMode,
};

/// The chosen sync mode.
pub(in crate::daemon) struct SyncChoice {
    /// The file that holds the mode chosen with `ergo sync mode`.
    file: PathBuf,
    /// The path of config.toml.
    settings: PathBuf,
    /// The mode in config.toml, which overrides the file.
    set: Option<config::SyncModeSetting>,
}

impl SyncChoice {
    pub(super) fn new(paths: &Paths, config: &Config) -> Self {
        Self { file: paths.sync_mode(), settings: paths.config.clone(), set: config.sync.mode }
    }

    /// Returns the chosen mode; `None` for the default, which is the local network once there is a team.
    pub(super) fn mode(&self) -> Option<NetworkMode> {
        let chosen = self
            .set
            .or_else(|| config::SyncModeSetting::named(files::text(&self.file, files::MAX_SETTINGS).ok()?.trim()));
        chosen.map(|mode| match mode {
            config::SyncModeSetting::Off => NetworkMode::Off,
            config::SyncModeSetting::Lan => NetworkMode::Lan,
            config::SyncModeSetting::Internet => NetworkMode::Internet,
        })
    }

    fn choose(&self, mode: SyncMode) -> Result<(), ApiError> {
        if let Some(set) = self.set {
            let message =
                format!("{} has `mode = \"{}\"`, which overrides this command", self.settings.display(), set.as_str());
            return Err(ApiError::field("mode", message).hint("change it there, then restart the daemon"));
        }
        write_private(&self.file, format!("{}\n", mode.as_str()).as_bytes())
            .map_err(|error| ApiError::new(ErrorCode::Unavailable, error.to_string()))
    }
}

impl Teams {
    /// Sets the mode, now and for later starts.
    pub(in crate::daemon) async fn set_mode(self: &Arc<Self>, request: ModeRequest) -> Result<SyncStatus, ApiError> {
        self.engine.must_be_person(&request.caller, "change the sync mode")?;
        self.choice.choose(request.mode)?;
        self.service.set_mode(self.choice.mode()).await;
        // The old pairing window belongs to the endpoint that the change of mode has closed. The new window is opened
        // before the old one is dropped; otherwise the endpoint would close in between.
        let old = self.state().window.take();
        Arc::clone(self).update_window().await;
        drop(old);
        self.announce("sync.team", request.mode.meaning());
        self.status().await
    }
}

/// Converts a mode into that of the API.
pub(super) fn api_mode(mode: NetworkMode) -> SyncMode {
    match mode {
        NetworkMode::Off => SyncMode::Off,
        NetworkMode::Lan => SyncMode::Lan,
        NetworkMode::Internet => SyncMode::Internet,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_go_before_what_was_chosen_and_the_choice_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::under(dir.path());
        let free = SyncChoice::new(&paths, &Config::default());
        assert_eq!(free.mode(), None);
        free.choose(SyncMode::Internet).unwrap();
        assert_eq!(SyncChoice::new(&paths, &Config::default()).mode(), Some(NetworkMode::Internet));
        let config = Config::parse("[sync]\nmode = \"off\"\n", &paths.config).unwrap();
        let set = SyncChoice::new(&paths, &config);
        assert_eq!(set.mode(), Some(NetworkMode::Off));
        let error = set.choose(SyncMode::Lan).unwrap_err();
        assert!(error.message.contains("config.toml") && error.hint.is_some(), "{error:?}");
    }
}
