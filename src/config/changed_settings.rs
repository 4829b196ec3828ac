//! Which settings of the daemon differ between two versions of the settings file.

use serde_json::Value;

use super::{Config, ModelSettings, StoreSettings, TuiSettings};

impl Config {
    /// Returns the names of the settings, such as `guard.agents_may`, in which `other` differs. Settings that only the
    /// clients read are left out: a client reads them at each start.
    pub fn changed_for_daemon(&self, other: &Self) -> Vec<String> {
        let mut names = Vec::new();
        compare("", &self.of_daemon(), &other.of_daemon(), &mut names);
        names
    }

    /// Returns the settings as JSON, with the defaults for those that only the clients read.
    fn of_daemon(&self) -> Value {
        let of_daemon = Self {
            tui: TuiSettings::default(),
            store: StoreSettings::default(),
            models: ModelSettings { offline: false, ..self.models.clone() },
            ..self.clone()
        };
        serde_json::to_value(of_daemon).unwrap_or_default()
    }
}

/// Adds the names under `name` whose values differ. A setting without a value may be missing.
fn compare(name: &str, one: &Value, other: &Value, names: &mut Vec<String>) {
    let (Value::Object(one), Value::Object(other)) = (one, other) else {
        names.extend((one != other).then(|| name.to_owned()));
        return;
    };
    let added = other.keys().filter(|key| !one.contains_key(*key));
    for key in one.keys().chain(added) {
        let inner = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
        compare(&inner, one.get(key).unwrap_or(&Value::Null), other.get(key).unwrap_or(&Value::Null), names);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn changed_settings_have_the_names_that_the_file_gives_them() {
        let parse = |text| Config::parse(text, Path::new("/c/config.toml")).unwrap();
        let (before, after) = (
            parse(
                "who = \"ada\"\n[guard]\nagents_may = \"force\"\n[sync]\nport = 5\n[compat.cogito]\nlisten = \"[::1]:1\"\n",
            ),
            parse(
                "who = \"bob\"\n[guard]\nagents_may = \"propose\"\n[tui]\nmouse = false\n[models]\noffline = true\nthreads = 2\n\
                    [store]\nkeep_local_days = 30\n",
            ),
        );
        assert_eq!(before.changed_for_daemon(&before), Vec::<String>::new());
        let mut names = before.changed_for_daemon(&after);
        names.sort();
        assert_eq!(names, ["compat.cogito", "guard.agents_may", "models.threads", "sync.port", "who"]);
    }
}
