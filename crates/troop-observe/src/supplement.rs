//! Messages that troop adds to a stream for consumers that do not parse tool uses.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::vocabulary::ObservedCategory;

/// A message that follows the original and repeats its meaning in a fixed form.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Supplement {
    #[serde(rename = "type")]
    pub category: ObservedCategory,
    role: SupplementRole,
    content: [(); 0],
    pub metadata: SupplementMetadata,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SupplementRole {
    System,
}

/// The tool use behind a supplement.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SupplementMetadata {
    pub tool_name: String,
    /// The id of the tool use in the original message; it connects the two.
    pub team_tool_use_id: String,
    /// The input, in the supplement of a tool use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Box<RawValue>>,
    /// The result, in the supplement of a tool result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Box<RawValue>>,
    /// Whether the tool failed, in the supplement of a tool result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
}

impl Supplement {
    pub(crate) fn asked(
        category: ObservedCategory,
        tool: &str,
        id: &str,
        input: Option<&RawValue>,
    ) -> Self {
        let metadata = SupplementMetadata {
            tool_name: tool.to_owned(),
            team_tool_use_id: id.to_owned(),
            input: input.map(RawValue::to_owned),
            result: None,
            is_error: None,
        };
        Self { category, role: SupplementRole::System, content: [], metadata }
    }

    pub(crate) fn answered(self, result: Option<&RawValue>, is_error: bool) -> Self {
        let result = result.map(RawValue::to_owned);
        let metadata = SupplementMetadata { result, is_error: Some(is_error), ..self.metadata };
        Self { metadata, ..self }
    }
}
