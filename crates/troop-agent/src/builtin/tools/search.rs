//! Searches files for a regular expression.

use std::{
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
};

use globset::{GlobBuilder, GlobMatcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, sinks::Lossy};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    find::{folder, from, veiled, walk},
    schema,
};
use crate::{files::WorkFolder, permit::Veil};

const MAX_LINES: usize = 300;
const MAX_LINE: usize = 500;

#[derive(Deserialize)]
pub(super) struct GrepInput {
    pattern: String,
    #[serde(default)]
    path: String,
    glob: Option<String>,
    #[serde(default)]
    output_mode: GrepMode,
    #[serde(default, rename = "-i", alias = "case_insensitive")]
    ignores_case: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum GrepMode {
    Content,
    #[default]
    FilesWithMatches,
    Count,
}

pub(super) fn about() -> (&'static str, Map<String, Value>) {
    let about =
        "Searches files for a regular expression, line by line. Skips files that git ignores.";
    let fields = [
        ("pattern", "string", "The regular expression, in the syntax of Rust's regex crate"),
        ("path", "string", "The file or folder to search; the working folder by default"),
        ("glob", "string", "Only search files that match this glob, such as `*.rs`"),
        (
            "output_mode",
            "string",
            "`files_with_matches` (only paths; the default), `content` (matching lines), or `count`",
        ),
        ("-i", "boolean", "Ignore case"),
    ];
    (about, schema(&fields, &["pattern"]))
}

pub(super) fn grep(
    input: &GrepInput,
    files: &WorkFolder,
    veil: &Veil,
    is_over: &AtomicBool,
) -> Result<String, String> {
    let matcher = RegexMatcherBuilder::new()
        .case_insensitive(input.ignores_case)
        .line_terminator(Some(b'\n'))
        .build(&input.pattern)
        .map_err(|error| format!("`{}` is not a valid pattern: {error}", input.pattern))?;
    let glob = input.glob.as_deref().map(only).transpose()?;
    let root = folder(&input.path, files)?;
    let search = GrepSearch { matcher, glob, root, top: files.root(), mode: input.output_mode };
    let (lines, n_veiled) = search.run(veil, is_over);
    let n_hidden = lines.len().saturating_sub(MAX_LINES);
    let mut text = lines.into_iter().take(MAX_LINES).collect::<Vec<_>>().join("\n");
    if n_hidden > 0 {
        text.push_str("\n[there is more; use a narrower pattern, path or glob]");
    }
    let text = if text.is_empty() { "no matches".to_owned() } else { text };
    Ok(text + &veiled(n_veiled))
}

/// A glob without a slash matches in every folder.
fn only(glob: &str) -> Result<GlobMatcher, String> {
    let anywhere = if glob.contains('/') { glob.to_owned() } else { format!("**/{glob}") };
    let built = GlobBuilder::new(&anywhere).literal_separator(true).build();
    Ok(built
        .map_err(|error| format!("`{glob}` is not a valid glob: {}", error.kind()))?
        .compile_matcher())
}

struct GrepSearch<'a> {
    matcher: RegexMatcher,
    glob: Option<GlobMatcher>,
    root: PathBuf,
    top: &'a Path,
    mode: GrepMode,
}

impl GrepSearch<'_> {
    /// The lines found, and the number of hidden files.
    fn run(&self, veil: &Veil, is_over: &AtomicBool) -> (Vec<String>, usize) {
        let mut searcher = SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .line_number(true)
            .build();
        let mut lines = Vec::new();
        let mut n_veiled = 0;
        let mut paths: Vec<_> = walk(&self.root, is_over).collect();
        paths.sort();
        for path in paths {
            let shown = from(self.top, &path);
            if self.glob.as_ref().is_some_and(|glob| !glob.is_match(&shown)) {
                continue;
            }
            if veil.hides(self.top, &shown) {
                n_veiled += 1;
            } else {
                self.search(&mut searcher, &path, &shown, &mut lines);
            }
            if lines.len() > MAX_LINES {
                break;
            }
        }
        (lines, n_veiled)
    }

    fn search(&self, searcher: &mut Searcher, path: &Path, shown: &str, lines: &mut Vec<String>) {
        let mut n_found = 0_u64;
        let sink = Lossy(|number, line| {
            n_found += 1;
            if self.mode == GrepMode::Content {
                let line = troop_model::preview(line.trim_end(), MAX_LINE);
                lines.push(format!("{shown}:{number}:{line}"));
            }
            Ok(self.mode != GrepMode::FilesWithMatches && lines.len() <= MAX_LINES)
        });
        // Unreadable files match nothing.
        drop(searcher.search_path(&self.matcher, path, sink));
        match self.mode {
            GrepMode::FilesWithMatches if n_found > 0 => lines.push(shown.to_owned()),
            GrepMode::Count if n_found > 0 => lines.push(format!("{shown}:{n_found}")),
            GrepMode::Content | GrepMode::FilesWithMatches | GrepMode::Count => {}
        }
    }
}
