//! Suggests a team for a repository: by rules, so that the same repository always gets the same answer.

use super::{Language, Severity, Signal, Structure, Suggestion};

/// The number of members that run at once in a new team.
const MAX_MEMBERS: usize = 5;
/// How many languages get their own member.
const MAX_LANGUAGES: usize = 2;
/// Frameworks for user interfaces in a browser.
const FRONTEND: [&str; 4] = ["react", "vue", "angular", "next"];

pub(super) fn team(
    languages: &[Language],
    frameworks: &[String],
    structure: Structure,
    signals: &[Signal],
) -> Vec<Suggestion> {
    let mut team = Vec::new();
    let mut add = |name: &str, expertise: &str, reason: String| {
        let name = name.to_owned();
        let expertise = expertise.to_owned();
        team.push(Suggestion { name, expertise, reason });
    };
    for language in languages.iter().take(MAX_LANGUAGES) {
        let name = language.name.to_lowercase();
        add(&name, language.name, format!("{} is there", language.manifest));
    }
    if languages.is_empty() {
        add("dev", "whatever it takes", "no manifest names a language".to_owned());
    }
    let seen: Vec<_> =
        frameworks.iter().filter(|it| FRONTEND.contains(&it.as_str())).cloned().collect();
    if !seen.is_empty() {
        add("frontend", "user interfaces", format!("it uses {}", seen.join(", ")));
    }
    let find = |kind: &str| signals.iter().find(|signal| signal.kind == kind);
    if let Some(signal) = find("missing-tests") {
        add("tester", "tests", signal.message.clone());
    }
    if let Some(signal) = find("missing-docs") {
        add("writer", "documentation", signal.message.clone());
    }
    if let Some(signal) = find("todo").filter(|signal| signal.severity > Severity::Low) {
        add("cleaner", "finishing what was left open", signal.message.clone());
    }
    let reason = if structure.ci {
        "every change wants a second look"
    } else {
        "no CI checks what comes in"
    };
    team.truncate(MAX_MEMBERS - 1);
    let expertise = "review".to_owned();
    team.push(Suggestion { name: "reviewer".to_owned(), expertise, reason: reason.to_owned() });
    team
}
