//! Changes by MCP clients of a running team go through its lead.

use serde_json::json;

use super::{WAIT, at_work, members, project, write};
use crate::mcp::Client;

/// A hook that vetoes tasks whose text contains `forbidden`.
const HOOK: &str = r#"{"hooks": {"TaskCreated": [{"hooks": [{"type": "command",
    "command": "if grep -q forbidden; then echo 'not in this house' >&2; exit 2; fi"}]}]}}"#;

#[test]
fn changes_by_an_mcp_client_pass_the_hooks_of_the_lead() {
    let troop = project(WAIT);
    write(&troop, "home/config.json", HOOK);
    let team = at_work(&troop);
    let mut lead = Client::start(&troop, "--as lead --dialect claude");
    let told = lead.told("TaskCreate", &json!({"subject": "something forbidden"}));
    assert!(told.contains("not in this house"), "{told}");
    let spawned = lead.call("SpawnTeammate", &json!({"name": "eve", "agent_type": "command"}));
    assert!(spawned[0].starts_with("Spawned successfully.\nagent_id: eve@crew\n"), "{spawned:?}");
    assert!(members(&troop).iter().any(|(name, _)| name == "eve"));
    write(&troop, "go", "");
    assert_eq!(team.end().code, 0);
    // The lead is gone, so the board takes the change directly.
    lead.call("TaskCreate", &json!({"subject": "something forbidden"}));
}
