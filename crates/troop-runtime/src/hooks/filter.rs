//! Which occasions a hook is meant for.

use std::fmt;

use globset::{Glob, GlobSet, GlobSetBuilder};

use super::HookContext;

/// What only stands in regular expressions; in a name it would never match.
const NOT_A_GLOB: [&str; 7] = ["^", "$", "(", ")", "+", "\\", ".*"];

/// Conditions that all must hold. Without any, every occasion is meant.
#[derive(Clone, Debug, Default)]
pub(super) struct HookFilter(Vec<HookCondition>);

/// A value must match one of these globs.
#[derive(Clone, Debug)]
struct HookCondition {
    /// Which value; none means whom it is about: the teammate, and where there is none in it, the team.
    name: Option<&'static str>,
    pattern: String,
    globs: GlobSet,
}

impl HookFilter {
    /// Adds a condition: globs with `|` between them. An empty one is none.
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
        let globs = globs.build().map_err(|error| format!("it is too much: {}", error.kind()))?;
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
