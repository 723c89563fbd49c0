//! `troop workspace …`

use std::{fs, os::unix::fs::symlink, path::PathBuf};

use crate::troop::{Printing, Troop};

/// The workspace of the only team, for files outside any chat.
fn folder(troop: &Troop) -> PathBuf {
    PathBuf::from(troop.json("workspace list")["path"].as_str().unwrap())
}

#[test]
fn files_are_written_listed_read_and_deleted() {
    let troop = Troop::with_team();
    assert!(troop.ok("workspace list").starts_with("no files in "));
    fs::write(troop.folder().join("plan.txt"), "the plan\n").unwrap();
    assert_eq!(troop.ok("workspace write notes/plan.md plan.txt"), "wrote notes/plan.md (9 B)\n");
    let piped = troop.with_input("workspace write b.bin", "from a pipe");
    assert_eq!(piped.out, "wrote b.bin (11 B)\n", "{piped:?}");
    assert_eq!(troop.ok("workspace read notes/plan.md"), "the plan\n");
    troop.ok("workspace read b.bin --output copy.bin");
    assert_eq!(fs::read_to_string(troop.folder().join("copy.bin")).unwrap(), "from a pipe");
    let list = troop.ok("workspace list");
    let rows: Vec<Vec<_>> = list.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["FILE", "SIZE", "BY", "TASK", "WRITTEN"]);
    assert_eq!(rows[1][..4], ["b.bin", "11", "B", "pat"]);
    assert_eq!(rows[2][..4], ["notes/plan.md", "9", "B", "pat"]);
    assert_eq!(troop.ok("workspace delete b.bin"), "deleted b.bin (11 B)\n");
    let (code, err) = troop.refused("workspace read b.bin");
    assert_eq!(code, 1);
    assert_eq!(
        err,
        "error: there is no file `b.bin` in the workspace\nhint: see what is there: `troop workspace list`\n"
    );
    let json = troop.json("workspace read notes/plan.md");
    assert_eq!((&json["content"], &json["size"]), (&"the plan\n".into(), &9.into()));
}

#[test]
fn a_file_that_a_member_writes_belongs_to_its_task() {
    let troop = Troop::with_team();
    troop.ok("task create parse");
    troop.ok("task create test");
    troop.ok("--as ann task claim 1");
    troop.with_input("--as ann workspace write out.md", "one");
    let written = troop.with_input("--as ann workspace write out.md", "other");
    assert_eq!(written.out, "wrote out.md (5 B) for task-1\n", "{written:?}");
    troop.with_input("--as bob workspace write free.md", "x");
    let task = troop.json("task get 1");
    let files = task["detail"]["attachments"].as_array().unwrap();
    assert_eq!(files.len(), 1, "{files:?}");
    assert_eq!(
        (&files[0]["path"], &files[0]["size"], &files[0]["gone"]),
        (&"out.md".into(), &5.into(), &false.into())
    );
    assert_eq!(files[0]["by"]["name"], "ann");
    let text = troop.ok("task get 1");
    assert!(text.contains("out.md  by ann · 20") && text.contains(" · 5 B\n"), "{text}");
    assert_eq!(troop.json("task get 2")["detail"]["attachments"], serde_json::json!([]));
    let list = troop.json("workspace list");
    let files: Vec<_> = list["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            (it["path"].as_str().unwrap(), it["by"]["name"].as_str().unwrap(), it["task"].as_u64())
        })
        .collect();
    assert_eq!(files, [("free.md", "bob", None), ("out.md", "ann", Some(1))]);
    // If a person deletes it, it stays the member's and is shown as gone.
    troop.ok("workspace delete out.md");
    assert_eq!(troop.json("task get 1")["detail"]["attachments"][0]["gone"], true);
    assert!(troop.ok("task get 1").contains(" · gone\n"));
}

#[test]
fn chats_have_their_own_files_unless_the_team_shares_them() {
    let troop = Troop::with_team();
    troop.with_input("workspace write a.md", "none");
    troop.with_input("workspace write a.md --chat c1", "one");
    assert_eq!(troop.ok("workspace read a.md"), "none");
    assert_eq!(troop.ok("workspace read a.md --chat c1"), "one");
    let (code, err) = troop.refused("--as ann workspace read a.md --chat c1");
    assert!(code == 1 && err.contains("`ann` may not use the files of a chat"), "{err}");
    let (_, err) = troop.refused("--as eve workspace list");
    assert!(err.contains("`eve` is not a member"), "{err}");
    troop.ok("team set workspace_scope=shared");
    assert_eq!(troop.json("workspace list --chat c1")["files"], serde_json::json!([]));
    troop.with_input("workspace write a.md --chat c1", "shared");
    assert_eq!(troop.ok("workspace read a.md"), "shared");
    assert_eq!(troop.json("workspace list")["folder"]["scope"], "shared");
}

#[test]
fn workspace_limits_are_explained() {
    let troop = Troop::with_team();
    fs::write(troop.folder().join("big"), vec![0; 10 * 1024 * 1024 + 1]).unwrap();
    let (code, err) = troop.refused("workspace write big big");
    assert_eq!(code, 1);
    assert_eq!(
        err,
        "error: `big` has 10485761 bytes; a workspace file may have at most 10485760 (10 MB)\nhint: split it, or keep it in the project and write down where it is\n"
    );
    troop.ok("team set workspace_quota_mb=1");
    fs::write(troop.folder().join("big"), vec![0; 1024 * 1024]).unwrap();
    troop.ok("workspace write big big");
    let more = troop.with_input("workspace write more", "x");
    assert!(more.code == 1 && more.err.contains("1048576 of 1048576 bytes are used"), "{more:?}");
    assert!(more.err.contains("hint: delete files: `troop workspace delete PATH`"), "{more:?}");
    troop.ok("team set workspace_quota_mb=null");
    for n in 1..100 {
        fs::write(folder(&troop).join(format!("{n}")), "").unwrap();
    }
    let more = troop.with_input("workspace write more", "x");
    assert!(
        more.code == 1 && more.err.contains("the workspace has 100 of at most 100"),
        "{more:?}"
    );
    troop.ok("workspace write big big");
}

#[test]
fn bad_workspace_paths_are_refused() {
    let troop = Troop::with_team();
    troop.with_input("workspace write a", "x");
    symlink("/etc/passwd", folder(&troop).join("link")).unwrap();
    for (arguments, code, said) in [
        (
            ["workspace", "read", "../../troop.db"],
            2,
            "`../../troop.db` is not a path in the workspace: `.` and `..` are not allowed",
        ),
        (["workspace", "read", "/etc/passwd"], 2, "it begins at the root of the machine"),
        (
            ["workspace", "read", "a\nb"],
            2,
            "`a\\nb` is not a path in the workspace: it has a character that cannot be seen",
        ),
        (["workspace", "read", "a\u{2215}b"], 2, "looks like a separator"),
        (["workspace", "read", "link"], 1, "`link` is a link, which the workspace does not touch"),
        (["workspace", "read", "a/b"], 1, "`a/b` is behind a file or a link"),
    ] {
        let run = troop.args(&arguments);
        assert!(run.code == code && run.err.contains(said), "{run:?}");
    }
    let (code, err) = troop.refused("workspace write b no-such-file");
    assert!(code == 1 && err.contains("`no-such-file` cannot be read"), "{err}");
    let list = troop.run("workspace list");
    assert!(list.err.starts_with("warning: 1 more entry"), "{list:?}");
    assert_eq!(troop.json("task create x")["number"], 1, "the team still works");
}

/// A lead with a task that writes files, and another that reads them.
const SHARE: &str = r#"
when mail * from user
    call task/create {"subject": "write it"} as first
    call task/create {"subject": "read it", "blocked_by": ["{first.task.number}"]}
    wait until all tasks are done
"#;

const ANN: &str = r#"
when task write *
    workspace write notes/plan.md
        the plan of {name}
    workspace write scratch.md
        away with it
    workspace delete scratch.md
    try workspace read ../secret
    log refused: {error}
    complete {run.workspace}

when task read *
    workspace list
    workspace read notes/plan.md
    run printenv TROOP_WORKSPACE TROOP_TASK && cat $TROOP_WORKSPACE/notes/plan.md
    complete {files}: {content}{output}
"#;

#[test]
fn members_of_a_running_team_share_files() {
    let troop = Troop::new();
    fs::write(troop.folder().join("lead.script"), SHARE).unwrap();
    fs::write(troop.folder().join("ann.script"), ANN).unwrap();
    let line = "--team crew run 'the goal' --agent script:lead.script -m ann=script:ann.script";
    let run = Printing::new(troop.start(line)).end();
    assert_eq!(run.code, 0, "{run:?}");
    let path = folder(&troop);
    assert_eq!(troop.json("task get 1")["result"].as_str(), path.to_str());
    let result = troop.json("task get 2")["result"].as_str().unwrap().to_owned();
    let plan = "the plan of ann\n";
    assert_eq!(
        result,
        format!("notes/plan.md: {plan}{}\ntask-2\n{}", path.display(), plan.trim_end())
    );
    let files = troop.json("task get 1")["detail"]["attachments"].clone();
    let files: Vec<_> = files
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            (
                it["path"].as_str().unwrap(),
                it["by"]["name"].as_str().unwrap(),
                it["gone"].as_bool().unwrap(),
            )
        })
        .collect();
    assert_eq!(files, [("notes/plan.md", "ann", false), ("scratch.md", "ann", true)]);
    assert!(troop.ok("log ann").contains("refused: `../secret` is not a path in the workspace"));
}
