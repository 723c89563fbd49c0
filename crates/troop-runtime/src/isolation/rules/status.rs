//! Parses git's output about commits and folders.

use crate::{git::parts, isolation::refusal::MergeRefusal};

/// The branch or commit that a folder is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderHead {
    pub commit: String,
    /// None if it is on no branch.
    pub branch: Option<String>,
}

/// Where the team's branch is, and where it and a commit forked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkPoint {
    pub team: String,
    pub base: String,
}

/// The output of `git rev-parse TEAM...OWN`: both commits, and where they forked.
#[derive(Debug, PartialEq, Eq)]
pub struct ForkLines<'a> {
    pub team: Option<&'a str>,
    pub base: Option<&'a str>,
}

impl<'a> ForkLines<'a> {
    pub fn read(said: &'a str) -> Self {
        // First the right side, then the left one.
        let mut lines = said.lines().skip(1);
        let team = lines.next();
        Self { team, base: lines.find_map(|line| line.strip_prefix('^')) }
    }
}

/// How a commit and the team's branch come together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinCase {
    /// The result is what the commit has: only it has anything new.
    Own,
    /// The team's branch has it already.
    Team,
    /// Both sides have commits, so they need a merge.
    Merge,
}

pub fn join_case(fork: &ForkPoint, own: &str) -> JoinCase {
    if fork.base == own {
        JoinCase::Team
    } else if fork.base == fork.team {
        JoinCase::Own
    } else {
        JoinCase::Merge
    }
}

/// The output of `git status --porcelain=v2 --branch -z` in a folder.
#[derive(Debug, PartialEq, Eq)]
pub struct FolderStatus {
    pub commit: String,
    /// `(detached)` if it is on no branch; none if git does not say.
    pub branch: Option<String>,
    pub is_dirty: bool,
    /// Files of an unfinished merge.
    pub unmerged: Vec<UnmergedFile>,
}

/// A file of an unfinished merge.
#[derive(Debug, PartialEq, Eq)]
pub struct UnmergedFile {
    pub file: String,
    /// Whether git writes conflict markers into a file of this kind: both sides have it, and it is no submodule.
    is_mixed: bool,
}

impl UnmergedFile {
    /// Reads git's line: which sides changed it, whether it is a submodule, seven words, and its name.
    fn new(entry: &str) -> Option<Self> {
        let mut words = entry.splitn(10, ' ');
        let sides = words.next()?;
        let submodule = words.next()?;
        let is_mixed = matches!(sides, "UU" | "AA") && submodule.starts_with('N');
        Some(Self { file: words.nth(7)?.to_owned(), is_mixed })
    }
}

impl FolderStatus {
    /// None if git does not print on which commit the folder is. An unfinished merge counts as a change, however little it
    /// changes.
    pub fn read(said: &str, is_merging: bool) -> Option<Self> {
        let mut status = Self {
            commit: String::new(),
            branch: None,
            is_dirty: is_merging,
            unmerged: Vec::new(),
        };
        for part in parts(said) {
            match part.split_once(' ') {
                Some(("#", head)) => match head.split_once(' ') {
                    Some(("branch.oid", commit)) => commit.clone_into(&mut status.commit),
                    Some(("branch.head", branch)) => status.branch = Some(branch.to_owned()),
                    _ => {}
                },
                Some(("u", entry)) => {
                    status.is_dirty = true;
                    status.unmerged.extend(UnmergedFile::new(entry));
                }
                _ => status.is_dirty = true,
            }
        }
        (!status.commit.is_empty()).then_some(status)
    }

    /// The unfinished operation in this folder: a command of several steps, or a merge. `contents` belong to the unmerged files.
    pub fn unfinished(
        &self,
        command: Option<&'static str>,
        contents: &[Vec<u8>],
    ) -> Option<MergeRefusal> {
        if let Some(command) = command {
            return Some(MergeRefusal::Unfinished(command));
        }
        let mut marked = Vec::new();
        let mut undecided = Vec::new();
        for (UnmergedFile { file, is_mixed }, bytes) in self.unmerged.iter().zip(contents) {
            if bytes.split(|byte| *byte == b'\n').any(|line| line.starts_with(b"<<<<<<< ")) {
                marked.push(file.clone());
            } else if !is_mixed || bytes.contains(&0) {
                undecided.push(file.clone());
            }
        }
        match (marked.is_empty(), undecided.is_empty()) {
            (false, _) => Some(MergeRefusal::Unresolved(marked)),
            (true, false) => Some(MergeRefusal::Undecided(undecided)),
            (true, true) => None,
        }
    }
}
