//! A model that a lane serves: its file, and why it cannot be used at the moment.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use super::model_files::{FileStamp, path_of, write_out};
use crate::infer::{InferError, ModelRole, ModelSource};

/// The delay before another attempt to load a model after a lack of memory, or to write out a built-in one.
const RETRY_DELAY: Duration = Duration::from_mins(1);

/// The number of deaths of the process while loading a file after which the file counts as damaged.
const MAX_LOAD_DEATHS: u32 = 2;

/// A model, its file and its state.
#[derive(Clone, Debug)]
pub(super) struct ServedModel {
    role: ModelRole,
    model: ModelSource,
    /// The folder of built-in models.
    folder: PathBuf,
    /// The stamp of the built-in file that was verified.
    verified: Option<FileStamp>,
    problem: Option<ModelProblem>,
    /// The number of deaths of the process while loading the file with this stamp.
    deaths: (Option<FileStamp>, u32),
}

/// Why no attempt is made to load a model.
#[derive(Clone, Debug)]
struct ModelProblem {
    error: InferError,
    /// The problem holds while the file has this stamp.
    stamp: Option<FileStamp>,
    /// When to try again; `None` if only a change of the file helps.
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
        Self { role, model, folder, verified: None, problem: None, deaths: (None, 0) }
    }

    fn path(&self) -> PathBuf {
        match &self.model {
            ModelSource::Embedded(model) => path_of(model, &self.folder),
            ModelSource::File(file) => file.path.clone(),
        }
    }

    /// Returns the size of the model's file in bytes.
    pub(super) fn size(&self) -> u64 {
        match &self.model {
            ModelSource::Embedded(model) => model.size,
            ModelSource::File(file) => std::fs::metadata(&file.path).map_or(0, |meta| meta.len()),
        }
    }

    /// Returns why the model cannot be used.
    pub(super) fn problem(&self) -> Option<&InferError> {
        self.problem.as_ref().map(|problem| &problem.error)
    }

    /// Returns the path of the file to load. A built-in model is written out first.
    ///
    /// # Errors
    /// The last problem again, until the file has changed or the problem's time is over; [`InferError::BadModel`] if
    /// there is no file or it cannot be written.
    pub(super) fn ready(&mut self) -> Result<PathBuf, InferError> {
        let path = self.path();
        let stamp = FileStamp::of(&path);
        if let Some(ModelProblem { error, stamp: then, until }) = &self.problem {
            let still_valid = until.is_none_or(|until| Instant::now() < until);
            if still_valid && *then == stamp {
                return Err(error.clone());
            }
            self.problem = None;
        }
        match &self.model {
            ModelSource::Embedded(model) => {
                if self.verified.is_none() || self.verified != stamp {
                    if let Err(error) = write_out(model, &self.folder) {
                        let why = format!("cannot write it to {}: {error}", self.folder.display());
                        return Err(self.bad_model(why, Some(Instant::now() + RETRY_DELAY)));
                    }
                    self.verified = FileStamp::of(&path);
                }
            }
            ModelSource::File(_) if stamp.is_none() => {
                let why = format!("there is no file {}", path.display());
                return Err(self.bad_model(why, None));
            }
            ModelSource::File(_) => {}
        }
        Ok(path)
    }

    /// Records that the model cannot be loaded.
    pub(super) fn record_unusable(&mut self, why: &str) -> InferError {
        let help = match &self.model {
            ModelSource::Embedded(_) => "",
            ModelSource::File(_) => "; `ergo models verify` checks its file",
        };
        self.bad_model(format!("{why}{help}"), None)
    }

    /// Records that there was not enough memory for the model.
    pub(super) fn record_out_of_memory(&mut self, why: &str) -> InferError {
        let error = InferError::OutOfMemory { role: self.role, why: why.to_owned() };
        self.record_problem(error, Some(Instant::now() + RETRY_DELAY))
    }

    /// Records that the process exited while loading the model.
    pub(super) fn record_crash(&mut self, why: &str) {
        let stamp = FileStamp::of(&self.path());
        let before = if self.deaths.0 == stamp { self.deaths.1 } else { 0 };
        self.deaths = (stamp, before + 1);
        if self.deaths.1 >= MAX_LOAD_DEATHS {
            let _error = self.record_unusable(&format!(
                "the process exited {} times while loading the model: it {why}",
                self.deaths.1
            ));
        }
    }

    fn bad_model(&mut self, why: String, until: Option<Instant>) -> InferError {
        let error = InferError::BadModel { role: self.role, name: self.model.name().to_owned(), why };
        self.record_problem(error, until)
    }

    fn record_problem(&mut self, error: InferError, until: Option<Instant>) -> InferError {
        let stamp = FileStamp::of(&self.path());
        self.problem = Some(ModelProblem { error: error.clone(), stamp, until });
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
