//! Calls about files of the workspace, and their answers.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use troop_model::{Actor, OperationId, TaskNumber, TaskRef, Time, WorkspaceFolder};

/// The limit of a text in JSON. A longer text is sent as base64, which grows by a third.
const MAX_ESCAPED: usize = 14 * 1024 * 1024;

/// A call about files of the workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub enum FileCall {
    /// The files, with who wrote them, when and for which task.
    #[serde(rename = "workspace/list")]
    List {
        /// Of which chat; otherwise of the one that the caller works for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        chat: Option<String>,
        /// Of the chat that this task is from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskRef>,
    },
    /// What is in a file.
    #[serde(rename = "workspace/read")]
    Read {
        path: String,
        /// Of which chat; otherwise of the one that the caller works for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        chat: Option<String>,
        /// Of the chat that this task is from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskRef>,
    },
    /// Write a file: all of it at once, over what was there. It belongs to the task that the caller works on.
    #[serde(rename = "workspace/write")]
    Write {
        /// Which. Folders on the way are made.
        path: String,
        /// What is to be in it: this text ...
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<String>,
        /// ... or these bytes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base64: Option<String>,
        /// Of which chat; otherwise of the one that the caller works for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        chat: Option<String>,
        /// For which task; otherwise for the one that the caller works on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskRef>,
        /// Names the attempt: the same one again is noted once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        operation: Option<OperationId>,
    },
    /// Delete a file.
    #[serde(rename = "workspace/delete")]
    Delete {
        path: String,
        /// Of which chat; otherwise of the one that the caller works for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        chat: Option<String>,
        /// Of the chat that this task is from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskRef>,
        /// Names the attempt: the same one again is noted once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        operation: Option<OperationId>,
    },
}

/// The answer to `workspace/list`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileList {
    /// The files, by path.
    pub files: Vec<FileView>,
    /// Where they are.
    pub folder: WorkspaceFolder,
    /// The same as a path on the machine of who answers.
    pub path: String,
    /// How many bytes they have together.
    pub size: u64,
    /// How many things are there besides that are no files which could be used: links, pipes, names that nobody can type.
    pub skipped: usize,
}

/// One file of the workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileView {
    /// Its path.
    pub path: String,
    /// How many bytes it has.
    pub size: u64,
    /// When it changed last.
    pub at: Time,
    /// Who wrote it; none if it was not written through the workspace, or was changed since.
    pub by: Option<Actor>,
    /// For which task.
    pub task: Option<TaskNumber>,
}

/// The answer to `workspace/read`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileContent {
    pub path: String,
    /// How many bytes it has.
    pub size: u64,
    /// What is in it, if that is text ...
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// ... and the bytes otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
}

/// The answer to `workspace/write` and `workspace/delete`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileChanged {
    pub path: String,
    /// How many bytes it has, or had.
    pub size: u64,
    /// The task that it belongs to.
    pub task: Option<TaskNumber>,
}

/// Why this is not the content of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContentError {
    /// Neither text nor bytes were given, or both.
    #[error("give the file's content: either `content` or `base64`")]
    NotOne,
    /// The bytes are not written as base64.
    #[error("`base64` is not base64: use the standard alphabet, with `=` at the end")]
    NotBase64,
}

impl FileContent {
    /// Text if the bytes are text, base64 otherwise.
    #[must_use]
    pub fn new(path: String, bytes: Vec<u8>) -> Self {
        let size = bytes.len() as u64;
        let (content, base64) = match String::from_utf8(bytes) {
            Ok(text) if escaped_len(&text) <= MAX_ESCAPED => (Some(text), None),
            Ok(text) => (None, Some(STANDARD.encode(text))),
            Err(error) => (None, Some(STANDARD.encode(error.as_bytes()))),
        };
        Self { path, size, content, base64 }
    }

    pub fn into_bytes(self) -> Result<Vec<u8>, ContentError> {
        content_bytes(self.content, self.base64)
    }
}

/// The bytes that were given as text or as base64.
pub fn content_bytes(
    content: Option<String>,
    base64: Option<String>,
) -> Result<Vec<u8>, ContentError> {
    match (content, base64) {
        (Some(text), None) => Ok(text.into_bytes()),
        (None, Some(text)) => STANDARD.decode(text).map_err(|_| ContentError::NotBase64),
        (None, None) | (Some(_), Some(_)) => Err(ContentError::NotOne),
    }
}

/// How many bytes a text takes in JSON.
fn escaped_len(text: &str) -> usize {
    let len = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 8 | 12 => 2,
        0..32 => 6,
        _ => 1,
    };
    text.bytes().map(len).sum()
}
