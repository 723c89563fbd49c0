//! Parsing the arguments of a teammate.

use std::{ffi::OsString, fs, path::Path};

use super::TeammateArguments;

fn parse(line: &str) -> Option<Result<TeammateArguments, String>> {
    let arguments = line.split_whitespace().map(OsString::from);
    Some(TeammateArguments::parse(arguments)?.map_err(|error| error.to_string()))
}

#[test]
fn the_arguments_of_a_teammate_may_come_in_any_order() {
    let ann = TeammateArguments {
        team: "blue".to_owned(),
        name: "ann".to_owned(),
        agent: "command".to_owned(),
        path: ".".into(),
        model: None,
    };
    let line = "--mode teammate --team blue --name ann --agent command --lead-session s1";
    assert_eq!(parse(line).unwrap().unwrap(), ann);
    let line = "--lead-session s1 --agent command --name ann --team blue --mode=teammate";
    assert_eq!(parse(line).unwrap().unwrap(), ann);
    let line = "--team=blue --mode teammate --name ann --agent command --lead-session s1 --model m --path /tmp";
    assert_eq!(
        parse(line).unwrap().unwrap(),
        TeammateArguments { path: "/tmp".into(), model: Some("m".to_owned()), ..ann }
    );
}

#[test]
fn other_command_lines_do_not_ask_for_a_teammate() {
    for line in
        ["", "--help", "task list", "--team blue task create --teammate", "--mode lead", "--mode"]
    {
        assert_eq!(parse(line), None, "{line}");
    }
}

#[test]
fn a_missing_or_unknown_argument_of_a_teammate_is_named() {
    for (line, message) in [
        ("--mode teammate --team", "`--team` needs a value"),
        ("--mode teammate --name ann", "a teammate needs `--team`"),
        ("--mode teammate --team t --agent a", "a teammate needs `--name`"),
        ("--mode teammate --team t --agent a --name n", "a teammate needs `--lead-session`"),
        ("--mode teammate --colour red", "a teammate has no argument `--colour`"),
        ("--teammate --team t --agent a", "a teammate needs `--base-dir`"),
    ] {
        assert_eq!(parse(line).unwrap().unwrap_err(), message, "{line}");
    }
}

#[test]
fn the_agent_of_a_teammate_may_be_described_in_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let team = folder.path().join("teams/blue");
    fs::create_dir_all(&team).unwrap();
    let members = r#"{"members": [{"name": "bob"}, {"name": "ann", "agentType": "command"}]}"#;
    fs::write(team.join("config.json"), members).unwrap();
    let agent = |member: &str, folder: &Path| {
        let line =
            format!("--teammate --team blue --agent {member} --base-dir {}", folder.display());
        let arguments = parse(&line).unwrap().unwrap();
        assert_eq!(arguments.name, member);
        arguments.agent
    };
    assert_eq!(agent("ann", folder.path()), "command");
    assert_eq!(agent("bob", folder.path()), "bob", "its own name may be an agent's");
    assert_eq!(agent("ann", Path::new("/nowhere")), "ann");
}
