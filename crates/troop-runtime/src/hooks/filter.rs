//! Filters: the occasions on which a hook runs.

use std::fmt;

use globset::{Glob, GlobSet, GlobSetBuilder};

use super::HookContext;

/// Parts of regular expressions, which no name contains.
const NOT_A_GLOB: [&str; 7] = ["^", "$", "(", ")", "+", "\\", ".*"];

/// Conditions that must all hold. Without any, the hook runs on every occasion.
#[derive(Clone, Debug, Default)]
pub(super) struct HookFilter(Vec<HookCondition>);

/// A value must match one of these globs.
#[derive(Clone, Debug)]
struct HookCondition {
    /// The value; none means the teammate, or the team if the event has no teammate.
    name: Option<&'static str>,
    pattern: String,
    globs: GlobSet,
}

impl HookFilter {
    /// Adds a condition: globs with `|` between them. An empty one adds nothing.
    pub(super) fn add(&mut self, name: Option<&'static str>, pattern: &str) -> Result<(), String> {
        if matches!(pattern, "" | "*") {
            return Ok(());
        }
        if NOT_A_GLOB.iter().any(|part| pattern.contains(part)) {
            return Err(format!(
                "`{pattern}` looks like a regular expression; write globs: `review*|test*`"
            ));
        }
        let mut globs = GlobSetBuilder::new();
        for glob in pattern.split('|') {
            let glob = Glob::new(glob)
                .map_err(|error| format!("`{glob}` is not a glob: {}", error.kind()))?;
            globs.add(glob);
        }
        let globs =
            globs.build().map_err(|error| format!("it is too complex: {}", error.kind()))?;
        self.0.push(HookCondition { name, pattern: pattern.to_owned(), globs });
        Ok(())
    }

    pub(super) fn accepts(&self, context: &HookContext) -> bool {
        self.0.iter().all(|condition| condition.holds(context))
    }
}

impl HookCondition {
    fn holds(&self, context: &HookContext) -> bool {
        let name = self.name.unwrap_or_else(|| {
            let is_about_one = context.event().carries().contains(&"teammateName");
            if is_about_one { "teammateName" } else { "teamName" }
        });
        context.value(name).is_some_and(|value| self.globs.is_match(value))
    }
}

impl fmt::Display for HookFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, HookCondition { name, pattern, .. }) in self.0.iter().enumerate() {
            let and = if nth == 0 { "" } else { ", " };
            match name {
                Some(name) => write!(f, "{and}{name} {pattern}")?,
                None => write!(f, "{and}{pattern}")?,
            }
        }
        Ok(())
    }
}
