//! The GPUs and processor cores of this machine.

use std::{collections::BTreeSet, fs, num::NonZeroUsize, path::Path, thread};

use llama_cpp_2::{LlamaBackendDeviceType, list_llama_ggml_backend_devices};

/// A GPU that llama.cpp can use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// The index in llama.cpp's list of devices.
    pub(super) index: usize,
    /// The name in the settings: `CUDA0`, `Vulkan1`, …
    pub name: String,
    /// The manufacturer's description.
    pub description: String,
}

/// Returns the GPUs that this build of ergo can use; none in a build without a GPU feature.
pub fn devices() -> Vec<Device> {
    list_llama_ggml_backend_devices()
        .into_iter()
        .filter(|device| {
            matches!(device.device_type, LlamaBackendDeviceType::Gpu | LlamaBackendDeviceType::IntegratedGpu)
        })
        .map(|device| Device { index: device.index, name: device.name, description: device.description })
        .collect()
}

/// Returns the number of physical cores that this process may use; at least 1.
pub fn physical_cores() -> usize {
    let allowed = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    cores_in(Path::new("/sys/devices/system/cpu")).map_or(allowed, |cores| cores.clamp(1, allowed))
}

/// Returns the number of physical cores, counted by Linux's lists of the threads that share a core; `None` if there are
/// no such lists in `folder`.
fn cores_in(folder: &Path) -> Option<usize> {
    let cores: BTreeSet<String> = fs::read_dir(folder)
        .ok()?
        .flatten()
        .filter_map(|entry| fs::read_to_string(entry.path().join("topology/thread_siblings_list")).ok())
        .map(|threads| threads.trim().to_owned())
        .collect();
    (!cores.is_empty()).then_some(cores.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_threads_of_a_core_do_not_count() {
        let dir = tempfile::tempdir().unwrap();
        for (cpu, siblings) in [("cpu0", "0,2\n"), ("cpu1", "1,3\n"), ("cpu2", "0,2\n"), ("cpu3", "1,3\n")] {
            fs::create_dir_all(dir.path().join(cpu).join("topology")).unwrap();
            fs::write(dir.path().join(cpu).join("topology/thread_siblings_list"), siblings).unwrap();
        }
        fs::create_dir(dir.path().join("cpufreq")).unwrap();
        assert_eq!(cores_in(dir.path()), Some(2));
        assert_eq!(cores_in(&dir.path().join("nowhere")), None);
        assert!(physical_cores() >= 1);
    }
}
