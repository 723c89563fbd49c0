//! What is added to a stream for consumers that would rather not look into tool uses themselves.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::vocabulary::Category;

/// A message beside the original one, which says the same in other words.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Supplement {
    /// What it is about.
    #[serde(rename = "type")]
    pub category: Category,
    role: Role,
    content: [(); 0],
    /// What it says.
    pub metadata: Metadata,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Role {
    System,
}

/// What a supplement says.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// The tool.
    pub tool_name: String,
    /// The tool use in the original message, by which both can be known to say the same.
    pub team_tool_use_id: String,
    /// What was asked, if that is what this is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Box<RawValue>>,
    /// What came of it, if that is what this is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Box<RawValue>>,
    /// Whether nothing came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
}

impl Supplement {
    pub(crate) fn asked(
        category: Category,
        tool: &str,
        id: &str,
        input: Option<&RawValue>,
    ) -> Self {
        let metadata = Metadata {
            tool_name: tool.to_owned(),
            team_tool_use_id: id.to_owned(),
            input: input.map(RawValue::to_owned),
            result: None,
            is_error: None,
        };
        Self { category, role: Role::System, content: [], metadata }
    }

    pub(crate) fn answered(self, result: Option<&RawValue>, is_error: bool) -> Self {
        let result = result.map(RawValue::to_owned);
        let metadata = Metadata { result, is_error: Some(is_error), ..self.metadata };
        Self { metadata, ..self }
    }
}
