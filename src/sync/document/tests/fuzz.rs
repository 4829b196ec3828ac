//! Modified messages, and random bytes.

use std::sync::LazyLock;

use proptest::{collection::vec, prelude::*};

use super::*;

/// The messages of the honest side in a session that brings the other side 12 events.
static SESSION: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let a = holding(&entries(1, 0..12));
    let ((mut from_a, mut message), (mut from_b, _)) =
        (a.begin_exchange(None, true), victim().begin_exchange(None, false));
    let mut messages = Vec::new();
    while let Some(bytes) = message.take() {
        let reply = from_b.receive(&bytes).unwrap().reply;
        messages.push(bytes);
        message = reply.and_then(|reply| from_a.receive(&reply).unwrap().reply);
    }
    assert!(messages.len() >= 2);
    messages
});

fn victim() -> IndexDocument {
    static VICTIM: LazyLock<IndexDocument> = LazyLock::new(|| holding(&entries(2, 0..5)));
    VICTIM.clone()
}

/// Passes messages to a session. The resulting document must hold only honest entries.
fn give(messages: &[Vec<u8>]) {
    let victim = victim();
    let before = victim.summary();
    let (mut exchange, _) = victim.begin_exchange(None, false);
    for message in messages {
        let Ok(step) = exchange.receive(message) else {
            assert_eq!(victim.summary(), before);
            return;
        };
        assert!(step.new.iter().all(|entry| EventId::of_header(&entry.header) == entry.id));
    }
    if let Ok((next, _)) = exchange.finish(&victim) {
        assert!(victim.ids().all(|id| next.document.known.contains(&id)), "an entry is gone");
        let honest = entries(1, 0..12);
        assert!(next.new.iter().all(|id| honest.iter().any(|entry| entry.id == *id)), "an entry is not theirs");
        assert_eq!(IndexDocument::load(&[next.document.doc.save()]).unwrap().summary(), next.document.summary());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn a_changed_message_is_refused_or_harmless(
        which in 0_usize..8,
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::option::Probability>().prop_flat_map(|_| prop::option::of(any::<prop::sample::Index>())),
        twice in any::<bool>(),
    ) {
        let mut messages = SESSION.clone();
        let which = which % messages.len();
        let message = &mut messages[which];
        for (at, byte) in changes {
            let at = at.index(message.len());
            message[at] = byte;
        }
        if let Some(cut) = cut {
            let length = cut.index(message.len());
            message.truncate(length);
        }
        if twice {
            let again = messages[which].clone();
            messages.insert(which, again);
        }
        give(&messages);
    }

    #[test]
    fn any_bytes_are_refused_or_harmless(bytes in vec(any::<u8>(), 0..400), mark in any::<bool>()) {
        let mut bytes = bytes;
        if let (true, Some(first)) = (mark, bytes.first_mut()) {
            *first = 0x42;
        }
        give(&[bytes]);
    }

    #[test]
    fn any_chunks_are_loaded_or_refused(bytes in vec(any::<u8>(), 0..300), cut in any::<prop::sample::Index>()) {
        let whole = holding(&entries(1, 0..3)).doc.save();
        let mut changed = whole.clone();
        let at = cut.index(whole.len());
        changed[at] ^= 0x55;
        for chunk in [bytes, changed, whole[..at].to_vec()] {
            let loaded = std::panic::catch_unwind(|| IndexDocument::load(&[chunk]).map(|document| document.summary().entries));
            prop_assert!(!matches!(loaded, Ok(Ok(entries)) if entries != 3 && entries != 0));
        }
    }
}
