//! `troop demo`: a whole team on a sample repository, offline. Real processes, scripted agents.

use anyhow::Result;
use serde_json::json;
use troop_app::{
    demo::{self, DemoFolder, DemoTests},
    leading::{RunReport, WhenQuiet},
    start::TeamStart,
    surroundings::Surroundings,
    team::{TeamDesk, WhenOff},
    trust::ProjectTrust,
};
use troop_model::{HintTarget, quoted};
use troop_runtime::Following;
use troop_store::Missing;

use super::run as running;
use crate::{
    cli::DemoArgs,
    desk, environment, leading,
    output::Printer,
    render,
    report::{Hint, HintCommand, quoted_path},
};

pub(super) async fn run(args: &DemoArgs, own: Surroundings, printer: &Printer) -> Result<()> {
    own.teams.check_on()?;
    let place = DemoFolder::make(&own).await?;
    let surroundings = place.surroundings(own);
    let mut desk =
        desk::open(surroundings, Following::Always, Missing::Make, WhenOff::Refuse, printer)
            .await?;
    if !printer.json {
        printer.text(&introduction(&place, args.keep, printer.width()))?;
    }
    let finished = Box::pin(lead(args, &mut desk, printer)).await;
    desk.close().await;
    conclude(&finished?, &place, printer).await
}

async fn lead(args: &DemoArgs, desk: &mut TeamDesk, printer: &Printer) -> Result<RunReport> {
    let trust = ProjectTrust::look(&desk.surroundings)?;
    let when_quiet = if args.keep { WhenQuiet::Stay } else { WhenQuiet::End };
    let start = demo::start(desk, &trust, environment::program()?, when_quiet).await?;
    let TeamStart { leading, beginning } = start;
    Box::pin(leading::begin(leading, desk, &trust).await?.run(beginning, printer)).await
}

/// Shows the outcome, and what the sample's own tests say about it.
async fn conclude(finished: &RunReport, place: &DemoFolder, printer: &Printer) -> Result<()> {
    let tests = place.test().await?;
    if printer.json {
        let extra = vec![
            ("tests", json!({"passed": tests.have_passed, "output": tests.output})),
            ("home", json!(place.home())),
            ("project", json!(place.project())),
        ];
        running::print_json(finished, extra, printer)?;
    } else {
        printer.text(&running::text(finished, printer, |hint| about(place, hint)))?;
        printer.text(&tests_text(&tests))?;
        printer.text(&where_to_look(place, printer.width()))?;
    }
    finished.check()?;
    Ok(place.check(&tests)?)
}

/// A hint whose commands are about the demo's home instead of the person's own.
fn about(place: &DemoFolder, hint: &Hint) -> Hint {
    let program = format!("TROOP_HOME={} {}", quoted_path(&place.home()), program());
    hint.clone().map_commands(|command| match command.target {
        HintTarget::Machine => command,
        HintTarget::Store | HintTarget::Team | HintTarget::NamedTeam | HintTarget::Member => {
            HintCommand { program: program.clone(), ..command }
        }
    })
}

/// The output of the tests: all of it if they fail, else how many ran.
fn tests_text(tests: &DemoTests) -> String {
    let head = render::paint(render::BOLD, "The sample project's tests, run just now");
    let lines = tests.output.lines().filter(|line| !line.trim().is_empty());
    let lines = lines.skip_while(|line| tests.have_passed && !line.starts_with("Ran "));
    let lines: Vec<_> = lines.map(|line| format!("  {}", render::clean(line))).collect();
    format!("\n{head}\n{}\n", lines.join("\n"))
}

/// Announces the demo, and how to look at a team that stays.
fn introduction(place: &DemoFolder, stays: bool, width: usize) -> String {
    let mut text = render::wrapped(
        "A lead and three teammates are about to work on a small program. They follow scripts; the processes, the \
         board, the mail, the hook, the branches and the checks are real.",
        width,
    );
    text.push_str(&format!("It is in {}\n", place.project().display()));
    if stays {
        text.push_str(&render::wrapped(
            "It keeps running until Ctrl-C here. Any command works from another terminal, for example:",
            width,
        ));
        text.push_str(&format!("  {}\n  {} stop\n", export(place), program()));
    }
    text + "\n"
}

fn export(place: &DemoFolder) -> String {
    format!("export TROOP_HOME={}", quoted_path(&place.home()))
}

fn where_to_look(place: &DemoFolder, width: usize) -> String {
    let troop = program();
    let code = place.project();
    let lines = [
        (export(place), ""),
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
    text.push_str(&format!("\n{head}\n  rm -rf {}\n", quoted_path(place.path())));
    text
}

/// The program as the person called it, so that printed commands can be pasted.
fn program() -> String {
    let called = std::env::args_os().next().map(|it| it.to_string_lossy().into_owned());
    called.filter(|it| it.contains('/')).map_or_else(|| "troop".to_owned(), |it| quoted(&it))
}
