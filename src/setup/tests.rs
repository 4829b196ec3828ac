use proptest::prelude::*;
use serde_json::json;

use super::*;
use agents::Edit;
use clap::ValueEnum;

fn place(project: Option<&str>) -> AgentFiles {
    AgentFiles { home: "/home/ada".into(), config: "/home/ada/.config".into(), project: project.map(PathBuf::from) }
}

/// Texts of a file, according to the edits that are made in it.
fn texts(target: &Target) -> BoxedStrategy<String> {
    let json = prop_oneof![
        Just(String::new()),
        Just("{}\n".to_owned()),
        Just("{\n  // mine\n  \"mcpServers\": {},\n  \"hooks\": {\"Stop\": []}\n}".to_owned()),
        Just("{\"mcpServers\": {\"other\": {\"command\": \"x\"}}, /* c */ \"a\": [1, 2,],}\n".to_owned()),
        Just("{\n\t\"hooks\": {\n\t\t\"SessionStart\": [\n\t\t\t{ \"hooks\": [{ \"type\": \"command\", \"command\": \"mine\" }] }, // keep\n\t\t],\n\t},\n}\n".to_owned()),
        "[a-z]{1,8}".prop_map(|name| format!("{{ \"{name}\" : {{ \"deep\" : [ true , null ] }} }}")),
    ];
    let toml = prop_oneof![
        Just(String::new()),
        Just("# mine\nmodel = \"x\"   # keep\n".to_owned()),
        Just("[mcp_servers.other]\ncommand = \"x\" # keep\n\n[tui]\na = 1\n".to_owned()),
        Just("[mcp_servers]\n".to_owned()),
    ];
    if target.edits.iter().any(|edit| matches!(edit, Edit::Instructions)) {
        // Without characters that could begin a code block.
        return "(# [A-Za-z ]{0,20}\n)?([ -_a-}]{0,40}\n){0,4}[ -_a-}]{0,20}".boxed();
    }
    if target.edits.iter().any(|edit| matches!(edit, Edit::Server(_))) { toml.boxed() } else { json.boxed() }
}

fn cases() -> impl Strategy<Value = (Target, String)> {
    let every = CodingAgent::value_variants();
    let mut all = agents::targets(every, &place(None), "/opt/ergo/bin/ergo");
    all.extend(agents::targets(every, &place(Some("/work/api")), "ergo"));
    proptest::sample::select(all).prop_flat_map(|target| {
        let texts = texts(&target);
        (Just(target), texts)
    })
}

proptest! {
    #[test]
    fn setup_twice_is_setup_once((target, text) in cases()) {
        let once = edit::set(Some(&text), &target).unwrap();
        prop_assert!(once.contains("ergo"));
        prop_assert_eq!(edit::set(Some(&once), &target).unwrap(), once);
    }

    #[test]
    fn what_is_taken_out_leaves_nothing_of_ours_and_all_of_theirs((target, text) in cases()) {
        let once = edit::set(Some(&text), &target).unwrap();
        let back = edit::unset(&once, &target).unwrap();
        prop_assert!(!back.contains("ergo"), "{}", back);
        for word in ["mine", "keep", "other", "deep", "model"] {
            prop_assert_eq!(text.contains(word), back.contains(word), "{} in {}", word, back);
        }
        prop_assert_eq!(&edit::unset(&back, &target).unwrap(), &back);
        if target.edits == [Edit::Instructions] {
            prop_assert_eq!(back, text);
        }
    }

    #[test]
    fn setup_then_remove_gives_the_file_byte_for_byte((target, text) in cases(), there in any::<bool>()) {
        let dir = tempfile::tempdir().unwrap();
        let backups = Backups::new(&dir.path().join("state"));
        let path = dir.path().join("file");
        let target = Target { path: path.clone(), ..target };
        if there {
            fs::write(&path, &text).unwrap();
        }
        for _ in 0..2 {
            if let Some(change) = plan_change(target.clone(), None, false, &backups).unwrap() {
                write(&change, false, &backups).unwrap();
            }
        }
        prop_assert!(fs::read_to_string(&path).unwrap().contains("ergo"));
        let change = plan_change(target, None, true, &backups).unwrap().unwrap();
        write(&change, true, &backups).unwrap();
        prop_assert_eq!(fs::read_to_string(&path).ok(), there.then_some(text));
    }
}

#[test]
fn what_a_person_added_since_stays() {
    let dir = tempfile::tempdir().unwrap();
    let backups = Backups::new(&dir.path().join("state"));
    let path = dir.path().join("mcp.json");
    let target = Target {
        path: path.clone(),
        edits: vec![Edit::Entry(&["mcpServers"], json!({"command": "ergo", "args": ["mcp"]}))],
    };
    write(&plan_change(target.clone(), None, false, &backups).unwrap().unwrap(), false, &backups).unwrap();
    let text = fs::read_to_string(&path).unwrap().replacen('{', "{ \"mine\": 1, // why\n", 1);
    fs::write(&path, text).unwrap();
    write(&plan_change(target, None, true, &backups).unwrap().unwrap(), true, &backups).unwrap();
    let left = fs::read_to_string(&path).unwrap();
    assert!(left.contains("\"mine\": 1") && left.contains("// why") && !left.contains("ergo"), "{left}");
}

#[test]
fn an_entry_keeps_what_a_person_added_to_it_and_a_moved_program_is_found() {
    let edits = vec![Edit::Entry(&["mcpServers"], json!({"command": "ergo", "args": ["mcp"]}))];
    let target = Target { path: "x".into(), edits };
    let text =
        "{\"mcpServers\": {\"ergo\": {\"command\": \"/old/ergo\", \"args\": [\"mcp\"], \"env\": {\"A\": \"b\"}}}}";
    let set = edit::set(Some(text), &target).unwrap();
    assert!(set.contains("\"env\"") && !set.contains("/old"), "{set}");

    let targets = |program: &str| agents::targets(&[CodingAgent::ClaudeCode], &place(None), program);
    let (old, new) = (&targets("/old bin/ergo")[1], &targets("/new/ergo")[1]);
    let set = edit::set(Some(&edit::set(None, old).unwrap()), new).unwrap();
    assert!(set.contains("/new/ergo hook stop") && !set.contains("/old"), "{set}");
    assert_eq!(set, edit::set(None, new).unwrap());
}

#[test]
fn a_file_that_is_not_understood_is_left_alone() {
    let targets = agents::targets(&[CodingAgent::Codex, CodingAgent::ClaudeCode], &place(None), "ergo");
    let wrong =
        ["{ \"mcpServers\": 5 }", "[1]", "{ \"hooks\": {\"Stop\": 5} }", "{ nonsense", "mcp_servers = 5", "[[["];
    for target in targets.iter().filter(|target| target.edits != [Edit::Instructions]) {
        let refused = wrong.iter().filter(|text| {
            let error = edit::set(Some(text), target).err();
            error.is_some_and(|error| error.to_string().contains("nothing was changed"))
        });
        assert!(refused.count() >= 3, "{target:?}");
    }
}

#[test]
fn each_agent_gets_its_server_and_several_share_one_page_of_instructions() {
    let all = agents::targets(CodingAgent::value_variants(), &place(Some("/work/api")), "ergo");
    assert_eq!(all.iter().filter(|target| target.path.ends_with("AGENTS.md")).count(), 1);
    for client in CodingAgent::value_variants() {
        let own = agents::targets(&[*client], &place(None), "ergo");
        let server = |edit: &Edit| matches!(edit, Edit::Entry(..) | Edit::Server(_));
        assert!(own.iter().any(|target| target.edits.iter().any(server)), "{}", client.title());
        assert!(own.iter().all(|target| target.path.starts_with("/home/ada")), "{own:?}");
    }
}

#[test]
fn a_file_that_changed_since_the_plan_was_made_is_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let backups = Backups::new(&dir.path().join("state"));
    let path = dir.path().join("CLAUDE.md");
    let target = Target { path: path.clone(), edits: vec![Edit::Instructions] };
    for before in [None, Some("mine\n")] {
        if let Some(before) = before {
            fs::write(&path, before).unwrap();
        }
        let planned = plan_change(target.clone(), None, false, &backups).unwrap().unwrap();
        fs::write(&path, "written meanwhile\n").unwrap();
        let error = write(&planned, false, &backups).unwrap_err();
        assert!(error.to_string().contains("run setup again"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "written meanwhile\n");
    }
    let planned = plan_change(target, None, false, &backups).unwrap().unwrap();
    write(&planned, false, &backups).unwrap();
    write(&planned, false, &backups).expect("a second name of the same file finds it written");
}

#[test]
fn removal_restores_no_text_that_an_earlier_setup_wrote() {
    let dir = tempfile::tempdir().unwrap();
    let backups = Backups::new(&dir.path().join("state"));
    let path = dir.path().join("mcp.json");
    let target = |program: &str| Target {
        path: path.clone(),
        edits: vec![Edit::Entry(&["mcpServers"], json!({"command": program, "args": ["mcp"]}))],
    };
    let run = |target: Target, remove: bool| {
        write(&plan_change(target, None, remove, &backups).unwrap().unwrap(), remove, &backups).unwrap();
    };
    run(target("/old/ergo"), false);
    let changed = fs::read_to_string(&path).unwrap().replacen('{', "{ \"mine\": 1,", 1);
    fs::write(&path, changed).unwrap();
    run(target("/new/ergo"), false);
    run(target("/new/ergo"), true);
    let left = fs::read_to_string(&path).unwrap();
    assert!(left.contains("\"mine\"") && !left.contains("ergo"), "{left}");
}

#[test]
fn a_hook_of_a_person_in_the_same_group_stays() {
    let targets = |program: &str| agents::targets(&[CodingAgent::ClaudeCode], &place(None), program);
    let (old, new) = (&targets("/old/ergo")[1], &targets("/new/ergo")[1]);
    let text = edit::set(None, old).unwrap();
    let mine = "{\"type\": \"command\", \"command\": \"notify-send done\"}";
    let ours = text.find("/old/ergo hook stop").unwrap();
    let entry = text[..ours].rfind('{').unwrap();
    let text = format!("{}{mine}, {}", &text[..entry], &text[entry..]);
    let set = edit::set(Some(&text), new).unwrap();
    assert!(set.contains("notify-send done") && set.contains("/new/ergo hook stop") && !set.contains("/old"), "{set}");
    for text in [text, set] {
        let left = edit::unset(&text, new).unwrap();
        assert!(left.contains("notify-send done") && left.contains("\"Stop\""), "{left}");
        assert!(!left.contains("ergo"), "{left}");
    }
}

#[test]
fn options_of_a_person_stay_in_servers_and_hooks() {
    let target = |agent: CodingAgent, at: usize| agents::targets(&[agent], &place(None), "/new/ergo").remove(at);
    let server = "{\"mcpServers\": {\"ergo\": {\"command\": \"ergo\", \"args\": [\"mcp\", \"--no-ask\"]}}}";
    let set = edit::set(Some(server), &target(CodingAgent::Cursor, 0)).unwrap();
    assert!(set.contains("/new/ergo") && set.contains("--no-ask"), "{set}");
    let local = "{\"mcp\": {\"ergo\": {\"type\": \"local\", \"command\": [\"ergo\", \"mcp\", \"--no-ask\"]}}}";
    let set = edit::set(Some(local), &target(CodingAgent::Opencode, 0)).unwrap();
    assert!(set.contains("/new/ergo") && set.contains("--no-ask"), "{set}");
    let table = "[mcp_servers.ergo]\ncommand = \"ergo\"\nargs = [\"mcp\", \"--no-ask\"]\n";
    let set = edit::set(Some(table), &target(CodingAgent::Codex, 0)).unwrap();
    assert_eq!(set, table.replace("\"ergo\"", "\"/new/ergo\""));

    let hooks = target(CodingAgent::ClaudeCode, 1);
    let plain = edit::set(None, &hooks).unwrap();
    let own = plain
        .replace("/new/ergo hook session-start", "/new/ergo hook session-start --tokens 600")
        .replace("/new/ergo hook stop", "ERGO_HOME=/x '/old bin/ergo' hook stop");
    let set = edit::set(Some(&own), &hooks).unwrap();
    assert_eq!(set, own.replace("'/old bin/ergo'", "/new/ergo"));
    assert!(!edit::unset(&set, &hooks).unwrap().contains("ergo"));
}

#[test]
fn of_two_hooks_at_one_event_the_first_stays() {
    let hooks = &agents::targets(&[CodingAgent::Cursor], &place(None), "ergo")[1];
    let once = edit::set(None, hooks).unwrap();
    let entry = |options: &str| format!("{{ \"command\": \"ergo hook stop{options}\" }}");
    let start = once.find("\"stop\"").unwrap();
    let list = start + once[start..].find('[').unwrap();
    let end = list + once[list..].find(']').unwrap();
    let twice = format!("{}[{}, {}]{}", &once[..list], entry(" --here"), entry(""), &once[end + 1..]);
    let set = edit::set(Some(&twice), hooks).unwrap();
    assert!(set.matches("ergo hook stop").count() == 1 && set.contains("ergo hook stop --here"), "{set}");
}

#[test]
fn ends_of_lines_and_a_byte_order_mark_stay() {
    let codex = &agents::targets(&[CodingAgent::Codex], &place(None), "ergo")[0];
    let text = "# mine\r\nmodel = \"x\"\r\n";
    let set = edit::set(Some(text), codex).unwrap();
    assert!(set.starts_with(text) && !set.replace("\r\n", "").contains('\n'), "{set:?}");
    let claude = &agents::targets(&[CodingAgent::ClaudeCode], &place(None), "ergo")[0];
    let set = edit::set(Some("\u{feff}{}\n"), claude).unwrap();
    assert!(set.starts_with("\u{feff}{") && set.contains("ergo"), "{set:?}");
}

#[test]
fn instructions_that_another_agent_reads_stay() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state");
    let top = fs::canonicalize(dir.path()).unwrap().join("api");
    fs::create_dir(&top).unwrap();
    let place = AgentFiles { home: dir.path().into(), config: dir.path().into(), project: Some(top.clone()) };
    let run = |agents: &[CodingAgent], remove: bool| {
        SetupPlan::new(agents.to_vec(), &place, &state, remove).unwrap().apply().unwrap();
    };
    run(&[CodingAgent::Codex, CodingAgent::Cursor], false);
    assert!(is_connected(CodingAgent::Cursor, &place).unwrap());
    run(&[CodingAgent::Cursor], true);
    assert!(!is_connected(CodingAgent::Cursor, &place).unwrap() && is_connected(CodingAgent::Codex, &place).unwrap());
    assert!(fs::read_to_string(top.join("AGENTS.md")).unwrap().contains("ergo_recall"));
    run(&[CodingAgent::Codex], true);
    assert!(!top.join("AGENTS.md").exists());
}
