//! Ready-made beginnings of a conversation: for who leads, and for who works.

use rmcp::{
    ErrorData,
    model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role},
};
use troop_app::team::MemberCaller;
use troop_model::Dialect;

use super::resources;

/// The prompts that there are.
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
            format!("{}{}", teammate(caller.dialect()), focus.unwrap_or_default())
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
            "You lead this team. Look at the board (TaskList), cut the goal into tasks that one teammate each can finish \
             (TaskCreate, with blockedBy where one needs another), give them to teammates (TaskUpdate owner, SpawnTeammate), \
             answer their messages, and report when all is completed. Do not do the work yourself."
        }
        Dialect::Board => {
            "You lead this team. List the board (team_tasks list), cut the goal into tasks that one member each can finish \
             (team_tasks create, with an assignee, and blocked_by where one needs another), delegate each by its number \
             (spawn), answer messages, and report when all is completed. Do not do the work yourself."
        }
    }
}

fn teammate(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Claude => {
            "You work in this team. Look at the board (TaskList), take a task that is pending and not blocked (TaskUpdate \
             status in_progress), do it, complete it with its result, and take the next. Mail comes with the results of your \
             calls; ask the lead with SendMessage when something is unclear."
        }
        Dialect::Board => {
            "You work in this team. Look at the board (team_tasks list), claim a task that is pending, do it, say how far you \
             are (progress), complete it with its result, and take the next. Mail comes with the results of your calls; ask \
             the lead with team_message when something is unclear."
        }
    }
}
