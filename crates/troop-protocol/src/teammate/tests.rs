//! The table of the teammate wire, word for word.

use serde_json::{Value, json};
use troop_model::{MessageKind, Permissions, Status, TaskNumber};

use super::{
    FromLead, FromTeammate, Idle, Level, Log, MessageIn, MessageOut, Ready, ReportedStatus,
    ShutdownAck, TaskReport, TeamContext, WireRun, WireTask,
};
use crate::{
    envelope::{Envelope, Notification},
    method::MethodError,
};

/// Checks that something is written as this line, and that the line is read as the same.
fn check<T>(said: &T, line: impl Into<Value>)
where
    T: for<'a> TryFrom<&'a Notification, Error = MethodError> + PartialEq + std::fmt::Debug,
    Notification: for<'a> From<&'a T>,
{
    let line = line.into();
    let written = Envelope::Notification(said.into()).to_line();
    assert_eq!(serde_json::from_slice::<Value>(&written).unwrap(), line);
    assert_eq!(read::<T>(&line), Ok(said_again(said)));
}

fn said_again<T>(said: &T) -> T
where
    T: for<'a> TryFrom<&'a Notification, Error = MethodError>,
    Notification: for<'a> From<&'a T>,
{
    T::try_from(&Notification::from(said)).unwrap()
}

fn read<T: for<'a> TryFrom<&'a Notification, Error = MethodError>>(
    line: &Value,
) -> Result<T, MethodError> {
    match Envelope::parse(line.to_string().as_bytes()) {
        Ok(Envelope::Notification(said)) => T::try_from(&said),
        other => panic!("{line} is not a notification: {other:?}"),
    }
}

fn line(method: &str, params: impl Into<Value>) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params.into()})
}

fn message(to: &str, content: &str) -> MessageOut {
    MessageOut::new(to, MessageKind::Message, content)
}

fn task(id: &str) -> WireTask {
    serde_json::from_value(json!({"id": id, "subject": "write"})).unwrap()
}

#[test]
fn the_examples_of_the_seed_are_read_and_written_verbatim() {
    let from_teammate = r#"{"jsonrpc": "2.0", "method": "team.message", "params": {"to": "scout", "content": "Check the test coverage"}}"#;
    let to_target = r#"{"jsonrpc": "2.0", "method": "team.message", "params": {"from": "hunter", "content": "Check the test coverage"}}"#;
    check(
        &FromTeammate::Message(message("scout", "Check the test coverage")),
        serde_json::from_str::<Value>(from_teammate).unwrap(),
    );
    check(
        &FromLead::Message(MessageIn::new("hunter", "Check the test coverage")),
        serde_json::from_str::<Value>(to_target).unwrap(),
    );
}

#[test]
fn a_teammates_messages_match_the_table() {
    let ready = Ready { name: "ann".into(), acknowledges: false, version: None };
    check(&FromTeammate::Ready(ready), line("team.ready", json!({"name": "ann"})));
    let report = TaskReport {
        task_id: TaskNumber(7).into(),
        status: ReportedStatus::InProgress,
        result: None,
        summary: None,
        reason: None,
        attempt: None,
        for_good: false,
    };
    check(
        &FromTeammate::TaskUpdate(report.clone()),
        line("team.taskUpdate", json!({"taskId": "task-7", "status": "in_progress"})),
    );
    let done =
        TaskReport { status: ReportedStatus::Completed, result: Some("ok".into()), ..report };
    check(
        &FromTeammate::TaskUpdate(done),
        line("team.taskUpdate", json!({"taskId": "task-7", "status": "completed", "result": "ok"})),
    );
    check(&FromTeammate::Idle(Idle::default()), line("team.idle", json!({})));
    check(
        &FromTeammate::Idle(Idle { last_task: Some(TaskNumber(7).into()) }),
        line("team.idle", json!({"lastTask": "task-7"})),
    );
    check(&FromTeammate::ShutdownAck(ShutdownAck::agreed()), line("team.shutdownAck", json!({})));
    check(
        &FromTeammate::Log(Log { level: Level::Warn, text: "hm".into() }),
        line("team.log", json!({"level": "warn", "text": "hm"})),
    );
    check(&FromTeammate::Alive {}, line("turn/alive", json!({})));
    check(&FromTeammate::TurnEnd {}, line("turn/end", json!({})));
    let failed = FromTeammate::Failed { reason: "no key".to_owned() };
    check(&failed, line("turn/failed", json!({"reason": "no key"})));
}

#[test]
fn a_leads_messages_match_the_table() {
    let blank = json!({"id": "task-7", "subject": "write", "description": "", "blockedBy": [], "priority": 0});
    check(
        &FromLead::AssignTask { task: task("task-7") },
        line("team.assignTask", json!({"task": blank})),
    );
    check(
        &FromLead::UpdateContext(TeamContext {
            tasks: vec![task("task-7")],
            ..TeamContext::default()
        }),
        line("team.updateContext", json!({"tasks": [blank]})),
    );
    check(
        &FromLead::UpdateContext(TeamContext {
            mode: Some(Permissions::AcceptEdits),
            team_md: Some("# Team".into()),
            ..TeamContext::default()
        }),
        line(
            "team.updateContext",
            json!({"tasks": [], "mode": "accept-edits", "teamMd": "# Team"}),
        ),
    );
    check(
        &FromLead::Shutdown { reason: "done".into() },
        line("team.shutdown", json!({"reason": "done"})),
    );
    check(
        &FromLead::Interrupt { reason: "wait".into(), task_id: None },
        line("turn/interrupt", json!({"reason": "wait"})),
    );
}

#[test]
fn a_run_names_its_session_but_not_its_requester() {
    let id: uuid::Uuid = "019a8f00-0000-7000-8000-000000000000".parse().unwrap();
    let run = WireRun {
        session: Some(format!("delegate:{id}")),
        delegation_id: Some(id),
        channel: Some("telegram".into()),
        local_key: Some("topic 3".into()),
        ..WireRun::default()
    };
    let written = json!({
        "session": format!("delegate:{id}"), "delegationId": id, "channel": "telegram", "localKey": "topic 3",
    });
    assert_eq!(serde_json::to_value(&run).unwrap(), written);
    let task = WireTask { run: Some(Box::new(run)), ..task("task-7") };
    assert_eq!(task.own_session(), Some(format!("delegate:{id}").as_str()));
    let read: WireTask = serde_json::from_value(serde_json::to_value(&task).unwrap()).unwrap();
    assert_eq!(read, task);
    let plain = WireRun { session: Some("teammate:ann".into()), ..WireRun::default() };
    let plain = WireTask { run: Some(Box::new(plain)), ..task };
    assert_eq!(plain.own_session(), None, "only a delegation has its own");
}

#[test]
fn our_additions_follow_the_naming_of_the_wire() {
    let id = "019a8f00-0000-7000-8000-000000000000";
    let full = MessageIn {
        id: Some(id.parse().unwrap()),
        kind: MessageKind::PlanApprovalResponse,
        summary: Some("s".into()),
        request_id: Some(id.parse().unwrap()),
        approve: Some(false),
        task_id: Some(TaskNumber(7).into()),
        sent_at: Some("2026-11-15T10:00:00Z".parse().unwrap()),
        ..MessageIn::new("lead", "no")
    };
    let params = json!({
        "from": "lead", "content": "no", "id": id, "kind": "plan_approval_response", "summary": "s", "requestId": id,
        "approve": false, "taskId": "task-7", "sentAt": "2026-11-15T10:00:00Z",
    });
    check(&FromLead::Message(full), line("team.message", params));
    check(
        &FromTeammate::ShutdownAck(ShutdownAck::refused("busy")),
        line("team.shutdownAck", json!({"approve": false, "reason": "busy"})),
    );
    let ready = Ready { name: "ann".into(), acknowledges: true, version: Some(1) };
    let params = json!({"name": "ann", "acknowledges": true, "version": 1});
    check(&FromTeammate::Ready(ready), line("team.ready", params));
}

#[test]
fn other_spellings_are_understood() {
    let same = |one: Value, other: Value| {
        assert_eq!(read::<FromTeammate>(&one).unwrap(), read(&other).unwrap(), "{one}");
    };
    let report =
        |id: Value, status: &str| line("team.taskUpdate", json!({"taskId": id, "status": status}));
    same(report(json!(7), "done"), report(json!("7"), "completed"));
    same(report(json!(7), "claimed"), report(json!("7"), "in_progress"));
    same(json!({"method": "team.idle"}), line("team.idle", json!({"lastTask": {"id": 7}})));
    same(json!({"method": "team.shutdownAck"}), line("team.shutdownAck", json!({"approve": true})));
    let log = |level: &str| line("team.log", json!({"level": level, "text": "x", "extra": 1}));
    same(log("warning"), log("warn"));
    same(log("LOUD"), log("info"));
    let foreign = json!({"id": "T1", "subject": "s", "status": "todo", "createdAt": 17});
    let Ok(FromLead::AssignTask { task }) =
        read(&line("team.assignTask", json!({"task": foreign})))
    else {
        panic!("a foreign task is not read")
    };
    assert_eq!((task.id.as_str(), task.status, task.created_at), ("T1", None, None));
    let Ok(FromLead::UpdateContext(context)) = read(&line(
        "team.updateContext",
        json!({"tasks": [{"id": 1, "subject": "s", "status": "completed"}]}),
    )) else {
        panic!("a foreign context is not read")
    };
    assert_eq!(context.tasks[0].status, Some(Status::Completed));
}

#[test]
fn an_unknown_method_and_bad_parameters_are_told_apart() {
    let error = read::<FromTeammate>(&line("team.dance", json!({}))).unwrap_err();
    assert_eq!(error, MethodError::Unknown { method: "team.dance".into() });
    let error = read::<FromLead>(&line("team.ready", json!({"name": "ann"}))).unwrap_err();
    assert_eq!(error, MethodError::Unknown { method: "team.ready".into() }, "the wrong direction");
    for (params, said) in [
        (json!({"status": "done"}), "`team.taskUpdate`: missing field `taskId`"),
        (
            json!({"taskId": 7, "status": "finished"}),
            "`team.taskUpdate`, `status`: unknown variant `finished`, expected one of `claimed`, `in_progress`, `completed`, `done`, `failed`, `pending`",
        ),
        (
            json!({"taskId": [], "status": "done"}),
            "`team.taskUpdate`, `taskId`: an id is a text such as `task-7`, or a number",
        ),
    ] {
        let error = read::<FromTeammate>(&line("team.taskUpdate", params)).unwrap_err();
        assert_eq!(error.to_string(), said);
    }
}
