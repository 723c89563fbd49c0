//! One fact of every kind, for tests that need them all.

use serde_json::json;
use uuid::Uuid;

use super::bench::{TEN, name, number};
use crate::{
    Actor, Condition, Dependency, Dollars, Evidence, Fact, Link, MemberState, MessageKind,
    Metadata, Notice, Origin, Party, Permissions, Progress, RefusedBy, RejectMode, Role, Settings,
    StateCause, TaskChange, TeamId, Usage, WorkspaceFolder,
};

const ID: Uuid = Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0001);

/// One fact of every kind.
pub(crate) fn all() -> Vec<Fact> {
    [team_facts(), task_facts(), task_ends(), mail_and_delegation_facts()].concat()
}

/// All kinds that a log may hold, as its reader lists them.
pub(crate) fn all_kinds() -> Vec<String> {
    let error = serde_json::from_value::<Fact>(json!({"kind": "?"})).unwrap_err().to_string();
    let known = error.split_once("expected one of ").unwrap().1;
    known.split(", ").map(|kind| kind.trim_matches('`').to_owned()).collect()
}

fn team_facts() -> Vec<Fact> {
    let link = Link {
        from: name("lead"),
        to: name("ann"),
        team: Some(TeamId(ID)),
        enabled: true,
        max_concurrent: 3,
        user_allow: vec!["u1".into()],
        user_deny: vec![],
    };
    let settings = Box::new(Settings::default());
    vec![
        Fact::TeamCreated {
            team: TeamId(ID),
            name: "alpha".parse().unwrap(),
            description: "what for".into(),
            goal: "what to do".into(),
            settings: settings.clone(),
        },
        Fact::TeamUpdated { description: String::new(), settings },
        Fact::TeamCompleted {},
        Fact::TeamDeleted {},
        Fact::LeadTaken {
            session: ID,
            holder: "pat".into(),
            fence: 2,
            until: TEN,
            checks: vec!["make".into()],
        },
        Fact::LeadRenewed { until: TEN },
        Fact::LeadReleased {},
        Fact::TeamStopRequested { reason: None },
        Fact::MemberAdded {
            member: name("ann"),
            id: ID,
            role: Role::Member,
            agent: "script".into(),
            expertise: "rust".into(),
            model: Some("m".into()),
            permissions: Permissions::AcceptEdits,
        },
        Fact::MemberRemoved { member: name("ann"), reason: None },
        Fact::MemberStateChanged {
            member: name("ann"),
            state: MemberState::Crashed,
            reason: Some("exit 9".into()),
            cause: Some(StateCause::LeadEnded),
            pid: Some(9),
        },
        Fact::MemberInterrupted { member: name("ann"), reason: Some("wait".into()) },
        Fact::UsageReported {
            member: name("ann"),
            task: Some(number(7)),
            model: Some("m".into()),
            usage: Usage { input: 5, dollars: Dollars::new(0.25).unwrap(), ..Usage::default() },
        },
        Fact::MemberModeChanged { member: name("ann"), permissions: Permissions::Plan },
        Fact::LinkSet { link },
        Fact::LinkPurged { from: name("lead"), to: name("ann") },
    ]
}

fn task_facts() -> Vec<Fact> {
    let (task, owner, lease_until) = (number(7), name("ann"), TEN);
    let metadata = json!({"a": [1, 2.5, "x", null], "nested": {"b": true}, "tiny": 1e-300});
    let metadata = Metadata(metadata.as_object().cloned().unwrap());
    let change = TaskChange {
        subject: Some("new".into()),
        assignee: Some(None),
        metadata: Some(metadata.clone()),
        ..TaskChange::default()
    };
    vec![
        Fact::TaskCreated {
            task,
            id: ID,
            subject: "write \u{1f4a1} \"it\"".into(),
            description: "two\nlines".into(),
            priority: -1,
            task_type: "general".into(),
            assignee: Some(owner.clone()),
            blocked_by: vec![Dependency { task: number(1), until: Condition::OnFinish }],
            approve_start: true,
            checks: vec!["make test".into()],
            origin: Origin { user_id: Some("u1".into()), ..Origin::default() },
            metadata,
        },
        Fact::TaskUpdated { task, change: Box::new(change) },
        Fact::TaskClaimed { task, owner: owner.clone(), attempt: 1, lease_until },
        Fact::TaskAssigned { task, owner: owner.clone(), attempt: 2, lease_until },
        Fact::TaskRenewed { task, lease_until },
        Fact::TaskReleased { task, owner, reason: "lease".into(), forgiven: true },
        Fact::TaskProgressed {
            task,
            progress: Progress { percent: 40, step: "writing".into() },
            lease_until,
        },
    ]
}

fn task_ends() -> Vec<Fact> {
    let (task, reason) = (number(7), || "why".to_owned());
    vec![
        Fact::TaskSubmitted { task, result: None },
        Fact::TaskCompleted { task, result: "all".into(), summary: "a".into() },
        Fact::TaskApproved { task, summary: "a".into(), comment: Some("good".into()) },
        Fact::TaskStartApproved { task },
        Fact::TaskRejected { task, reason: reason(), mode: RejectMode::Revise },
        Fact::TaskCancelled { task, reason: reason() },
        Fact::TaskFailed { task, reason: reason(), retry_at: Some(TEN) },
        Fact::TaskRetried { task, fresh: true },
        Fact::TaskStale { task },
        Fact::TaskRecovered { task },
        Fact::TaskCommented { task, text: "hm".into() },
        Fact::TaskAttached { task, path: "a.txt".into() },
        Fact::TaskChecked {
            task,
            evidence: vec![Evidence {
                command: "make test".into(),
                exit_code: 1,
                tail: "no".into(),
                commit: Some("abc".into()),
                at: TEN,
                took_ms: 5,
            }],
            waived: Some("why".into()),
        },
        Fact::TaskMerged { task, into: "troop/demo".into(), commit: "abc".into() },
        Fact::TaskRefused {
            task: Some(task),
            subject: Some("write".into()),
            who: Actor::agent(&name("ann")),
            by: RefusedBy::Hook,
            reason: reason(),
            attempt: Some(2),
        },
        Fact::TaskAsked { task, question: "?".into(), asked_by: name("ann"), next_at: TEN },
        Fact::TaskReminded { task, next_at: TEN },
        Fact::TaskAskCleared { task },
        Fact::TaskEscalated { task, reason: reason(), is_unanswered: true },
        Fact::TaskDeleted { task },
    ]
}

fn mail_and_delegation_facts() -> Vec<Fact> {
    vec![
        Fact::MessageSent {
            id: ID,
            from: Party::member(&name("ann")),
            to: Party::everybody(),
            message_kind: MessageKind::ShutdownResponse,
            content: "no".into(),
            summary: Some("n".into()),
            notice: Some(Notice::NotDone),
            request_id: Some(ID),
            approve: Some(false),
            task: Some(number(7)),
            readers: vec![Party::user()],
            supersedes: Some(ID),
            origin: Origin { local_key: Some("topic 3".into()), ..Origin::default() },
        },
        Fact::MessageDelivered { reader: Party::user(), messages: vec![ID] },
        Fact::MessageRead { reader: Party::user(), messages: vec![ID] },
        Fact::FileWritten {
            folder: WorkspaceFolder::of_chat(Some("c1".into())),
            path: "out/a.txt".into(),
            size: 3,
            task: Some(number(7)),
        },
        Fact::FileDeleted { folder: WorkspaceFolder::shared(), path: "a.txt".into() },
        Fact::DelegationStarted {
            delegation: ID,
            from: name("lead"),
            to: name("ann"),
            task: number(7),
            trace_id: ID,
            parent_trace_id: Some(ID),
            origin: Origin { channel: Some("web".into()), ..Origin::default() },
            note: Some("x".into()),
        },
        Fact::DelegationCompleted { delegation: ID, result: "all".into() },
        Fact::DelegationFailed { delegation: ID, reason: "x".into() },
        Fact::DelegationCancelled { delegation: ID, reason: "x".into() },
        Fact::DelegationsAnnounced { delegations: vec![ID], message: Some(ID) },
    ]
}
