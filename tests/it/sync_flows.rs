//! Teams through the program alone: daemons as processes in homes of their own, on this machine's loopback.

use crate::support::{
    TestHome, block_on,
    laptop::{CONFIG, Laptop, ended, words},
    until,
};

#[test]
fn two_laptops_meet_compare_words_and_share_what_was_there_before() {
    let (ada, bob) = (Laptop::of("ada"), Laptop::of("bob"));
    let before = ada.remember("Deploys run only on green CI.");
    assert_eq!(ada.status()["mode"], "off", "nothing listens before there is a team");
    ada.create_team();
    let ticket = ada.ticket(&[]);

    let join = bob.start(&["sync", "join", &ticket, "--device", "bob-laptop", "--json"]);
    let pending = || ada.json(&["sync", "pending"])["items"].as_array().unwrap().clone();
    until("bob waits at the door", || !pending().is_empty());
    let guest = pending().remove(0);
    assert_eq!((guest["person"].as_str(), guest["name"].as_str()), (Some("bob"), Some("bob-laptop")));
    let id = guest["id"].as_str().unwrap();

    let wrong = ada.run(&["sync", "admit", id, "--words", "acid acorn agent album alien almond"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(wrong.stderr.contains("nobody was admitted"), "{wrong:?}");
    ada.run(&["sync", "admit", id, "--words", &words(&guest)]).ok();

    let joined = ended(join).ok().json();
    assert_eq!((joined["state"].as_str(), joined["team_name"].as_str()), (Some("joined"), Some("platform")));
    assert_eq!(words(&joined), words(&guest), "both screens showed the same words");

    until("bob has what ada wrote before", || bob.knows("Deploys run only on green CI."));
    bob.remember("Logs are kept for thirty days.");
    until("ada has what bob wrote", || ada.knows("Logs are kept for thirty days."));
    let why = bob.json(&["history", &before[..10]]);
    assert!(why.to_string().contains("we measured it"), "the reason came, too: {why}");
    until("both say so", || [&ada, &bob].iter().all(|laptop| laptop.status()["teams"][0]["in_sync"] == true));
    let peer = ada.json(&["sync", "status"])["teams"][0]["peers"][0].clone();
    assert_eq!((peer["connected"].as_bool(), peer["digests_equal"].as_bool()), (Some(true), Some(true)), "{peer}");
    let stdout = ada.run(&["sync", "status"]).ok().stdout;
    assert!(stdout.contains("LAN only: nothing leaves this network") && stdout.contains("bob-laptop"), "{stdout}");
    assert!(
        stdout.contains("In sync with all peers.") && stdout.contains("0 events to receive, 0 to send"),
        "{stdout}"
    );
    let why = ada.run(&["why", "Logs are kept for thirty days"]).ok().stdout;
    assert!(why.contains("bob, on bob-laptop"), "{why}");
    let id = ada.json(&["why", "Logs are kept for thirty days"])["answer"]["id"].as_str().unwrap().to_owned();
    let history = ada.run(&["history", &id]).ok().stdout;
    assert!(history.contains("signature valid"), "{history}");
}

#[test]
fn who_joins_from_another_project_is_told_that_it_is_not_shared_and_how_to_share_it() {
    let (ada, bob) = (Laptop::of("ada"), Laptop::of("bob"));
    ada.remember("Deploys run only on green CI.");
    ada.create_team();
    let clone = |args: &[&str]| bob.home.run(args.iter().chain(&["--scope", "acme/clone"]));
    let remember = |statement: &str| clone(&["remember", statement, "--reason", "we measured it"]).ok();
    let id = remember("Logs are kept for thirty days.").stdout["Stored ".len()..].split(' ').next().unwrap().to_owned();
    let ticket = ada.ticket(&["--yes"]);
    let joined = clone(&["sync", "join", &ticket, "--device", "bob-laptop"]).ok().stdout;
    let map = "ergo sync map acme/api acme/clone";
    assert!(joined.contains("acme/clone, is not shared with platform") && joined.contains(map), "{joined}");
    let adopted = clone(&["sync", "adopt"]);
    assert!(adopted.code != Some(0) && adopted.stderr.contains("ergo sync map SCOPE acme/clone"), "{adopted:?}");
    // The advice works, and says what it leaves out.
    let mapped = bob.home.run(map.split(' ').skip(1)).ok().stdout;
    assert!(mapped.contains("1 change of this device in acme/clone is private"), "{mapped}");
    let adopted = clone(&["sync", "adopt"]).ok().stdout;
    assert!(adopted.contains("1 change of this device in acme/clone is private"), "{adopted}");
    remember("Alarms go to the pager.");
    until("ada has what bob writes in his clone", || ada.knows("Alarms go to the pager."));
    assert!(!ada.knows("Logs are kept for thirty days."));
    clone(&["retract", &id, "--reason", "stored again for the team"]).ok();
    remember("Logs are kept for thirty days.");
    until("ada has what bob stored again", || ada.knows("Logs are kept for thirty days."));
    let report = block_on(async { bob.home.client().diagnose().await }).unwrap();
    assert_eq!(report.problems, Vec::<String>::new());
}

#[test]
fn who_joins_a_second_team_gets_only_commands_that_work() {
    let (ada, bob, eve) = (Laptop::of("ada"), Laptop::of("bob"), Laptop::of("eve"));
    ada.create_team();
    ada.admit(&bob, &[]);
    eve.home.run(["sync", "create", "other", "acme/api", "--device", "eve-laptop"]).ok();
    let ticket = eve.ticket(&["--yes"]);
    let joined = bob.run(&["sync", "join", &ticket, "--device", "bob-laptop"]).ok().stdout;
    assert!(joined.contains("acme/api, on this device acme/api-2"), "{joined}");
    assert!(!joined.contains("sync map") && !joined.contains("sync adopt"), "it is the first team's: {joined}");

    eve.home.run(["sync", "create", "third", "acme/web", "--device", "eve-laptop"]).ok();
    let clone = |args: &[&str]| bob.home.run(args.iter().chain(&["--scope", "acme/clone"]));
    clone(&["remember", "Logs are kept for thirty days.", "--reason", "we measured it"]).ok();
    let invite = ["sync", "invite", "--yes", "--in", "third", "--json"];
    let ticket = eve.home.run(invite).ok().json()["ticket"].as_str().unwrap().to_owned();
    let joined = clone(&["sync", "join", &ticket, "--device", "bob-laptop"]).ok().stdout;
    let map = "ergo sync map acme/web acme/clone --in third";
    assert!(joined.contains(map), "{joined}");
    bob.home.run(map.split(' ').skip(1)).ok();
}

#[test]
fn files_travel_where_that_was_asked_and_stay_pieces_of_files() {
    let (ada, bob) = (Laptop::of("ada"), Laptop::of("bob"));
    ada.remember("Deploys run only on green CI.");
    ada.create_team();
    ada.admit(&bob, &[]);
    let file = |name: &str, text: &str| {
        let path = ada.home.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let own = file("own.md", "# Printing\n\nThe office printer is called Gutenberg.\n");
    let guide = file("guide.md", "# Backups\n\nThe nightly backup goes to the vault in Bonn.\n");
    ada.run(&["ingest", &own]).ok();
    ada.run(&["ingest", "--sync", &guide]).ok();
    // If nothing is found, the command shows it by its exit code.
    let found = |query: &str| bob.run(&["recall", query, "--json"]).json()["references"].clone();
    until("bob finds the shared file", || found("where does the nightly backup go").is_array());
    let piece = found("where does the nightly backup go")[0].clone();
    assert_eq!((piece["shared_by"].as_str(), piece["first"].as_u64()), (Some("ada"), Some(1)), "{piece}");
    assert!(found("how is the office printer called").is_null(), "what was not shared stays where it is");
    let why = bob.run(&["why", "why does the nightly backup go to the vault in Bonn", "--json"]).json();
    assert!(why["answer"].is_null(), "a piece of a file is no answer: {why}");
    assert_eq!(bob.json(&["claims"])["total"], 1, "and no claim");
    // Claims that are no longer in the file leave both machines.
    file("guide.md", "# Backups\n\nThe nightly backup goes to the vault in Mainz.\n");
    ada.run(&["ingest", "--sync", &guide]).ok();
    until("bob has the new text alone", || {
        let found = found("where does the nightly backup go");
        found.as_array().is_some_and(|all| all.len() == 1) && found.to_string().contains("Mainz")
    });
}

#[test]
fn now_waits_until_it_is_done_and_says_what_came_of_it() {
    let (ada, mut bob) = (Laptop::of("ada"), Laptop::of("bob"));
    ada.create_team();
    let alone = ada.run(&["sync", "now"]).ok().stdout;
    assert!(alone.contains("The team has no other device yet"), "{alone}");
    ada.admit(&bob, &[]);
    until("they are connected", || ada.status()["teams"][0]["peers"][0]["connected"] == true);
    ada.remember("Deploys run only on green CI.");
    let round = ada.json(&["sync", "now", "bob-laptop"]);
    assert_eq!(
        (round["done"].as_bool(), round["peers"][0]["result"].as_str()),
        (Some(true), Some("in_step")),
        "{round}"
    );
    assert!(bob.knows("Deploys run only on green CI."), "what was just written is there once it answers");
    let stdout = ada.run(&["sync", "now"]).ok().stdout;
    assert!(stdout.contains("In sync with bob-laptop."), "{stdout}");
    assert_eq!(ada.run(&["sync", "now", "nobody"]).code, Some(2));
    assert_eq!(ada.run(&["sync", "now", "ada-laptop"]).code, Some(2));
    bob.daemon.take().unwrap().terminate();
    until("the connection is closed", || ada.status()["teams"][0]["peers"][0]["connected"] == false);
    let lacks = || ada.status()["teams"][0]["peers"][0]["they_lack"].as_u64();
    assert_eq!(lacks(), Some(0));
    ada.remember("Alarms go to the pager.");
    assert_eq!(lacks(), Some(1), "what is written meanwhile counts");
    let away = ada.run(&["sync", "now", "--wait", "15"]);
    assert_eq!(away.code, Some(3), "{away:?}");
    assert!(away.stdout.contains("Not reached: bob-laptop."), "{away:?}");
}

#[test]
fn a_ticket_admits_one_device_once_and_no_is_no() {
    let (ada, bob, eve) = (Laptop::of("ada"), Laptop::of("bob"), Laptop::of("eve"));
    ada.create_team();
    let ticket = ada.ticket(&[]);
    let join = bob.start(&["sync", "join", &ticket]);
    let pending = || ada.json(&["sync", "pending"])["items"].as_array().unwrap().clone();
    until("bob waits at the door", || !pending().is_empty());

    let unknown = ada.run(&["sync", "deny", "zz"]);
    assert!(unknown.code == Some(2) && unknown.stderr.contains("`ergo sync pending` shows"), "{unknown:?}");
    let second = eve.run(&["sync", "join", &ticket]);
    assert_eq!(second.code, Some(5), "{second:?}");
    assert!(second.stderr.contains("another device has used this ticket"), "{second:?}");

    ada.run(&["sync", "deny", pending()[0]["id"].as_str().unwrap()]).ok();
    let refused = ended(join);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("denied it") && refused.stderr.contains("Hint:"), "{refused:?}");
    assert_eq!(bob.status()["teams"].as_array().unwrap().len(), 0);

    let spent = bob.run(&["sync", "join", &ticket]);
    assert_eq!(spent.code, Some(5), "{spent:?}");
    let peers = ada.json(&["sync", "peers"]);
    assert_eq!(peers["items"].as_array().unwrap().len(), 1, "ada is alone: {peers}");

    for (wrong, says) in
        [("ergo1abc", "is truncated"), ("hello", "neither a ticket nor a file"), ("ergo2xyz", "newer ergo")]
    {
        let output = bob.run(&["sync", "join", wrong]);
        assert_eq!(output.code, Some(2), "{output:?}");
        assert!(output.stderr.contains(says), "{output:?}");
    }
}

#[test]
fn a_revoked_laptop_keeps_what_it_has_and_is_heard_no_more() {
    let (ada, bob) = (Laptop::of("ada"), Laptop::of("bob"));
    ada.remember("Deploys run only on green CI.");
    ada.create_team();
    ada.admit(&bob, &[]);
    until("bob has it", || bob.knows("Deploys run only on green CI."));
    bob.remember("Logs are kept for thirty days.");
    until("ada has it", || ada.knows("Logs are kept for thirty days."));

    let asked = ada.run(&["sync", "revoke", "bob-laptop", "--reason", "it was lost"]);
    assert_eq!(asked.code, Some(2), "nobody is there to say yes: {asked:?}");
    ada.run(&["sync", "revoke", "bob-laptop", "--reason", "it was lost", "--yes"]).ok();
    assert!(ada.knows("Logs are kept for thirty days."), "what was written before stays");
    until("the connection is closed", || ada.status()["teams"][0]["peers"][0]["connected"] == false);
    until("bob knows by whom and why", || {
        let ended = bob.status()["teams"][0]["ended"].clone();
        ended["by"] == "ada (ada-laptop)" && ended["reason"] == "it was lost"
    });
    let stdout = bob.run(&["sync", "status"]).ok().stdout;
    assert!(
        stdout.contains("revoked this device from platform on ") && stdout.contains("This device keeps what it has"),
        "{stdout}"
    );
    assert!(bob.knows("Deploys run only on green CI."), "his claims stay");
    bob.remember("Backups are made on Sundays.");
    ada.remember("Alarms go to the pager.");
    let peers = ada.json(&["sync", "peers", "--all"]);
    let bob_there =
        peers["items"].as_array().unwrap().iter().find(|peer| peer["name"] == "bob-laptop").unwrap().clone();
    assert_eq!(bob_there["state"], "revoked");
    ada.json(&["sync", "now"]);
    assert!(!ada.knows("Backups are made on Sundays.") && !bob.knows("Alarms go to the pager."));
    let again = ada.run(&["sync", "revoke", "nobody", "--reason", "x", "--yes"]);
    assert_eq!(again.code, Some(2), "{again:?}");
}

#[test]
fn a_revocation_in_a_bundle_ends_the_session_with_the_revoked_device() {
    let (ada, bob, eve) = (Laptop::of("ada"), Laptop::of("bob"), Laptop::of("eve"));
    ada.create_team();
    for other in [&bob, &eve] {
        ada.admit(other, &[]);
    }
    let address = eve.status()["addresses"][0].as_str().unwrap().to_owned();
    until("bob knows the team", || bob.status()["teams"][0]["peers"].as_array().unwrap().len() == 2);
    bob.run(&["sync", "address", "eve-laptop", &address]).ok();
    until("all are connected", || bob.level_with(2) && eve.level_with(2));
    // Ada's revocation reaches bob in a file only, and eve through bob only.
    ada.run(&["sync", "mode", "off"]).ok();
    ada.run(&["sync", "revoke", "eve-laptop", "--reason", "it was lost", "--yes"]).ok();
    let file = ada.home.path().join("news.ergo");
    let file = file.to_str().unwrap();
    ada.run(&["sync", "export", file]).ok();
    bob.run(&["sync", "import", file, "--dry-run"]).ok();
    assert_eq!(eve.status()["teams"][0]["ended"], serde_json::Value::Null, "a dry run changes nothing");
    bob.run(&["sync", "import", file]).ok();
    until("eve has learned from bob who revoked it", || eve.status()["teams"][0]["ended"]["by"] == "ada (ada-laptop)");
}

#[test]
fn an_export_holds_the_scopes_that_the_flags_name() {
    let ada = Laptop::of("ada");
    let named = ["sync", "create", "platform", "--scope", "acme/api,acme/web", "--device", "ada-laptop"];
    ada.home.run(named).ok();
    let scopes = |name: &str, flags: &[&str]| {
        let file = ada.home.path().join(name).to_str().unwrap().to_owned();
        let args = ["sync", "export", &file, "--in", "platform", "--json"];
        let outcome = ada.home.run(args.iter().chain(flags)).ok().json();
        let scopes = outcome["scopes"].as_array().unwrap().iter().map(|scope| scope["scope"].to_string());
        scopes.collect::<Vec<_>>()
    };
    let (all, both) = (scopes("all.ergo", &[]), scopes("both.ergo", &["--scope", "acme/api,acme/web"]));
    assert_eq!((all.len(), all), (2, both));
    let one = scopes("one.ergo", &["--scope", "acme/web"]);
    assert!(one.len() == 1 && one[0].contains("web"), "{one:?}");
    assert_eq!(scopes("project.ergo", &["--org", "acme", "--project", "web"]), one);
}

#[test]
fn who_leaves_keeps_what_is_there_and_the_team_goes_on() {
    let (ada, bob) = (Laptop::of("ada"), Laptop::of("bob"));
    ada.remember("Deploys run only on green CI.");
    ada.create_team();
    ada.admit(&bob, &["--role", "reader"]);
    until("bob has it", || bob.knows("Deploys run only on green CI."));
    let not_his = bob.run(&["sync", "invite", "--no-wait"]);
    assert_eq!(not_his.code, Some(1), "an admin must do it: {not_his:?}");
    let rename = bob.home.run(["sync", "rename", "hers", "--device", "ada-laptop"]);
    assert_eq!(rename.code, Some(1), "the same for every act of admins: {rename:?}");
    assert!(not_his.stderr.contains("only an admin") && not_his.stderr.contains("ada"), "{not_his:?}");

    until("they are connected", || bob.status()["teams"][0]["peers"][0]["connected"] == true);
    let left = bob.run(&["sync", "leave", "--yes"]).ok().stdout;
    assert!(!left.contains("Note:"), "ada learns of it: {left}");
    assert!(bob.knows("Deploys run only on green CI."), "what he has stays");
    let team = bob.status()["teams"][0].clone();
    assert_eq!((team["ended"]["left"].as_bool(), team["in_sync"].as_bool()), (Some(true), Some(false)), "{team}");
    let stdout = bob.run(&["sync", "status"]).ok().stdout;
    assert!(stdout.contains("You left platform with this device on ") && stdout.contains("new invitation"), "{stdout}");
    until("ada has heard of it", || {
        let peers = ada.json(&["sync", "peers", "--all"]);
        peers["items"].as_array().unwrap().iter().any(|peer| peer["name"] == "bob-laptop" && peer["state"] == "left")
    });
    ada.remember("Alarms go to the pager.");
    assert_eq!(bob.run(&["sync", "leave", "--yes"]).code, Some(2), "there is nothing to leave");
    for named in [&[][..], &["--in", "platform"]] {
        let export = bob.home.run([&["sync", "export", "-"], named].concat());
        assert!(
            export.code == Some(2) && export.stderr.contains("no longer belongs to the team “platform”"),
            "{export:?}"
        );
    }
    // Her tickets let nobody in any more: nobody is listened for.
    ada.run(&["sync", "leave", "--yes"]).ok();
    until("nothing listens at ada", || ada.status()["mode"] == "off");
}

#[test]
fn who_leaves_unconnected_is_told_to_ask_for_a_revocation_and_can_return() {
    let (mut ada, bob) = (Laptop::of("ada"), Laptop::of("bob"));
    ada.create_team();
    ada.admit(&bob, &[]);
    ada.stop();
    until("nobody is connected", || bob.status()["teams"][0]["peers"][0]["connected"] == false);
    let left = bob.json(&["sync", "leave", "--yes"]);
    let warning = left["warnings"][0].as_str().unwrap();
    assert!(warning.contains("`ergo sync revoke bob-laptop --reason '…'`"), "{left}");
    ada.start_here();
    ada.admit(&bob, &[]);
    ada.remember("Deploys run only on green CI.");
    until("bob has it", || bob.knows("Deploys run only on green CI."));
    bob.remember("Logs are kept for thirty days.");
    until("ada has what bob wrote", || ada.knows("Logs are kept for thirty days."));
    assert_eq!(bob.status()["teams"][0]["ended"], serde_json::Value::Null);
    // In a team of one there is nobody to tell.
    bob.home.run(["sync", "create", "alone", "--device", "bob-laptop"]).ok();
    let left = bob.home.run(["sync", "leave", "--yes", "--in", "alone", "--json"]).ok().json();
    assert_eq!(left["warnings"], serde_json::Value::Null, "{left}");
}

#[test]
fn a_readers_changes_are_reported_as_not_accepted() {
    let (ada, bob) = (Laptop::of("ada"), Laptop::of("bob"));
    ada.remember("Deploys run only on green CI.");
    ada.create_team();
    ada.admit(&bob, &["--role", "reader"]);
    until("bob has it", || bob.knows("Deploys run only on green CI."));
    assert_eq!(bob.status()["teams"][0]["kept"], serde_json::json!([]));
    bob.remember("Logs are kept for thirty days.");
    bob.remember("Alarms go to the pager.");
    let team = bob.status()["teams"][0].clone();
    let kept = &team["kept"][0];
    assert_eq!(
        (&kept["events"], &kept["reason"], &team["in_sync"]),
        (&2.into(), &"reader".into(), &false.into()),
        "{team}"
    );
    let stdout = bob.run(&["sync", "status"]).ok().stdout;
    assert!(stdout.contains("2 changes of this device") && stdout.contains("it has the role reader"), "{stdout}");
    assert!(stdout.contains("ergo sync grant bob-laptop --role writer"), "{stdout}");
    let adopt = bob.home.run(["sync", "adopt", "acme/api"]);
    assert!(adopt.code != Some(0) && adopt.stderr.contains("--role writer"), "nobody would take it: {adopt:?}");
    assert_eq!(ada.status()["teams"][0]["kept"], serde_json::json!([]));

    ada.run(&["sync", "grant", "bob-laptop", "--role", "writer"]).ok();
    until("ada has what bob wrote", || ada.knows("Alarms go to the pager."));
    assert!(ada.knows("Logs are kept for thirty days."));
    assert_eq!(bob.status()["teams"][0]["kept"], serde_json::json!([]));
}

#[test]
fn a_restart_changes_nothing_for_a_ticket_or_a_team() {
    let (mut ada, bob) = (Laptop::at_a_port("ada"), Laptop::of("bob"));
    ada.remember("Deploys run only on green CI.");
    ada.create_team();
    let ticket = ada.ticket(&[]);
    ada.daemon.take().unwrap().kill();
    ada.daemon = Some(ada.home.daemon());
    let join = bob.start(&["sync", "join", &ticket, "--device", "bob-laptop", "--json"]);
    let pending = || ada.json(&["sync", "pending"])["items"].as_array().unwrap().clone();
    until("bob waits at the door", || !pending().is_empty());
    let guest = pending().remove(0);
    ada.run(&["sync", "admit", guest["id"].as_str().unwrap(), "--words", &words(&guest)]).ok();
    ended(join).ok();
    until("bob has it", || bob.knows("Deploys run only on green CI."));
    ada.daemon.take().unwrap().kill();
    bob.remember("Logs are kept for thirty days.");
    ada.daemon = Some(ada.home.daemon());
    until("ada has it", || ada.knows("Logs are kept for thirty days."));
}

#[test]
fn the_mode_is_chosen_once_and_the_settings_go_before() {
    let ada = Laptop::of("ada");
    ada.create_team();
    assert!(ada.run(&["sync", "mode", "off"]).ok().stdout.contains("nothing is sent or received"));
    let closed = ada.run(&["sync", "invite", "--no-wait"]);
    assert!(closed.code == Some(2) && closed.stderr.contains("Hint:"), "{closed:?}");
    assert!(ada.run(&["sync", "mode", "lan"]).ok().stdout.contains("until you invite a device"));
    let team = ada.status()["teams"][0]["id"].as_str().unwrap().to_uppercase();
    ada.ticket(&["--in", &team]);
    assert_eq!(ada.status()["mode"], "lan", "while somebody may come");
    let file = ada.home.path().join("all.ergo");
    ada.run(&["sync", "export", file.to_str().unwrap(), "--in", &team[..8]]).ok();
    let fixed = TestHome::with_config(&format!("{CONFIG}mode = \"off\"\n"));
    let _daemon = fixed.daemon();
    let output = fixed.run(["sync", "mode", "lan"]);
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.stderr.contains("config.toml"), "{output:?}");
}

#[test]
fn two_laptops_without_a_network_pair_by_files() {
    let (ada, bob, eve) = (Laptop::of("ada"), Laptop::of("bob"), Laptop::of("eve"));
    ada.remember("Deploys run only on green CI.");
    ada.create_team();
    let (request, grant) = (ada.home.path().join("bob.request"), ada.home.path().join("grant.ergo"));
    let (request, grant) = (request.to_str().unwrap(), grant.to_str().unwrap());
    let made = bob.json(&["sync", "request", "--out", request, "--device", "bob-laptop"]);
    assert_eq!(words(&made).split(' ').count(), 6);
    assert_eq!(bob.run(&["sync", "request", "--out", request]).code, Some(2), "a file that is there stays as it is");

    let unasked = ada.run(&["sync", "approve", request, "--out", grant]);
    assert_eq!(unasked.code, Some(2), "nobody is there to compare: {unasked:?}");
    assert!(unasked.stdout.contains(&made["words"][0].as_str().unwrap().to_owned()), "{unasked:?}");
    let approved = ada.json(&["sync", "approve", request, "--out", grant, "--yes", "--role", "reader"]);
    assert_eq!((words(&approved), approved["device"].clone()), (words(&made), made["device"].clone()));

    let wrong = eve.run(&["sync", "join", grant, "--yes"]);
    assert_eq!(wrong.code, Some(2), "it is sealed for bob alone: {wrong:?}");
    let shown = bob.run(&["sync", "join", grant]);
    let json = bob.run(&["sync", "join", grant, "--json"]);
    assert!(json.code == Some(2) && json.stdout.is_empty(), "a refusal prints no text: {json:?}");
    assert!(json.stderr.contains("`--json` asks no questions"), "{json:?}");
    let first = approved["grant_words"][0].as_str().unwrap();
    assert!(shown.code == Some(2) && shown.stdout.contains(first), "nothing is joined unseen: {shown:?}");
    assert_eq!(bob.status()["teams"].as_array().unwrap().len(), 0);
    let renamed = bob.run(&["sync", "join", grant, "--yes", "--device", "bobs"]);
    assert!(renamed.code == Some(2) && renamed.stderr.contains("ergo sync rename bobs"), "{renamed:?}");
    let joined = bob.json(&["sync", "join", grant, "--yes", "--device", "bob-laptop"]);
    assert_eq!((joined["state"].as_str(), joined["role"].as_str()), (Some("joined"), Some("reader")));
    assert_eq!(joined["words"], approved["grant_words"], "both screens show the same");
    assert_eq!(bob.status()["teams"][0]["name"], "platform");
    assert_eq!(ada.run(&["sync", "approve", grant, "--out", "x", "--yes"]).code, Some(2), "a grant is no request");

    let again = ada.home.path().join("again.ergo");
    let approve = ["sync", "approve", request, "--out", again.to_str().unwrap(), "--yes", "--role", "writer"];
    let summary = ada.json(&approve)["summary"].as_str().unwrap().to_owned();
    assert!(summary.contains("already belonged to platform, and now has the role writer"), "{summary}");
    let peers = ada.json(&["sync", "peers"])["items"].as_array().unwrap().clone();
    assert!(peers.iter().any(|peer| peer["name"] == "bob-laptop" && peer["role"] == "writer"), "{peers:?}");
    let own = ada.home.path().join("own.request");
    let own = own.to_str().unwrap();
    ada.json(&["sync", "request", "--out", own]);
    let own = ada.run(&["sync", "approve", own, "--out", "x", "--yes"]);
    assert!(own.code == Some(2) && own.stderr.contains("created on this device"), "{own:?}");
}
