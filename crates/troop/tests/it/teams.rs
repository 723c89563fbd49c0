//! Teams, members, mail and settings.

use std::{fs, io::Read as _, process::Stdio};

use crate::troop::Troop;

#[test]
fn a_team_is_created_shown_changed_and_deleted() {
    let troop = Troop::new();
    assert_eq!(troop.ok("team list"), "no teams\n");
    let made = troop
        .ok("team create blue --member ann=claude --member bob=codex --description 'ships it'");
    assert_eq!(made, "created team blue: a lead and 2 members\n");
    let team = troop.json("team show");
    assert_eq!(
        (&team["status"], &team["lead"], &team["description"]),
        (&"active".into(), &"lead".into(), &"ships it".into())
    );
    assert_eq!(team["links"][0]["max_concurrent"], 3);
    let changed = troop.ok("team set lease_seconds=60 deny_user_ids=eve,mallory");
    for part in ["changed blue: ", "lease_seconds = 60", "deny_user_ids = [\"eve\",\"mallory\"]"] {
        assert!(changed.contains(part), "`{part}` is missing from: {changed}");
    }
    assert_eq!(troop.ok("team set lease_seconds=60"), "nothing changed in blue\n");
    let settings = &troop.json("team show")["settings"];
    assert_eq!(settings["deny_user_ids"], serde_json::json!(["eve", "mallory"]));
    assert_eq!(troop.ok("team delete"), "deleted team blue\n");
    assert_eq!(troop.ok("team list"), "no teams\n");
    assert!(troop.ok("team list --all").contains("deleted"));
    assert_eq!(troop.ok("team create blue"), "created team blue: a lead and 0 members\n");
}

#[test]
fn settings_change_in_the_named_team() {
    let troop = Troop::with_team();
    troop.ok("team create demo");
    let changed = troop.args(&["team", "set", "demo", "checks=[\"make lint\",\"make test\"]"]);
    assert_eq!(
        (changed.code, changed.out.as_str(), changed.err.as_str()),
        (0, "changed demo: checks = [\"make lint\",\"make test\"]\n", "")
    );
    assert_eq!(troop.ok("team set blue isolation=none"), "changed blue: isolation = \"none\"\n");
    assert_eq!(
        troop.ok("team set blue --description 'ships it'"),
        "changed blue: description = \"ships it\"\n"
    );
    let checks = &troop.json("--team blue team show")["settings"]["checks"];
    assert_eq!(checks, &serde_json::json!([]), "the other team is as it was");
    for (typed, hint) in [
        ("team set demo", "`troop team set demo lease_seconds=600`"),
        ("team set lease_seconds", "`lease_seconds=…`"),
        ("team set", "`troop team set lease_seconds=600`"),
    ] {
        let (code, err) = troop.refused(typed);
        assert_eq!(code, 2, "{err}");
        assert!(err.ends_with(&format!("hint: for example: {hint}\n")), "{err}");
    }
}

#[test]
fn a_deleted_team_can_still_be_read_and_then_erased() {
    let troop = Troop::with_team();
    let id = troop.json("team show")["id"].as_str().unwrap().to_owned();
    troop.ok("task create parse");
    troop.ok("team delete");
    assert!(troop.ok(&format!("--team {id} events")).contains("team.deleted"));
    assert_eq!(
        troop.json(&format!("--team {id} team show"))["links"][0]["team"],
        serde_json::Value::Null
    );
    let (code, err) = troop.refused(&format!("--team {id} task create more"));
    assert_eq!((code, err.lines().next().unwrap()), (1, "error: the team was deleted"));
    troop.ok(&format!("team delete {id} --purge"));
    assert_eq!(troop.ok("team list --all"), "no teams\n");
}

#[test]
fn only_a_lead_or_a_person_deletes_a_team_and_only_while_it_rests() {
    let troop = Troop::with_team();
    troop.ok("task create parse");
    troop.ok("--as ann task claim");
    let (_, err) = troop.refused("team delete");
    assert!(err.starts_with("error: teammate `ann` is working; shut down all teammates"), "{err}");
    troop.ok("--as ann task complete 1 -r done");
    let (_, err) = troop.refused("--as ann team delete");
    assert_eq!(
        err.lines().next().unwrap(),
        "error: `ann` may not delete the team; the lead or a person may"
    );
    troop.ok("--as lead team delete");
}

#[test]
fn the_only_team_needs_no_name() {
    let troop = Troop::with_team();
    troop.ok("task list");
    troop.ok("team create red");
    let (code, err) = troop.refused("task list");
    assert_eq!(
        (code, err.as_str()),
        (
            2,
            "error: more than one team fits; the newest are: red, blue\nhint: for example: `--team red`\n"
        )
    );
    troop.ok("--team red task list");
    troop.ok("team delete red");
    troop.ok("task list");
}

#[test]
fn a_lead_that_follows_a_script_needs_no_name() {
    let troop = Troop::new();
    troop.ok("team create blue --lead script:lead.script --member ann=command");
    let team = troop.json("team show");
    let lead = team["members"].as_array().unwrap().iter().find(|it| it["role"] == "lead").unwrap();
    assert_eq!((&lead["name"], &lead["agent"]), (&"lead".into(), &"script:lead.script".into()));
    let (code, err) = troop.refused("team create red --member script:x");
    assert_eq!(
        (code, err.as_str()),
        (2, "error: `script:x` has no member to follow it\nhint: give it a name: `ann=script:x`\n")
    );
}

#[test]
fn members_come_and_go() {
    let troop = Troop::with_team();
    assert_eq!(
        troop.ok("member add eve=claude --expertise 'finds holes'"),
        "added eve (claude, default)\n"
    );
    assert_eq!(troop.ok("member mode eve accept-edits"), "changed eve (claude, accept-edits)\n");
    troop.ok("task create parse");
    troop.ok("--as eve task claim");
    assert_eq!(troop.ok("member remove eve"), "removed eve; its task is back on the board\n");
    assert_eq!(troop.json("task get 1")["status"], "pending");
    let links = troop.json("team show")["links"].clone();
    let link = links.as_array().unwrap().iter().find(|link| link["to"] == "eve").unwrap();
    assert_eq!(link["enabled"], false, "the link stays, disabled");
    let (_, err) = troop.refused("member remove lead");
    assert!(err.starts_with("error: `lead` leads the team; the lead cannot be removed"), "{err}");
    let (_, err) = troop.refused("member add max=claude --mode bypass");
    assert!(err.contains("wider than the lead's default"), "{err}");
    assert!(troop.ok("member list").contains("NAME"));
}

#[test]
fn mail_is_stored_then_read_once_by_each_reader() {
    let troop = Troop::with_team();
    assert_eq!(troop.ok("--as ann message send bob 'hi bob'"), "stored for bob\n");
    assert_eq!(troop.ok("--as ann message broadcast 'hi all'"), "stored for bob, lead\n");
    assert_eq!(troop.ok("message send '*' 'from the person'"), "stored for ann, bob, lead\n");
    let peeked = troop.json("--as bob message read --peek");
    assert_eq!(peeked["messages"].as_array().unwrap().len(), 3);
    let read = troop.json("--as bob message read");
    let said: Vec<_> = read["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["content"].as_str().unwrap())
        .collect();
    assert_eq!(said, ["hi bob", "hi all", "from the person"]);
    assert_eq!(troop.ok("--as bob message read"), "no unread messages\n");
    let all = troop.json("message read --all");
    assert!(all["messages"][0]["read_at"].is_string(), "the sender can see that it was read");
    assert!(all["messages"][1]["read_at"].is_null(), "the lead has not read it yet");
}

#[test]
fn a_reader_that_is_killed_while_it_prints_loses_no_mail() {
    for json in [&[][..], &["--json"]] {
        let troop = Troop::with_team();
        let long = "x".repeat(90_000);
        for nth in 0..2 {
            let sent = troop.with_input("--as bob message send ann -", &format!("{nth}{long}"));
            assert_eq!(sent.code, 0, "{sent:?}");
        }
        let words = [&["--as", "ann", "message", "read"], json].concat();
        let mut command = troop.command(&words);
        let mut reader = command.stdout(Stdio::piped()).spawn().unwrap();
        // A pipe holds less than this mail: once a byte is here, the reader waits for us to take the rest.
        reader.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        reader.kill().unwrap();
        reader.wait().unwrap();
        let unread = troop.json("--as ann message read --peek");
        assert_eq!(unread["messages"].as_array().map(Vec::len), Some(2));
    }
}

#[test]
fn a_request_is_answered_by_its_id() {
    let troop = Troop::with_team();
    let request = troop.json("message send ann --kind shutdown_request 'please stop'");
    let id = request["request_id"].as_str().unwrap();
    let (code, err) = troop.refused(&format!(
        "--as bob message send user --kind shutdown_response --request {id} --approve ok"
    ));
    assert_eq!((code, err.contains("is for `ann` to answer")), (1, true), "{err}");
    troop.ok(&format!(
        "--as ann message send user --kind shutdown_response --request {id} --approve ok"
    ));
    let (_, err) = troop.refused(&format!(
        "--as ann message send user --kind shutdown_response --request {id} --approve ok"
    ));
    assert!(err.contains("there is no open request"), "{err}");
}

#[test]
fn a_team_can_be_exported_and_imported() {
    let troop = Troop::with_team();
    troop.ok("task create parse");
    troop.ok("--as ann task claim");
    troop.ok("team export --output blue.jsonl");
    assert_eq!(
        troop.ok("team export"),
        fs::read_to_string(troop.folder().join("blue.jsonl")).unwrap()
    );
    let (code, err) = troop.refused("team import blue.jsonl");
    assert_eq!(code, 1);
    assert!(err.contains("`blue`"), "{err}");
    assert_eq!(troop.ok("team import blue.jsonl --name green"), "imported team green\n");
    let task = troop.json("--team green task get 1");
    assert_eq!((&task["status"], &task["owner"]), (&"in_progress".into(), &"ann".into()));
    let (code, err) = troop.refused("team import no-such-file.jsonl");
    assert_eq!(code, 2);
    assert!(
        err.starts_with(
            "error: `no-such-file.jsonl` cannot be imported: it cannot be read: No such"
        ),
        "{err}"
    );
    let write = |name: &str, text: &str| fs::write(troop.folder().join(name), text).unwrap();
    let file = fs::read_to_string(troop.folder().join("blue.jsonl")).unwrap();
    write("broken.jsonl", "{}\n");
    write("half.jsonl", file.rsplit_once("{\"version\"").unwrap().0);
    write("newer.jsonl", &file.replacen("troop_export\":1", "troop_export\":7", 1));
    write("changed.jsonl", &file.replace("parse", "purge"));
    for (name, said) in [
        (
            "broken",
            "its first line is not that of an exported team\nhint: import what `troop team export",
        ),
        (
            "half",
            "it should have 8 events and has 7: it is cut off or was changed\nhint: copy the file again",
        ),
        (
            "newer",
            "it has format 7; this troop knows formats up to 1\nhint: a newer troop wrote it",
        ),
        ("changed", "it was changed after it was written\nhint: copy the file again"),
    ] {
        let (code, err) = troop.refused(&format!("team import {name}.jsonl --name other"));
        assert!(code == 2 && err.contains(said), "{err}");
    }
    assert_eq!(troop.json("team list")["teams"].as_array().unwrap().len(), 2, "nothing was made");
}

#[test]
fn a_team_can_be_imported_into_another_store_and_from_a_pipe() {
    let troop = Troop::with_team();
    troop.ok("task create parse");
    let file = troop.ok("team export blue");
    let store = format!("--store files:{}", troop.folder().join("copy").display());
    let run = troop.with_input(&format!("{store} team import -"), &file);
    assert_eq!((run.code, run.out.as_str()), (0, "imported team blue\n"), "{run:?}");
    assert_eq!(troop.json(&format!("{store} task get 1"))["subject"], "parse");
    let header: serde_json::Value = serde_json::from_str(file.lines().next().unwrap()).unwrap();
    assert_eq!((&header["team"], &header["troop_export"]), (&"blue".into(), &1.into()));
    assert_eq!(header["events"].as_u64().unwrap() as usize + 1, file.lines().count());
    let (code, err) = troop.refused("team export no-such-team");
    assert!(code == 1 && err.contains("there is no team `no-such-team`"), "{err}");
    let (_, err) = troop.refused("team export --output no/such/folder");
    assert!(err.starts_with("error: `no/such/folder` cannot be written"), "{err}");
}

#[test]
fn a_team_can_be_replayed() {
    let troop = Troop::with_team();
    troop.ok("task create parse");
    let before = troop.json("team replay");
    let version = before["version"].as_u64().unwrap();
    troop.ok("--as ann task claim");
    troop.ok("--as ann task complete 1 --result done");
    assert_eq!(troop.json(&format!("team replay blue --until {version}")), before);
    assert_eq!(before["tasks"][0]["status"], "pending");
    assert_eq!(before["team"]["name"], "blue");
    let now = troop.json("team replay");
    assert_eq!(now["tasks"][0]["status"], "completed");
    let at = before["at"].as_str().unwrap();
    assert_eq!(troop.json(&format!("team replay --at {at}")), before);
    let text = troop.ok(&format!("team replay --until {version}"));
    assert!(
        text.starts_with(&format!("version {version}, ")) && text.contains("Ready 1"),
        "{text}"
    );
    let end = now["version"].as_u64().unwrap();
    for (line, said) in [
        (
            format!("--until {}", end + 1),
            format!("the log has no event {}; it ends at {end}", end + 1),
        ),
        ("--until 0".to_owned(), "the team did not exist yet".to_owned()),
        ("--at yesterday".to_owned(), "`yesterday` is not a time".to_owned()),
        ("--at 2001-01-01T00:00:00Z".to_owned(), "the team did not exist yet".to_owned()),
        ("--until 3 --at 2001-01-01T00:00:00Z".to_owned(), "cannot be used with".to_owned()),
    ] {
        let (code, err) = troop.refused(&format!("team replay {line}"));
        assert!(code == 2 && err.contains(&said), "{line}: {err}");
    }
    assert_eq!(troop.json("team replay")["version"], now["version"], "looking changes nothing");
}

#[test]
fn a_team_of_version_1_refuses_newer_actions() {
    let troop = Troop::new();
    troop.ok("team create old --set version=1 --member ann=claude");
    troop.ok("task create parse");
    let (code, err) = troop.refused("task comment 1 hello");
    assert_eq!(
        (code, err.as_str()),
        (
            1,
            "error: action 'comment' requires team version 2 — upgrade in team settings\nhint: `troop team set version=2`\n"
        )
    );
    troop.ok("team set version=2");
    troop.ok("task comment 1 hello");
}

#[test]
fn denied_users_and_channels_cannot_give_work() {
    let troop = Troop::with_team();
    troop.ok("team set deny_user_ids=pat");
    let (code, err) = troop.refused("task create parse");
    assert_eq!(code, 1);
    assert!(err.starts_with("error: user `pat` may not give this team work"), "{err}");
    troop.ok("--as lead task create parse");
    troop.ok("team set deny_user_ids= allow_channels=telegram");
    let (_, err) = troop.refused("task create parse");
    assert!(err.starts_with("error: channel `cli` may not give this team work"), "{err}");
}

#[test]
fn lists_can_be_limited_to_one_users_tasks() {
    let troop = Troop::with_team();
    troop.ok("task create mine");
    troop.ok("--as lead task create theirs");
    assert_eq!(troop.json("task list")["tasks"].as_array().unwrap().len(), 2);
    let mine = troop.json("task list --user pat");
    assert_eq!(mine["tasks"].as_array().unwrap().len(), 1);
    assert_eq!(mine["tasks"][0]["subject"], "mine");
    assert_eq!(troop.json("task list --user eve")["tasks"].as_array().unwrap().len(), 0);
    assert_eq!(troop.json("task search mine --user eve")["tasks"].as_array().unwrap().len(), 0);
    let status = troop.json("team status");
    assert_eq!(status["known_users"], serde_json::json!(["pat"]));
    assert_eq!(status["scopes"], serde_json::json!([{"channel": "cli", "chat_id": null}]));
}
