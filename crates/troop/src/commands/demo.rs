//! `troop demo`: a whole team on a sample repository, offline. Real processes, scripted agents.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context as _, Result};
use serde_json::json;
use troop_app::{
    agents::RunnableAgents, surroundings::Surroundings, team::TeamDesk, trust::ProjectTrust,
};
use troop_model::{NewMember, NewTeamCommand, Settings, TeamId, quoted};
use troop_runtime::{Following, HooksConfig, LeadThinks};
use troop_store::Missing;
use uuid::Uuid;

use super::run as running;
use crate::{
    cli::{DemoArgs, LeadArgs},
    desk, environment,
    leading::{Beginning, Leading, RunOutcome},
    output::Printer,
    render,
    report::{CallerOptions, Hint, HintCommand, Refused, quoted_path},
};

/// The sample's own tests: nothing is done before they pass.
const TESTS: &str = "python3 -B -m unittest -q";
const GOAL: &str = "Add --top N and --json to tally";

/// The sample repository, and what its team does to it.
const SAMPLE: [(&str, &str); 9] = [
    (
        "home/agents/scripted.md",
        "---\ndescription: follows a script\nagent: script\nscript: .demo/teammate.script\n---\n",
    ),
    ("tally/tally.py", include_str!("demo/sample/tally.py")),
    ("tally/test_tally.py", include_str!("demo/sample/test_tally.py")),
    ("tally/README.md", include_str!("demo/sample/README.md")),
    ("tally/.gitignore", "__pycache__/\n"),
    ("tally/.demo/take-both.sh", include_str!("demo/sample/take-both.sh")),
    ("tally/.demo/check.sh", include_str!("demo/sample/check.sh")),
    ("tally/.demo/lead.script", include_str!("demo/sample/lead.script")),
    ("tally/.demo/teammate.script", include_str!("demo/sample/teammate.script")),
];

pub(super) async fn run(args: &DemoArgs, own: Surroundings, printer: &Printer) -> Result<()> {
    if own.environment.find_program("python3").is_none() {
        let install = HintCommand::other("apt-get").words(["install", "python3"]);
        let hint = Hint::to("install it", install).then_to("", HintCommand::troop("demo"));
        return Err(Refused::new(
            "the demo's sample project needs `python3`, which is not installed",
            hint,
        )
        .into());
    }
    let place = DemoFolder::make()?;
    if own.environment.find_program("git").is_some() {
        place.commit().await?;
    }
    let surroundings = place.surroundings(own);
    let mut desk = desk::open(surroundings, Following::Always, Missing::Make, printer).await?;
    if !printer.json {
        printer.text(&place.introduction(args.keep, printer.width()))?;
    }
    let finished = lead(args, &mut desk, printer).await;
    desk.close().await;
    conclude(&finished?, &place, printer).await
}

async fn lead(args: &DemoArgs, desk: &mut TeamDesk, printer: &Printer) -> Result<RunOutcome> {
    let trust = ProjectTrust::look(&desk.surroundings)?;
    let agents =
        Arc::new(RunnableAgents::new(&desk.surroundings, &trust, environment::program()?, None)?);
    let new = NewTeamCommand {
        team: TeamId(Uuid::now_v7()),
        name: "tally".parse().map_err(troop_model::Refusal::from)?,
        description: GOAL.to_owned(),
        // What does not fit is heard of when it is merged, so that the story is the same every time.
        settings: Settings {
            checks: vec![TESTS.to_owned()],
            isolation_watch_seconds: 0,
            ..Settings::default()
        },
        lead: NewMember {
            name: troop_model::MemberName::lead(),
            agent: "script:.demo/lead.script".into(),
            expertise: "coordination".to_owned(),
            model: None,
            permissions: None,
        },
        members: Vec::new(),
    };
    let signature = desk.signature()?;
    let board = desk.session.create(&signature, new).await?.clone();
    let args = LeadArgs { grace: 3, keep: args.keep };
    let is_new = true;
    let instead = None;
    let left = None;
    let thinks = LeadThinks::Here;
    let trust = &trust;
    let leading =
        Leading { desk, board, is_new, printer, trust, agents, instead, thinks, args, left };
    let beginning = Beginning { members: Vec::new(), goal: Some(GOAL.to_owned()) };
    leading.begin().await?.run(beginning).await
}

/// Lets the sample's own tests say what the team's work is worth.
async fn conclude(finished: &RunOutcome, place: &DemoFolder, printer: &Printer) -> Result<()> {
    let tested = troop_process::command("python3")
        .args(["-B", "-m", "unittest"])
        .current_dir(place.project())
        .output()
        .await
        .context("`python3` cannot be started")?;
    let says = String::from_utf8_lossy(&tested.stderr).into_owned();
    if printer.json {
        let tests = json!({"passed": tested.status.success(), "output": says});
        let extra = vec![
            ("tests", tests),
            ("home", json!(place.home())),
            ("project", json!(place.project())),
        ];
        running::print_json(finished, extra, printer)?;
    } else {
        // What is to be typed is about this home, and not about the person's own.
        let rescue =
            format!("`TROOP_HOME={} {} doctor --rescue`", quoted_path(&place.home()), program());
        let text = running::text(finished, printer, &CallerOptions::default())
            .replace("`troop doctor --rescue`", &rescue);
        printer.text(&text)?;
        printer.text(&tests(&says, tested.status.success()))?;
        printer.text(&place.where_to_look(printer.width()))?;
    }
    finished.check()?;
    if !tested.status.success() {
        let hint =
            format!("see why: `cd {} && python3 -m unittest`", quoted_path(&place.project()));
        return Err(Refused::new("the sample project's tests fail", hint).into());
    }
    Ok(())
}

/// What the tests say: all of it where they fail, else how many there were.
fn tests(says: &str, is_good: bool) -> String {
    let head = render::paint(render::BOLD, "The sample project's tests, run just now");
    let lines = says.lines().filter(|line| !line.trim().is_empty());
    let lines = lines.skip_while(|line| is_good && !line.starts_with("Ran "));
    let lines: Vec<_> = lines.map(|line| format!("  {}", render::clean(line))).collect();
    format!("\n{head}\n{}\n", lines.join("\n"))
}

/// Where a demonstration takes place. It stays there afterwards.
struct DemoFolder(PathBuf);

impl DemoFolder {
    fn make() -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("troop-demo-").tempdir().map_err(|error| {
            let message = format!("no temporary folder can be made: {error}");
            Refused::new(message, "name a folder with room: `TMPDIR=/var/tmp troop demo`")
        })?;
        let place = Self(folder.keep());
        for (path, text) in SAMPLE {
            let file = place.0.join(path);
            let cannot = || format!("`{}` cannot be written", file.display());
            fs::create_dir_all(file.parent().unwrap_or(Path::new("."))).with_context(cannot)?;
            fs::write(&file, text).with_context(cannot)?;
        }
        Ok(place)
    }

    /// Makes the sample a repository, so that each teammate has a folder and a branch of its own.
    async fn commit(&self) -> Result<()> {
        let identity = ["-c", "user.name=troop", "-c", "user.email=troop@localhost"];
        let steps: [&[&str]; 3] = [
            &["init", "--quiet", "--initial-branch=main"],
            &["add", "--all"],
            &[
                "-c",
                "commit.gpgSign=false",
                "commit",
                "--quiet",
                "--no-verify",
                "-m",
                "tally counts words",
            ],
        ];
        for step in steps {
            let git = troop_process::command("git")
                .args(identity)
                .args(step)
                .current_dir(self.project())
                .output();
            let done = git.await.context("`git` cannot be started")?;
            if !done.status.success() {
                let says = String::from_utf8_lossy(&done.stderr).into_owned();
                let message =
                    format!("the sample project cannot be committed: {}", render::one_line(&says));
                return Err(
                    Refused::new(message, "see what is wrong with git: `git --version`").into()
                );
            }
        }
        Ok(())
    }

    fn project(&self) -> PathBuf {
        self.0.join("tally")
    }

    fn home(&self) -> PathBuf {
        self.0.join("home")
    }

    /// The surroundings of the sample: its own home and project, and a hook.
    fn surroundings(&self, own: Surroundings) -> Surroundings {
        let hook = json!({"hooks": [{"event": "task-completed", "command": "sh .demo/check.sh"}]});
        let mut surroundings =
            Surroundings::bare(own.environment, self.home(), self.project(), own.user);
        surroundings.choices.home = Some(self.home());
        surroundings.personal.hooks = HooksConfig::read(&hook).0;
        surroundings
    }

    /// What is about to happen, and how to look at it meanwhile where it stays.
    fn introduction(&self, stays: bool, width: usize) -> String {
        let mut text = render::wrapped(
            "A lead and three teammates are about to work on a small program. They follow scripts; the processes, the \
             board, the mail, the hook, the branches and the checks are real.",
            width,
        );
        text.push_str(&format!("It is in {}\n", self.project().display()));
        if stays {
            text.push_str(&render::wrapped(
                "It keeps running until Ctrl-C here. Any command works from another terminal, for example:",
                width,
            ));
            text.push_str(&format!("  {}\n  {} stop\n", self.export(), program()));
        }
        text + "\n"
    }

    fn export(&self) -> String {
        format!("export TROOP_HOME={}", quoted_path(&self.home()))
    }

    fn where_to_look(&self, width: usize) -> String {
        let troop = program();
        let code = self.project();
        let lines = [
            (self.export(), ""),
            (format!("{troop} events"), "# everything that happened"),
            (format!("{troop} log bob"), "# bob's transcript"),
            (format!("{troop} task list --status all"), "# the board"),
            (format!("{troop} message read --all"), "# who said what to whom"),
            (format!("git -C {} log --graph --oneline", quoted_path(&code)), "# their commits"),
        ];
        let mut text = format!("\n{}\n", render::paint(render::BOLD, "Where to look"));
        let widest = lines.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
        let longest = lines.iter().map(|(_, what)| what.len()).max().unwrap_or(0);
        let is_wide = widest + longest + 3 <= width;
        for (command, what) in lines {
            let line = match is_wide {
                true => format!("  {command:<widest$} {what}").trim_end().to_owned(),
                false if what.is_empty() => format!("  {command}"),
                false => format!("  {what}\n  {command}"),
            };
            text.push_str(&format!("{line}\n"));
        }
        let head = render::paint(render::BOLD, "Everything is kept; to remove it");
        text.push_str(&format!("\n{head}\n  rm -rf {}\n", quoted_path(&self.0)));
        text
    }
}

/// How this program was called, so that what is printed can be pasted.
fn program() -> String {
    let called = std::env::args_os().next().map(|it| it.to_string_lossy().into_owned());
    called.filter(|it| it.contains('/')).map_or_else(|| "troop".to_owned(), |it| quoted(&it))
}
