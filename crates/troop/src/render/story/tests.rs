//! A team's story as lines, on a screen and as a report. The rules make the log.

use std::time::Duration;

use anstream::adapter::strip_str;
use insta::assert_snapshot;
use troop_model::{
    Actor, Command, Context, MemberName, MemberState, MessageKind, NewMember, NewTask,
    NewTeamCommand, Notice, OperationId, Outgoing, Permissions, RefusalRecord, RefusedBy, Settings,
    Spawn, State, TaskCommand, TaskNumber, TeamId, Time, decide,
};
use unicode_width::UnicodeWidthStr;
use uuid::Uuid;

use troop_app::story::{Story, StoryLine};

use super::story_line;
use crate::{
    render::{Recent, Screen, live, summary, summary_json, team_status},
    report::CallerOptions,
};

/// A team, with a tenth of a second between any two commands.
struct World {
    story: Story,
    now: Time,
    lines: Vec<String>,
}

fn text(line: &StoryLine) -> String {
    story_line(line, &CallerOptions::default())
}

fn name(text: &str) -> MemberName {
    text.parse().unwrap()
}

fn member(text: &str) -> NewMember {
    NewMember::new(name(text), "script")
}

impl World {
    fn new() -> Self {
        let now = Time::from_micros(1_700_000_000_000_000);
        let mut world = Self { story: Story::new(State::default(), now), now, lines: Vec::new() };
        world.does(
            Actor::human("pat"),
            Command::CreateTeam(NewTeamCommand {
                goal: String::new(),
                team: TeamId(Uuid::nil()),
                name: "crew".parse().unwrap(),
                description: String::new(),
                settings: Settings { retry_backoff_seconds: 0, ..Settings::default() },
                lead: member("lead"),
                members: Vec::new(),
            }),
        );
        let holder = "pat on here".to_owned();
        world.troop(Command::TakeLead {
            session: Uuid::nil(),
            holder,
            over: None,
            checks: Vec::new(),
        });
        world
    }

    #[expect(clippy::needless_pass_by_value, reason = "stories read better without borrowing")]
    fn does(&mut self, actor: Actor, command: Command) {
        self.now = self.now + Duration::from_millis(100);
        let operation = OperationId(Uuid::now_v7());
        let ctx = Context { now: self.now, asker: actor.into(), operation, fence: None };
        for event in decide(self.story.state(), &command, &ctx).unwrap() {
            let line = self.story.tell(&event);
            self.lines.extend(line.map(|line| text(&line)));
        }
    }

    fn troop(&mut self, command: Command) {
        self.does(Actor::system(), command);
    }

    fn agent(&mut self, who: &str, command: Command) {
        self.does(Actor::agent(&name(who)), command);
    }

    fn state(&mut self, who: &str, state: MemberState, reason: Option<&str>) {
        let reason = reason.map(str::to_owned);
        let pid = (state != MemberState::Crashed && state != MemberState::Stopped).then_some(7);
        self.troop(Command::SetMemberState { member: name(who), state, reason, cause: None, pid });
    }

    fn spawn(&mut self, who: &str, permissions: Option<Permissions>) {
        let member = NewMember { permissions, ..member(who) };
        self.agent("lead", Command::SpawnMember(Spawn { member, prompt: None }));
        let is_plan = permissions == Some(Permissions::Plan);
        let state = if is_plan { MemberState::Planning } else { MemberState::Idle };
        self.state(who, state, None);
    }

    fn task(&mut self, subject: &str, after: &[u32]) {
        let blocked_by = after.iter().map(|number| TaskNumber(*number).into()).collect();
        let new = NewTask { subject: subject.to_owned(), blocked_by, ..NewTask::default() };
        self.agent("lead", Command::Task(TaskCommand::Create(new)));
    }

    fn give(&mut self, task: u32, to: &str) {
        let task = Some(TaskNumber(task).into());
        self.troop(Command::Task(TaskCommand::Assign { task, to: name(to) }));
    }

    fn complete(&mut self, who: &str, task: u32, result: &str) {
        let (task, result) = (TaskNumber(task).into(), result.to_owned());
        let order = TaskCommand::Complete { task, result, summary: None, attempt: None };
        self.agent(who, Command::Task(order));
    }

    fn send(&mut self, actor: Actor, to: &str, kind: MessageKind, content: &str) {
        let is_answer = kind == MessageKind::PlanApprovalResponse;
        let request = self.story.state().requests().map(|(id, _)| *id).max();
        let outgoing = Outgoing {
            notice: (kind == MessageKind::System).then_some(Notice::DeedVetoed),
            request_id: request.filter(|_| is_answer),
            approve: is_answer.then(|| content.starts_with("good")),
            ..Outgoing::new(to, kind, content)
        };
        self.does(actor, Command::Send(outgoing));
    }

    fn refuse(&mut self, who: &str, task: Option<u32>, reason: &str) {
        let subject = task.is_none().then(|| "deploy".to_owned());
        let (task, who) = (task.map(|it| TaskNumber(it).into()), Actor::agent(&name(who)));
        let (by, reason) = (RefusedBy::Hook, reason.to_owned());
        let record = RefusalRecord { task, subject, who, by, reason, details: None, attempt: None };
        self.troop(Command::RecordRefusal(record));
    }

    /// The story of the demonstration, in brief.
    fn with_all() -> Self {
        let mut world = Self::new();
        world.spawn("ann", None);
        world.spawn("bob", Some(Permissions::Plan));
        let [lead, bob] = ["lead", "bob"].map(|it| Actor::agent(&name(it)));
        world.send(bob.clone(), "lead", MessageKind::PlanApprovalRequest, "cut corners");
        world.send(lead.clone(), "bob", MessageKind::PlanApprovalResponse, "no corners");
        world.send(bob, "lead", MessageKind::PlanApprovalRequest, "go straight");
        world.send(lead, "bob", MessageKind::PlanApprovalResponse, "good");
        world.task("write", &[]);
        world.task("test", &[1]);
        world.give(1, "ann");
        world.state("ann", MemberState::Crashed, Some("exit code 9"));
        world.give(1, "bob");
        world.state("ann", MemberState::Spawning, None);
        world.state("ann", MemberState::Idle, None);
        world.refuse("bob", Some(1), "the tests fail");
        world.complete("bob", 1, "it is \u{1b}[2Jwritten\nand signed");
        world.send(Actor::agent(&name("ann")), "*", MessageKind::Message, "well done");
        world.give(2, "ann");
        world
    }
}

#[test]
fn each_event_worth_telling_is_one_line() {
    let mut world = World::with_all();
    let order = TaskCommand::Fail {
        task: TaskNumber(2).into(),
        reason: "no luck".into(),
        attempt: None,
        for_good: false,
    };
    world.agent("ann", Command::Task(order));
    world.does(Actor::human("pat"), Command::StopTeam { reason: Some("enough".into()) });
    assert_snapshot!(world.lines.join("\n"), @r#"
    22:13:20 pat on here leads
    22:13:20 ann is ready (script, process 7)
    22:13:20 bob is ready (script, process 7); it may only plan
    22:13:20 bob plans: cut corners
    22:13:20 lead rejects the plan of bob: no corners
    22:13:20 bob plans: go straight
    22:13:21 lead approves the plan of bob: good
    22:13:21 bob works in mode default now
    22:13:21 lead created task-1: write
    22:13:21 lead created task-2: test (after task-1)
    22:13:21 task-1 goes to ann
    22:13:21 ann crashed: exit code 9
    22:13:21 task-1 is back on the board: ann crashed
    22:13:21 task-1 goes to bob (attempt 2)
    22:13:21 ann is started again
    22:13:21 ann is ready (script, process 7)
    22:13:21 a hook said no to bob about task-1: the tests fail
    22:13:21 bob completed task-1: it is \u{1b}[2Jwritten
    22:13:22 ann → all: well done
    22:13:22 task-2 goes to ann
    22:13:22 ann failed at task-2: no luck; it will be retried
    22:13:22 pat asks the team to stop: enough
    "#);
}

#[test]
fn a_stale_task_is_reported() {
    let mut world = World::new();
    let settings = vec![("lease_seconds".to_owned(), 600_000.into())];
    world.agent("lead", Command::UpdateTeam { description: None, settings });
    world.spawn("ann", None);
    world.task("write", &[]);
    world.give(1, "ann");
    world.now = world.now + Duration::from_secs(2 * 60 * 60);
    world.troop(Command::Tick);
    let last = world.lines.last().unwrap();
    assert!(last.ends_with(" task-1 has not moved for 120 minutes"), "{last}");
}

#[test]
fn a_vetoed_task_is_reported() {
    let mut world = World::new();
    world.refuse("lead", None, "not on a Friday");
    // The message to the member that asked tells nothing new.
    world.send(Actor::system(), "lead", MessageKind::System, "not on a Friday");
    let line = "a hook said no to lead, which wanted to create `deploy`: not on a Friday";
    assert!(world.lines.last().unwrap().ends_with(line), "{:?}", world.lines);
    let report = strip_str(&summary(&world.story, 80)).to_string();
    assert!(report.contains("  vetoed     lead, deploy: not on a Friday\n"), "{report}");
}

#[test]
fn time_without_a_lead_does_not_count_as_work() {
    let mut world = World::new();
    world.spawn("ann", None);
    world.task("write", &[]);
    world.give(1, "ann");
    world.now = world.now + Duration::from_secs(600);
    let story = Story::new(world.story.state().clone(), world.now);
    let mut world = World { story, ..world };
    let (session, holder) = (Uuid::from_u128(7), "pat on here".to_owned());
    world.troop(Command::TakeLead { session, holder, over: Some(1), checks: Vec::new() });
    let report = strip_str(&summary(&world.story, 80)).to_string();
    assert!(report.contains("ann  (script) 0 tasks, worked 0.1s"), "{report}");
}

#[test]
fn a_second_task_counts_as_work_once_the_first_is_done() {
    let mut world = World::new();
    world.spawn("ann", None);
    for (nth, subject) in [(1, "one"), (2, "two")] {
        world.task(subject, &[]);
        world.give(nth, "ann");
    }
    for nth in [1, 2] {
        world.now = world.now + Duration::from_secs(3);
        world.complete("ann", nth, "done");
    }
    let report = strip_str(&summary(&world.story, 80)).to_string();
    assert!(report.contains("ann  (script) 2 tasks, worked 6.4s"), "{report}");
    assert!(report.contains("two  ann  at  3.9s for  3.1s"), "{report}");
}

#[test]
fn a_task_held_at_the_end_counts_as_work_until_then() {
    let mut world = World::new();
    world.spawn("ann", None);
    world.task("write", &[]);
    world.give(1, "ann");
    world.story.end(world.now + Duration::from_secs(25));
    let report = strip_str(&summary(&world.story, 80)).to_string();
    assert!(report.starts_with("crew: 0 of 1 tasks done in 25s"), "{report}");
    assert!(report.contains("ann  (script) 0 tasks, worked 25s"), "{report}");
}

#[test]
fn a_person_who_ends_a_members_task_is_named() {
    let mut world = World::new();
    world.spawn("ann", None);
    for (nth, subject) in ["write", "test"].into_iter().enumerate() {
        world.task(subject, &[]);
        world.give(u32::try_from(nth).unwrap() + 1, "ann");
    }
    let (task, result) = (TaskNumber(1).into(), "by hand".to_owned());
    let order = TaskCommand::Complete { task, result, summary: None, attempt: None };
    world.does(Actor::human("pat"), Command::Task(order));
    let (task, reason) = (TaskNumber(2).into(), "no use".to_owned());
    let order = TaskCommand::Fail { task, reason, attempt: None, for_good: false };
    world.does(Actor::human("pat"), Command::Task(order));
    let ends: Vec<_> = world.lines.iter().filter(|it| it.contains(" pat ")).collect();
    assert_eq!(
        ends[1..],
        [
            "22:13:20 pat completed task-1 of ann: by hand",
            "22:13:21 pat gave up task-2 of ann: no use; it will be retried"
        ]
    );
}

#[test]
fn a_question_to_a_person_stays_on_the_screen_with_the_command_that_answers_it() {
    let mut world = World::new();
    world.spawn("bob", Some(Permissions::Plan));
    let bob = Actor::agent(&name("bob"));
    world.send(bob, "lead", MessageKind::PlanApprovalRequest, "cut\ncorners");
    let task =
        NewTask { subject: "deploy".to_owned(), approve_start: Some(true), ..NewTask::default() };
    world.agent("lead", Command::Task(TaskCommand::Create(task)));
    let screen = Screen { width: 80, height: 24 };
    let shown =
        live(&world.story, &Recent::default(), world.now, screen, &CallerOptions::default());
    assert_snapshot!(strip_str(&shown).to_string(), @r#"
    crew  0 of 1 tasks done  0.6s

      waits    bob for lead: cut ⏎ corners
               `troop message answer bob yes`, or `no`
      waits    task-1 for approval to start: deploy
               `troop task approve 1`

      ○   1  deploy        pending

      ● bob (script)  planning 0.1s  waits for approval of its plan
    "#);
    let last = world.lines.last().unwrap();
    assert!(last.ends_with("deploy\n         let it start: `troop task approve 1`"), "{last}");
}

#[test]
fn people_are_told_once_how_to_answer_a_plan_if_the_lead_does_not() {
    let mut world = World::new();
    world.spawn("bob", Some(Permissions::Plan));
    let [lead, bob] = ["lead", "bob"].map(|it| Actor::agent(&name(it)));
    world.send(bob.clone(), "lead", MessageKind::PlanApprovalRequest, "cut corners");
    assert!(world.lines.last().unwrap().ends_with("bob plans: cut corners"), "{:?}", world.lines);
    let asked = world.now;
    assert_eq!(world.story.remind(asked + Duration::from_secs(4)), Vec::new());
    let told = world.story.remind(asked + Duration::from_secs(6));
    let says = "bob waits for an answer to its plan\n         answer, if the lead does not: `troop message answer bob yes`, or `no`";
    assert!(told.len() == 1 && text(&told[0]).ends_with(says), "{told:?}");
    assert_eq!(world.story.remind(asked + Duration::from_secs(60)), Vec::new());
    world.send(lead.clone(), "bob", MessageKind::PlanApprovalResponse, "no corners");
    world.send(bob, "lead", MessageKind::PlanApprovalRequest, "go straight");
    world.send(lead, "bob", MessageKind::PlanApprovalResponse, "good");
    assert_eq!(world.story.remind(world.now + Duration::from_secs(60)), Vec::new());
}

#[test]
fn a_question_is_shown_in_full_or_with_where_to_read_the_rest() {
    let mut world = World::new();
    world.spawn("bob", None);
    let ask = |world: &mut World, what: &str| {
        world.send(Actor::agent(&name("bob")), "user", MessageKind::PermissionRequest, what);
    };
    let spaces = " ".repeat(200);
    ask(&mut world, &format!("may I use Bash `ls -la{spaces}\ntouch evil\u{1b}[2J`?"));
    let whole = format!("bob for user: may I use Bash `ls -la{spaces} ⏎ touch evil\\u{{1b}}[2J`?");
    let told = world.lines.last().unwrap();
    assert!(told.contains(whole.split_once(": ").unwrap().1), "{told}");
    let status = |world: &World| {
        let state = world.story.state();
        let members: Vec<_> = state.members().cloned().collect();
        strip_str(&team_status(state, &members, "running", world.now, &CallerOptions::default()))
            .to_string()
    };
    assert!(status(&world).contains(&whole), "{}", status(&world));
    let screen = Screen { width: 80, height: 40 };
    let shown = |world: &World| {
        strip_str(&live(
            &world.story,
            &Recent::default(),
            world.now,
            screen,
            &CallerOptions::default(),
        ))
        .to_string()
    };
    assert!(shown(&world).contains("⏎ touch evil"), "{}", shown(&world));
    ask(&mut world, &format!("may I use Bash `{}; touch evil`?", "x".repeat(3_000)));
    let more = "more characters: `troop message read --all`)";
    let status = status(&world);
    assert!(status.contains(&format!("x… (1030 {more}")), "{status}");
    let shown = shown(&world);
    assert!(shown.contains(more) && shown.lines().all(|line| line.width() <= 80), "{shown}");
}

#[test]
fn the_report_sums_up_tasks_members_and_incidents() {
    let mut world = World::with_all();
    world.complete("ann", 2, "all tests pass");
    assert_snapshot!(strip_str(&summary(&world.story, 80)).to_string(), @r#"
    crew: 2 of 2 tasks done in 2.2s, 5 messages

      ✓ task-1   write  bob  at  1.5s for  0.4s  it is \u{1b}[2Jwritten and signed
      ✓ task-2   test   ann  at  2.1s for  0.1s  all tests pass

      ann  (script) 1 task, worked 0.2s, 1 sent, crashed once
      bob  (script) 1 task, worked 0.4s, 2 sent

      22:13:20  rejected   the plan of bob: no corners; approved 0.2s later
      22:13:21  recovered  task-1: ann crashed; given to bob 0.1s later
      22:13:21  vetoed     bob, task-1: the tests fail
    "#);
    let json = summary_json(&world.story);
    assert_eq!(json["recoveries"][0]["to"], "bob");
    assert_eq!(json["plans"].as_array().unwrap().len(), 2);
    assert_eq!(json["members"][0]["crashes"], 1);
}

#[test]
fn a_team_fits_on_a_screen_of_any_size() {
    let mut world = World::with_all();
    let mut recent = Recent::default();
    let lines = world.lines.iter().flat_map(|it| it.lines());
    lines.for_each(|line| recent.push(line.to_owned()));
    let small = Screen { width: 80, height: 24 };
    let shown = live(&world.story, &recent, world.now, small, &CallerOptions::default());
    assert_snapshot!(strip_str(&shown).to_string(), @r#"
    crew  1 of 2 tasks done  2.1s

      ✓   1  write  bob   done, attempt 2
      ●   2  test   ann   0.0s

      ● ann (script)  working 0.0s  task-2
      ○ bob (script)  idle 0.2s

    22:13:20 bob plans: go straight
    22:13:21 lead approves the plan of bob: good
    22:13:21 bob works in mode default now
    22:13:21 lead created task-1: write
    22:13:21 lead created task-2: test (after task-1)
    22:13:21 task-1 goes to ann
    22:13:21 ann crashed: exit code 9
    22:13:21 task-1 is back on the board: ann crashed
    22:13:21 task-1 goes to bob (attempt 2)
    22:13:21 ann is started again
    22:13:21 ann is ready (script, process 7)
    22:13:21 a hook said no to bob about task-1: the tests fail
    22:13:21 bob completed task-1: it is \u{1b}[2Jwritten
    22:13:22 ann → all: well done
    22:13:22 task-2 goes to ann
    "#);
    for nth in 0..60 {
        world.task(&format!("one of very many tasks, and with a long name at that: {nth}"), &[]);
    }
    for (width, height) in [(80, 24), (120, 40), (40, 8), (200, 9), (41, 100)] {
        let text = live(
            &world.story,
            &recent,
            world.now,
            Screen { width, height },
            &CallerOptions::default(),
        );
        let text = strip_str(&text).to_string();
        assert!(text.lines().count() < height, "{width}x{height}:\n{text}");
        let widest = text.lines().map(UnicodeWidthStr::width).max().unwrap();
        assert!(widest <= width, "{width}x{height} has a line of {widest}:\n{text}");
    }
}
