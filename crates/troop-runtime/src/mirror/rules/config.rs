//! Members that join and leave through the config.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use smol_str::SmolStr;
use troop_model::{EXTERNAL, MemberName, NewMember, State};

use crate::mirror::{
    is_external_in,
    layout::{self, MEMBER_ID, Names},
};

/// A newcomer that another program wrote into the config.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::mirror) struct ConfigNewcomer {
    /// The name as it is in the config.
    pub(in crate::mirror) name: String,
    /// The new member, or why the name is invalid.
    pub(in crate::mirror) member: Result<NewMember, String>,
}

/// Members in the config that the board never knew. One with an id was removed on the board.
pub(in crate::mirror) fn newcomers(
    theirs: &Map<String, Value>,
    names: &Names,
) -> Vec<ConfigNewcomer> {
    let is_new = |entry: &&Map<String, Value>| {
        names.of_entry(entry).is_none() && !entry.contains_key(MEMBER_ID)
    };
    let entries = layout::entries(theirs).into_iter().filter(is_new);
    entries
        .map(|entry| {
            let name = entry.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
            let parsed = name.parse::<MemberName>().map_err(|error| error.to_string());
            ConfigNewcomer { name, member: parsed.map(|name| new_member(name, entry)) }
        })
        .collect()
}

fn new_member(name: MemberName, entry: &Map<String, Value>) -> NewMember {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).filter(|it| !it.is_empty());
    NewMember {
        name,
        agent: SmolStr::new_static(EXTERNAL),
        expertise: text("agentType").unwrap_or_default().to_owned(),
        model: text("model").map(SmolStr::new),
        permissions: None,
    }
}

/// A member that another program took out of the config.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::mirror) struct Leaver {
    pub(in crate::mirror) member: MemberName,
    /// Only external members leave like that.
    pub(in crate::mirror) is_external: bool,
}

/// Members removed from the config since it was last written. A config that lists nobody, not even the lead,
/// is not about members.
pub(in crate::mirror) fn leavers(
    state: &State,
    known: Option<&Map<String, Value>>,
    theirs: &Map<String, Value>,
) -> Vec<Leaver> {
    let Some(known) = known.filter(|_| !layout::entries(theirs).is_empty()) else {
        return Vec::new();
    };
    let names = Names::new(state);
    let listed = |config: &Map<String, Value>| -> BTreeSet<MemberName> {
        layout::entries(config).into_iter().filter_map(|it| names.of_entry(it)).collect()
    };
    let gone: Vec<_> = listed(known).difference(&listed(theirs)).cloned().collect();
    let leaver =
        |member: MemberName| Leaver { is_external: is_external_in(state, &member), member };
    gone.into_iter().map(leaver).collect()
}
