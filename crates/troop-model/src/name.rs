//! Names of teams and members. A value of these types is always valid.

use std::{borrow::Borrow, fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;
use thiserror::Error;

/// The longest name of a team or a member.
pub const MAX_NAME: usize = 64;

/// Why a text is not a valid name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NameError {
    /// It is empty.
    #[error("a name must not be empty")]
    Empty,
    /// It is too long.
    #[error("a name has at most {MAX_NAME} characters, this one has {0}")]
    Long(usize),
    /// It has a character that names must not have.
    #[error(
        "`{}` is not a name: use lower-case letters, digits, `-`, `_` and `.`, beginning with a letter or digit",
        .0.escape_debug()
    )]
    Shape(String),
    /// It is reserved for another meaning.
    #[error("`{0}` is reserved: it always means the lead, the person, everybody or troop itself")]
    Reserved(String),
}

/// Words that address the lead without being its name.
pub const LEAD_ALIASES: [&str; 3] = ["lead", "team-lead", "main"];
/// The name of the person at the keyboard.
pub const USER: &str = "user";
/// The name of troop itself as a sender.
pub const SYSTEM: &str = "system";
/// The recipient that means everybody but the sender.
pub const EVERYBODY: &str = "*";

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(try_from = "SmolStr", into = "SmolStr")]
        pub struct $name(SmolStr);

        impl $name {
            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "`{}`", self.0)
            }
        }

        impl FromStr for $name {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, NameError> {
                SmolStr::new(text).try_into()
            }
        }

        impl From<$name> for SmolStr {
            fn from(name: $name) -> Self {
                name.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }
    };
}

name! {
    /// A team's name: also a folder name, so its alphabet is small.
    TeamName
}
name! {
    /// A member's name, unique in its team.
    MemberName
}

impl TryFrom<SmolStr> for TeamName {
    type Error = NameError;

    fn try_from(text: SmolStr) -> Result<Self, NameError> {
        check_shape(&text)?;
        Ok(Self(text))
    }
}

impl TryFrom<SmolStr> for MemberName {
    type Error = NameError;

    fn try_from(text: SmolStr) -> Result<Self, NameError> {
        check_shape(&text)?;
        // `lead` itself is valid: it is the default name of a lead.
        let is_reserved = [USER, SYSTEM].contains(&text.as_str())
            || LEAD_ALIASES.iter().skip(1).any(|alias| *alias == text);
        if is_reserved { Err(NameError::Reserved(text.into())) } else { Ok(Self(text)) }
    }
}

impl MemberName {
    /// The default name of a lead.
    #[must_use]
    pub fn lead() -> Self {
        Self(SmolStr::new_static("lead"))
    }
}

fn check_shape(text: &str) -> Result<(), NameError> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let n_chars = text.chars().count();
    if text.is_empty() {
        Err(NameError::Empty)
    } else if n_chars > MAX_NAME {
        Err(NameError::Long(n_chars))
    } else if !text.starts_with(plain)
        || !text.chars().all(|c| plain(c) || matches!(c, '-' | '_' | '.'))
    {
        Err(NameError::Shape(text.to_owned()))
    } else {
        Ok(())
    }
}
