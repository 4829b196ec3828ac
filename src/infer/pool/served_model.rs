//! A model that a lane serves: its file, and why it cannot be used until the file changes.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use super::model_files::{FileStamp, path_of, write_out};
use crate::infer::{InferError, ModelRole, ModelSource};

/// How long a model is not tried after there was not enough memory for it.
const RESTART_DELAY: Duration = Duration::from_mins(1);

/// After this many deaths while loading a file, the file counts as damaged.
const DEATHS: u32 = 2;

/// A model, its file and its state.
#[derive(Clone, Debug)]
pub(super) struct ServedModel {
    role: ModelRole,
    model: ModelSource,
    /// The folder of built-in models.
    folder: PathBuf,
    /// The stamp of the built-in file that was verified.
    verified: Option<FileStamp>,
    trouble: Option<ModelProblem>,
    /// Deaths while loading this state of the file.
    deaths: (Option<FileStamp>, u32),
}

/// Why a model is not tried.
#[derive(Clone, Debug)]
struct ModelProblem {
    error: InferError,
    /// The state of the file that is not tried.
    stamp: Option<FileStamp>,
    /// Until when it is not tried; `None` for ever.
    until: Option<Instant>,
}

/// Two are equal if they name the same model, whatever their state.
impl PartialEq for ServedModel {
    fn eq(&self, other: &Self) -> bool {
        (self.role, &self.model, &self.folder) == (other.role, &other.model, &other.folder)
    }
}

impl ServedModel {
    pub(super) fn new(role: ModelRole, model: ModelSource, folder: PathBuf) -> Self {
        Self { role, model, folder, verified: None, trouble: None, deaths: (None, 0) }
    }

    fn path(&self) -> PathBuf {
        match &self.model {
            ModelSource::Embedded(model) => path_of(model, &self.folder),
            ModelSource::File(file) => file.path.clone(),
        }
    }

    /// Returns the size of its file in bytes.
    pub(super) fn size(&self) -> u64 {
        match &self.model {
            ModelSource::Embedded(model) => model.size,
            ModelSource::File(file) => std::fs::metadata(&file.path).map_or(0, |meta| meta.len()),
        }
    }

    /// Returns why it cannot be used.
    pub(super) fn problem(&self) -> Option<&InferError> {
        self.trouble.as_ref().map(|trouble| &trouble.error)
    }

    /// Returns the file to load; a built-in one is written out first.
    ///
    /// # Errors
    /// The last problem while nothing has changed; [`InferError::BadModel`] if there is no file.
    pub(super) fn ready(&mut self) -> Result<PathBuf, InferError> {
        let path = self.path();
        let stamp = FileStamp::of(&path);
        if let Some(ModelProblem { error, stamp: then, until }) = &self.trouble {
            let rests = until.is_none_or(|until| Instant::now() < until);
            if rests && *then == stamp {
                return Err(error.clone());
            }
            self.trouble = None;
        }
        match &self.model {
            ModelSource::Embedded(model) => {
                if self.verified.is_none() || self.verified != stamp {
                    if let Err(error) = write_out(model, &self.folder) {
                        let why = format!("cannot write it to {}: {error}", self.folder.display());
                        return Err(self.spoilt(why, Some(Instant::now() + RESTART_DELAY)));
                    }
                    self.verified = FileStamp::of(&path);
                }
            }
            ModelSource::File(_) if stamp.is_none() => {
                let why = format!("there is no file {}", path.display());
                return Err(self.spoilt(why, None));
            }
            ModelSource::File(_) => {}
        }
        Ok(path)
    }

    /// Records that it cannot be loaded.
    pub(super) fn record_unusable(&mut self, why: &str) -> InferError {
        let help = match &self.model {
            ModelSource::Embedded(_) => "",
            ModelSource::File(_) => "; `ergo models verify` checks its file",
        };
        self.spoilt(format!("{why}{help}"), None)
    }

    /// Records that there was not enough memory for it.
    pub(super) fn record_out_of_memory(&mut self, why: &str) -> InferError {
        let error = InferError::OutOfMemory { role: self.role, why: why.to_owned() };
        self.rest(error, Some(Instant::now() + RESTART_DELAY))
    }

    /// Records that the process exited while loading it.
    pub(super) fn record_crash(&mut self, why: &str) {
        let stamp = FileStamp::of(&self.path());
        let before = if self.deaths.0 == stamp { self.deaths.1 } else { 0 };
        self.deaths = (stamp, before + 1);
        if self.deaths.1 >= DEATHS {
            let _error = self.record_unusable(&format!(
                "the process exited {} times while loading the model: it {why}",
                self.deaths.1
            ));
        }
    }

    fn spoilt(&mut self, why: String, until: Option<Instant>) -> InferError {
        let error = InferError::BadModel { role: self.role, name: self.model.name().to_owned(), why };
        self.rest(error, until)
    }

    fn rest(&mut self, error: InferError, until: Option<Instant>) -> InferError {
        let stamp = FileStamp::of(&self.path());
        self.trouble = Some(ModelProblem { error: error.clone(), stamp, until });
        error
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::infer::ModelFile;

    #[test]
    fn a_bad_file_is_not_tried_again_until_it_changes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("model.gguf");
        let file = ModelFile { name: "mine".into(), sha256: String::new(), path: path.clone() };
        let mut source = ServedModel::new(ModelRole::Nli, ModelSource::File(file), dir.path().into());
        let error = source.ready().unwrap_err().to_string();
        assert!(error.contains("mine") && error.contains("there is no file"), "{error}");
        fs::write(&path, "junk").unwrap();
        assert_eq!(source.ready(), Ok(path.clone()), "it has appeared");
        let bad = source.record_unusable("it is no GGUF file");
        assert_eq!(source.ready(), Err(bad.clone()));
        assert_eq!(source.problem(), Some(&bad));
        fs::write(&path, "other junk").unwrap();
        assert_eq!(source.ready(), Ok(path), "it has changed");
        assert_eq!(source.problem(), None);
    }

    #[test]
    fn a_file_that_ends_the_process_twice_is_damaged() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("model.gguf");
        fs::write(&path, "junk").unwrap();
        let file = ModelFile { name: "mine".into(), sha256: String::new(), path };
        let mut source = ServedModel::new(ModelRole::Llm, ModelSource::File(file), dir.path().into());
        source.record_crash("ended: GGML_ASSERT");
        assert!(source.ready().is_ok());
        source.record_crash("ended: GGML_ASSERT");
        assert!(matches!(source.ready(), Err(InferError::BadModel { why, .. }) if why.contains("GGML_ASSERT")));
    }
}
