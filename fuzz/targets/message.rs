#![no_main]

#[allow(dead_code)]
mod entries {
    include!("../entries.rs");
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| entries::message(bytes));
