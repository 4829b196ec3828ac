//! Both sides over a pipe, each with the exporter that its connection would have given.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use ed25519_dalek::SigningKey;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

use super::{
    proof::{Binding, Kept},
    wire::Message,
    *,
};
use crate::{
    domain::{DeviceId, EventId, Hlc, OpId, Scope, SignedEvent, event},
    sync::ticket::{Secret, Ticket},
};

const SECRET: Secret = Secret([4; 16]);
const BINDING: Binding = Binding { exporter: [1; 32], inviter: DeviceId([2; 32]), joiner: DeviceId([3; 32]) };

fn ticket(secret: Secret) -> Ticket {
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

fn me() -> Me {
    Me { person: "bob".into(), name: "bob's laptop".into() }
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

/// A house with one invite.
struct House {
    answer: Result<(), Refusal>,
    /// The person never answers.
    absent: bool,
    redeemed: Mutex<Option<DeviceId>>,
    admitted: Mutex<bool>,
    asked: AtomicUsize,
    signed: AtomicUsize,
}

impl House {
    fn saying(answer: Result<(), Refusal>) -> Self {
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

impl Door for House {
    async fn find(&self, name: [u8; 8], binding: &Binding) -> Result<Invitation, Refusal> {
        let kept = Kept::of(&SECRET);
        if name != kept.name() {
            return Err(Refusal::Unknown);
        }
        if self.redeemed.lock().unwrap().is_some_and(|device| device != binding.joiner) {
            return Err(Refusal::Used);
        }
        let (team_name, person, name, role) = ("platform".into(), "ada".into(), "ada's desk".into(), "writer".into());
        let (team, admitted) = (EventId([5; 32]), *self.admitted.lock().unwrap());
        Ok(Invitation { kept, team, team_name, person, name, role, scopes: vec![], patience: PATIENCE, admitted })
    }

    async fn bind(&self, guest: &Guest) -> Result<(), Refusal> {
        *self.redeemed.lock().unwrap() = Some(guest.binding.joiner);
        Ok(())
    }

    async fn ask(&self, _: &Guest) -> Result<(), Refusal> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        if self.absent {
            std::future::pending::<()>().await;
        }
        self.answer
    }

    async fn admit(&self, _: &Guest) -> Result<Vec<SignedEvent>, Refusal> {
        let mut admitted = self.admitted.lock().unwrap();
        if !*admitted {
            self.signed.fetch_add(1, Ordering::Relaxed);
        }
        *admitted = true;
        Ok(roster())
    }
}

type Here = Result<(Vec<String>, Vec<SignedEvent>), PairError>;

async fn come_in(stream: DuplexStream, secret: Secret, binding: Binding) -> Here {
    let waiting = knock(stream, &ticket(secret), binding, &me()).await?;
    let words = waiting.words.clone();
    let roster = waiting.finish(async |roster| Ok(roster)).await?;
    Ok((words, roster))
}

/// Both sides to their ends.
async fn meet(house: &House, secret: Secret, theirs: Binding, ours: Binding) -> (Here, Result<Guest, PairError>) {
    let (a, mut b) = duplex(4096);
    tokio::join!(come_in(a, secret, theirs), async {
        let received = receive(&mut b, ours, house).await;
        drop(b);
        received
    })
}

#[tokio::test]
async fn both_sides_show_the_same_words_and_the_roster_arrives_whole() {
    let house = House::saying(Ok(()));
    let (here, there) = meet(&house, SECRET, BINDING, BINDING).await;
    let ((words, taken), guest) = (here.unwrap(), there.unwrap());
    assert_eq!(words, guest.binding.words());
    assert_eq!(taken, roster());
    assert_eq!((guest.person.as_str(), guest.name.as_str()), ("bob", "bob's laptop"));
    assert_eq!(house.counts(), (1, 1));
}

#[tokio::test]
async fn a_wrong_secret_learns_nothing_and_binds_nothing() {
    let house = House::saying(Ok(()));
    let (here, there) = meet(&house, Secret([8; 16]), BINDING, BINDING).await;
    assert_eq!(here, Err(PairError::Refused(Refusal::Unknown)));
    assert!(there.is_err());
    // The name of the invite is known, the secret is not: the same answer.
    let (mut a, mut b) = duplex(4096);
    let hello =
        wire::Hello { invite: Kept::of(&SECRET).name(), proof: [0; 32], person: String::new(), name: String::new() };
    let forger = async {
        wire::send(&mut a, &Message::Hello(hello)).await.unwrap();
        wire::receive(&mut a, 4096, STEP).await
    };
    let (told, there) = tokio::join!(forger, receive(&mut b, BINDING, &house));
    assert_eq!(told, Err(PairError::Refused(Refusal::Unknown)));
    assert_eq!(there.err(), Some(PairError::Refused(Refusal::Unknown)));
    assert_eq!((house.counts(), *house.redeemed.lock().unwrap()), ((0, 0), None));
}

#[tokio::test]
async fn one_who_stands_between_is_found_out_on_both_sides() {
    let between = Binding { exporter: [6; 32], ..BINDING };
    // He passes every byte on, but his two connections have two exporters.
    let house = House::saying(Ok(()));
    let (here, there) = meet(&house, SECRET, BINDING, between).await;
    assert_eq!(
        (here, there.err()),
        (Err(PairError::Refused(Refusal::Unknown)), Some(PairError::Refused(Refusal::Unknown)))
    );
    assert_ne!(
        BINDING.words(),
        between.words(),
        "and with the ticket in his hands he still could not make the words equal"
    );
    // He answers in the inviter's place, with a proof that he cannot make.
    let (a, mut b) = duplex(4096);
    let impostor = async {
        wire::receive(&mut b, 4096, STEP).await.unwrap();
        let welcome = Welcome {
            proof: between.inviter_proof(&Kept::of(&SECRET)),
            team: EventId([5; 32]),
            team_name: "platform".into(),
            person: "ada".into(),
            name: "x".into(),
            role: "writer".into(),
            scopes: vec![],
            patience: 60,
        };
        wire::send(&mut b, &Message::Welcome(welcome)).await.unwrap();
        wire::receive(&mut b, 4096, STEP).await
    };
    let (here, heard) = tokio::join!(come_in(a, SECRET, BINDING), impostor);
    assert_eq!(here, Err(PairError::Impostor));
    assert!(matches!(heard, Err(PairError::Lost(_))), "no word more is said: {heard:?}");
}

#[tokio::test]
async fn a_recording_played_again_on_another_connection_is_refused() {
    let house = House::saying(Ok(()));
    let (mut a, mut tap) = duplex(4096);
    let hello = wire::Hello {
        invite: Kept::of(&SECRET).name(),
        proof: BINDING.joiner_proof(&SECRET),
        person: "bob".into(),
        name: "bob".into(),
    };
    wire::send(&mut a, &Message::Hello(hello)).await.unwrap();
    drop(a);
    let mut recorded = Vec::new();
    tap.read_to_end(&mut recorded).await.unwrap();
    let (mut again, mut b) = duplex(4096);
    again.write_all(&recorded).await.unwrap();
    let later = Binding { exporter: [7; 32], ..BINDING };
    assert_eq!(receive(&mut b, later, &house).await.err(), Some(PairError::Refused(Refusal::Unknown)));
    assert_eq!(house.counts(), (0, 0));
}

#[tokio::test]
async fn the_invite_belongs_to_its_first_device() {
    let house = House::saying(Err(Refusal::Denied));
    let (here, _) = meet(&house, SECRET, BINDING, BINDING).await;
    assert_eq!(here, Err(PairError::Refused(Refusal::Denied)));
    let second = Binding { joiner: DeviceId([8; 32]), ..BINDING };
    let (here, _) = meet(&house, SECRET, second, second).await;
    assert_eq!(here, Err(PairError::Refused(Refusal::Used)));
    assert_eq!(house.counts(), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_person_who_is_away_is_waited_for_and_then_the_guest_is_told() {
    let house = House { absent: true, ..House::saying(Ok(())) };
    let (here, there) = meet(&house, SECRET, BINDING, BINDING).await;
    assert_eq!(here, Err(PairError::Refused(Refusal::Unanswered)));
    assert_eq!(there.err(), Some(PairError::Refused(Refusal::Unanswered)));
    assert_eq!(house.counts(), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_guest_who_goes_away_while_asked_for_is_not_let_in() {
    let house = House { absent: true, ..House::saying(Ok(())) };
    let (a, mut b) = duplex(4096);
    let come_and_go = async {
        let waiting = knock(a, &ticket(SECRET), BINDING, &me()).await.unwrap();
        drop(waiting);
    };
    let ((), there) = tokio::join!(come_and_go, receive(&mut b, BINDING, &house));
    assert!(matches!(there.err(), Some(PairError::Lost(_))));
    assert_eq!(house.counts().1, 0);
}

/// A pipe that is cut after so many bytes from each side.
async fn meet_until(house: &Arc<House>, there_says: usize, here_says: usize) -> Here {
    let (here, near) = duplex(1 << 20);
    let (far, mut there) = duplex(1 << 20);
    let house = Arc::clone(house);
    let host = tokio::spawn(async move { receive(&mut there, BINDING, &*house).await.map(|_| ()) });
    let wire = async move {
        let ((mut near_r, mut near_w), (mut far_r, mut far_w)) = (tokio::io::split(near), tokio::io::split(far));
        let mut up = (&mut near_r).take(here_says as u64);
        let mut down = (&mut far_r).take(there_says as u64);
        // The first of the two that is used up cuts both.
        tokio::select! {
            _ = tokio::io::copy(&mut up, &mut far_w) => {}
            _ = tokio::io::copy(&mut down, &mut near_w) => {}
        }
    };
    let (result, ()) = tokio::join!(come_in(here, SECRET, BINDING), wire);
    let _ended = host.await.unwrap();
    result
}

#[tokio::test]
async fn cut_at_every_step_the_same_ticket_works_again_and_nobody_is_let_in_twice() {
    let whole = {
        let house = Arc::new(House::saying(Ok(())));
        meet_until(&house, usize::MAX >> 1, usize::MAX >> 1).await.unwrap()
    };
    let hello = wire::Hello { invite: [0; 8], proof: [0; 32], person: me().person, name: me().name };
    let hello = 4 + minicbor::to_vec(Message::Hello(hello)).unwrap().len();
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
        let house = Arc::new(House::saying(Ok(())));
        let cut = meet_until(&house, there_says, here_says).await;
        assert!(matches!(cut, Err(PairError::Lost(_))), "{there_says} {here_says}: {cut:?}");
        let again = meet_until(&house, 1 << 30, 1 << 30).await.unwrap();
        assert_eq!(again, whole, "{there_says} {here_says}");
        assert_eq!(house.counts().1, 1, "signed once: {there_says} {here_says}");
    }
}

#[tokio::test]
async fn a_stranger_may_not_say_much_nor_anything_out_of_turn() {
    let house = House::saying(Ok(()));
    for bytes in [&[0xff; 8][..], &[0, 0, 0x40, 1, 0], &[0, 0, 0, 3, 1, 2, 3], &[0, 0, 0, 0]] {
        let (mut a, mut b) = duplex(4096);
        a.write_all(bytes).await.unwrap();
        a.shutdown().await.unwrap();
        let error = receive(&mut b, BINDING, &house).await.err();
        assert!(matches!(error, Some(PairError::Garbled(_))), "{bytes:?}: {error:?}");
        assert_eq!(wire::receive(&mut a, 4096, STEP).await, Err(PairError::Refused(Refusal::Version)));
    }
    let (mut a, mut b) = duplex(4096);
    wire::send(&mut a, &Message::Ready).await.unwrap();
    assert_eq!(receive(&mut b, BINDING, &house).await.err(), Some(PairError::Garbled("READY out of turn".into())));
}
