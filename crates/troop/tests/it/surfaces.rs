//! Every surface says the same about a team, and refuses the same.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    os::unix::net::UnixStream,
    path::PathBuf,
};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::{
    mcp::Client,
    troop::{Printing, Run, Troop, wait},
};

/// A team with an external lead, run by troop.
fn led(troop: &Troop) -> Printing {
    let mut team = Printing::new(troop.start("resume crew --grace 0"));
    team.wait_for(" leads");
    team
}

/// A team with an external lead and a member that works for a long time.
fn at_work(troop: &Troop) -> Printing {
    troop.ok("team create crew --lead lead=external --member ann=command --member bob=command");
    troop.ok("task create dig --description 'sleep 100' --assignee ann");
    let mut team = led(troop);
    team.wait_for("task-1 goes to ann");
    team
}

/// Waits until members stop changing their states by themselves.
fn settled(troop: &Troop) {
    let is = |states: &[(String, String)], name: &str, state: &str| {
        states.contains(&(name.to_owned(), state.to_owned()))
    };
    wait("ann works and bob is idle", || {
        let states = states(&troop.json("member list"));
        is(&states, "ann", "working") && is(&states, "bob", "idle")
    });
}

/// Kills a lead, as the machine would.
fn kill(team: Printing) {
    team.signal(Signal::KILL);
    team.end();
}

fn socket(troop: &Troop) -> PathBuf {
    let id = troop.json("team show")["id"].as_str().unwrap().to_owned();
    let entry = troop.folder().join("home/teams").join(id).join("lead.lock");
    let entry = fs::read_to_string(entry).unwrap();
    let entry: Value = serde_json::from_str(entry.lines().next().unwrap()).unwrap();
    entry["socket"].as_str().unwrap().into()
}

/// Asks the lead on its socket, without our own client code.
fn ask(troop: &Troop, method: &str) -> Value {
    let mut stream = UnixStream::connect(socket(troop)).unwrap();
    let session = json!({"actor": {"kind": "human", "name": "pat"}});
    for (id, method, params) in [(1, "session/open", session), (2, method, json!({}))] {
        let line = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        writeln!(stream, "{line}").unwrap();
    }
    let lines = BufReader::new(stream).lines().map(Result::unwrap);
    let mut answers = lines.map(|line| serde_json::from_str::<Value>(&line).unwrap());
    answers.find(|it| it["id"] == 2).unwrap()["result"].take()
}

fn states(list: &Value) -> Vec<(String, String)> {
    let text = |it: &Value| it.as_str().unwrap().to_owned();
    let members = list["members"].as_array().unwrap().iter();
    let mut states: Vec<_> = members.map(|it| (text(&it["name"]), text(&it["state"]))).collect();
    states.sort();
    states
}

#[test]
fn the_command_line_and_the_socket_say_the_same_before_and_after_a_lead_is_killed() {
    let troop = Troop::new();
    let team = at_work(&troop);
    let look = |state: &str| {
        let lists =
            ["member list", "team show", "team status"].map(|line| states(&troop.json(line)));
        let ann = ("ann".to_owned(), state.to_owned());
        assert!(lists.iter().all(|it| it.contains(&ann)), "{lists:?}");
        assert!(lists.iter().all(|it| *it == lists[0]), "{lists:?}");
        lists[0].clone()
    };
    // Whole members, in one order.
    let members = || {
        let here = troop.json("member list")["members"].take();
        assert_eq!(here, troop.json("team show")["members"]);
        here
    };
    let same = |state: &str| {
        assert_eq!(states(&ask(&troop, "member/list")), look(state));
        assert_eq!(ask(&troop, "member/list")["members"], members());
        assert_eq!(ask(&troop, "team/show")["members"], members());
        let delegations = ask(&troop, "delegation/list");
        assert_eq!(delegations, troop.json("team delegations"));
        assert_eq!(ask(&troop, "task/list"), troop.json("task list"));
    };
    settled(&troop);
    same("working");
    kill(team);
    look("crashed");
    members();
    assert_eq!(troop.json("team status")["state"], "stopped");
    let mut team = led(&troop);
    team.wait_for("task-1 goes to ann");
    settled(&troop);
    same("working");
}

/// The kinds of events of a team, from its end.
fn deletion(troop: &Troop, id: &str) -> Vec<String> {
    let events = troop.ok(&format!("--team {id} events --json"));
    let events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let kinds = events.map(|it| it["kind"].as_str().unwrap().to_owned());
    kinds.filter(|it| it.starts_with("team.deleted") || it == "member.removed").collect()
}

#[test]
fn after_a_lead_is_killed_mcp_and_the_command_line_delete_its_team_alike() {
    let delete_over_mcp = |troop: &Troop| {
        let mut lead = Client::start(troop, "--as lead --dialect claude");
        let said = lead.call("TeamDelete", &json!({}));
        assert!(said[0].contains("Cleaned up team"), "{said:?}");
    };
    let delete_here = |troop: &Troop| drop(troop.ok("team delete crew"));
    let ways: [&dyn Fn(&Troop); 2] = [&delete_over_mcp, &delete_here];
    for delete in ways {
        let troop = Troop::new();
        let team = at_work(&troop);
        let id = troop.json("team show")["id"].as_str().unwrap().to_owned();
        kill(team);
        delete(&troop);
        assert_eq!(deletion(&troop, &id), ["member.removed", "member.removed", "team.deleted"]);
        // Its name is free.
        troop.ok("team create crew");
    }
}

#[test]
fn a_team_that_somebody_leads_is_deleted_by_its_lead_alone_on_every_surface() {
    let troop = Troop::new();
    let team = at_work(&troop);
    let (code, err) = troop.refused("team delete crew");
    assert_eq!(code, 1);
    assert!(err.starts_with("error: team `crew` is led by pat on "), "{err}");
    assert!(err.contains("ann is working") && err.contains("hint: stop it first"), "{err}");
    let (_, here) = troop.refused("--as lead team delete crew");
    let mut lead = Client::start(&troop, "--as lead --dialect claude");
    let there = lead.told("TeamDelete", &json!({}));
    let busy = "teammate `ann` is working; shut down all teammates";
    assert!(here.contains(busy) && there.contains(busy), "{here}\n{there}");
    drop(team);
}

#[test]
fn a_request_that_its_lead_ends_with_is_carried_out_once() {
    let troop = Troop::new();
    let began = troop.folder().join("began");
    let command = format!("touch {}; sleep 100", began.display());
    let hook = json!({"event": "task-created", "command": command});
    fs::create_dir_all(troop.folder().join("home")).unwrap();
    let config = json!({"hooks": {"hooks": [hook]}}).to_string();
    fs::write(troop.folder().join("home/config.json"), config).unwrap();
    troop.ok("team create crew --lead lead=external --member ann=command");
    let mut team = led(&troop);
    let asking = troop.start("task create dig --json");
    wait("the hook has begun", || began.exists());
    // The first stops the team in good order, the second at once.
    team.signal(Signal::INT);
    team.wait_for("asks the team to stop");
    team.signal(Signal::INT);
    let answer = Run::new(asking.wait_with_output().unwrap());
    assert_eq!((answer.code, answer.err.as_str()), (0, ""), "{answer:?}");
    let task: Value = serde_json::from_str(&answer.out).unwrap();
    assert_eq!((&task["number"], &task["subject"]), (&json!(1), &json!("dig")));
    team.end();
    assert_eq!(troop.json("task list --status all")["tasks"].as_array().map(Vec::len), Some(1));
}

#[test]
fn members_cannot_make_or_lead_teams_and_a_failed_try_leaves_nothing() {
    let troop = Troop::with_team();
    fs::write(troop.folder().join("keep.script"), "when mail * from user\n    log ok\n").unwrap();
    let events = troop.ok("events");
    for line in [
        "--as ann team create inner",
        "--as ann --team inner run go --agent script:keep.script",
        "--as ann --team blue resume",
        "--as lead --team inner run go --agent script:keep.script",
    ] {
        let (code, err) = troop.refused(line);
        let is_said = err.contains("can neither create nor lead a team")
            || err.contains("only a person starts a team with a goal");
        assert!(code == 1 && is_said && err.contains("\nhint: "), "{line}: {err}");
    }
    let teams = troop.json("team list --all");
    assert_eq!(teams["teams"].as_array().map(Vec::len), Some(1), "{teams}");
    assert_eq!(troop.ok("events"), events);
    // Not even the store is made.
    let (_, err) = troop.refused("--as ann --store files:other team create inner");
    assert!(err.contains("can neither create nor lead a team"), "{err}");
    assert!(!troop.folder().join("other").exists());
}

#[test]
fn a_name_that_another_team_has_is_refused_alike_by_mcp_and_the_command_line() {
    let troop = Troop::with_team();
    troop.ok("team create green");
    let (_, here) = troop.refused("team create green");
    let mut lead = Client::start(&troop, "--team blue --as lead --dialect claude");
    lead.call("TeamDelete", &json!({}));
    let green = json!({"team_name": "green", "description": "again"});
    let there = lead.told("TeamCreate", &green);
    for said in [&here, &there] {
        let is_said = said.contains("there is already a team `green`");
        assert!(is_said && said.contains("such as `green-2`"), "{here}\n{there}");
    }
}

#[test]
fn an_agent_that_only_runs_commands_is_never_made_a_lead() {
    let troop = Troop::with_team();
    for line in [
        "team create other --lead boss=command",
        "run go --agent command",
        "resume blue --agent command",
    ] {
        let (code, err) = troop.refused(line);
        assert_eq!(code, 2, "{line}: {err}");
        assert!(err.starts_with("error: `command` cannot lead: it only runs"), "{line}: {err}");
    }
    assert_eq!(troop.json("team list")["teams"].as_array().map(Vec::len), Some(1));
}

#[test]
fn an_empty_troop_home_means_the_default_and_an_unusable_one_is_named() {
    let troop = Troop::new();
    let create = |name: &str, home: &str| {
        let mut command = troop.command(&["team", "create", name]);
        Run::new(command.env("TROOP_HOME", home).env("HOME", troop.folder()).output().unwrap())
    };
    let empty = create("blue", "");
    assert_eq!((empty.code, empty.err.as_str()), (0, ""), "{empty:?}");
    assert!(troop.folder().join(".troop/troop.db").exists());
    let unusable = create("red", "/dev/null/x");
    assert_eq!(unusable.code, 1, "{unusable:?}");
    let says = "error: troop cannot keep its files in `/dev/null/x`: Not a directory (os error 20)\n\
                hint: say where: `TROOP_HOME=/path troop …`\n";
    assert_eq!(unusable.err, says);
}
