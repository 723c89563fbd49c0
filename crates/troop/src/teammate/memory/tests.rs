//! Only our code is given back, because only that can be read again.

use clap::CommandFactory as _;

use super::{code, give_back};
use crate::cli::Cli;

const PROGRAM: &str = "/opt/the troop";

#[test]
fn only_code_of_this_program_is_given_back() {
    let line = |rights: &str, path: &str| {
        format!("7f0a1000-7f0a3000 {rights} 00001000 fe:00 1234                       {path}")
    };
    assert_eq!(code(&line("r-xp", PROGRAM), PROGRAM), Some(0x7f0a_1000..0x7f0a_3000));
    // The second is relocated data: the file does not have its addresses.
    let others = [("rw-p", PROGRAM), ("r--p", PROGRAM), ("r-xp", "/lib/libc.so.6"), ("r-xp", "")];
    for (rights, path) in others {
        assert_eq!(code(&line(rights, path), PROGRAM), None, "{rights} {path}");
    }
    for odd in ["", "7f0a1000 r-xp", "x-y r-xp 0 0 0 /opt/the troop"] {
        assert_eq!(code(odd, PROGRAM), None, "{odd}");
    }
}

#[test]
fn code_that_was_given_back_runs_again() {
    let work = || Cli::command().render_long_help().to_string();
    let result = work();
    let before = resident_code();
    give_back();
    let after = resident_code();
    assert!(after < before, "{before} kB of code before, {after} kB after");
    assert_eq!(work(), result);
}

/// How much of this program's code is in memory, in kilobytes.
fn resident_code() -> usize {
    let program = std::fs::read_link("/proc/self/exe").unwrap();
    let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let mut is_ours = false;
    let mut kilobytes = 0;
    for line in smaps.lines() {
        if let Some(rss) = line.strip_prefix("Rss:") {
            let rss = rss.trim().trim_end_matches(" kB").parse::<usize>().unwrap();
            kilobytes += if is_ours { rss } else { 0 };
        } else if !line.contains(": ") {
            is_ours = code(line, program.to_str().unwrap()).is_some();
        }
    }
    kilobytes
}
