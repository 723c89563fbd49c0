//! Guesses what may run in a script that cannot be parsed reliably.

use super::super::{ShellCommand, ShellLine};

const QUOTES: [char; 3] = ['\'', '"', '\\'];

/// Adds everything that could be a command, whatever its quotes mean.
pub(super) fn guess(text: &str, line: &mut ShellLine) {
    line.is_clear = false;
    let joined = text.replace("\\\n", "");
    for plain in [joined.replace(QUOTES, ""), joined.replace(QUOTES, "\n")] {
        for piece in plain.split(['\n', ';', '&', '|', '(', ')', '`', '#']) {
            guess_command(piece, line);
        }
    }
}

fn guess_command(piece: &str, line: &mut ShellLine) {
    let mut words = Vec::new();
    for (n, part) in piece.split(['<', '>']).enumerate() {
        let mut said = part.split([' ', '\t', '\r', '{', '}', ',']).filter(|it| !it.is_empty());
        let is_file = n > 0;
        line.files.extend(is_file.then(|| said.next()).flatten().map(str::to_owned));
        words.extend(said.map(str::to_owned));
    }
    if !words.is_empty() {
        line.commands.push(ShellCommand { words });
    }
}
