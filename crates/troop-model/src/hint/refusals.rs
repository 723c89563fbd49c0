//! The hint for each refusal that has one.

use super::{Hint, HintCommand, HintOption};
use crate::{
    AgentKind, MemberName, Refusal, Status, TaskNumber, UnknownWord, did_you_mean, nearest,
};

fn troop(path: &str) -> HintCommand {
    HintCommand::troop(path)
}

impl Hint {
    /// The hint for a person without a team.
    #[must_use]
    pub fn create_team() -> Self {
        let create = troop("team create").word("my-team").word("--member").word(proposed("ann"));
        Self::to("make one", create)
    }
}

impl Refusal {
    /// The hint for this refusal; none if its text is enough.
    #[must_use]
    pub fn hint(&self) -> Option<Hint> {
        about_tasks(self).or_else(|| about_members(self)).or_else(|| about_team(self))
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the others are about something else")]
fn about_tasks(refusal: &Refusal) -> Option<Hint> {
    Some(match refusal {
        Refusal::UnknownTask { .. }
        | Refusal::NotATaskName { .. }
        | Refusal::TaskDeleted { .. } => {
            Hint::to("see the board", troop("task list").words(["--status", "all"]))
        }
        Refusal::AmbiguousTask { matches, .. } => {
            Hint::to("use its number", of_task("task get", *matches.first()?))
        }
        Refusal::TaskArchived { task } => {
            let create = troop("task create").text(format!("follow up on {task}"));
            Hint::to("make a follow-up", create)
        }
        Refusal::TaskHeld { owner, .. } | Refusal::NotYours { owner: Some(owner), .. } => {
            Hint::to("claim another", troop("task claim")).or_to("ask", send(owner.as_str()))
        }
        Refusal::NotYours { task, owner: None, .. } => {
            Hint::to("see its state", of_task("task get", *task))
        }
        Refusal::TaskTaken { task, to, .. } => {
            let assign = of_task("task assign", *task).word(to);
            Hint::to("take it back", of_task("task release", *task)).then_to("give it away", assign)
        }
        Refusal::TaskBlocked { by, .. } => {
            Hint::to("see what blocks it", of_task("task get", *by.first()?))
        }
        Refusal::DependencyEnded { by, how: Status::Failed, .. } => {
            Hint::to("retry it", of_task("task retry", *by.first()?))
        }
        Refusal::DependencyEnded { task, .. } => {
            Hint::to("make it wait for nothing", of_task("task update", *task).word("--unblock"))
        }
        Refusal::TaskReserved { task, .. } => {
            Hint::to("free it", of_task("task update", *task).word("--unassign"))
        }
        Refusal::AwaitsStart { task } => Hint::to("approve it", of_task("task approve", *task)),
        Refusal::NothingAvailable { .. } => {
            Hint::to("wait for one", troop("task claim").word("--wait"))
                .or_to("look", troop("task list"))
        }
        Refusal::OnlyMembersHold => {
            let assign = troop("task assign").blank("TASK").blank("MEMBER");
            Hint::from("act as a member: ")
                .and_option(HintOption::blank("as", "MEMBER"))
                .or_to("assign it", assign)
        }
        Refusal::OnlyMembersAsk { task } => {
            let ask = of_task("task ask-user", *task).text("…").as_member();
            let send = troop("message send").blank("MEMBER").text("…");
            Hint::to("act as a member", ask).or_to("write to one", send)
        }
        Refusal::Cycle { .. } => Hint::to("see what waits for what", troop("task graph")),
        Refusal::StillNeeded { by, .. } => {
            let update = of_task("task update", *by.first()?).word("--unblock");
            Hint::to("change what waits for it", update)
        }
        Refusal::WrongStatus { task, status, .. } | Refusal::NotHeld { task, status } => {
            after_status(*status, *task)
        }
        Refusal::NotProved { task, .. } => prove(*task),
        Refusal::DelegationNeedsTask { pending } => match pending.first() {
            Some(first) => Hint::to("for example", delegate(first.0.to_string())),
            None => Hint::to("make one", troop("task create").text("…")),
        },
        Refusal::LeadDelegates => Hint::run(delegate("TASK".to_owned())),
        _ => return None,
    })
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the others are about something else")]
fn about_members(refusal: &Refusal) -> Option<Hint> {
    Some(match refusal {
        Refusal::UnknownMember { name, members } => unknown_member(name, members),
        Refusal::NotAMember { .. } => Hint::to("see who is", troop("member list")),
        Refusal::MemberExists { member } => {
            let another = proposed(&format!("{member}-2"));
            Hint::to("use another name", troop("member add").word(another))
        }
        Refusal::Forbidden { .. } => Hint::to("ask the lead", send("lead")),
        Refusal::TeammateActive { member, .. } => {
            let remove = troop("member remove").word(member);
            Hint::from("let it finish").or_to("remove it", remove)
        }
        Refusal::AlreadyRunning { member, .. } => {
            Hint::to("stop it first", troop("member stop").word(member))
        }
        Refusal::NotRunning { member, .. } => {
            Hint::to("start it", troop("member spawn").word(member))
        }
        Refusal::AskedByAnother { from, .. } => {
            let read = troop("message read").word("--peek");
            Hint::to("see the request", read).or_to("write to", send(from.as_str()))
        }
        Refusal::LinkFull { .. }
        | Refusal::MemberFull { .. }
        | Refusal::AlreadyDelegated { .. } => Hint::to("see what runs", troop("team delegations")),
        Refusal::SelfLink { .. } => Hint::to("choose a teammate", troop("member list")),
        Refusal::LinkDisabled { to, .. } | Refusal::NoLink { to, .. } => {
            Hint::to("enable it", troop("member link").word(to).word("--enable"))
        }
        Refusal::DelegationDenied { to, .. } => {
            Hint::to("see who may", troop("member link").word(to))
        }
        Refusal::WiderThanOwn { member, .. } => {
            let answer = troop("message answer").word(member).word("yes");
            let mode = troop("member mode").word(member).blank("MODE");
            Hint::to("a person can answer", answer).or_to("widen its mode", mode)
        }
        Refusal::TooManyTeammates { .. } => {
            Hint::to("stop one", troop("member stop").blank("NAME"))
                .or_to("allow more", troop("team set").word("max_teammates=10"))
        }
        Refusal::TooManyToStart { n_members, .. } => {
            let more = HintOption::new("max-teammates", n_members);
            Hint::from("allow more: ").and_option(more).and(", or name fewer")
        }
        _ => return None,
    })
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the text of the others says it all")]
fn about_team(refusal: &Refusal) -> Option<Hint> {
    Some(match refusal {
        Refusal::NoTeam => Hint::create_team(),
        Refusal::TeamDeleted => {
            Hint::to("see what is left of it", troop("team list").word("--all"))
        }
        Refusal::UnknownWord(UnknownWord { word, known }) => {
            did_you_mean(nearest(word, known.iter().copied())?).into()
        }
        Refusal::NeedsVersion2 { .. } => Hint::run(troop("team set").word("version=2")),
        Refusal::UserDenied { .. } | Refusal::ChannelDenied { .. } => {
            Hint::to("see who may", troop("team show"))
        }
        Refusal::BadSetting(_) => Hint::to("see all settings", troop("team show").word("--json")),
        Refusal::TooLong { .. } => "put it in a file and refer to the file".into(),
        Refusal::LeadHeld { .. } => Hint::to(
            "see what it is doing",
            troop("events").word("--follow"),
        )
        .and_to("; ", "stop it", troop("stop")),
        Refusal::NobodyLeads => {
            Hint::to("run it", troop("resume")).or_to("make another", troop("run").text("GOAL"))
        }
        Refusal::BudgetSpent { team, more, .. } => {
            Hint::to("raise it", troop("team set").team(team).words(more.split(' ')))
        }
        _ => return None,
    })
}

/// How a task is done whose checks have not passed.
fn prove(task: TaskNumber) -> Hint {
    Hint::to("a person can run them", of_task("task approve", task))
        .and(format!(", or `complete {}`; to skip them: ", task.0))
        .and_option(HintOption::blank("without-checks", "REASON"))
}

/// A new member, as people write it.
fn proposed(name: &str) -> String {
    format!("{name}={}", AgentKind::PROPOSED.key())
}

fn of_task(path: &str, task: TaskNumber) -> HintCommand {
    troop(path).word(task.0)
}

fn send(to: &str) -> HintCommand {
    troop("message send").word(to).text("…")
}

fn delegate(task: String) -> HintCommand {
    troop("task delegate").blank(task).word("--to").blank("MEMBER")
}

fn unknown_member(name: &str, members: &[MemberName]) -> Hint {
    match nearest(name, members.iter().map(MemberName::as_str)) {
        Some(near) => did_you_mean(near).into(),
        None => Hint::to("add it", troop("member add").word(proposed(name))),
    }
}

/// The next steps for a task in this status.
fn after_status(status: Status, task: TaskNumber) -> Hint {
    match status {
        Status::Failed => Hint::to("retry it", of_task("task retry", task)),
        Status::InReview => Hint::to("decide", of_task("task approve", task))
            .or_to("", of_task("task reject", task)),
        Status::Completed | Status::Cancelled => {
            Hint::to("see its result", of_task("task get", task))
                .or_to("make a follow-up", troop("task create").text("…"))
        }
        Status::Pending | Status::Blocked | Status::InProgress | Status::Stale => {
            Hint::to("see its state", of_task("task get", task))
        }
    }
}
