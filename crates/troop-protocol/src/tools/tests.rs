//! Every tool as models see it, and what each mode allows.

use serde_json::{Value, json};
use troop_model::{Dialect, Permissions, Role, Settings, TaskCreation, TeamStatus};

use super::{Category, Gate, Seat, ToolDenial, board, claude};

fn seat(dialect: Dialect, role: Role) -> Seat {
    let name = if role == Role::Lead { "lead" } else { "ann" };
    Seat {
        member: name.parse().unwrap(),
        role,
        dialect,
        status: TeamStatus::Active,
        settings: Settings::for_dialect(dialect),
        permissions: Permissions::Default,
        gate: Gate::Open,
    }
}

fn names(seat: &Seat) -> Vec<&'static str> {
    seat.tools().iter().map(|tool| tool.name).collect()
}

/// All tools as a document.
fn shown(seat: &Seat) -> String {
    let mut text = String::new();
    for tool in seat.tools() {
        let schema = serde_json::to_string_pretty(&tool.input).unwrap();
        let category = tool.category.as_str();
        text += &format!("## {} ({category})\n{}\n{schema}\n\n", tool.name, tool.description);
    }
    text
}

#[test]
fn every_tool_matches_its_snapshot() {
    for (dialect, role, name) in [
        (Dialect::Claude, Role::Lead, "claude_lead"),
        (Dialect::Claude, Role::Member, "claude_teammate"),
        (Dialect::Board, Role::Lead, "board_lead"),
        (Dialect::Board, Role::Member, "board_teammate"),
    ] {
        insta::assert_snapshot!(name, shown(&seat(dialect, role)));
    }
}

#[test]
fn a_schema_is_one_plain_object() {
    fn check(value: &Value) {
        match value {
            Value::Object(fields) => {
                for banned in ["$ref", "$defs", "$schema", "title", "format"] {
                    assert!(!fields.contains_key(banned), "{banned} in {value}");
                }
                assert_ne!(fields.get("type"), Some(&json!("null")), "{value}");
                fields.values().for_each(check);
            }
            Value::Array(values) => values.iter().for_each(check),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    for dialect in [Dialect::Claude, Dialect::Board] {
        for tool in seat(dialect, Role::Lead).tools() {
            assert_eq!(tool.input["type"], "object", "{}", tool.name);
            assert_eq!(tool.input["additionalProperties"], false, "{}", tool.name);
            check(&Value::Object(tool.input));
        }
    }
}

#[test]
fn a_teammate_sees_no_tool_that_creates_teams_or_starts_or_stops_members() {
    assert_eq!(
        names(&seat(Dialect::Claude, Role::Member)),
        ["TaskCreate", "TaskUpdate", "TaskList", "TaskGet", "SendMessage", "Broadcast"]
    );
    assert_eq!(
        names(&seat(Dialect::Board, Role::Member)),
        ["team_tasks", "team_message", "team_workspace"]
    );
}

#[test]
fn offered_actions_follow_the_role_and_the_teams_version() {
    let offered = |seat: &Seat| {
        let tools = seat.tools();
        let actions = &tools[0].input["properties"]["action"]["enum"];
        serde_json::from_value::<Vec<String>>(actions.clone()).unwrap()
    };
    let member = seat(Dialect::Board, Role::Member);
    for action in ["create", "approve", "reject", "cancel", "assign", "update", "retry", "delete"] {
        assert!(!offered(&member).iter().any(|it| it == action), "{action}");
    }
    let settings = Settings { task_creation: TaskCreation::Members, ..Settings::default() };
    assert!(offered(&Seat { settings, ..member }).contains(&"create".to_owned()));
    let settings = Settings { version: 1, ..Settings::default() };
    let first = Seat { settings, ..seat(Dialect::Board, Role::Lead) };
    assert_eq!(
        offered(&first),
        [
            "create", "claim", "complete", "cancel", "assign", "list", "get", "search", "fail",
            "delete", "release"
        ]
    );
}

#[test]
fn a_delegating_lead_coordinates_and_its_teammates_keep_their_tools() {
    let delegating = |is_on| {
        let mut lead = seat(Dialect::Claude, Role::Lead);
        lead.settings.delegation.delegate_mode = Some(is_on);
        lead
    };
    let lead = delegating(true);
    // The lists of both seeds.
    for name in [
        "TeamCreate",
        "SendMessage",
        "TeamDelete",
        "TodoWrite",
        "AskUserQuestion",
        "Config",
        "ExitPlanMode",
        "SpawnTeammate",
        "ShutdownTeammate",
        "Broadcast",
        "TaskCreate",
        "TaskUpdate",
        "TaskList",
        "CleanupTeam",
        "team_tasks",
        "team_message",
        "team_workspace",
        "spawn",
    ] {
        assert_eq!(lead.check(Category::of(name)), Ok(()), "{name}");
    }
    for name in ["Read", "Grep", "Write", "Edit", "Bash", "mcp__github__create_issue"] {
        assert_eq!(lead.check(Category::of(name)), Err(ToolDenial::DelegateMode), "{name}");
        let teammate = Seat { role: Role::Member, ..lead.clone() };
        assert_eq!(teammate.check(Category::of(name)), Ok(()), "{name}");
        assert_eq!(delegating(false).check(Category::of(name)), Ok(()), "{name}");
    }
    assert_eq!(names(&lead), names(&seat(Dialect::Claude, Role::Lead)), "team tools stay");
}

#[test]
fn delegate_mode_begins_and_ends_with_the_team() {
    let mut lead = seat(Dialect::Claude, Role::Lead);
    lead.settings.delegation.delegate_mode = Some(true);
    let denied = |status| Seat { status, ..lead.clone() }.check(Category::of("Write")).is_err();
    assert!(denied(TeamStatus::Active));
    assert!(!denied(TeamStatus::Completed));
    assert!(!denied(TeamStatus::Deleted));
}

#[test]
fn plan_mode_allows_reading_and_speaking_but_no_changes() {
    let planner = Seat { permissions: Permissions::Plan, ..seat(Dialect::Claude, Role::Member) };
    for name in ["Read", "Glob", "TaskList", "SendMessage", "ExitPlanMode"] {
        assert_eq!(planner.check(Category::of(name)), Ok(()), "{name}");
    }
    for name in ["Write", "Edit", "Bash", "mcp__files__delete"] {
        assert_eq!(planner.check(Category::of(name)), Err(ToolDenial::PlanMode), "{name}");
    }
}

#[test]
fn disabled_teams_have_no_tools() {
    for dialect in [Dialect::Claude, Dialect::Board] {
        let open = seat(dialect, Role::Lead);
        assert!(!open.tools().is_empty());
        let gate = Gate::Closed { by: "`teams.enabled`".to_owned() };
        assert_eq!(Seat { gate, ..open }.tools(), []);
    }
}

#[test]
fn examples_in_errors_are_valid() {
    for (tool, is_read) in claude::examples().into_iter().chain(board::examples()) {
        assert_eq!(is_read, Ok(()), "{tool}");
    }
}
