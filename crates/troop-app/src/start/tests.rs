//! The choices for a new team.

use std::path::PathBuf;

use troop_model::{Dollars, MAX_TEXT};

use super::{Goal, SettingOptions, check_names, lead};
use crate::{
    Diagnosis,
    agents::{Agents, RunnableAgents},
    surroundings::{Environment, Surroundings},
    tests::member,
    trust::ProjectTrust,
};

fn surroundings(folder: &tempfile::TempDir) -> Surroundings {
    let home = folder.path().join("home");
    let environment = Environment::new(Vec::new(), folder.path().to_owned());
    Surroundings::bare(environment, home, folder.path().to_owned(), "pat".to_owned())
}

#[test]
fn a_goal_is_neither_empty_nor_too_long() {
    assert!(Goal::new("x".repeat(MAX_TEXT)).is_ok());
    for bad in [String::new(), " \n".to_owned(), "x".repeat(MAX_TEXT + 1)] {
        let error = Goal::new(bad).unwrap_err();
        assert_eq!(Diagnosis::of(&error).unwrap().class.as_str(), "invalid", "{error}");
    }
}

#[test]
fn a_setting_is_as_chosen_or_as_configured() {
    let folder = tempfile::tempdir().unwrap();
    let mut defaults = surroundings(&folder).teams;
    defaults.max_teammates = 7;
    defaults.budget.dollars = Dollars::new(5.0);
    let configured = SettingOptions::default().over(&defaults).unwrap();
    assert_eq!((configured.max_teammates, configured.budget.dollars), (7, Dollars::new(5.0)));
    let chosen = SettingOptions {
        max_teammates: Some(2),
        budget: Dollars::new(1.0),
        others: vec!["max_attempts=9".to_owned()],
        ..SettingOptions::default()
    };
    let chosen = chosen.over(&defaults).unwrap();
    assert_eq!((chosen.max_teammates, chosen.budget.dollars), (2, Dollars::new(1.0)));
    assert_eq!(chosen.max_attempts, 9);
    let unknown = SettingOptions { others: vec!["max_atempts=9".to_owned()], ..Default::default() };
    let error = unknown.over(&defaults).unwrap_err();
    assert_eq!(error.to_string(), "there is no setting `max_atempts`");
}

#[test]
fn a_member_cannot_be_called_like_the_lead() {
    let leads = member("lead", "script");
    assert!(check_names(&leads, &[member("ann", "command")]).is_ok());
    let error = check_names(&leads, &[member("lead", "command")]).unwrap_err();
    assert_eq!(error.to_string(), "`lead` leads the team and cannot also be a teammate");
}

#[test]
fn a_team_needs_an_agent_that_can_lead() {
    let folder = tempfile::tempdir().unwrap();
    let mut surroundings = surroundings(&folder);
    let trust = ProjectTrust::look(&surroundings).unwrap();
    let runnable =
        RunnableAgents::new(&surroundings, &trust, PathBuf::from("troop"), None).unwrap();
    let known = Agents::read(&surroundings);
    let chosen = |agent: &str| lead(Some(agent.to_owned()), &surroundings, &runnable, &known);
    assert_eq!(chosen("script:x").unwrap().agent, "script:x");
    let error = runnable.check_lead("command", None).unwrap_err().to_string();
    assert_eq!(error, "`command` cannot lead: it only runs the commands of tasks");
    let none = lead(None, &surroundings, &runnable, &known).unwrap_err().to_string();
    assert!(none.starts_with("there is no agent to lead the team"), "{none}");
    surroundings.shared.agent = Some("builtin".to_owned());
    let untrusted = lead(None, &surroundings, &runnable, &known).unwrap_err().to_string();
    assert!(untrusted.ends_with("but you have not trusted the project"), "{untrusted}");
}
