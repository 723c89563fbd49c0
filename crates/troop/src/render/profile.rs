//! The profile of a repository, for people.

use troop_runtime::{Profile, Severity, Signal, Suggestion};

use super::{BAD, BOLD, DIM, clean, one_line, paint};

pub(crate) fn profile(profile: &Profile, command: &str) -> String {
    let mut text = format!(
        "{}  {}\n",
        paint(BOLD, &one_line(&profile.path)),
        paint(DIM, &format!("{} files, {} read", profile.files, profile.scanned)),
    );
    let languages: Vec<_> = profile.languages.iter().map(|it| it.name.to_owned()).collect();
    let structure = &profile.structure;
    let has = |is_there: bool| if is_there { "yes" } else { "no" }.to_owned();
    for (name, value) in [
        ("languages", listed(&languages)),
        ("frameworks", listed(&profile.frameworks)),
        ("docs", has(structure.docs)),
        ("tests", has(structure.tests)),
        ("ci", has(structure.ci)),
    ] {
        text.push_str(&format!("  {} {value}\n", paint(DIM, &format!("{name:<11}"))));
    }
    if !profile.signals.is_empty() {
        text.push_str(&format!("\n{}\n", paint(BOLD, "Signals")));
        profile.signals.iter().for_each(|it| signal(&mut text, it));
    }
    text.push_str(&format!("\n{}\n", paint(BOLD, "Suggested team")));
    let widest = |part: fn(&Suggestion) -> &String| {
        profile.team.iter().map(|it| part(it).len()).max().unwrap_or(0)
    };
    let name_width = widest(|it| &it.name);
    let width = widest(|it| &it.expertise);
    for member in &profile.team {
        let reason = paint(DIM, &one_line(&member.reason));
        text.push_str(&format!(
            "  {:<name_width$}  {:<width$}  {reason}\n",
            member.name, member.expertise
        ));
    }
    text.push_str(&format!("\n  {}\n", one_line(command)));
    for note in &profile.notes {
        text.push_str(&format!("{}\n", paint(DIM, &format!("note: {}", one_line(note)))));
    }
    text
}

fn signal(text: &mut String, signal: &Signal) {
    let severity = match signal.severity {
        Severity::High => paint(BAD, "high"),
        Severity::Medium => "medium".to_owned(),
        Severity::Low => paint(DIM, "low"),
    };
    text.push_str(&format!("  {} ({severity}): {}\n", signal.kind, clean(&signal.message)));
    for place in &signal.locations {
        let place = format!("{}:{}", one_line(&place.file), place.line);
        text.push_str(&format!("    {}\n", paint(DIM, &place)));
    }
}

fn listed(words: &[String]) -> String {
    if words.is_empty() { "none found".to_owned() } else { words.join(", ") }
}
