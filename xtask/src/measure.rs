//! `cargo xtask measure`: the shape of the product's code in numbers, which the house rules keep from growing.

mod scan;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};

use crate::run;

/// Type names that several crates may use: the context shows which one is meant.
pub(crate) const MAY_REPEAT: [&str; 2] = ["Error", "Options"];

/// A type with more fields should be split by what belongs together.
pub(crate) const MAX_FIELDS: usize = 20;
/// A type with more methods, over all `impl` blocks of a crate, should be several types.
pub(crate) const MAX_METHODS: usize = 60;

/// Crates whose code only tests use.
const TEST_CRATES: [&str; 1] = ["troop-testkit"];

/// A place in the code.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SourceLine {
    pub(crate) file: String,
    pub(crate) line: usize,
}

/// One thing that was counted.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    pub(crate) name: String,
    pub(crate) at: SourceLine,
}

/// The number of fields or methods of a type.
#[derive(Clone, Debug)]
pub(crate) struct Members {
    pub(crate) name: String,
    pub(crate) at: SourceLine,
    pub(crate) count: usize,
}

/// The measurements of the product's code, without tests.
#[derive(Debug, Default)]
pub(crate) struct Measurements {
    /// Lines of each crate.
    pub(crate) lines: BTreeMap<String, usize>,
    /// Every type, trait and alias, by name.
    pub(crate) types: BTreeMap<String, Vec<SourceLine>>,
    pub(crate) fields: Vec<Members>,
    /// Methods of each type, over all `impl` blocks of a crate.
    pub(crate) methods: BTreeMap<(String, String), Members>,
    /// `let (a, b) = (x, y);`
    pub(crate) multi_lets: Vec<Finding>,
    /// Functions that take a tuple.
    pub(crate) tuple_parameters: Vec<Finding>,
    /// Functions with the name of a predicate that change something or return no `bool`.
    pub(crate) predicates: Vec<Finding>,
    /// Uses of a surface's functions in `troop-app`.
    pub(crate) surface_in_app: Vec<Finding>,
}

impl Measurements {
    /// Reads all crates of a workspace.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let mut found = Self::default();
        for path in sources(root)? {
            let file = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            if !is_test(Path::new(&file)) {
                let text = fs::read_to_string(&path).with_context(|| file.clone())?;
                scan::file(&file, &text, &mut found).with_context(|| file.clone())?;
            }
        }
        Ok(found)
    }

    pub(crate) fn n_lines(&self) -> usize {
        self.lines.values().sum()
    }

    /// Names that more than one type has, except the permitted ones.
    pub(crate) fn repeated_names(&self) -> Vec<(&String, &Vec<SourceLine>)> {
        let repeated = self.types.iter().filter(|(_, at)| at.len() > 1);
        repeated.filter(|(name, _)| !MAY_REPEAT.contains(&name.as_str())).collect()
    }

    /// The share of type names that more than one type has.
    pub(crate) fn repeated_percent(&self) -> f64 {
        100.0 * self.repeated_names().len() as f64 / self.types.len().max(1) as f64
    }

    pub(crate) fn multi_lets_per_thousand_lines(&self) -> f64 {
        1_000.0 * self.multi_lets.len() as f64 / self.n_lines().max(1) as f64
    }

    /// Types with more than `most` fields, the largest first.
    pub(crate) fn fields_over(&self, most: usize) -> Vec<&Members> {
        largest(self.fields.iter().filter(|it| it.count > most).collect())
    }

    /// Types with more than `most` methods, the largest first.
    pub(crate) fn methods_over(&self, most: usize) -> Vec<&Members> {
        largest(self.methods.values().filter(|it| it.count > most).collect())
    }
}

fn largest(mut members: Vec<&Members>) -> Vec<&Members> {
    members.sort_by_key(|it| (std::cmp::Reverse(it.count), &it.name));
    members
}

impl std::fmt::Display for SourceLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// Every Rust file of the workspace's crates.
pub(crate) fn sources(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = BTreeSet::new();
    let mut folders = vec![root.join("crates"), root.join("xtask")];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.insert(path);
            }
        }
    }
    Ok(found.into_iter().collect())
}

/// Whether a file belongs to tests.
pub(crate) fn is_test(path: &Path) -> bool {
    let is_of_tests = |part: &str| {
        matches!(part, "tests" | "tests.rs" | "house.rs") || TEST_CRATES.contains(&part)
    };
    path.components().any(|part| part.as_os_str().to_str().is_some_and(is_of_tests))
}

/// Prints the numbers, and the places of each on request.
pub(crate) fn run() -> Result<()> {
    let mut with_places = false;
    let mut part = String::new();
    for argument in std::env::args().skip(2) {
        match argument.as_str() {
            "--places" => with_places = true,
            path if !path.starts_with('-') && part.is_empty() => part = argument,
            _ => bail!("usage: cargo xtask measure [--places] [PART-OF-A-PATH]"),
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has no workspace")?;
    let report = MeasureReport { found: Measurements::read(root)?, with_places, part };
    run::print(&report.text())
}

/// The output of `cargo xtask measure`.
struct MeasureReport {
    found: Measurements,
    with_places: bool,
    /// Only places whose path contains this are listed.
    part: String,
}

impl MeasureReport {
    fn text(&self) -> String {
        let found = &self.found;
        let mut text = String::new();
        let crates = found.lines.iter().map(|(name, n_lines)| format!("{n_lines:6} {name}"));
        self.section(&mut text, &format!("{} lines", found.n_lines()), crates);
        let repeated = found.repeated_names();
        let title = format!(
            "{} of {} type names are used more than once ({:.1}%)",
            repeated.len(),
            found.types.len(),
            found.repeated_percent()
        );
        let names = repeated.iter().map(|(name, at)| {
            let places: Vec<_> = at.iter().map(SourceLine::to_string).collect();
            format!("{name}: {}", places.join(", "))
        });
        self.section(&mut text, &title, names);
        let title = format!(
            "{} multi-lets ({:.2} per thousand lines)",
            found.multi_lets.len(),
            found.multi_lets_per_thousand_lines()
        );
        self.section(&mut text, &title, found.multi_lets.iter().map(Finding::to_string));
        for (findings, what) in [
            (&found.tuple_parameters, "functions with tuple parameters"),
            (&found.predicates, "predicates that change something or return no `bool`"),
            (&found.surface_in_app, "places where `troop-app` does the work of a surface"),
        ] {
            let title = format!("{} {what}", findings.len());
            self.section(&mut text, &title, findings.iter().map(Finding::to_string));
        }
        for (members, what) in [
            (found.fields_over(MAX_FIELDS), format!("types with more than {MAX_FIELDS} fields")),
            (
                found.methods_over(MAX_METHODS),
                format!("types with more than {MAX_METHODS} methods"),
            ),
        ] {
            let title = format!("{} {what}", members.len());
            let largest = members.iter().map(|it| format!("{} {}: {}", it.count, it.name, it.at));
            self.section(&mut text, &title, largest);
        }
        text
    }

    fn section(&self, text: &mut String, title: &str, places: impl Iterator<Item = String>) {
        writeln!(text, "{title}").expect("writing to a string never fails");
        if self.with_places {
            for place in places.filter(|place| place.contains(&self.part)) {
                writeln!(text, "  {place}").expect("writing to a string never fails");
            }
        }
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.at, self.name)
    }
}

#[cfg(test)]
mod tests;
