//! The simulated repository: commits, references that move only from where they were expected, the project's folder with its index,
//! and the folders of members. The steps of git's own commands are those that others can come between.

use std::collections::{BTreeMap, BTreeSet};

use troop_model::TaskNumber;
use troop_runtime::{
    UnheardMerge,
    deciding::isolation::{OldValue, RefMove},
};

/// Files and what is in them.
pub(crate) type Tree = BTreeMap<String, String>;

/// The reference of the project's branch.
pub(crate) const MAIN: &str = "refs/heads/main";

#[derive(Clone, Debug)]
struct SimulatedCommit {
    parents: Vec<String>,
    tree: Tree,
    message: String,
}

/// The folder of a member.
#[derive(Clone, Debug, Default)]
pub(crate) struct MemberPlace {
    pub(crate) branch: Option<String>,
    pub(crate) commit: String,
    pub(crate) files: Tree,
}

#[derive(Debug, Default)]
pub(crate) struct SimulatedRepository {
    commits: Vec<SimulatedCommit>,
    refs: BTreeMap<String, String>,
    /// The contents of the project's index and folder.
    pub(crate) index: Tree,
    pub(crate) files: Tree,
    /// The process whose git command has locked the index.
    index_lock: Option<usize>,
    pub(crate) places: BTreeMap<String, MemberPlace>,
    /// Merges that the board has to record.
    pub(crate) merges: BTreeMap<TaskNumber, UnheardMerge>,
}

impl SimulatedRepository {
    /// A commit, in no branch yet.
    pub(crate) fn commit(&mut self, parents: &[&str], tree: Tree) -> String {
        self.commit_with(parents, tree, String::new())
    }

    pub(crate) fn commit_with(&mut self, parents: &[&str], tree: Tree, message: String) -> String {
        let parents = parents.iter().map(|it| (*it).to_owned()).collect();
        self.commits.push(SimulatedCommit { parents, tree, message });
        format!("c{}", self.commits.len())
    }

    /// The commits of a branch along their first parents, the newest first, with their messages.
    pub(crate) fn first_parents(&self, commit: &str) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let mut next = Some(commit.to_owned());
        while let Some(commit) = next {
            let Some(it) = self.find(&commit) else { break };
            next = it.parents.first().cloned();
            found.push((commit, it.message.clone()));
        }
        found
    }

    fn find(&self, commit: &str) -> Option<&SimulatedCommit> {
        let nth: usize = commit.strip_prefix('c')?.parse().ok()?;
        self.commits.get(nth.checked_sub(1)?)
    }

    pub(crate) fn tree(&self, commit: &str) -> Tree {
        self.find(commit).map(|it| it.tree.clone()).unwrap_or_default()
    }

    pub(crate) fn at(&self, name: &str) -> Option<String> {
        self.refs.get(name).cloned()
    }

    pub(crate) fn refs(&self) -> impl Iterator<Item = &String> {
        self.refs.values()
    }

    /// Moves a reference, as `git update-ref` does: not if it is not what it was expected to be.
    pub(crate) fn update(&mut self, step: &RefMove) -> bool {
        let found = self.refs.get(&step.name);
        let is_expected = match &step.from {
            OldValue::Any => true,
            OldValue::Absent => found.is_none(),
            OldValue::Is(commit) => found == Some(commit),
        };
        if is_expected {
            match &step.to {
                Some(to) => drop(self.refs.insert(step.name.clone(), to.clone())),
                None => drop(self.refs.remove(&step.name)),
            }
        }
        is_expected
    }

    /// A commit and everything before it.
    fn history(&self, commit: &str) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut next = vec![commit.to_owned()];
        while let Some(commit) = next.pop() {
            if let Some(it) = self.find(&commit) {
                next.extend(it.parents.iter().cloned());
            }
            found.insert(commit);
        }
        found
    }

    pub(crate) fn is_ancestor(&self, one: &str, other: &str) -> bool {
        self.history(other).contains(one)
    }

    /// Where two commits forked: the newest commit that both have. Commits are numbered as they are made.
    pub(crate) fn merge_base(&self, one: &str, other: &str) -> Option<String> {
        let one = self.history(one);
        let other = self.history(other);
        let number = |it: &String| it.trim_start_matches('c').parse::<u64>().unwrap_or(0);
        one.intersection(&other).max_by_key(|it| number(it)).cloned()
    }

    /// The files of both commits since they forked; the paths that both changed, if they do not fit.
    pub(crate) fn fit(&self, team: &str, own: &str, base: &str) -> Result<Tree, Vec<String>> {
        let before = self.tree(base);
        let own = self.tree(own);
        let mut merged = self.tree(team);
        let mut conflicts = Vec::new();
        for (path, content) in own {
            let ours = merged.get(&path);
            if before.get(&path) == Some(&content) || ours == Some(&content) {
                continue;
            }
            if ours == before.get(&path) {
                merged.insert(path, content);
            } else {
                conflicts.push(path);
            }
        }
        if conflicts.is_empty() { Ok(merged) } else { Err(conflicts) }
    }

    /// Locks the project's index; false if another command has it.
    pub(crate) fn lock_index(&mut self, process: usize) -> bool {
        if self.index_lock.is_some() {
            return false;
        }
        self.index_lock = Some(process);
        true
    }

    pub(crate) fn is_index_locked(&self) -> bool {
        self.index_lock.is_some()
    }

    pub(crate) fn unlock_index(&mut self) {
        self.index_lock = None;
    }

    /// Clears what a killed git command of a process left. (How troop does that with real locks is not simulated.)
    pub(crate) fn clear_lock_of(&mut self, process: usize) {
        if self.index_lock == Some(process) {
            self.index_lock = None;
        }
    }

    /// Git's objection to moving the project from one commit to another, in git's words; none if nothing is in the way.
    pub(crate) fn objection(&self, now: &str, next: &str) -> Option<String> {
        let before = self.tree(now);
        let after = self.tree(next);
        let mut changed =
            after.iter().filter(|(path, content)| before.get(*path) != Some(*content));
        let in_way = changed.find_map(|(path, content)| {
            let in_index = self.index.get(path);
            if in_index == Some(content) {
                return None;
            }
            match in_index {
                Some(_) if in_index != before.get(path) => Some((path, "local")),
                Some(_) if self.files.get(path) != in_index => Some((path, "local")),
                None if self.files.contains_key(path) => Some((path, "untracked")),
                Some(_) | None => None,
            }
        });
        in_way.map(|(path, what)| match what {
            "untracked" => format!(
                "error: The following untracked working tree files would be overwritten by merge:; \t{path}"
            ),
            _ => format!(
                "error: Your local changes to the following files would be overwritten by merge:; \t{path}"
            ),
        })
    }

    /// The paths whose content differs between two commits, and those that only the second has.
    pub(crate) fn differences(&self, now: &str, next: &str) -> (Vec<String>, Vec<String>) {
        let before = self.tree(now);
        let after = self.tree(next);
        let differs = after.iter().filter(|(path, content)| before.get(*path) != Some(*content));
        let (added, changed): (Vec<_>, Vec<_>) =
            differs.map(|(path, _)| path.clone()).partition(|path| !before.contains_key(path));
        (changed, added)
    }
}
