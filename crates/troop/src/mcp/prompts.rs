//! Prompts that start a conversation: one for leads, one for teammates.

use rmcp::{
    ErrorData,
    model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role},
};
use troop_app::team::MemberCaller;
use troop_model::{Dialect, TaskAction};
use troop_protocol::Seat;

use super::resources;

pub(super) fn all() -> Vec<Prompt> {
    let goal = PromptArgument::new("goal").with_description("What the team is to achieve");
    let focus = PromptArgument::new("focus").with_description("What to work on first");
    vec![
        Prompt::new(
            "lead",
            Some("Lead the team towards a goal"),
            Some(vec![goal.with_required(true)]),
        ),
        Prompt::new("teammate", Some("Work in the team"), Some(vec![focus.with_required(false)])),
    ]
}

pub(super) async fn get(
    caller: &MemberCaller,
    name: &str,
    arguments: Option<&JsonObject>,
) -> Result<GetPromptResult, ErrorData> {
    let given = |name: &str| {
        arguments.and_then(|all| all.get(name)?.as_str()).filter(|text| !text.trim().is_empty())
    };
    let text = match name {
        "lead" => {
            let Some(goal) = given("goal") else {
                return Err(ErrorData::invalid_params("the prompt `lead` needs `goal`", None));
            };
            format!("{}\n\nThe goal: {goal}", lead(caller.dialect()))
        }
        "teammate" => {
            let focus = given("focus").map(|focus| format!("\n\nBegin with: {focus}"));
            let seat = caller.seat().await.map_err(|failure| resources::refused(&failure))?;
            format!("{}{}", teammate(&seat), focus.unwrap_or_default())
        }
        other => {
            let message = format!("there is no prompt `{other}`; the prompts are: lead, teammate");
            return Err(ErrorData::invalid_params(message, None));
        }
    };
    let team = resources::team_md(caller).await.map_err(|failure| resources::refused(&failure))?;
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, format!("{team}\n\n{text}"))]))
}

fn lead(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Claude => {
            "You lead this team. Look at the board (TaskList). Split the goal into tasks that one teammate can finish \
             (TaskCreate, with blockedBy if a task needs another). Assign them to teammates (TaskUpdate owner, SpawnTeammate), \
             answer their messages, and report when every task is completed. Do not do the work yourself."
        }
        Dialect::Board => {
            "You lead this team. Look at the board (team_tasks list). Split the goal into tasks that one member can finish \
             (team_tasks create, with an assignee, and blocked_by if a task needs another). Delegate each task by its number \
             (spawn), answer messages, and report when every task is completed. Do not do the work yourself."
        }
    }
}

fn teammate(seat: &Seat) -> String {
    match seat.dialect {
        Dialect::Claude => "You work in this team. Look at the board (TaskList). Take a task that is pending and not blocked (TaskUpdate \
             status in_progress), do it, complete it with its result, and take the next one. Mail arrives with the results of \
             your calls. If something is unclear, ask the lead with SendMessage."
            .to_owned(),
        Dialect::Board => {
            let has_progress =
                TaskAction::offered(seat.role, &seat.settings).contains(&TaskAction::Progress);
            let progress = if has_progress { "report your progress (progress), " } else { "" };
            format!(
                "You work in this team. Look at the board (team_tasks list). Claim a pending task, do it, {progress}complete it \
                 with its result, and take the next one. Mail arrives with the results of your calls. If something is unclear, \
                 ask the lead with team_message."
            )
        }
    }
}
