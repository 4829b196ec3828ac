//! The models that ergo knows (`assets/models.toml`), and the model files of this machine.
//!
//! The built-in catalogue has the size and hash of each file. The [`ModelStore`] is a folder of this machine with the
//! files, and a record of which one serves which role. Nothing in this module loads a model.

pub mod digest;
pub mod fetch;
pub mod gguf;
pub mod http_download;
pub mod measure;
pub mod model_choice;
pub mod model_store;
pub mod probe;

use std::{path::Path, sync::OnceLock};

use serde::{Deserialize, Serialize};

use super::{EmbeddedModel, ModelRole};
use digest::Sha256;

use crate::{domain::asset::expect_valid, files};
pub use model_choice::{ChosenBy, ServingModel};
pub use model_store::{InstalledModel, ModelStore, ModelStoreError};

const TEXT: &str = include_str!("../../../assets/models.toml");

static EMBEDDER: EmbeddedModel = EmbeddedModel {
    name: "minilm-l6",
    sha256: "53cf5979d8ab88451f2440320d89252f4f282bd40011a6b440859a952afc5b8d",
    size: 25_279_232,
    compressed: include_bytes!("../../../assets/models/minilm-l6-q8_0.gguf.zst"),
    base: None,
};

static CROSS_ENCODER: EmbeddedModel = EmbeddedModel {
    name: "ergo-nli-minilm",
    sha256: "432b47a5816041c321c303e751febd64bec342ca6f18962a05884ec7bda88f12",
    size: 25_579_104,
    compressed: include_bytes!("../../../assets/models/ergo-nli-minilm-q8_0.gguf.zst"),
    base: Some(&EMBEDDER),
};

/// The model files that are built into the program, each the default of its role.
pub static EMBEDDED: &[(ModelRole, &EmbeddedModel)] =
    &[(ModelRole::Embedder, &EMBEDDER), (ModelRole::Nli, &CROSS_ENCODER)];

/// Returns the built-in default of a role.
pub fn embedded(role: ModelRole) -> Option<&'static EmbeddedModel> {
    EMBEDDED.iter().find(|(serves, _)| *serves == role).map(|(_, model)| *model)
}

/// A model of the catalogue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogueEntry {
    /// The name in commands and settings.
    pub name: String,
    pub role: ModelRole,
    /// The name of the file.
    pub file: String,
    /// The size of the file in bytes.
    pub bytes: u64,
    /// The hash of the file.
    pub sha256: Sha256,
    /// The licence of the weights, as an SPDX expression.
    pub licence: String,
    pub publisher: String,
    /// The address of the publisher's page about the model.
    pub page: String,
    /// The address of the file; `None` if it cannot be downloaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Whether the model is built into the program.
    #[serde(default)]
    pub embedded: bool,
    /// The purpose of the model, in a few words.
    pub about: String,
    /// The measured quality, as text.
    pub quality: String,
    /// The measured time, as text.
    pub time: String,
    /// How, and on which data and machine, quality and time were measured.
    pub measured: String,
}

/// The models that ergo knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalogue {
    #[serde(rename = "model")]
    models: Vec<CatalogueEntry>,
}

impl Catalogue {
    /// Parses a catalogue.
    ///
    /// # Errors
    /// A message for people, if the text is invalid, or two models have the same name, file or hash.
    pub fn parse(text: &str) -> Result<Self, String> {
        let catalogue: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        catalogue.check().map(|()| catalogue)
    }

    fn check(&self) -> Result<(), String> {
        for (at, model) in self.models.iter().enumerate() {
            let problem = |what: &str| Err(format!("model {:?}: {what}", model.name));
            let before = self.models.get(..at).unwrap_or_default();
            if !is_name(&model.name) {
                return problem("invalid name: only lower-case letters, digits, `.`, `_` and `-` are allowed");
            }
            if !is_name(&model.file) || !has_extension(&model.file) {
                return problem("`file` must be a plain name that ends in .gguf");
            }
            if before.iter().any(|known| known.name == model.name || known.file == model.file) {
                return problem("its name or file appears twice");
            }
            if before.iter().any(|known| known.sha256 == model.sha256) {
                return problem("its hash appears twice");
            }
            let web = |link: &String| link.starts_with("https://") || link.starts_with("http://");
            if !std::iter::once(&model.page).chain(&model.url).all(web) {
                return problem("an address must begin with https:// or http://");
            }
            if model.bytes == 0 || model.licence.is_empty() {
                return problem("`bytes` and `licence` must not be empty");
            }
        }
        Ok(())
    }

    /// Returns the built-in catalogue, parsed once.
    pub fn builtin() -> &'static Self {
        static BUILTIN: OnceLock<Catalogue> = OnceLock::new();
        BUILTIN.get_or_init(|| expect_valid("models.toml", Self::parse(TEXT)))
    }

    /// Returns the built-in catalogue, extended by an organisation's own, which is a file in the same format.
    ///
    /// # Errors
    /// A message for people, if the file cannot be read, is invalid, or repeats a built-in name.
    pub fn with(own: Option<&Path>) -> Result<Self, String> {
        let builtin = Self::builtin().clone();
        let Some(path) = own else { return Ok(builtin) };
        let wrong = |error: &dyn std::fmt::Display| format!("the catalogue {} cannot be used: {error}", path.display());
        let text = files::text(path, files::MAX_SETTINGS).map_err(|error| wrong(&error))?;
        let own = Self::parse(&text).map_err(|error| wrong(&error))?;
        if let Some(model) = own.models.iter().find(|model| model.embedded) {
            return Err(wrong(&format!("model {:?} cannot be embedded", model.name)));
        }
        let mut models = builtin.models;
        models.extend(own.models);
        let all = Self { models };
        all.check().map_err(|error| wrong(&error))?;
        Ok(all)
    }

    /// Returns the models in the order of the files.
    pub fn models(&self) -> &[CatalogueEntry] {
        &self.models
    }

    /// Returns the model with this name.
    pub fn named(&self, name: &str) -> Option<&CatalogueEntry> {
        self.models.iter().find(|model| model.name == name)
    }

    /// Returns the model whose file has this hash.
    pub fn hashed(&self, sha256: &Sha256) -> Option<&CatalogueEntry> {
        self.models.iter().find(|model| model.sha256 == *sha256)
    }
}

/// Whether a text is valid as the name of a model or of its file, which is used in paths, settings and commands.
pub fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '_' | '-');
    let first = text.chars().next().is_some_and(|c| c.is_ascii_alphanumeric());
    first && text.len() <= 80 && text.chars().all(plain)
}

fn has_extension(file: &str) -> bool {
    std::path::Path::new(file).extension().is_some_and(|extension| extension == "gguf")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_built_in_catalogue_is_complete_and_true() {
        let catalogue = Catalogue::parse(TEXT).unwrap();
        assert_eq!(catalogue, *Catalogue::builtin());
        for role in ModelRole::ALL {
            assert!(catalogue.models().iter().any(|model| model.role == role), "no model for {role}");
        }
        assert!(catalogue.models().iter().any(|model| model.url.is_some()), "nothing can be fetched");
        for model in catalogue.models() {
            assert!(!model.about.is_empty() && !model.quality.is_empty() && !model.measured.is_empty(), "{model:?}");
            assert!(!model.embedded || model.url.is_none(), "{}: what is inside need not be fetched", model.name);
            let secure = std::iter::once(&model.page).chain(&model.url).all(|link| link.starts_with("https://"));
            assert!(secure, "{}", model.name);
        }
    }

    #[test]
    fn what_ships_inside_is_what_the_catalogue_says() {
        let catalogue = Catalogue::builtin();
        for (role, model) in EMBEDDED {
            let entry = catalogue.named(model.name).unwrap();
            assert!(entry.embedded && entry.role == *role, "{entry:?}");
            assert_eq!(entry.bytes, model.size);
            assert_eq!(entry.sha256.to_string(), model.sha256);
            let bytes = model.unpack().unwrap();
            assert_eq!(digest::of_bytes(&bytes), entry.sha256, "the asset is another file");
            let header = gguf::GgufHeader::read(&mut &*bytes).unwrap();
            assert_eq!(header.role(), Ok(*role));
        }
        let inside = catalogue.models().iter().filter(|model| model.embedded).count();
        assert_eq!(inside, EMBEDDED.len(), "the catalogue calls a model embedded that is not");
    }

    #[test]
    fn a_catalogue_that_contradicts_itself_is_refused() {
        let one = TEXT.split("[[model]]").nth(1).unwrap();
        let with = |from: &str, to: &str| {
            assert!(one.contains(from));
            Catalogue::parse(&format!("[[model]]{}", one.replacen(from, to, 1))).unwrap_err()
        };
        for (from, to, expected) in [
            ("minilm-l6\"", "../x\"", "lower-case"),
            (".gguf\"", ".bin\"", ".gguf"),
            ("https://", "ftp://", "https://"),
            ("53cf", "53c", "64"),
            ("53cf", "53CF", "64"),
            ("25279232", "0", "bytes"),
            ("role = \"embedder\"", "role = \"oracle\"", "oracle"),
        ] {
            let error = with(from, to);
            assert!(error.contains(expected), "{to}: {error}");
        }
        let twice = format!("[[model]]{one}[[model]]{one}");
        assert!(Catalogue::parse(&twice).unwrap_err().contains("twice"));
    }

    #[test]
    fn an_own_catalogue_adds_models_and_replaces_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("own.toml");
        assert_eq!(Catalogue::with(None).unwrap(), *Catalogue::builtin());
        assert!(Catalogue::with(Some(&path)).unwrap_err().contains("own.toml"));
        let inside = TEXT.split("[[model]]").nth(1).unwrap();
        let own = format!("[[model]]{inside}").replace("minilm-l6", "ours").replace("53cf", "0000");
        fs::write(&path, &own).unwrap();
        assert!(Catalogue::with(Some(&path)).unwrap_err().contains("embedded"));
        let own = own.replace("embedded = true", "");
        fs::write(&path, &own).unwrap();
        let both = Catalogue::with(Some(&path)).unwrap();
        assert_eq!(both.models().len(), Catalogue::builtin().models().len() + 1);
        assert_eq!(both.named("ours").unwrap().role, ModelRole::Embedder);
        fs::write(&path, own.replace("\"ours\"", "\"minilm-l6\"")).unwrap();
        assert!(Catalogue::with(Some(&path)).unwrap_err().contains("twice"));
    }
}
