//! `ergo bench agents`, with small numbers: that it measures what it says, not how fast this machine is.

use crate::support::TestHome;

#[test]
fn hooks_bridges_and_a_crowd_are_measured_and_every_write_is_counted() {
    let home = TestHome::new();
    let args = ["bench", "agents", "--claims", "60", "--samples", "2", "--clients", "3", "--seconds", "1", "--json"];
    let report = home.run(args).ok().json();
    let hooks = report["hooks"].as_array().unwrap();
    assert_eq!(hooks.len(), 5, "{report}");
    for hook in hooks {
        // Nothing was written in these sessions by the time that they end, and they did not begin.
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
    assert_eq!(report["bars"].as_array().unwrap().len(), 6, "{report}");
}
