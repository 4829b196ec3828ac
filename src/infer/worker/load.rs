//! Loads a model file. Checks beforehand what llama.cpp checks only by an assertion, which would end the process.

use std::path::Path;

use llama_cpp_2::{
    llama_backend::LlamaBackend,
    model::{LlamaModel, params::LlamaModelParams},
};

use super::{FailureReason, InferHello, RequestError, devices, llama_log};
use crate::infer::{catalogue::gguf::GgufHeader, wire::ModelFacts};

/// The first four bytes of every model file.
const MAGIC: &[u8; 4] = b"GGUF";

/// The devices that compute a model.
pub(super) struct Placement {
    devices: Vec<usize>,
    gpu_layers: u32,
    name: String,
}

impl Placement {
    /// The processor alone.
    pub(super) fn cpu() -> Self {
        Self { devices: Vec::new(), gpu_layers: 0, name: "CPU".to_owned() }
    }

    /// The devices that the settings name; by default the GPUs for all layers.
    pub(super) fn from_settings(hello: &InferHello) -> Result<Self, RequestError> {
        let available = devices();
        let devices = match &hello.device {
            None => available,
            Some(name) => {
                let (chosen, rest): (Vec<_>, Vec<_>) =
                    available.into_iter().partition(|device| device.name.eq_ignore_ascii_case(name));
                if chosen.is_empty() && !name.eq_ignore_ascii_case("cpu") {
                    let names: Vec<_> = rest.iter().map(|device| &*device.name).chain(["CPU"]).collect();
                    let why = format!(
                        "the setting `device` names `{name}`, which does not exist; available: {}",
                        names.join(", ")
                    );
                    return Err(RequestError::bad_model(why));
                }
                chosen
            }
        };
        let gpu_layers = if devices.is_empty() { 0 } else { hello.gpu_layers.unwrap_or(u32::MAX) };
        if gpu_layers == 0 {
            return Ok(Self::cpu());
        }
        let names: Vec<_> = devices.iter().map(|device| format!("{} ({})", device.name, device.description)).collect();
        Ok(Self { devices: devices.iter().map(|device| device.index).collect(), gpu_layers, name: names.join(", ") })
    }
}

/// Loads a file. The model is never freed, since the process ends instead.
pub(super) fn load(
    backend: &LlamaBackend,
    path: &str,
    placement: &Placement,
) -> Result<(&'static LlamaModel, ModelFacts), RequestError> {
    check_magic(Path::new(path))?;
    let params = LlamaModelParams::default()
        .with_use_mmap(true)
        .with_n_gpu_layers(placement.gpu_layers)
        .with_devices(&placement.devices)
        .map_err(|error| RequestError::bad_model(error.to_string()))?;
    let model = LlamaModel::load_from_file(backend, path, &params).map_err(|error| load_error(&error.to_string()))?;
    let model: &'static LlamaModel = Box::leak(Box::new(model));
    let text = |key: &str| model.meta_val_str(key).unwrap_or_default();
    let architecture = text("general.architecture");
    let classes = match model.n_cls_out() {
        0 | 1 => Vec::new(),
        many => {
            labels(GgufHeader::of(Path::new(path)).map_or_else(|_| Vec::new(), |header| header.labels), many as usize)
        }
    };
    let facts = ModelFacts {
        dimension: u32::try_from(model.n_embd_out()).unwrap_or(0),
        classes,
        context: u32::try_from(text(&format!("{architecture}.context_length")).parse::<i32>().unwrap_or(0))
            .unwrap_or(0),
        parameters: model.n_params(),
        bytes: model.size(),
        computes: placement.name.clone(),
        gpu_layers: placement.gpu_layers.min(model.n_layer().saturating_add(1)),
        chat_template: false,
        architecture,
    };
    Ok((model, facts))
}

fn check_magic(path: &Path) -> Result<(), RequestError> {
    use std::io::Read;
    let mut magic = [0; 4];
    let read = crate::files::open(path).and_then(|mut file| file.read_exact(&mut magic));
    match read {
        Ok(()) if magic == *MAGIC => Ok(()),
        Ok(()) => Err(RequestError::bad_model("it is not a GGUF file")),
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            Err(RequestError::bad_model("it is not a GGUF file"))
        }
        Err(error) => Err(RequestError::bad_model(format!("{}: {error}", path.display()))),
    }
}

/// Returns the error of a failed load, with the reason from llama.cpp's log; `otherwise` if the log has none.
pub(super) fn load_error(otherwise: &str) -> RequestError {
    let logged = llama_log::messages();
    let memory = ["allocate", "out of memory", "bad_alloc", "Cannot allocate", "mmap failed"];
    if let Some(line) = logged.iter().find(|line| memory.iter().any(|word| line.contains(word))) {
        return RequestError { failure: FailureReason::OutOfMemory, why: line.clone() };
    }
    // The first message is the cause; the later ones follow from it.
    RequestError::bad_model(logged.first().cloned().unwrap_or_else(|| otherwise.to_owned()))
}

/// Returns the names of a classifier's classes in lower case. They are read from the file's header, because llama.cpp
/// returns no values that are lists. If their number is wrong, returns `0`, `1`, ….
fn labels(names: Vec<String>, many: usize) -> Vec<String> {
    if names.len() == many {
        names.iter().map(|name| name.trim().to_lowercase()).collect()
    } else {
        (0..many).map(|index| index.to_string()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_have_their_names_or_numbers() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            labels(names(&["Entailment", " neutral", "contradiction"]), 3),
            ["entailment", "neutral", "contradiction"]
        );
        assert_eq!(labels(Vec::new(), 3), ["0", "1", "2"]);
        assert_eq!(labels(names(&["a", "b"]), 3), ["0", "1", "2"]);
    }
}
