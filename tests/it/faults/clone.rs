//! A disk that was copied to a second machine: two machines with one key both continue.

use std::{fs, time::Duration};

use super::{assert_sound, copy};
use crate::support::{TestHome, laptop::Laptop, until_within};

/// The two machines take turns with one connection.
const TURNS: Duration = Duration::from_mins(2);

#[test]
fn a_store_cloned_to_a_second_machine_loses_nothing_and_stops_nobody() {
    let (mut ada, mut bob) = (Laptop::at_a_port("ada"), Laptop::at_a_port("bob"));
    ada.remember("Deploys run only on green CI.");
    ada.create_team();
    ada.admit(&bob, &[]);
    until_within(TURNS, "bob has it", || bob.knows("Deploys run only on green CI."));
    bob.remember("Written by bob before the copy.");
    until_within(TURNS, "ada has it", || ada.knows("Written by bob before the copy."));
    bob.stop();

    let config = fs::read_to_string(bob.home.paths().config).unwrap();
    let twin_home = TestHome::with_config("");
    copy(bob.home.path(), twin_home.path());
    let free = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let kept: Vec<&str> = config.lines().filter(|line| !line.starts_with("port")).collect();
    fs::write(twin_home.paths().config, format!("{}\nport = {free}\n", kept.join("\n"))).unwrap();
    let mut twin = Laptop { home: twin_home, daemon: None, who: "bob" };

    bob.start_here();
    twin.start_here();
    let statements =
        [(&ada, "By ada, after the copy."), (&bob, "By bob, on his machine."), (&twin, "By bob, on the copy.")];
    for (laptop, statement) in statements {
        laptop.remember(statement);
    }
    for laptop in [&ada, &bob, &twin] {
        for (_, statement) in statements {
            until_within(TURNS, &format!("{statement} is everywhere"), || laptop.knows(statement));
        }
    }
    let sets = [&ada, &bob, &twin].map(Laptop::set);
    assert_eq!((sets[0].0, &sets[0]), (5, &sets[1]), "nothing is lost and nothing twice");
    assert_eq!(sets[1], sets[2]);
    for laptop in [&ada, &bob, &twin] {
        assert_eq!(laptop.status()["teams"][0]["quarantined"], 0, "{}", laptop.status());
    }
    for laptop in [&mut ada, &mut bob, &mut twin] {
        laptop.stop();
        assert_sound(laptop);
    }
}
