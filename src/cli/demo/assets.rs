//! The files that the demonstration imports: ergo's decision records and working rules, built into the program.

/// A built-in file of ergo's repository.
pub(super) struct Asset {
    /// Its path, as used in sources.
    pub(super) path: &'static str,
    pub(super) text: &'static str,
}

macro_rules! record {
    ($name:literal) => {
        Asset { path: concat!("docs/adr/", $name), text: include_str!(concat!("../../../docs/adr/", $name)) }
    };
}

/// Dated notes of another tool: each is clear on its own, but together they leave open what holds today.
pub(super) const NOTES: Asset = Asset { path: "notes.json", text: include_str!("notes.json") };

/// The working rules.
pub(super) const RULES: Asset = Asset { path: "CONTRIBUTING.md", text: include_str!("../../../CONTRIBUTING.md") };

/// Every decision record, by number.
pub(super) const RECORDS: &[Asset] = &[
    record!("0001-record-decisions.md"),
    record!("0002-signed-events.md"),
    record!("0003-projections-from-the-set.md"),
    record!("0004-one-sqlite-file.md"),
    record!("0005-redactable-bodies.md"),
    record!("0006-refuse-instead-of-overwrite.md"),
    record!("0007-rules-before-models.md"),
    record!("0008-candidates-from-an-index.md"),
    record!("0009-one-daemon-owns-the-store.md"),
    record!("0010-handlers-call-guard-and-store.md"),
    record!("0011-pure-update-and-view.md"),
    record!("0012-local-log-for-refused-writes.md"),
    record!("0013-undo-is-an-event.md"),
    record!("0014-canonical-cbor.md"),
    record!("0015-ids-as-prefixes.md"),
    record!("0016-one-integration-test-binary.md"),
    record!("0017-the-engine-performs-every-act.md"),
    record!("0018-no-unsafe-no-unwrap.md"),
    record!("0019-sanitize-for-display.md"),
    record!("0020-machine-state-outside-the-store.md"),
    record!("0021-sync-on-the-local-network-first.md"),
    record!("0022-unix-socket-first.md"),
    record!("0023-tcp-port-8788.md"),
    record!("0024-vectors-beside-the-projection.md"),
    record!("0025-models-in-worker-processes.md"),
    record!("0026-small-models-inside-the-program.md"),
    record!("0027-model-files-identified-by-hash.md"),
    record!("0028-agents-proposals-become-local-cards.md"),
    record!("0029-ask-models-before-the-write-lock.md"),
    record!("0030-sync-replicates-an-index-of-headers.md"),
    record!("0031-sessions-over-quic.md"),
    record!("0032-the-normalisers-two-speeds.md"),
    record!("0033-pairing.md"),
    record!("0034-bundles.md"),
    record!("0035-roster-computed-from-signed-events.md"),
    record!("0036-compare-with-ten-claims-at-most.md"),
    record!("0037-sync-reports-its-limits.md"),
    record!("0038-recall-ranks-in-the-program.md"),
    record!("0039-first-sync-omits-what-can-be-computed.md"),
    record!("0040-probe-a-peer-that-may-have-moved.md"),
    record!("0041-the-second-stage-answers-with-numbers.md"),
    record!("0042-past-states-computed-from-events.md"),
    record!("0043-reference-chunks-are-events-of-the-local-log.md"),
    record!("0044-thin-bridge-for-agents.md"),
    record!("0045-injections-outside-the-store.md"),
    record!("0046-setup-can-restore-agents-files.md"),
    record!("0047-ingested-files-sync-on-request.md"),
    record!("0048-local-model-scores-questions.md"),
    record!("0049-recall-floor-from-unrelated-claims.md"),
    record!("0050-reasons-have-vectors.md"),
    record!("0051-refuse-by-one-probability.md"),
    record!("0052-measurements-are-a-separate-program.md"),
    record!("0053-ask-the-writer-about-doubts.md"),
    record!("0054-judges-asked-in-a-fixed-order.md"),
    record!("0055-story-compares-with-earlier-claims.md"),
    record!("0056-rule-files-read-and-written-back.md"),
    record!("0057-organisation-rules-apply-to-projects.md"),
    record!("0058-compact-the-local-log.md"),
    record!("0059-several-processes-of-the-small-models.md"),
    record!("0060-readers-hand-on-events.md"),
    record!("0061-questions-in-vain-raise-the-bar.md"),
    record!("0062-an-admission-cancels-an-unseen-leave.md"),
    record!("0063-a-recall-waits-for-its-vector.md"),
    record!("0064-acts-refer-to-a-claims-reason.md"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_record_is_built_in() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/adr");
        let mut names: Vec<_> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| format!("docs/adr/{}", entry.unwrap().file_name().to_string_lossy()))
            .collect();
        names.sort();
        let built_in: Vec<_> = RECORDS.iter().map(|record| record.path).collect();
        assert_eq!(built_in, names, "docs/adr and RECORDS differ");
    }
}
