//! Calls about files of the workspace, and their answers.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use troop_model::{Actor, OperationId, TaskNumber, TaskRef, Time, WorkspaceFolder, workspace_path};

/// The limit of a text in JSON. A longer text is sent as base64, which grows by a third.
const MAX_ESCAPED: usize = 14 * 1024 * 1024;

/// A call about files of the workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub enum FileCall {
    /// The files, each with its author, time and task.
    #[serde(rename = "workspace/list")]
    List {
        /// The chat whose files are meant; without it, the chat that the caller works for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        chat: Option<String>,
        /// Means the chat that this task came from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskRef>,
    },
    /// The content of a file.
    #[serde(rename = "workspace/read")]
    Read {
        path: String,
        /// The chat whose files are meant; without it, the chat that the caller works for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        chat: Option<String>,
        /// Means the chat that this task came from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskRef>,
    },
    /// Write a whole file, replacing what was there. It belongs to the task that the caller works on.
    #[serde(rename = "workspace/write")]
    Write {
        /// The file's path. Missing folders are created.
        path: String,
        /// The content, as text ...
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<String>,
        /// ... or as base64.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base64: Option<String>,
        /// The chat whose files are meant; without it, the chat that the caller works for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        chat: Option<String>,
        /// The task that the file belongs to; without it, the task that the caller works on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskRef>,
        /// Names the attempt: repeated, it is recorded once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        operation: Option<OperationId>,
    },
    /// Delete a file.
    #[serde(rename = "workspace/delete")]
    Delete {
        path: String,
        /// The chat whose files are meant; without it, the chat that the caller works for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        chat: Option<String>,
        /// Means the chat that this task came from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskRef>,
        /// Names the attempt: repeated, it is recorded once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        operation: Option<OperationId>,
    },
}

impl FileCall {
    /// Names the attempt of a call that changes something, if it has no name yet.
    pub fn name_operation(&mut self, name: impl FnOnce() -> OperationId) {
        match self {
            Self::Write { operation, .. } | Self::Delete { operation, .. } => {
                operation.get_or_insert_with(name);
            }
            Self::List { .. } | Self::Read { .. } => {}
        }
    }
}

/// The answer to `workspace/list`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileList {
    /// The files, by path.
    pub files: Vec<FileView>,
    /// The folder that they are in.
    pub folder: WorkspaceFolder,
    /// The folder's path on the machine that answers.
    pub path: String,
    /// Their total size in bytes.
    pub size: u64,
    /// How many other entries the folder has: links, pipes, and names that cannot be typed.
    pub skipped: usize,
}

impl FileList {
    /// Whether a file is there. What is no path may be: the board says what is wrong with it.
    #[must_use]
    pub fn may_have(&self, path: &str) -> bool {
        workspace_path(path).map_or(true, |path| self.files.iter().any(|file| file.path == path))
    }
}

/// One file of the workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileView {
    /// Its path.
    pub path: String,
    /// The size in bytes.
    pub size: u64,
    /// When it was last changed.
    pub at: Time,
    /// The author; none if the file was not written through the workspace, or was changed since.
    pub by: Option<Actor>,
    /// The task that it was written for.
    pub task: Option<TaskNumber>,
}

/// The answer to `workspace/read`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileContent {
    pub path: String,
    /// The size in bytes.
    pub size: u64,
    /// The content, if it is text ...
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// ... or else as base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
}

/// The answer to `workspace/write` and `workspace/delete`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileChanged {
    pub path: String,
    /// The size in bytes; of a deleted file, the size that it had.
    pub size: u64,
    /// The task that it belongs to.
    pub task: Option<TaskNumber>,
}

/// Why something is not the content of a file.
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
