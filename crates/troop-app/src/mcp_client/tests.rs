//! Everything else in a client's configuration stays.

use std::fs;

use super::{McpClient, ServerCommand, place, plan, snippet};

const ALL: [McpClient; 5] = [
    McpClient::ClaudeCode,
    McpClient::Codex,
    McpClient::Gemini,
    McpClient::Opencode,
    McpClient::Cursor,
];

fn server() -> ServerCommand {
    let arguments = ["mcp", "--team", "blue", "--as", "ann"].map(str::to_owned).to_vec();
    ServerCommand { program: "troop".to_owned(), arguments }
}

/// A file after the change.
fn changed(client: McpClient, before: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = place(client, folder.path(), Some(folder.path())).unwrap();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, before).unwrap();
    let backup = plan(client, &path, &server()).unwrap().write().unwrap();
    assert_eq!(fs::read_to_string(backup.unwrap()).unwrap(), before);
    let again = plan(client, &path, &server()).unwrap();
    assert!(again.is_done(), "{}", again.diff());
    fs::read_to_string(path).unwrap()
}

#[test]
fn each_client_gets_its_own_form() {
    let all: String =
        ALL.iter().map(|client| format!("{client:?}\n{}\n", snippet(*client, &server()))).collect();
    insta::assert_snapshot!(all);
}

#[test]
fn comments_order_and_other_servers_stay() {
    let before = "{\n  // mine\n  \"other\": [1, 2],\n  \"mcpServers\": {\n    \"files\": {\"command\": \"x\"}, // keep\n  },\n}\n";
    let after = changed(McpClient::Gemini, before);
    for kept in ["// mine", "\"other\": [1, 2]", "\"files\": {\"command\": \"x\"}", "// keep"] {
        assert!(after.contains(kept), "{after}");
    }
    assert!(after.contains("\"troop\": {"), "{after}");
    let before = "# mine\nmodel = \"o\" # keep\n\n[mcp_servers.files]\ncommand = \"x\"\n";
    let after = changed(McpClient::Codex, before);
    assert!(after.starts_with(before), "{after}");
    assert!(after.contains("[mcp_servers.troop]\ncommand = \"troop\"\n"), "{after}");
}

#[test]
fn an_older_entry_is_replaced() {
    let before = "{\"mcpServers\": {\"troop\": {\"command\": \"old\", \"args\": []}}}\n";
    let after = changed(McpClient::Cursor, before);
    assert!(!after.contains("old") && after.contains("\"--as\""), "{after}");
}

#[test]
fn a_broken_file_is_refused_and_stays_as_it_is() {
    for (client, before, said) in [
        (McpClient::ClaudeCode, "{\"mcpServers\": {", "is not changed: it is broken: "),
        (McpClient::ClaudeCode, "[1]", "is not changed: it does not hold an object"),
        (
            McpClient::ClaudeCode,
            "{\"mcpServers\": []}",
            "is not changed: its `mcpServers` is no object",
        ),
        (McpClient::Codex, "model = ", "is not changed: it is broken: "),
        (McpClient::Codex, "mcp_servers = 1", "is not changed: its `mcp_servers` is no table"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = place(client, folder.path(), Some(folder.path())).unwrap();
        fs::write(&path, before).unwrap();
        let error = plan(client, &path, &server()).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), before);
    }
}

#[test]
fn a_link_stays_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let real = folder.path().join("real.json");
    let link = folder.path().join(".mcp.json");
    fs::write(&real, "{}").unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    plan(McpClient::ClaudeCode, &link, &server()).unwrap().write().unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("troop"));
}

#[test]
fn the_change_is_shown_as_removed_and_added_lines() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(".mcp.json");
    fs::write(
        &path,
        "{\n  \"a\": 1,\n  \"mcpServers\": {\n    \"troop\": {\"command\": \"old\"}\n  }\n}\n",
    )
    .unwrap();
    let shown = plan(McpClient::Cursor, &path, &server()).unwrap().diff();
    assert!(
        shown.contains("-     \"troop\": {\"command\": \"old\"}\n+     \"troop\": {"),
        "{shown}"
    );
    assert!(shown.starts_with("    \"a\": 1,\n    \"mcpServers\": {\n"), "{shown}");
}
