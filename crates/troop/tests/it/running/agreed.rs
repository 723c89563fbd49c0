//! Only files that a person agreed to run, even if they change while a team works.

use serde_json::json;

use super::{project, start, statuses, write};
use crate::troop::Troop;

/// A trusted project whose lead takes these steps when it gets its goal.
fn trusted(config: &serde_json::Value, files: &[(&str, &str)], steps: &str) -> Troop {
    let troop = project(&format!("when mail * from user\n{steps}"));
    write(&troop, ".troop/config.json", &config.to_string());
    files.iter().for_each(|(path, text)| write(&troop, path, text));
    troop.ok("trust --yes");
    troop
}

fn has(troop: &Troop, file: &str) -> bool {
    troop.folder().join(file).exists()
}

#[test]
fn a_hook_that_a_member_changed_no_longer_runs() {
    let config = json!({"hooks": {"hooks": [{"event": "task-created", "command": "sh hook.sh"}]}});
    let create = r#"    call task/create {"subject": "x", "description": "echo x"}"#;
    let steps = format!("{create}\n    write hook.sh\n        touch evil\n{create}\n");
    let troop = trusted(&config, &[("hook.sh", "touch good\n")], &steps);
    let run = start(&troop, "-m ann=command").end();
    assert_eq!(run.code, 0, "{run:?}");
    assert!(has(&troop, "good") && !has(&troop, "evil"), "{run:?}");
    let why = "could not be run: `hook.sh` is not what a person agreed to with `troop trust`";
    assert!(run.out.contains(why), "{run:?}");
}

#[test]
fn a_check_that_a_member_changed_fails() {
    let config = json!({"teams": {"checks": ["sh check.sh"]}});
    let steps = r#"    call task/create {"subject": "x", "description": "echo 'touch evil' > check.sh", "metadata": {}}
    wait until all tasks are done
"#;
    let troop = trusted(&config, &[("check.sh", "exit 1\n")], steps);
    let run = start(&troop, "-m ann=command --set max_attempts=1").end();
    assert_eq!(run.code, 1, "{run:?}");
    assert_eq!(statuses(&troop), ["failed"]);
    assert!(!has(&troop, "evil"), "{run:?}");
    let shown = troop.ok("task get 1");
    let why = "it could not be run: `check.sh` is not what a person agreed to with `troop trust`";
    assert!(shown.contains(why), "{shown}");
}

#[test]
fn an_agent_changed_or_added_after_trust_is_not_started() {
    let own = "---\nprogram: [sh, own.sh]\n---\n";
    let steps = r#"    write own.sh
        touch evil
    write .troop/agents/new.md
        ---
        program: [sh, own.sh]
        ---
    try call member/spawn {"member": {"name": "eve", "agent": "own"}}
    message user {error}
    try call member/spawn {"member": {"name": "eve", "agent": "new"}}
    message user {error}
"#;
    let files = [(".troop/agents/own.md", own), ("own.sh", "touch good\n")];
    let troop = trusted(&json!({}), &files, steps);
    let run = start(&troop, "").end();
    for key in ["own", "new"] {
        let why = format!("the agent `{key}` changed since a person trusted it");
        assert!(run.out.contains(&why), "{run:?}");
    }
    assert!(!has(&troop, "evil"), "{run:?}");
}
