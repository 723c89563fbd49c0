//! Events as typed lines.

use troop_model::{
    Actor, Command, Context, MemberName, MessageKind, NewMember, NewTask, NewTeamCommand,
    OperationId, Outgoing, Settings, State, TaskCommand, TaskNumber, TeamId, Time, decide,
};
use uuid::Uuid;

use super::{Story, StoryKind, StoryLine, waiting};

fn member(name: &str) -> NewMember {
    NewMember::new(name.parse().unwrap(), "script")
}

fn agent(name: &str) -> Actor {
    Actor::agent(&name.parse::<MemberName>().unwrap())
}

/// A story of a team `crew` with the members lead and ann.
fn story() -> Story {
    let mut story = Story::new(State::default(), Time::from_micros(1_700_000_000_000_000));
    let team = NewTeamCommand {
        goal: String::new(),
        team: TeamId(Uuid::nil()),
        name: "crew".parse().unwrap(),
        description: String::new(),
        settings: Settings::default(),
        lead: member("lead"),
        members: vec![member("ann")],
    };
    told(&mut story, Actor::human("pat"), &Command::CreateTeam(team));
    story
}

fn told(story: &mut Story, actor: Actor, command: &Command) -> Vec<StoryLine> {
    let context = Context {
        now: Time::from_micros(1_700_000_001_000_000),
        asker: actor.into(),
        operation: OperationId(Uuid::now_v7()),
        fence: None,
    };
    let events = decide(story.state(), command, &context).unwrap();
    events.iter().filter_map(|event| story.tell(event)).collect()
}

#[test]
fn a_line_says_who_did_what_to_which_task() {
    let mut story = story();
    let create = NewTask { subject: "write it".to_owned(), ..NewTask::default() };
    let create = Command::Task(TaskCommand::Create(create));
    let lines = told(&mut story, agent("lead"), &create);
    let [line] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!(line.kind, StoryKind::Task);
    assert_eq!((line.who.as_str(), line.task), ("lead", Some(TaskNumber(1))));
    assert_eq!(line.text, "lead created task-1: write it");
    assert_eq!(line.hint, None);
}

#[test]
fn a_task_that_needs_approval_is_a_need_with_the_command_that_approves_it() {
    let mut story = story();
    let subject = "deploy".to_owned();
    let new = NewTask { subject, approve_start: Some(true), ..NewTask::default() };
    let lines = told(&mut story, agent("lead"), &Command::Task(TaskCommand::Create(new)));
    let [line] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!(line.kind, StoryKind::Need);
    let hint = line.hint.as_ref().unwrap();
    let step = hint.steps().next().unwrap();
    assert_eq!(step.say, "let it start");
    assert_eq!(step.command.to_string(), "troop task approve 1");
    let all = waiting(story.state(), &[]);
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].what.to_string(), "task-1 for approval to start: deploy");
}

#[test]
fn a_permission_asked_of_the_user_is_a_need_and_one_asked_of_the_lead_a_message() {
    let mut story = story();
    for (to, kind) in [("user", StoryKind::Need), ("lead", StoryKind::Message)] {
        let ask = Outgoing::new(to, MessageKind::PermissionRequest, "may I?");
        let lines = told(&mut story, agent("ann"), &Command::Send(ask));
        let [line] = lines.as_slice() else { panic!("{lines:?}") };
        assert_eq!((line.kind, line.who.as_str()), (kind, "ann"));
        assert_eq!(line.text, format!("ann asks {to}: may I?"));
        assert!(line.hint.is_some());
    }
}
