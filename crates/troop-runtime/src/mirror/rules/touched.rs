//! The files that an event touches.

use troop_model::{Fact, MemberName, TaskNumber};

use crate::mirror::{Item, layout::Layout};

/// The files that an event touches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TouchedFiles {
    pub items: Vec<Item>,
    /// The task that it is about. The files of tasks name each other, so more of them may be touched.
    pub task: Option<TaskNumber>,
}

pub fn touched(fact: &Fact, layout: Layout, lead: Option<&MemberName>) -> TouchedFiles {
    let inbox = |member: &str| inbox_of(member, layout, lead);
    #[expect(clippy::wildcard_enum_match_arm, reason = "other facts are in no file")]
    let items = match fact {
        Fact::MemberAdded { member, .. } | Fact::MemberRemoved { member, .. } => {
            vec![Item::Config, inbox(member.as_str())]
        }
        // The config has the process of a member.
        Fact::MemberStateChanged { member, .. } => vec![Item::Config, inbox(member.as_str())],
        Fact::MessageSent { readers, .. } => {
            readers.iter().map(|reader| inbox(reader.as_str())).collect()
        }
        Fact::MessageRead { reader, .. } => vec![inbox(reader.as_str())],
        Fact::TeamUpdated { .. } => vec![Item::Config],
        _ => return TouchedFiles { items: Vec::new(), task: fact.task() },
    };
    TouchedFiles { items, task: None }
}

/// The inbox of a member, by its name in the files.
pub fn inbox_of(member: &str, layout: Layout, lead: Option<&MemberName>) -> Item {
    let is_lead = lead.is_some_and(|lead| lead.as_str() == member);
    Item::Inbox(match layout {
        Layout::Claude if is_lead => "team-lead".to_owned(),
        Layout::Claude | Layout::Seeds => member.to_owned(),
    })
}
