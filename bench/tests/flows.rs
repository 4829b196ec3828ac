//! Runs measurements with small numbers, to check that they measure what they claim, not how fast this machine is.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::process::Command;

use ergo_bench::measure::Quantiles;
use serde_json::Value;

/// Runs the program in a home of its own and returns its report.
fn measured(args: &[&str]) -> Value {
    let home = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_ergo-bench"))
        .args(args)
        .env("ERGO_HOME", home.path())
        .env("HOME", home.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn hooks_bridges_and_a_crowd_are_measured_and_every_write_is_counted() {
    // The time is over at once: the agents go on only because the hooks beside them have not run yet.
    let args = ["agents", "--claims", "60", "--samples", "2", "--clients", "3", "--seconds", "0", "--json"];
    let report = measured(&args);
    let hooks = report["hooks"].as_array().unwrap();
    assert_eq!(hooks.len(), 5, "{report}");
    let beside = report["hooks_in_crowd"].as_array().unwrap();
    assert_eq!(beside.len(), 5, "{report}");
    for hook in hooks.iter().chain(beside) {
        // The hook `stop` prints nothing, since nothing was written in these sessions.
        let spoke = if hook["name"] == "stop" { 0 } else { 2 };
        assert_eq!((&hook["runs"], &hook["spoke"]), (&2.into(), &spoke.into()), "{hook}");
        assert!(hook["ms"]["p95"].as_f64().unwrap() > 0.0, "{hook}");
    }
    assert!(
        report["bridge_ms"]["p50"].as_f64().unwrap() <= report["first_call_ms"]["p50"].as_f64().unwrap(),
        "{report}"
    );
    let crowd = &report["crowd"];
    assert!(crowd["stored"].as_u64().unwrap() + crowd["conflicts"].as_u64().unwrap() >= 3, "{report}");
    for nothing in ["lost", "doubled", "failed"] {
        assert_eq!(crowd[nothing], 0, "{report}");
    }
    assert_eq!(report["bars"].as_array().unwrap().len(), 13, "{report}");
}

#[test]
fn two_daemons_are_measured_and_every_event_is_counted() {
    let report = measured(&["sync", "--claims", "120", "--samples", "3", "--idle", "1", "--json"]);
    let counted = &report["counted"];
    // 120 at first, 3 one by one, 50 on each side of the partition.
    assert_eq!(counted["written"], 223, "{report}");
    assert_eq!(counted["events"], serde_json::json!([223, 223]), "{report}");
    assert_eq!((&report["met"]["cards"], &report["met"]["same_cards"]), (&10.into(), &true.into()), "{report}");
    let figure = |of: &str, name: &str| report[of][name].as_f64().unwrap_or_else(|| panic!("{of} {name}: {report}"));
    for name in ["wall_s", "index_s", "sender_mib", "sender_worker_mib", "receiver_mib", "receiver_worker_mib"] {
        assert!(figure("first", name) > 0.0, "{name}: {report}");
    }
    let (wire, deflated) = (figure("first", "wire_bytes"), figure("first", "deflated_bytes"));
    assert!(wire > deflated / 2.0 && deflated > 120.0 * 100.0, "{report}");
    assert!(figure("first", "event_bytes") > deflated && figure("one_ms", "p95") > 0.0, "{report}");
    assert_eq!(report["withdrawn"]["events"], 120, "{report}");
    assert!(figure("withdrawn", "seconds") > 0.0, "{report}");
    // The traffic is read half a second before and some time after the wake-ups.
    assert!(figure("idle", "seconds") >= 1.0 && figure("idle", "bytes_seconds") >= 1.5, "{report}");
    assert_eq!(report["bars"].as_array().unwrap().len(), 8, "{report}");
}

#[test]
fn an_empty_scope_is_not_measured() {
    for measurement in [&["store"][..], &["store", "--scopes", "2"], &["recall", "--speed"], &["story", "--speed"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ergo-bench"));
        let output = command.args(measurement).args(["--claims", "10,0"]).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && errors.contains("invalid value '0'"), "{measurement:?}: {errors}");
    }
}

#[test]
fn the_comparison_with_other_tools_computes_quantiles_like_this_program() {
    if Command::new("python3").arg("--version").output().is_err() {
        assert!(std::env::var_os("ERGO_TEST_REQUIRE").is_none(), "python3 is not installed");
        return;
    }
    let scripts = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts");
    let lines = "import sys; sys.path.insert(0, sys.argv[1]); from compare import milliseconds
for count in [1, 2, 19, 20, 21, 30, 200]: print(milliseconds([n / 1000 for n in range(count, 0, -1)]))";
    let output = Command::new("python3").args(["-B", "-c", lines, scripts]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let expected = [1_u32, 2, 19, 20, 21, 30, 200].map(|count| {
        let Quantiles { p50, p95, .. } = Quantiles::of((1..=count).map(f64::from).collect());
        format!("{p50:.1} / {p95:.1}\n")
    });
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected.concat());
}
