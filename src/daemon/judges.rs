//! Creates the judges that the settings name.

use std::sync::Arc;

use crate::{
    config::{JudgeSettings, Paths, judge_settings::KEY_VARIABLE},
    infer::{Endpoint, JudgeCommand, ModelJudge, Models},
};

/// Returns the language model on a server, if the settings name one and there is a key. A missing key is added to
/// `problems`.
pub(super) fn endpoint(settings: &JudgeSettings, problems: &mut Vec<String>) -> Option<Endpoint> {
    let (address, model) = settings.endpoint.as_deref().zip(settings.model.as_deref())?;
    let found = settings.key().map(|key| key.and_then(|key| Endpoint::new(address, model, &key)));
    let why = match found {
        Ok(Some(endpoint)) => return Some(endpoint),
        Ok(None) => {
            format!("there is no key for {address}, so it is not used: set `key_file` in [judge], or {KEY_VARIABLE}")
        }
        Err(why) => format!("{why}; {address} is not used"),
    };
    tracing::warn!("{why}");
    problems.push(why);
    None
}

/// Returns the judges of the queue of doubts, in the order in which they are asked.
pub(super) fn judges(
    paths: &Paths,
    settings: &JudgeSettings,
    models: &Arc<dyn Models>,
    endpoint: Option<&Endpoint>,
) -> Vec<ModelJudge> {
    let local = settings.local.then(|| ModelJudge::Local(Arc::clone(models)));
    let address = endpoint.cloned().map(ModelJudge::Endpoint);
    let command = JudgeCommand::new(&settings.command, paths.data.join("judge")).map(ModelJudge::Command);
    local.into_iter().chain(address).chain(command).collect()
}
