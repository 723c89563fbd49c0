//! Questions about tasks that may have left the live board.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, VecDeque},
    iter::Peekable,
    sync::Arc,
};

use troop_model::{
    IdPrefix, Origin, PAGE, Refusal, Search, State, Task, TaskFilter, TaskNumber, TaskRef, Version,
    is_visible,
};

use super::Board;
use crate::{BoardError, BoardResult};

/// How many archived tasks are read at once.
const READ_AT_ONCE: usize = 256;

/// The number of a task, and the task itself if it is in memory.
type FoundTask = Result<(TaskNumber, Option<Arc<Task>>), Refusal>;

/// One page of a list.
#[derive(Clone, Debug)]
pub struct TaskPage {
    /// The tasks on this page.
    pub tasks: Vec<Arc<Task>>,
    /// The number of this page, from 1.
    pub page: usize,
    /// How many pages there are; at least 1.
    pub pages: usize,
    /// How many tasks are on all pages.
    pub n_tasks: usize,
    /// The version of the log: all tasks of this version were counted.
    pub version: Version,
}

impl TaskPage {
    fn new(tasks: Vec<Arc<Task>>, page: usize, n_tasks: usize, version: Version) -> Self {
        Self { tasks, page, pages: n_tasks.div_ceil(PAGE).max(1), n_tasks, version }
    }
}

impl Board {
    /// One task, wherever it is.
    pub async fn task(&self, task: TaskRef) -> BoardResult<Arc<Task>> {
        let find = async |task: TaskRef| {
            self.look(move |state| {
                let number = state.resolve(&task)?;
                Ok::<_, Refusal>((number, in_memory(state, number)))
            })
            .await
        };
        let mut found = find(task.clone()).await?;
        if found.is_err() {
            // Another process may have created it. Look before refusing.
            self.catch_up().await?;
            found = find(task.clone()).await?;
        }
        if let TaskRef::Id(text) = &task
            && let Some(prefix) = IdPrefix::new(text)
        {
            // A whole id of a live task is enough; a prefix may also belong to an archived task.
            let is_settled = match &found {
                Ok(_) => prefix.is_whole(),
                Err(refusal) => !matches!(refusal, Refusal::UnknownTask { .. }),
            };
            if !is_settled {
                return self.anywhere_by_id(text, prefix, found).await;
            }
        }
        match found? {
            (_, Some(task)) => Ok(task),
            (number, None) => match self.store.read_archived(self.team, number.0).await? {
                Some(body) => unpack(number, &body),
                None => {
                    Err(Refusal::UnknownTask { task: number.to_string(), pending: Vec::new() }
                        .into())
                }
            },
        }
    }

    /// The only task, live or archived, whose id has this prefix. Ids are not indexed in the archive, so this reads all of it.
    async fn anywhere_by_id(
        &self,
        text: &str,
        prefix: IdPrefix,
        not_found: FoundTask,
    ) -> BoardResult<Arc<Task>> {
        let is_meant = move |task: &Task| prefix.begins(task.id);
        let page = self.newest_first(Arc::new(is_meant), false, 1).await?;
        match (page.tasks.as_slice(), not_found) {
            ([task], _) => Ok(Arc::clone(task)),
            ([], Err(refusal)) => Err(refusal.into()),
            (tasks, _) => {
                let matches = tasks.iter().take(4).map(|task| task.number).collect();
                Err(Refusal::AmbiguousTask { task: text.to_owned(), matches }.into())
            }
        }
    }

    /// A page of tasks: open tasks by priority, then by age, as they are claimed; finished ones newest first.
    pub async fn list(
        &self,
        filter: TaskFilter,
        viewer: Origin,
        page: usize,
    ) -> BoardResult<TaskPage> {
        let page = page.max(1);
        if filter.includes_archived() {
            // If all tasks are wanted, they are counted without reading each.
            let counts_all =
                matches!(filter, TaskFilter::Finished | TaskFilter::All) && viewer.is_internal();
            let is_meant =
                move |task: &Task| filter.admits(task.status) && is_visible(task, &viewer);
            return self.newest_first(Arc::new(is_meant), counts_all, page).await;
        }
        self.look(move |state| {
            let tasks = state.tasks();
            let mut meant = tasks.that_stand(|status| filter.admits(status));
            if !viewer.is_internal() {
                let is_meant =
                    |number: &_| tasks.get(*number).is_some_and(|it| is_visible(it, &viewer));
                meant.retain(is_meant);
            }
            let on_page = meant.iter().skip((page - 1).saturating_mul(PAGE)).take(PAGE);
            TaskPage::new(
                on_page.filter_map(|number| in_memory(state, *number)).collect(),
                page,
                meant.len(),
                state.version(),
            )
        })
        .await
    }

    /// A page of the tasks whose subject or description contains all words of a text, newest first.
    pub async fn search(&self, text: &str, viewer: Origin, page: usize) -> BoardResult<TaskPage> {
        let search = Search::new(text);
        let is_meant =
            move |task: &Task| search.snippet(task).is_some() && is_visible(task, &viewer);
        self.newest_first(Arc::new(is_meant), false, page.max(1)).await
    }

    /// Pages through live and archived tasks together, without holding more than a page of them.
    async fn newest_first(
        &self,
        is_meant: Arc<dyn Fn(&Task) -> bool + Send + Sync>,
        counts_all: bool,
        page: usize,
    ) -> BoardResult<TaskPage> {
        let meant_here = Arc::clone(&is_meant);
        let (near, erased, n_archived, version) = self
            .look(move |state| {
                let mut near: Vec<Arc<Task>> = state
                    .tasks()
                    .numbers()
                    .chain(state.tasks().all_departed().iter().map(|(number, _)| *number))
                    .filter_map(|number| in_memory(state, number))
                    .filter(|task| meant_here(task))
                    .collect();
                near.sort_unstable_by_key(|task| Reverse(task.number));
                near.dedup_by_key(|task| task.number);
                let n_near_archived =
                    near.iter().filter(|it| state.tasks().end(it.number).is_some()).count();
                let departed = state.tasks().all_departed().iter();
                let erased: BTreeSet<u32> = departed
                    .filter(|(_, task)| task.is_none())
                    .map(|(number, _)| number.0)
                    .collect();
                let n_archived = state.tasks().n_archived().saturating_sub(n_near_archived);
                (near, erased, n_archived, state.version())
            })
            .await?;
        let n_near = near.len();
        let mut n_tasks = n_near;
        let mut far = ArchivePages {
            board: self,
            erased,
            below: u32::MAX,
            read: VecDeque::new(),
            is_exhausted: n_archived == 0,
        };
        let mut near = near.into_iter().peekable();
        let mut skip = (page - 1).saturating_mul(PAGE);
        let mut tasks = Vec::new();
        loop {
            let is_full = tasks.len() == PAGE;
            if is_full && counts_all {
                return Ok(TaskPage::new(tasks, page, n_near + n_archived, version));
            }
            let Some((task, is_far)) = newest(&mut near, &mut far).await? else { break };
            if is_far {
                if !is_meant(&task) {
                    continue;
                }
                n_tasks += 1;
            }
            if skip > 0 {
                skip -= 1;
            } else if !is_full {
                tasks.push(task);
            }
        }
        Ok(TaskPage::new(tasks, page, n_tasks, version))
    }
}

/// Archived tasks, highest number first, read as they are needed.
struct ArchivePages<'a> {
    board: &'a Board,
    /// Tasks that were deleted but are still in the store.
    erased: BTreeSet<u32>,
    below: u32,
    read: VecDeque<Arc<Task>>,
    is_exhausted: bool,
}

impl ArchivePages<'_> {
    async fn peek(&mut self) -> BoardResult<Option<TaskNumber>> {
        while self.read.is_empty() && !self.is_exhausted {
            let store = &self.board.store;
            let team = self.board.team;
            let bodies = store.list_archived(team, self.below, READ_AT_ONCE).await?;
            self.is_exhausted = bodies.len() < READ_AT_ONCE;
            for (number, body) in bodies {
                self.below = number;
                if !self.erased.contains(&number) {
                    self.read.push_back(unpack(TaskNumber(number), &body)?);
                }
            }
        }
        Ok(self.read.front().map(|task| task.number))
    }
}

/// The unread task with the highest number, and whether it came from the archive.
async fn newest(
    near: &mut Peekable<std::vec::IntoIter<Arc<Task>>>,
    far: &mut ArchivePages<'_>,
) -> BoardResult<Option<(Arc<Task>, bool)>> {
    loop {
        let near_number = near.peek().map(|task| task.number);
        let far_number = far.peek().await?;
        if far_number.is_some() && far_number == near_number {
            // It is being archived right now, and still in memory.
            far.read.pop_front();
            continue;
        }
        return Ok(if far_number > near_number {
            far.read.pop_front().map(|task| (task, true))
        } else {
            near.next().map(|task| (task, false))
        });
    }
}

/// A task that is live, or on its way to the archive.
fn in_memory(state: &State, number: TaskNumber) -> Option<Arc<Task>> {
    state.tasks().shared(number).or_else(|| state.tasks().departed(number))
}

fn unpack(number: TaskNumber, body: &[u8]) -> BoardResult<Arc<Task>> {
    let task = serde_json::from_slice(body);
    task.map(Arc::new).map_err(|error| BoardError::Archive { number, source: Arc::new(error) })
}
