//! What to type next, for each refusal that has an answer.

use troop_app::agents::SUGGESTED;
use troop_model::{MemberName, Refusal, Status, UnknownWord, did_you_mean, nearest, quoted};

/// For somebody without a team.
pub(crate) const CREATE_TEAM: &str = "make one: `troop team create my-team --member ann=command`";

/// For a team that does not exist.
pub(super) fn for_team(name: &str, known: &[String]) -> String {
    match (nearest(name, known.iter().map(String::as_str)), known) {
        (_, []) => CREATE_TEAM.to_owned(),
        (Some(near), _) => did_you_mean(&format!("--team {near}")),
        (None, known) => format!("the teams are: {}", some_of(known)),
    }
}

/// As many names as a person reads, and where the rest are.
pub(crate) fn some_of(teams: &[impl AsRef<str>]) -> String {
    const READ: usize = 8;
    let named: Vec<_> = teams.iter().take(READ).map(AsRef::as_ref).collect();
    match teams.len().saturating_sub(READ) {
        0 => named.join(", "),
        more => format!("{} and {more} more (`troop team list`)", named.join(", ")),
    }
}

/// What to type after a refusal.
#[expect(clippy::wildcard_enum_match_arm, reason = "the text of the others says it all")]
pub(super) fn for_refusal(refusal: &Refusal) -> Option<String> {
    Some(match refusal {
        Refusal::NoTeam => CREATE_TEAM.to_owned(),
        Refusal::TeamDeleted => "see what is left of it: `troop team list --all`".to_owned(),
        Refusal::UnknownMember { name, members } => for_member(name, members),
        Refusal::UnknownWord(UnknownWord { word, known }) => {
            did_you_mean(nearest(word, known.iter().copied())?)
        }
        Refusal::NotAMember { .. } => "see who is: `troop member list`".to_owned(),
        Refusal::MemberExists { member } => {
            format!("use another name: `troop member add {member}-2={SUGGESTED}`")
        }
        Refusal::UnknownTask { .. }
        | Refusal::NotATaskName { .. }
        | Refusal::TaskDeleted { .. } => "see the board: `troop task list --status all`".to_owned(),
        Refusal::AmbiguousTask { matches, .. } => {
            format!("use its number: `troop task get {}`", matches.first()?.0)
        }
        Refusal::TaskArchived { task } => {
            format!("make a follow-up: `troop task create \"follow up on {task}\"`")
        }
        Refusal::TaskHeld { owner, .. } | Refusal::NotYours { owner: Some(owner), .. } => {
            format!("claim another: `troop task claim`, or ask: `troop message send {owner} \"…\"`")
        }
        Refusal::NotYours { task, owner: None, .. } => {
            format!("claim it first: `troop task claim {}`", task.0)
        }
        Refusal::TaskBlocked { by, .. } => {
            format!("see what blocks it: `troop task get {}`", by.first()?.0)
        }
        Refusal::DependencyEnded { by, how: Status::Failed, .. } => {
            format!("retry it: `troop task retry {}`", by.first()?.0)
        }
        Refusal::DependencyEnded { task, .. } => {
            format!("make it wait for nothing: `troop task update {} --unblock`", task.0)
        }
        Refusal::TaskReserved { task, .. } => {
            format!("free it: `troop task update {} --unassign`", task.0)
        }
        Refusal::AwaitsStart { task } => format!("approve it: `troop task approve {}`", task.0),
        Refusal::NothingAvailable { .. } => {
            "wait for one: `troop task claim --wait`, or look: `troop task list`".to_owned()
        }
        Refusal::OnlyMembersHold => {
            "act as a member: `--as MEMBER`, or assign it: `troop task assign TASK MEMBER`"
                .to_owned()
        }
        Refusal::NeedsVersion2 { .. } => "`troop team set version=2`".to_owned(),
        Refusal::Cycle { .. } => "see what waits for what: `troop task graph`".to_owned(),
        Refusal::Forbidden { .. } => "ask the lead: `troop message send lead \"…\"`".to_owned(),
        Refusal::UserDenied { .. } | Refusal::ChannelDenied { .. } => {
            "see who may: `troop team show`".to_owned()
        }
        Refusal::TeammateActive { member, .. } => {
            format!("let it finish, or remove it: `troop member remove {member}`")
        }
        Refusal::BadSetting(_) => "see all settings: `troop team show --json`".to_owned(),
        Refusal::TooLong { .. } => "put it in a file and refer to the file".to_owned(),
        Refusal::StillNeeded { by, .. } => {
            format!("change what waits for it: `troop task update {} --unblock`", by.first()?.0)
        }
        Refusal::WrongStatus { task, status, .. } | Refusal::NotHeld { task, status } => {
            for_status(*status, task.0)
        }
        _ => return for_running(refusal),
    })
}

/// For a member that does not exist.
fn for_member(name: &str, members: &[MemberName]) -> String {
    match nearest(name, members.iter().map(MemberName::as_str)) {
        Some(near) => did_you_mean(near),
        None => {
            let member = quoted(&format!("{name}={SUGGESTED}"));
            format!("add it: `troop member add {member}`")
        }
    }
}

/// What can be done with a task that stands like this.
fn for_status(status: Status, task: u32) -> String {
    match status {
        Status::Failed => format!("retry it: `troop task retry {task}`"),
        Status::InReview => {
            format!("decide: `troop task approve {task}`, or `troop task reject {task}`")
        }
        Status::Completed | Status::Cancelled => format!(
            "see its result: `troop task get {task}`, or make a follow-up: `troop task create \"…\"`"
        ),
        Status::Pending | Status::Blocked | Status::InProgress | Status::Stale => {
            format!("see its state: `troop task get {task}`")
        }
    }
}

/// What to type after a refusal about what runs.
#[expect(clippy::wildcard_enum_match_arm, reason = "the text of the others says it all")]
fn for_running(refusal: &Refusal) -> Option<String> {
    Some(match refusal {
        Refusal::LeadHeld { .. } => {
            "see what it is doing: `troop events --follow`; stop it: `troop stop`".to_owned()
        }
        Refusal::NobodyLeads => {
            "run it: `troop resume`, or make another: `troop run \"GOAL\"`".to_owned()
        }
        Refusal::AlreadyRunning { member, .. } => {
            format!("stop it first: `troop member stop {member}`")
        }
        Refusal::DelegationNeedsTask { pending } => match pending.first() {
            Some(first) => format!("for example: `troop task delegate {} --to MEMBER`", first.0),
            None => "make one: `troop task create \"…\"`".to_owned(),
        },
        Refusal::LinkFull { .. }
        | Refusal::MemberFull { .. }
        | Refusal::AlreadyDelegated { .. } => "see what runs: `troop team delegations`".to_owned(),
        Refusal::NoLink { from, to } if from == to => {
            "choose a teammate: `troop member list`".to_owned()
        }
        Refusal::LinkDisabled { to, .. } | Refusal::NoLink { to, .. } => {
            format!("enable it: `troop member link {to} --enable`")
        }
        Refusal::DelegationDenied { to, .. } => {
            format!("see who may: `troop member link {to}`")
        }
        Refusal::NotProved { task, .. } => format!(
            "a person can run them: `troop task approve {0}`, or `complete {0}`; to skip them: `--without-checks REASON`",
            task.0
        ),
        Refusal::LeadDelegates => "`troop task delegate TASK --to MEMBER`".to_owned(),
        Refusal::NotRunning { member, .. } => format!("start it: `troop member spawn {member}`"),
        Refusal::BudgetSpent { team, more, .. } => {
            format!("raise it: `troop team set {team} {more}`")
        }
        Refusal::WiderThanOwn { member, .. } => {
            format!(
                "a person can answer: `troop message answer {member} yes`, or widen its mode: `troop member mode {member} MODE`"
            )
        }
        Refusal::TooManyTeammates { .. } => {
            "stop one: `troop member stop NAME`, or allow more: `troop team set max_teammates=10`"
                .to_owned()
        }
        _ => return None,
    })
}
