//! The names of the workspace's folders.
//!
//! `shared` belongs to all conversations; `chats/NAME` to one each, so that their files cannot be mixed up. A chat's id is any
//! text, and no two ids give the same name.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};
use troop_model::{WorkspaceFolder, WorkspaceScope};

/// The longest name that spells the chat's id.
const MAX_NAME: usize = 200;
/// The folder for conversations without a chat.
const NO_CHAT: &str = "default";

/// The path of a folder, relative to the workspace.
pub(super) fn names(folder: &WorkspaceFolder) -> Vec<String> {
    match folder.scope {
        WorkspaceScope::Shared => vec!["shared".to_owned()],
        WorkspaceScope::Isolated => vec!["chats".to_owned(), of_chat(folder.chat.as_deref())],
    }
}

/// Lower-case letters, digits and `-` stay; every other byte becomes `_` and two digits. A name that would be too long becomes
/// `__` and a fingerprint; no other name begins with `__`.
fn of_chat(chat: Option<&str>) -> String {
    let Some(chat) = chat else { return NO_CHAT.to_owned() };
    let mut name = String::new();
    for (nth, byte) in chat.bytes().enumerate() {
        // Its first letter is escaped, so that it is not the folder for conversations without a chat.
        let is_plain = byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if is_plain && (nth > 0 || chat != NO_CHAT) {
            name.push(char::from(byte));
        } else {
            write!(name, "_{byte:02x}").expect("a text takes whatever is written to it");
        }
    }
    match name.len() {
        0 => "_".to_owned(),
        1..=MAX_NAME => name,
        _ => {
            let mut name = "__".to_owned();
            for byte in Sha256::digest(chat.as_bytes()) {
                write!(name, "{byte:02x}").expect("a text takes whatever is written to it");
            }
            name
        }
    }
}

#[cfg(test)]
mod tests;
