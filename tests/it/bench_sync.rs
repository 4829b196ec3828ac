//! `ergo bench sync`, with small numbers: that it measures what it says, not how fast this machine is.

use crate::support::TestHome;

#[test]
fn two_daemons_are_measured_and_every_event_is_counted() {
    let home = TestHome::new();
    let output = home.run(["bench", "sync", "--claims", "120", "--samples", "3", "--idle", "1", "--json"]).ok();
    let report = output.json();
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
    assert_eq!(report["bars"].as_array().unwrap().len(), 8, "{report}");
}
