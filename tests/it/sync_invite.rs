//! Inviting at a terminal: the ticket on the screen, the six words, and a person who answers.

use ergo::sync::ticket::{InviteSecret, Ticket};

use crate::{
    support::{
        block_on,
        laptop::{Laptop, ended, words},
        until,
    },
    term::App,
};

/// Invites at a terminal, lets the other come with the ticket, and answers the question.
fn invite(ada: &Laptop, bob: &Laptop, answer: &str) -> (bool, String, crate::support::Output) {
    let mut screen = App::command(&ada.home, &["sync", "invite"]);
    let shown = screen.sees("ergo sync join TICKET").full_text();
    let ticket = shown.split_whitespace().find(|word| word.starts_with("ergo1")).unwrap().to_owned();
    let join = bob.start(&["sync", "join", &ticket, "--device", "bob-laptop", "--json"]);
    screen.sees("asks to join with the device “bob-laptop”");
    let asked = screen.sees("Does the other screen show the same words? [y/N]").full_text();
    let pending = ada.json(&["sync", "pending"])["items"][0].clone();
    let six: Vec<String> = words(&pending).split(' ').map(str::to_owned).collect();
    assert!(six.iter().all(|word| asked.contains(word.as_str())), "the words are on the screen: {asked}");
    screen.keys(answer);
    screen.enter();
    let (well, left) = screen.ends();
    (well, left.full_text(), ended(join))
}

#[test]
fn yes_admits_and_anything_else_does_not() {
    let (ada, bob) = (Laptop::of("ada"), Laptop::of("bob"));
    ada.create_team();
    // Enter alone means no.
    let (well, screen, joined) = invite(&ada, &bob, "");
    assert!(!well && screen.contains("Not admitted. The ticket cannot be used again"), "{screen}");
    assert_eq!(joined.code, Some(1), "{joined:?}");
    assert_eq!(ada.json(&["sync", "peers"])["items"].as_array().unwrap().len(), 1, "ada is alone");
    let (well, screen, joined) = invite(&ada, &bob, "y");
    assert!(well && screen.contains("The device was admitted to the team."), "{screen}");
    assert_eq!(joined.ok().json()["state"], "joined");
    until("both are in step", || ada.status()["teams"][0]["in_sync"] == true);
}

#[test]
fn too_many_attempts_are_throttled_and_a_valid_ticket_still_works() {
    let (ada, eve, bob) = (Laptop::of("ada"), Laptop::of("eve"), Laptop::of("bob"));
    ada.create_team();
    let right = ada.ticket(&["--yes"]);
    let wrong = Ticket { secret: InviteSecret([7; 16]), ..Ticket::parse(&right, 0).unwrap() }.to_text();
    for knock in 1..=6 {
        let refused = eve.run(&["sync", "join", &wrong]);
        assert_eq!(refused.code, Some(5), "{knock}: {refused:?}");
    }
    let seventh = eve.run(&["sync", "join", &right]);
    assert_eq!(seventh.code, Some(3), "a right ticket does not help who knocked too often: {seventh:?}");
    assert_eq!(eve.status()["teams"].as_array().unwrap().len(), 0);
    let joined = bob.json(&["sync", "join", &right, "--device", "bob-laptop"]);
    assert_eq!(joined["state"], "joined", "others are not held up: {joined}");
}

#[test]
fn a_ticket_works_again_once_the_port_that_was_taken_at_the_start_is_free() {
    let (mut ada, bob) = (Laptop::at_a_port("ada"), Laptop::of("bob"));
    ada.create_team();
    let ticket = ada.ticket(&["--ttl", "2h"]);
    let address = ada.status()["addresses"][0].as_str().unwrap().to_owned();
    ada.stop();
    let taken = std::net::UdpSocket::bind(&address).unwrap();
    ada.start_here();
    until("the port is taken", || ada.home.log().contains("cannot open this device to pairing requests"));
    drop(taken);
    until("it listens", || ada.status()["mode"] == "lan");
    let join = bob.start(&["sync", "join", &ticket, "--device", "bob-laptop", "--json"]);
    let pending = || ada.json(&["sync", "pending"])["items"].as_array().unwrap().clone();
    until("bob waits to be admitted", || !pending().is_empty());
    let request = pending().remove(0);
    ada.run(&["sync", "admit", request["id"].as_str().unwrap(), "--words", &words(&request)]).ok();
    assert_eq!(ended(join).ok().json()["state"], "joined");
}

#[test]
fn the_device_that_made_a_ticket_decides_whether_it_has_expired() {
    let (ada, bob, eve) = (Laptop::of("ada"), Laptop::of("bob"), Laptop::of("eve"));
    ada.create_team();
    let late = ada.ticket(&["--yes", "--ttl", "1s"]);
    let valid = ada.ticket(&["--yes"]);
    let open = || block_on(async { ada.home.client().sync_invites().await }).unwrap().items.len();
    until("the first ticket has expired", || open() == 1);
    let refused = bob.run(&["sync", "join", &late]);
    assert!(refused.code == Some(5) && refused.stderr.contains("this ticket has expired"), "{refused:?}");
    // Bob's clock is ahead: by it, the ticket expired a while ago.
    let read = Ticket::parse(&valid, 0).unwrap();
    let expired = |ago| Ticket { expires: read.expires - ago, ..read.clone() }.to_text();
    let too_late = bob.run(&["sync", "join", &expired(3 * 24 * 60 * 60)]);
    assert!(too_late.code == Some(2) && too_late.stderr.contains("expired 2 days ago"), "{too_late:?}");
    let joined = bob.json(&["sync", "join", &expired(20 * 60), "--device", "bob-laptop"]);
    assert_eq!(joined["state"], "joined", "{joined}");
    // Without an answer, the clock of this device counts.
    let nowhere = Ticket { addresses: Vec::new(), expires: read.expires - 20 * 60, ..read.clone() }.to_text();
    let unanswered = eve.run(&["sync", "join", &nowhere]);
    assert!(unanswered.code == Some(2) && unanswered.stderr.contains("this ticket expired"), "{unanswered:?}");
}

#[test]
fn an_invitation_holds_after_the_sync_mode_was_changed() {
    let (ada, bob) = (Laptop::of("ada"), Laptop::of("bob"));
    ada.create_team();
    // The device is open to who is invited, then listens elsewhere.
    ada.ticket(&["--yes"]);
    for mode in ["off", "lan"] {
        ada.run(&["sync", "mode", mode]).ok();
    }
    let ticket = ada.ticket(&["--yes"]);
    let joined = bob.json(&["sync", "join", &ticket, "--device", "bob-laptop"]);
    assert_eq!(joined["state"], "joined", "{joined}");
}
