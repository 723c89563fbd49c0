//! The dependencies between tasks, drawn with characters or for Graphviz.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use troop_model::{State, Status, TaskNumber};

use super::{DIM, fit, one_line, paint, status_icon, status_style};

/// One task in the graph.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    number: TaskNumber,
    subject: String,
    status: Status,
    owner: Option<String>,
    waits_for: Vec<TaskNumber>,
}

impl Node {
    /// The tasks of a team: those that are not over and what they wait for, or all that are live.
    pub(crate) fn all(state: &State, with_finished: bool) -> Vec<Self> {
        let tasks = state.tasks();
        let is_shown = |number: TaskNumber| {
            let is_open = |number| tasks.status(number).is_some_and(|status| !status.is_finished());
            with_finished || is_open(number) || tasks.dependents(number).any(is_open)
        };
        let shown = tasks
            .numbers()
            .filter(|number| is_shown(*number))
            .filter_map(|number| tasks.get(number));
        let node = |task: &troop_model::Task| Self {
            number: task.number,
            subject: one_line(&task.subject),
            status: tasks.status(task.number).unwrap_or(task.status),
            owner: task.owner.as_ref().map(ToString::to_string),
            waits_for: task
                .blocked_by
                .iter()
                .map(|it| it.task)
                .filter(|it| tasks.get(*it).is_some() && is_shown(*it))
                .collect(),
        };
        shown.map(node).collect()
    }

    fn label(&self, room: usize) -> String {
        let taken = self.number.to_string().len() + 3;
        let subject = fit(&self.subject, room.saturating_sub(taken).max(12));
        let owner =
            self.owner.as_ref().map(|owner| paint(DIM, &format!("  {owner}"))).unwrap_or_default();
        let icon = paint(status_style(self.status), status_icon(self.status));
        format!("{icon} {} {subject}{owner}", self.number)
    }
}

/// A tree for each task without dependencies. A task with several dependencies is drawn under the last of them.
pub(crate) fn graph(nodes: &[Node], width: usize) -> String {
    let by_number: BTreeMap<TaskNumber, &Node> =
        nodes.iter().map(|node| (node.number, node)).collect();
    let mut children: BTreeMap<TaskNumber, Vec<TaskNumber>> = BTreeMap::new();
    for node in nodes {
        for dependency in &node.waits_for {
            children.entry(*dependency).or_default().push(node.number);
        }
    }
    let mut drawing = Drawing { by_number, children, width, text: String::new() };
    for node in nodes.iter().filter(|node| node.waits_for.is_empty()) {
        drawing.tree(node);
    }
    drawing.text
}

/// Deeper branches are no longer indented: a long chain must not become a wide page.
const MAX_DEPTH: usize = 24;

struct Drawing<'a> {
    by_number: BTreeMap<TaskNumber, &'a Node>,
    children: BTreeMap<TaskNumber, Vec<TaskNumber>>,
    width: usize,
    text: String,
}

/// A task that is still to be drawn below another.
struct Branch {
    parent: TaskNumber,
    child: TaskNumber,
    margin: String,
    depth: usize,
    is_last: bool,
}

impl Drawing<'_> {
    fn tree(&mut self, root: &Node) {
        self.line("", &root.label(self.width));
        let mut open = Vec::new();
        self.open_below(&mut open, root.number, "", 1);
        while let Some(branch) = open.pop() {
            let (arm, below) =
                if branch.is_last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            let Some(node) = self.by_number.get(&branch.child).copied() else { continue };
            let margin = &branch.margin;
            // Each task is drawn in full once, under its last dependency.
            if node.waits_for.last() == Some(&branch.parent) {
                let room = self.width.saturating_sub(margin.chars().count() + arm.chars().count());
                let label = format!("{}{}", node.label(room), also(node, branch.parent));
                self.line(&format!("{margin}{arm}"), &label);
                let below = if branch.depth < MAX_DEPTH {
                    format!("{margin}{below}")
                } else {
                    margin.clone()
                };
                self.open_below(&mut open, branch.child, &below, branch.depth + 1);
            } else {
                self.line(&format!("{margin}{arm}"), &paint(DIM, &format!("{} …", branch.child)));
            }
        }
    }

    fn open_below(&self, open: &mut Vec<Branch>, parent: TaskNumber, margin: &str, depth: usize) {
        let children = self.children.get(&parent).map(Vec::as_slice).unwrap_or_default();
        let branch = |(nth, child): (usize, &TaskNumber)| Branch {
            parent,
            child: *child,
            margin: margin.to_owned(),
            depth,
            is_last: nth + 1 == children.len(),
        };
        open.extend(children.iter().enumerate().map(branch).rev());
    }

    fn line(&mut self, margin: &str, label: &str) {
        self.text.push_str(margin);
        self.text.push_str(label);
        self.text.push('\n');
    }
}

fn also(node: &Node, parent: TaskNumber) -> String {
    let others: Vec<_> =
        node.waits_for.iter().filter(|it| **it != parent).map(ToString::to_string).collect();
    if others.is_empty() {
        String::new()
    } else {
        paint(DIM, &format!("  (also waits for {})", others.join(", ")))
    }
}

/// The graph for Graphviz: `troop task graph --dot | dot -Tsvg`.
pub(crate) fn dot(nodes: &[Node]) -> String {
    let mut text =
        String::from("digraph tasks {\n  rankdir=LR;\n  node [shape=box, style=rounded];\n");
    for node in nodes {
        let subject = node.subject.replace('\\', "\\\\").replace('"', "\\\"");
        let label = format!("{}\\n{subject}\\n{}", node.number, node.status);
        text.push_str(&format!("  {} [label=\"{label}\"];\n", node.number.0));
        for dependency in &node.waits_for {
            text.push_str(&format!("  {} -> {};\n", dependency.0, node.number.0));
        }
    }
    text.push_str("}\n");
    text
}

/// The graph for programs.
pub(crate) fn graph_json(nodes: &[Node]) -> Value {
    let tasks: Vec<_> = nodes
        .iter()
        .map(|node| json!({"number": node.number, "subject": node.subject, "status": node.status, "owner": node.owner}))
        .collect();
    let edge = |from: &TaskNumber, to: TaskNumber| json!({"from": from, "to": to});
    let edges: Vec<_> = nodes
        .iter()
        .flat_map(|node| node.waits_for.iter().map(move |on| edge(on, node.number)))
        .collect();
    json!({"tasks": tasks, "edges": edges})
}
