//! Both sides over a pipe, each with the exporter that its connection would have given.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use ed25519_dalek::SigningKey;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

use super::{
    proof::{ChannelBinding, SecretHash},
    wire::PairMessage,
    *,
};
use crate::{
    domain::{DeviceId, EventId, Hlc, OpId, Scope, SignedEvent, event},
    sync::ticket::{InviteSecret, Ticket},
};

const SECRET: InviteSecret = InviteSecret([4; 16]);
const BINDING: ChannelBinding =
    ChannelBinding { exporter: [1; 32], inviter: DeviceId([2; 32]), joiner: DeviceId([3; 32]) };

fn ticket(secret: InviteSecret) -> Ticket {
    let device = BINDING.inviter;
    Ticket {
        device,
        addresses: vec![],
        team: EventId([5; 32]),
        team_name: "platform".into(),
        secret,
        expires: u64::MAX,
    }
}

fn me() -> JoinerIdentity {
    JoinerIdentity { person: "bob".into(), name: "bob's laptop".into() }
}

fn roster() -> Vec<SignedEvent> {
    let key = SigningKey::from_bytes(&[7; 32]);
    let events = (0..40).map(|seq| {
        let header = event::Header {
            version: event::VERSION,
            team: None,
            scope: Scope { org_id: "@team".into(), project: "00".into() },
            author: DeviceId(key.verifying_key().to_bytes()),
            epoch: 1,
            seq,
            prev: None,
            clock: Hlc { wall: 1, count: 0 },
            kind: event::EventKind::Assert,
            op: OpId([1; 16]),
            targets: vec![],
            successor: None,
            seen: vec![],
            claim_kind: None,
            key_hash: None,
            who: "ada".into(),
            agent: None,
            body_hash: EventId([0; 32]),
        };
        let body = event::Body { reason: Some("x".repeat(20_000)), ..event::Body::default() }.seal([9; 16]);
        SignedEvent::sign(header, body, &key).unwrap()
    });
    events.collect()
}

/// An inviter with one invitation.
struct FakeInviter {
    answer: Result<(), PairRefusal>,
    /// Whether the person never answers.
    absent: bool,
    redeemed: Mutex<Option<DeviceId>>,
    admitted: Mutex<bool>,
    asked: AtomicUsize,
    signed: AtomicUsize,
}

impl FakeInviter {
    fn saying(answer: Result<(), PairRefusal>) -> Self {
        Self {
            answer,
            absent: false,
            redeemed: Mutex::default(),
            admitted: Mutex::default(),
            asked: 0.into(),
            signed: 0.into(),
        }
    }

    fn counts(&self) -> (usize, usize) {
        (self.asked.load(Ordering::Relaxed), self.signed.load(Ordering::Relaxed))
    }
}

impl Inviter for FakeInviter {
    async fn find_invitation(&self, invite_id: [u8; 8], binding: &ChannelBinding) -> Result<Invitation, PairRefusal> {
        let secret_hash = SecretHash::of(&SECRET);
        if invite_id != secret_hash.invite_id() {
            return Err(PairRefusal::Unknown);
        }
        if self.redeemed.lock().unwrap().is_some_and(|device| device != binding.joiner) {
            return Err(PairRefusal::Used);
        }
        let (team_name, person, name, role) = ("platform".into(), "ada".into(), "ada's desk".into(), "writer".into());
        let (team, admitted) = (EventId([5; 32]), *self.admitted.lock().unwrap());
        Ok(Invitation {
            secret_hash,
            team,
            team_name,
            person,
            name,
            role,
            scopes: vec![],
            confirm_timeout: CONFIRM_TIMEOUT,
            admitted,
        })
    }

    async fn bind_invitation(&self, joiner: &JoiningDevice) -> Result<(), PairRefusal> {
        *self.redeemed.lock().unwrap() = Some(joiner.binding.joiner);
        Ok(())
    }

    async fn confirm(&self, _: &JoiningDevice) -> Result<(), PairRefusal> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        if self.absent {
            std::future::pending::<()>().await;
        }
        self.answer
    }

    async fn admit(&self, _: &JoiningDevice) -> Result<Vec<SignedEvent>, PairRefusal> {
        let mut admitted = self.admitted.lock().unwrap();
        if !*admitted {
            self.signed.fetch_add(1, Ordering::Relaxed);
        }
        *admitted = true;
        Ok(roster())
    }
}

type JoinResult = Result<(Vec<String>, Vec<SignedEvent>), PairError>;

async fn join(stream: DuplexStream, secret: InviteSecret, binding: ChannelBinding) -> JoinResult {
    let waiting = request_join(stream, &ticket(secret), binding, &me()).await?;
    let verification_code = waiting.verification_code.clone();
    let roster = waiting.finish(async |roster| Ok(roster)).await?;
    Ok((verification_code, roster))
}

/// Runs both sides until they end.
async fn meet(
    inviter: &FakeInviter,
    secret: InviteSecret,
    theirs: ChannelBinding,
    ours: ChannelBinding,
) -> (JoinResult, Result<JoiningDevice, PairError>) {
    let (a, mut b) = duplex(4096);
    tokio::join!(join(a, secret, theirs), async {
        let received = serve_join(&mut b, ours, inviter).await;
        drop(b);
        received
    })
}

#[tokio::test]
async fn both_sides_show_the_same_words_and_the_roster_arrives() {
    let inviter = FakeInviter::saying(Ok(()));
    let (here, there) = meet(&inviter, SECRET, BINDING, BINDING).await;
    let ((verification_code, taken), joiner) = (here.unwrap(), there.unwrap());
    assert_eq!(verification_code, joiner.binding.verification_code());
    assert_eq!(taken, roster());
    assert_eq!((joiner.person.as_str(), joiner.name.as_str()), ("bob", "bob's laptop"));
    assert_eq!(inviter.counts(), (1, 1));
}

#[tokio::test]
async fn a_wrong_secret_reveals_and_binds_nothing() {
    let inviter = FakeInviter::saying(Ok(()));
    let (here, there) = meet(&inviter, InviteSecret([8; 16]), BINDING, BINDING).await;
    assert_eq!(here, Err(PairError::Refused(PairRefusal::Unknown)));
    assert!(there.is_err());
    // The id of the invitation is known, the secret is not: the answer is the same.
    let (mut a, mut b) = duplex(4096);
    let hello = wire::PairHello {
        invite: SecretHash::of(&SECRET).invite_id(),
        proof: [0; 32],
        person: String::new(),
        name: String::new(),
    };
    let forger = async {
        wire::send(&mut a, &PairMessage::Hello(hello)).await.unwrap();
        wire::receive(&mut a, 4096, STEP_TIMEOUT).await
    };
    let (outcome, there) = tokio::join!(forger, serve_join(&mut b, BINDING, &inviter));
    assert_eq!(outcome, Err(PairError::Refused(PairRefusal::Unknown)));
    assert_eq!(there.err(), Some(PairError::Refused(PairRefusal::Unknown)));
    assert_eq!((inviter.counts(), *inviter.redeemed.lock().unwrap()), ((0, 0), None));
}

#[tokio::test]
async fn a_man_in_the_middle_is_detected_on_both_sides() {
    let between = ChannelBinding { exporter: [6; 32], ..BINDING };
    // The attacker passes on every byte, but his two connections have two exporters.
    let inviter = FakeInviter::saying(Ok(()));
    let (here, there) = meet(&inviter, SECRET, BINDING, between).await;
    assert_eq!(
        (here, there.err()),
        (Err(PairError::Refused(PairRefusal::Unknown)), Some(PairError::Refused(PairRefusal::Unknown)))
    );
    assert_ne!(
        BINDING.verification_code(),
        between.verification_code(),
        "and with the ticket in his hands he still could not make the words equal"
    );
    // The attacker answers in the inviter's place, with a proof that he cannot compute.
    let (a, mut b) = duplex(4096);
    let impostor = async {
        wire::receive(&mut b, 4096, STEP_TIMEOUT).await.unwrap();
        let welcome = Welcome {
            proof: between.inviter_proof(&SecretHash::of(&SECRET)),
            team: EventId([5; 32]),
            team_name: "platform".into(),
            person: "ada".into(),
            name: "x".into(),
            role: "writer".into(),
            scopes: vec![],
            confirm_timeout: 60,
        };
        wire::send(&mut b, &PairMessage::Welcome(welcome)).await.unwrap();
        wire::receive(&mut b, 4096, STEP_TIMEOUT).await
    };
    let (here, heard) = tokio::join!(join(a, SECRET, BINDING), impostor);
    assert_eq!(here, Err(PairError::WrongInviter));
    assert!(matches!(heard, Err(PairError::ConnectionLost(_))), "no word more is said: {heard:?}");
}

#[tokio::test]
async fn a_replay_on_another_connection_is_refused() {
    let inviter = FakeInviter::saying(Ok(()));
    let (mut a, mut tap) = duplex(4096);
    let hello = wire::PairHello {
        invite: SecretHash::of(&SECRET).invite_id(),
        proof: BINDING.joiner_proof(&SECRET),
        person: "bob".into(),
        name: "bob".into(),
    };
    wire::send(&mut a, &PairMessage::Hello(hello)).await.unwrap();
    drop(a);
    let mut recorded = Vec::new();
    tap.read_to_end(&mut recorded).await.unwrap();
    let (mut again, mut b) = duplex(4096);
    again.write_all(&recorded).await.unwrap();
    let later = ChannelBinding { exporter: [7; 32], ..BINDING };
    assert_eq!(serve_join(&mut b, later, &inviter).await.err(), Some(PairError::Refused(PairRefusal::Unknown)));
    assert_eq!(inviter.counts(), (0, 0));
}

#[tokio::test]
async fn the_invite_belongs_to_its_first_device() {
    let inviter = FakeInviter::saying(Err(PairRefusal::Denied));
    let (here, _) = meet(&inviter, SECRET, BINDING, BINDING).await;
    assert_eq!(here, Err(PairError::Refused(PairRefusal::Denied)));
    let second = ChannelBinding { joiner: DeviceId([8; 32]), ..BINDING };
    let (here, _) = meet(&inviter, SECRET, second, second).await;
    assert_eq!(here, Err(PairError::Refused(PairRefusal::Used)));
    assert_eq!(inviter.counts(), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn an_absent_person_times_out_and_the_joiner_is_notified() {
    let inviter = FakeInviter { absent: true, ..FakeInviter::saying(Ok(())) };
    let (here, there) = meet(&inviter, SECRET, BINDING, BINDING).await;
    assert_eq!(here, Err(PairError::Refused(PairRefusal::Unanswered)));
    assert_eq!(there.err(), Some(PairError::Refused(PairRefusal::Unanswered)));
    assert_eq!(inviter.counts(), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_joiner_that_goes_away_is_not_admitted() {
    let inviter = FakeInviter { absent: true, ..FakeInviter::saying(Ok(())) };
    let (a, mut b) = duplex(4096);
    let come_and_go = async {
        let waiting = request_join(a, &ticket(SECRET), BINDING, &me()).await.unwrap();
        drop(waiting);
    };
    let ((), there) = tokio::join!(come_and_go, serve_join(&mut b, BINDING, &inviter));
    assert!(matches!(there.err(), Some(PairError::ConnectionLost(_))));
    assert_eq!(inviter.counts().1, 0);
}

/// Runs both sides over a pipe that is cut after these numbers of bytes from each side.
async fn meet_until(inviter: &Arc<FakeInviter>, there_says: usize, here_says: usize) -> JoinResult {
    let (here, near) = duplex(1 << 20);
    let (far, mut there) = duplex(1 << 20);
    let inviter = Arc::clone(inviter);
    let host = tokio::spawn(async move { serve_join(&mut there, BINDING, &*inviter).await.map(|_| ()) });
    let wire = async move {
        let ((mut near_r, mut near_w), (mut far_r, mut far_w)) = (tokio::io::split(near), tokio::io::split(far));
        let mut up = (&mut near_r).take(here_says as u64);
        let mut down = (&mut far_r).take(there_says as u64);
        // The side that reaches its limit first cuts both directions.
        tokio::select! {
            _ = tokio::io::copy(&mut up, &mut far_w) => {}
            _ = tokio::io::copy(&mut down, &mut near_w) => {}
        }
    };
    let (result, ()) = tokio::join!(join(here, SECRET, BINDING), wire);
    let _ended = host.await.unwrap();
    result
}

#[tokio::test]
async fn after_a_cut_at_any_step_the_ticket_works_again_and_admits_once() {
    let whole = {
        let inviter = Arc::new(FakeInviter::saying(Ok(())));
        meet_until(&inviter, usize::MAX >> 1, usize::MAX >> 1).await.unwrap()
    };
    let hello = wire::PairHello { invite: [0; 8], proof: [0; 32], person: me().person, name: me().name };
    let hello = 4 + minicbor::to_vec(PairMessage::Hello(hello)).unwrap().len();
    for (there_says, here_says) in [
        (1 << 30, 0),
        (1 << 30, 3),
        (1 << 30, hello - 1),
        (0, 1 << 30),
        (3, 1 << 30),
        (40, 1 << 30),
        (1 << 30, hello + 2),
        (400, 1 << 30),
        (300_000, 1 << 30),
    ] {
        let inviter = Arc::new(FakeInviter::saying(Ok(())));
        let cut = meet_until(&inviter, there_says, here_says).await;
        assert!(matches!(cut, Err(PairError::ConnectionLost(_))), "{there_says} {here_says}: {cut:?}");
        let again = meet_until(&inviter, 1 << 30, 1 << 30).await.unwrap();
        assert_eq!(again, whole, "{there_says} {here_says}");
        assert_eq!(inviter.counts().1, 1, "signed once: {there_says} {here_says}");
    }
}

#[tokio::test]
async fn long_and_unexpected_messages_are_rejected() {
    let inviter = FakeInviter::saying(Ok(()));
    for bytes in [&[0xff; 8][..], &[0, 0, 0x40, 1, 0], &[0, 0, 0, 3, 1, 2, 3], &[0, 0, 0, 0]] {
        let (mut a, mut b) = duplex(4096);
        a.write_all(bytes).await.unwrap();
        a.shutdown().await.unwrap();
        let error = serve_join(&mut b, BINDING, &inviter).await.err();
        assert!(matches!(error, Some(PairError::Protocol(_))), "{bytes:?}: {error:?}");
        assert_eq!(wire::receive(&mut a, 4096, STEP_TIMEOUT).await, Err(PairError::Refused(PairRefusal::Version)));
    }
    let (mut a, mut b) = duplex(4096);
    wire::send(&mut a, &PairMessage::Ready).await.unwrap();
    assert_eq!(
        serve_join(&mut b, BINDING, &inviter).await.err(),
        Some(PairError::Protocol("it confirmed the words at the wrong moment".into()))
    );
}
