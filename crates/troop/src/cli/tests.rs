//! The command line as a whole.

use clap::CommandFactory;
use troop_testkit::assert_current;

use super::Cli;

#[test]
fn the_definition_of_the_command_line_is_valid() {
    Cli::command().debug_assert();
}

#[test]
fn the_reference_of_all_commands_is_current() {
    let mut text = String::from(
        "# Commands\n\nGenerated from the program. `troop COMMAND --help` shows more.\n",
    );
    let mut command = Cli::command();
    command.build();
    for noun in command.get_subcommands().filter(|it| it.get_name() != "help") {
        text.push_str(&format!("\n## troop {}\n\n{}\n\n", noun.get_name(), about(noun)));
        let is_shown = |it: &&clap::Command| it.get_name() != "help" && !it.is_hide_set();
        let verbs: Vec<_> = noun.get_subcommands().filter(is_shown).collect();
        if verbs.is_empty() {
            text.push_str(&format!("- `{}`\n", usage(noun)));
        }
        for verb in verbs {
            text.push_str(&format!("- `{}`: {}\n", usage(verb), about(verb)));
        }
    }
    text.push_str("\n## Global options\n\n");
    for option in command.get_arguments().filter(|it| it.is_global_set()) {
        let name = option.get_long().unwrap_or_default();
        let help = option.get_help().map(ToString::to_string).unwrap_or_default();
        let variable =
            option.get_env().map(|it| format!(" (`{}`)", it.to_string_lossy())).unwrap_or_default();
        text.push_str(&format!("- `--{name}`{variable}: {help}\n"));
    }
    assert_current("docs/cli.md", &text);
}

fn about(command: &clap::Command) -> String {
    command.get_about().map(ToString::to_string).unwrap_or_default()
}

/// The usage without the options that every command has.
fn usage(command: &clap::Command) -> String {
    let mut command = command.clone();
    let usage = command.render_usage().to_string();
    let words =
        usage.trim_start_matches("Usage: ").split_whitespace().collect::<Vec<_>>().join(" ");
    let options: Vec<_> = command
        .get_arguments()
        .filter(|it| {
            !it.is_required_set()
                && !it.is_global_set()
                && !it.is_positional()
                && !matches!(it.get_id().as_str(), "help" | "version")
        })
        .filter_map(|it| it.get_long().map(|long| format!("--{long}")))
        .collect();
    if options.is_empty() {
        words.replace(" [OPTIONS]", "")
    } else {
        words.replace("[OPTIONS]", &format!("[{}]", options.join(" ")))
    }
}
