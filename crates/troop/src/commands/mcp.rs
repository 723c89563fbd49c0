//! `troop mcp`: serves a team on standard input and output or over HTTP, and configures clients to start it.

mod listen;

use std::{path::PathBuf, sync::Arc};

use anyhow::Result;
use clap::ValueEnum as _;
use rmcp::ServiceExt as _;
use tokio_util::task::TaskTracker;
use troop_app::{
    mcp_client::{self, McpClient, ServerCommand},
    team::TeamDesk,
};
use troop_model::{MemberName, State};

use crate::{
    cli::{InstallArgs, McpArgs, McpCommand},
    environment,
    mcp::{MendedInput, TeamService},
    output::Printer,
    report::{Error, HintCommand},
};

/// Serves until the client goes, or adds the server to a client's configuration.
pub(super) async fn run(args: &McpArgs, desk: &mut TeamDesk, printer: &Printer) -> Result<()> {
    match &args.command {
        Some(McpCommand::Install(args)) => install(args, desk, printer).await,
        None => Box::pin(serve(args, desk, printer)).await,
    }
}

async fn serve(args: &McpArgs, desk: &mut TeamDesk, printer: &Printer) -> Result<()> {
    let dialect = args.dialect.map(Into::into);
    let caller = if desk.lacks_team().await? {
        desk.caller_without_team(dialect)?
    } else {
        let member = desk.acting_member(HintCommand::troop("mcp")).await?;
        desk.member_caller(member, dialect).await?
    };
    let caller = Arc::new(caller);
    let tracker = TaskTracker::new();
    let service = TeamService::new(Arc::clone(&caller), tracker.clone());
    if let Some(address) = args.listen {
        let team = desk.team(None).await?.team();
        let token = desk.folder(team).join(format!("mcp-{}.token", caller.member()));
        let served = listen::serve(service, address, &token, printer).await;
        caller.close().await;
        return served;
    }
    let (input, output) = rmcp::transport::stdio_pipes();
    let transport = (MendedInput::new(input), output);
    // A client may go before it initializes.
    if let Ok(running) = Box::pin(service.serve(transport)).await {
        let ended = tokio::select! {
            done = running.waiting() => done,
            never = caller.hold() => match never {},
        };
        caller.close().await;
        drop(ended?);
    }
    tracker.close();
    Ok(())
}

async fn install(args: &InstallArgs, desk: &mut TeamDesk, printer: &Printer) -> Result<()> {
    let server = server(args, desk).await?;
    let client = McpClient::from(args.client);
    if args.print {
        return printer.text(&mcp_client::snippet(client, &server));
    }
    let environment = &desk.surroundings.environment;
    let codex_home = environment.variable("CODEX_HOME").map(PathBuf::from);
    let codex_home = codex_home.or_else(|| environment.below_home(".codex"));
    let path = mcp_client::place(client, &desk.surroundings.project, codex_home.as_deref())?;
    let change = mcp_client::plan(client, &path, &server)?;
    let path = change.path.display();
    if change.is_done() {
        return printer.text(&format!("`{path}` has it already\n"));
    }
    printer.text(&format!("{path}\n{}", change.diff()))?;
    if !args.yes {
        if !std::io::IsTerminal::is_terminal(&std::io::stdin()) {
            let hint = "use `--yes` to write it, or `--print` to only see it";
            return Err(Error::refused("there is no terminal to ask on", hint).into());
        }
        if !printer.confirm("write this?")? {
            return printer.text("nothing changed\n");
        }
    }
    match change.write()? {
        Some(backup) => printer.text(&format!("written; the old file is {}\n", backup.display())),
        None => printer.text("written\n"),
    }
}

/// The command with which a client starts the server for this member and team.
async fn server(args: &InstallArgs, desk: &mut TeamDesk) -> Result<ServerCommand> {
    let client = args.client.to_possible_value();
    let client = client.as_ref().map_or("CLIENT", |it| it.get_name());
    let is_first = desk.lacks_team().await?;
    let command = HintCommand::troop("mcp install").word(client);
    let member = if is_first { MemberName::lead() } else { desk.acting_member(command).await? };
    let name = |state: &State| state.team().map(|team| team.name.to_string());
    let team = if is_first { None } else { desk.team(None).await?.look(name).await? };
    let own = environment::program()?;
    // By its name if that finds this program, so that a project's file works for others too.
    let found = desk.surroundings.environment.find_program("troop");
    let is_found = found.and_then(|found| found.canonicalize().ok()).is_some_and(|it| it == own);
    let program = if is_found { "troop".to_owned() } else { own.display().to_string() };
    let mut arguments = vec!["mcp".to_owned()];
    let mut add = |name: &str, value: Option<String>| {
        arguments.extend(value.into_iter().flat_map(|value| [name.to_owned(), value]));
    };
    add("--home", desk.other_home().map(|home| home.display().to_string()));
    add("--store", desk.other_store());
    add("--team", team);
    add("--as", Some(member.to_string()));
    let dialect = args.dialect.and_then(|it| it.to_possible_value());
    add("--dialect", dialect.map(|it| it.get_name().to_owned()));
    Ok(ServerCommand { program, arguments })
}
