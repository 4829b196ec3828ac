//! What the daemon itself reports, with the same severity in `ergo doctor` and `ergo status`.

use super::{Finding, Health, note, problem};
use crate::{
    api::Diagnose,
    cli::ui::{Style, Ui},
    domain::text::sanitize_line,
};

/// How to restart the daemon.
pub(super) const RESTART: &str = "ergo daemon stop && ergo daemon start";

/// Returns the daemon's problems, and notes about its settings and models.
pub(super) fn reported(diagnose: &Diagnose) -> Vec<Finding> {
    let of_store = diagnose.store_problem.iter();
    let mut out: Vec<Finding> =
        of_store.map(|error| problem("store", error.message.clone(), error.hint.clone())).collect();
    out.extend(diagnose.problems.iter().map(|message| problem("daemon", message.clone(), None)));
    out.extend(diagnose.settings_without_effect.iter().cloned().map(setting_without_effect));
    out.extend(changed_settings(&diagnose.changed_settings));
    out.extend(diagnose.models.problems.iter().cloned().map(unusable_model));
    out
}

/// Reports a setting that names what does not exist. Only a note, since ergo works without it.
pub(super) fn setting_without_effect(message: String) -> Finding {
    note("settings", message)
}

/// Reports settings that the daemon does not use yet.
fn changed_settings(names: &[String]) -> Option<Finding> {
    let names = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    (!names.is_empty()).then(|| Finding {
        hint: Some(format!("to apply them: `{RESTART}`")),
        ..note("settings", format!("changed in config.toml, but not in use until the daemon is restarted: {names}"))
    })
}

/// Reports a chosen model that cannot be used. Only a note, since the default model is used instead.
pub(super) fn unusable_model(message: String) -> Finding {
    Finding { hint: Some("ergo models list".to_owned()), ..note("models", message) }
}

/// Shows what the daemon reports, one line each.
pub(in crate::cli) fn show(diagnose: &Diagnose, ui: &mut Ui) {
    for finding in reported(diagnose) {
        let label = match finding.health {
            Health::Ok => continue,
            Health::Note => ui.paint(Style::Warn, "Note:"),
            Health::Problem => ui.paint(Style::Bad, "Problem:"),
        };
        ui.line(text!("{} {}", label, sanitize_line(&finding.message)));
        if let Some(hint) = &finding.hint {
            let label = ui.paint(Style::Code, "Hint:");
            ui.line(text!("{} {}", label, sanitize_line(hint)));
        }
    }
}
