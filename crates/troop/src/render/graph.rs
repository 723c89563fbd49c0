//! The dependencies between tasks, drawn with characters or for Graphviz.

use std::collections::BTreeMap;

use troop_app::task_graph::GraphNode;
use troop_model::TaskNumber;

use super::{DIM, fit, paint, status_icon, status_style};

/// A tree for each task without dependencies. A task with several dependencies is drawn under the last of them.
pub(crate) fn graph(nodes: &[GraphNode], width: usize) -> String {
    let by_number: BTreeMap<TaskNumber, &GraphNode> =
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
    by_number: BTreeMap<TaskNumber, &'a GraphNode>,
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
    fn tree(&mut self, root: &GraphNode) {
        self.line("", &label(root, self.width));
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
                let label = format!("{}{}", label(node, room), also(node, branch.parent));
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

fn label(node: &GraphNode, room: usize) -> String {
    let taken = node.number.to_string().len() + 3;
    let subject = fit(&node.subject, room.saturating_sub(taken).max(12));
    let owner =
        node.owner.as_ref().map(|owner| paint(DIM, &format!("  {owner}"))).unwrap_or_default();
    let icon = paint(status_style(node.status), status_icon(node.status));
    format!("{icon} {} {subject}{owner}", node.number)
}

fn also(node: &GraphNode, parent: TaskNumber) -> String {
    let others: Vec<_> =
        node.waits_for.iter().filter(|it| **it != parent).map(ToString::to_string).collect();
    if others.is_empty() {
        String::new()
    } else {
        paint(DIM, &format!("  (also waits for {})", others.join(", ")))
    }
}

/// The graph for Graphviz: `troop task graph --dot | dot -Tsvg`.
pub(crate) fn dot(nodes: &[GraphNode]) -> String {
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
