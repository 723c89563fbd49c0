//! Puts one entry into a client's configuration. Comments and order stay.

use jsonc_parser::{
    ParseOptions,
    cst::{CstInputValue, CstObject, CstRootNode},
};
use toml_edit::{Array, DocumentMut, Item, Table, value};

use super::{McpClient, ServerCommand};

/// The configuration with the server in it, or the problem of the text that was given.
pub(super) fn with_server(
    client: McpClient,
    text: &str,
    name: &str,
    server: &ServerCommand,
) -> Result<String, String> {
    match client {
        McpClient::ClaudeCode => {
            let kind = ("type".to_owned(), string("stdio"));
            in_json(text, "mcpServers", name, object(server, Some(kind)))
        }
        McpClient::Cursor | McpClient::Gemini => {
            in_json(text, "mcpServers", name, object(server, None))
        }
        McpClient::Opencode => {
            let all = std::iter::once(&server.program).chain(&server.arguments);
            let command = CstInputValue::Array(all.map(|word| string(word)).collect());
            let entry = CstInputValue::Object(vec![
                ("type".to_owned(), string("local")),
                ("command".to_owned(), command),
                ("enabled".to_owned(), CstInputValue::Bool(true)),
            ]);
            in_json(text, "mcp", name, entry)
        }
        McpClient::Codex => in_toml(text, name, server),
    }
}

fn string(text: &str) -> CstInputValue {
    CstInputValue::String(text.to_owned())
}

fn object(server: &ServerCommand, first: Option<(String, CstInputValue)>) -> CstInputValue {
    let arguments = server.arguments.iter().map(|word| string(word)).collect();
    let mut fields: Vec<_> = first.into_iter().collect();
    fields.push(("command".to_owned(), string(&server.program)));
    fields.push(("args".to_owned(), CstInputValue::Array(arguments)));
    CstInputValue::Object(fields)
}

fn in_json(text: &str, group: &str, name: &str, entry: CstInputValue) -> Result<String, String> {
    let options = ParseOptions { allow_missing_commas: false, ..ParseOptions::default() };
    let root =
        CstRootNode::parse(text, &options).map_err(|error| format!("it is broken: {error}"))?;
    let all: CstObject =
        root.object_value_or_create().ok_or("it does not hold an object".to_owned())?;
    let servers =
        all.object_value_or_create(group).ok_or_else(|| format!("its `{group}` is no object"))?;
    match servers.get(name) {
        Some(present) => present.set_value(entry),
        None => drop(servers.append(name, entry)),
    }
    let mut after = root.to_string();
    if !after.ends_with('\n') {
        after.push('\n');
    }
    Ok(after)
}

fn in_toml(text: &str, name: &str, server: &ServerCommand) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
        format!("it is broken: {}", error.to_string().lines().next().unwrap_or_default())
    })?;
    let servers = document.entry("mcp_servers").or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let servers = servers.as_table_like_mut().ok_or("its `mcp_servers` is no table".to_owned())?;
    let entry = servers.entry(name).or_insert_with(|| Item::Table(Table::new()));
    let entry =
        entry.as_table_like_mut().ok_or_else(|| format!("its `mcp_servers.{name}` is no table"))?;
    entry.insert("command", value(&server.program));
    entry.insert("args", value(server.arguments.iter().collect::<Array>()));
    Ok(document.to_string())
}
