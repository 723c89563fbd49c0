//! `troop mcp install`

use std::{fs, path::Path};

use serde_json::Value;

use crate::troop::Troop;

#[test]
fn a_client_is_configured_after_the_change_was_shown() {
    let troop = Troop::with_team();
    let file = troop.folder().join(".mcp.json");
    let run = troop.run("mcp install claude-code --as ann");
    assert_eq!(run.code, 1);
    assert!(run.out.contains("+ ") && run.out.contains("\"troop\": {"), "{}", run.out);
    assert!(
        run.err.contains("error: there is no terminal to ask on\nhint: use `--yes`"),
        "{}",
        run.err
    );
    assert!(!file.exists());
    troop.ok("mcp install claude-code --as ann --yes");
    let written: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let server = &written["mcpServers"]["troop"];
    assert_eq!(server["command"], env!("CARGO_BIN_EXE_troop"));
    let args: Vec<_> =
        server["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect();
    // The home is not the default here, so the arguments name it.
    let [mcp, "--home", home, rest @ ..] = args.as_slice() else { panic!("{args:?}") };
    assert_eq!((*mcp, Path::new(home)), ("mcp", troop.folder().join("home").as_path()));
    assert_eq!(rest, ["--team", "blue", "--as", "ann"], "the team has the dialect");
    let again = troop.ok("mcp install claude-code --as ann --yes");
    assert!(again.ends_with("has it already\n"), "{again}");
}

#[test]
fn install_print_writes_nothing() {
    let troop = Troop::with_team();
    for client in ["claude-code", "codex", "gemini", "opencode", "cursor"] {
        let shown = troop.ok(&format!("mcp install {client} --as ann --print"));
        assert!(shown.contains("blue") && shown.contains("ann"), "{shown}");
    }
    let left: Vec<_> = fs::read_dir(troop.folder()).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "only the home is there: {left:?}");
}

#[test]
fn a_broken_client_configuration_is_left_alone() {
    let troop = Troop::with_team();
    let file = troop.folder().join(".mcp.json");
    fs::write(&file, "{\"mcpServers\": ").unwrap();
    let (code, said) = troop.refused("mcp install claude-code --as ann --yes");
    assert_eq!(code, 1);
    assert!(said.contains("is not changed: it is broken"), "{said}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\"mcpServers\": ");
    let (code, said) = troop.refused("mcp install emacs --as ann");
    assert_eq!(code, 2);
    assert!(said.contains("claude-code"), "{said}");
}
