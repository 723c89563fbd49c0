//! A whole team on a sample repository, offline: real processes, scripted agents.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde_json::json;
use troop_model::{Hint, HintCommand, MemberName, NewMember, NewTeamCommand, Settings, TeamId};
use troop_runtime::{HooksConfig, LeadThinks};
use uuid::Uuid;

use crate::{
    Error, FileAct, Result,
    agents::RunnableAgents,
    leading::{Beginning, LeadTerms, Leading, WhenQuiet},
    start::TeamStart,
    surroundings::Surroundings,
    team::{TeamDesk, check_no_teammate, team_name},
    text::one_line,
    trust::ProjectTrust,
};

/// The sample's own tests: no task is done before they pass.
const TESTS: &str = "python3 -B -m unittest -q";
const GOAL: &str = "Add --top N and --json to tally";
/// How long members have to stop.
const GRACE: Duration = Duration::from_secs(3);

/// The sample repository, and the scripts of its team.
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

/// How git makes the sample a repository, so that each teammate has its own worktree.
const COMMIT: [&[&str]; 3] = [
    &["init", "--quiet", "--initial-branch=main"],
    &["add", "--all"],
    &["-c", "commit.gpgSign=false", "commit", "--quiet", "--no-verify", "-m", "tally counts words"],
];
const IDENTITY: [&str; 4] = ["-c", "user.name=troop", "-c", "user.email=troop@localhost"];

/// The folder of a demonstration. It stays afterwards.
#[derive(Clone, Debug)]
pub struct DemoFolder(PathBuf);

/// The result of the sample's own tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DemoTests {
    pub have_passed: bool,
    pub output: String,
}

impl DemoFolder {
    /// Writes the sample into a new folder, and commits it if there is git.
    pub async fn make(surroundings: &Surroundings) -> Result<Self> {
        check_no_teammate(surroundings.choices.acting.as_deref(), &surroundings.environment)?;
        if surroundings.environment.find_program("python3").is_none() {
            let install = HintCommand::other("apt-get").words(["install", "python3"]);
            let hint = Hint::to("install it", install).then_to("", HintCommand::troop("demo"));
            let message = "the demo's sample project needs `python3`, which is not installed";
            return Err(Error::refused(message, hint));
        }
        let folder = tempfile::Builder::new().prefix("troop-demo-").tempdir().map_err(|error| {
            let message = format!("no temporary folder can be made: {error}");
            let program = "TMPDIR=/var/tmp troop".to_owned();
            let demo = HintCommand { program, ..HintCommand::troop("demo") };
            Error::refused(message, Hint::to("name a folder with room", demo))
        })?;
        let made = Self(folder.keep());
        for (path, text) in SAMPLE {
            let path = made.0.join(path);
            let written = fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))
                .and_then(|()| fs::write(&path, text));
            written.map_err(|source| Error::File { path, act: FileAct::Written, source })?;
        }
        if surroundings.environment.find_program("git").is_some() {
            made.commit().await?;
        }
        Ok(made)
    }

    async fn commit(&self) -> Result<()> {
        for step in COMMIT {
            let mut git = troop_process::command("git");
            let done = git.args(IDENTITY).args(step).current_dir(self.project()).output().await;
            let says = match done {
                Ok(done) if done.status.success() => continue,
                Ok(done) => String::from_utf8_lossy(&done.stderr).into_owned(),
                Err(error) => error.to_string(),
            };
            let message = format!("the sample project cannot be committed: {}", one_line(&says));
            let version = HintCommand::other("git").word("--version");
            return Err(Error::refused(message, Hint::to("see what is wrong with git", version)));
        }
        Ok(())
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    #[must_use]
    pub fn project(&self) -> PathBuf {
        self.0.join("tally")
    }

    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.0.join("home")
    }

    /// The surroundings of the sample: its own home and project, and a hook.
    #[must_use]
    pub fn surroundings(&self, own: Surroundings) -> Surroundings {
        let hook = json!({"hooks": [{"event": "task-completed", "command": "sh .demo/check.sh"}]});
        let mut surroundings =
            Surroundings::bare(own.environment, self.home(), self.project(), own.user);
        surroundings.choices.home = Some(self.home());
        surroundings.personal.hooks = HooksConfig::read(&hook).0;
        surroundings
    }

    /// Runs the sample's own tests.
    pub async fn test(&self) -> Result<DemoTests> {
        let mut python = troop_process::command("python3");
        let tested = python.args(["-B", "-m", "unittest"]).current_dir(self.project()).output();
        let tested = tested.await.map_err(|source| Error::File {
            path: "python3".into(),
            act: FileAct::Started,
            source,
        })?;
        let output = String::from_utf8_lossy(&tested.stderr).into_owned();
        Ok(DemoTests { have_passed: tested.status.success(), output })
    }

    /// Refuses a demonstration whose tests fail.
    pub fn check(&self, tests: &DemoTests) -> Result<()> {
        if tests.have_passed {
            return Ok(());
        }
        let test = HintCommand::other("cd").word(self.project().display()).blank("&&");
        let test = test.words(["python3", "-m", "unittest"]);
        Err(Error::refused("the sample project's tests fail", Hint::to("see why", test)))
    }
}

/// Makes the sample's team. `troop` is the program to start for teammates.
pub async fn start(
    desk: &mut TeamDesk,
    trust: &ProjectTrust,
    troop: PathBuf,
    when_quiet: WhenQuiet,
) -> Result<TeamStart> {
    let agents = Arc::new(RunnableAgents::new(&desk.surroundings, trust, troop, None)?);
    let mut settings = Settings { checks: vec![TESTS.to_owned()], ..Settings::default() };
    // Conflicts are found when work is merged, so that the story is the same every time.
    settings.isolation.watch_seconds = 0;
    let new = NewTeamCommand {
        goal: String::new(),
        team: TeamId(Uuid::now_v7()),
        name: team_name("tally")?,
        description: GOAL.to_owned(),
        settings,
        lead: NewMember {
            name: MemberName::lead(),
            agent: "script:.demo/lead.script".into(),
            expertise: "coordination".to_owned(),
            model: None,
            permissions: None,
        },
        members: Vec::new(),
    };
    let leading = Leading {
        board: desk.create_team(new).await?,
        is_new: true,
        agents,
        substitute: None,
        thinks: LeadThinks::Here,
        terms: LeadTerms { grace: GRACE, when_quiet },
        left: None,
    };
    let beginning = Beginning { members: Vec::new(), goal: Some(GOAL.to_owned()) };
    Ok(TeamStart { leading, beginning })
}
