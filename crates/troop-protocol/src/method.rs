//! Methods as variants of an enum: the name of a variant is the method, its fields are the parameters.
//!
//! One pair of functions serves every table of methods, so that each name is written once.

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{DeserializeSeed, EnumAccess, IntoDeserializer as _, VariantAccess, Visitor},
    forward_to_deserialize_any,
};
use serde_json::value::RawValue;
use serde_path_to_error::Track;
use thiserror::Error;

use crate::envelope::{Notification, no_params};

#[cfg(test)]
mod tests;

/// Why a method or its parameters are invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MethodError {
    /// There is no such method.
    #[error("there is no method `{}`", method.escape_debug())]
    Unknown { method: String },
    /// Its parameters are not what it needs.
    #[error("`{method}`{}: {reason}", place(path))]
    BadParams {
        method: String,
        /// The path of the field; empty for all of them.
        path: String,
        /// What is wrong, and what is valid.
        reason: String,
    },
}

fn place(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!(", `{path}`") }
}

/// Writes a variant as a method with parameters.
pub(crate) fn encode(variant: &impl Serialize) -> Notification {
    let text = serde_json::to_string(variant).expect("a method has no part that JSON cannot hold");
    // serde writes a variant as `{"name":params}`, or as `"name"` without fields. No name needs an escape.
    let tagged = text.strip_prefix("{\"").and_then(|text| text.strip_suffix('}'));
    let (method, params) = match tagged.and_then(|text| text.split_once("\":")) {
        Some((name, params)) => (
            name.to_owned(),
            RawValue::from_string(params.to_owned()).expect("a part of a JSON document is JSON"),
        ),
        None => (text.trim_matches('"').to_owned(), no_params()),
    };
    Notification { method, params }
}

/// Makes notifications of the variants of these tables.
macro_rules! encoded_as_methods {
    ($($table:ty),*) => {$(
        impl From<&$table> for crate::envelope::Notification {
            fn from(variant: &$table) -> Self {
                crate::method::encode(variant)
            }
        }
    )*};
}
pub(crate) use encoded_as_methods;

/// Maps a table of methods in both directions: writes them and reads them back.
macro_rules! methods_both_ways {
    ($($table:ty),*) => {$(
        crate::method::encoded_as_methods!($table);

        impl TryFrom<&crate::envelope::Notification> for $table {
            type Error = crate::method::MethodError;

            fn try_from(said: &crate::envelope::Notification) -> Result<Self, Self::Error> {
                crate::method::decode(&said.method, said.params.as_ref())
            }
        }
    )*};
}
pub(crate) use methods_both_ways;

/// Reads a variant from a method and its parameters.
pub(crate) fn decode<'de, T, D>(method: &str, params: D) -> Result<T, MethodError>
where
    T: Deserialize<'de>,
    D: Deserializer<'de, Error = serde_json::Error>,
{
    let mut track = Track::new();
    let params = serde_path_to_error::Deserializer::new(params, &mut track);
    let read = T::deserialize(MethodVariant { method, params });
    read.map_err(|problem| match problem {
        DecodeProblem::Unknown => MethodError::Unknown { method: method.to_owned() },
        DecodeProblem::BadParams(error) => MethodError::BadParams {
            method: method.to_owned(),
            path: Some(track.path().to_string()).filter(|path| path != ".").unwrap_or_default(),
            reason: without_position(&error.to_string()),
        },
    })
}

/// Removes the position in the line, which means nothing to the caller.
pub(crate) fn without_position(text: &str) -> String {
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

/// A method that serde reads as a variant.
struct MethodVariant<'a, D> {
    method: &'a str,
    params: D,
}

/// The parameters of a variant without fields.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoParams {}

#[derive(Debug, Error)]
enum DecodeProblem {
    #[error("no such method")]
    Unknown,
    #[error(transparent)]
    BadParams(serde_json::Error),
}

impl serde::de::Error for DecodeProblem {
    fn custom<T: std::fmt::Display>(text: T) -> Self {
        Self::BadParams(serde_json::Error::custom(text))
    }

    fn unknown_variant(_: &str, _: &'static [&'static str]) -> Self {
        Self::Unknown
    }
}

impl<'de, D: Deserializer<'de, Error = serde_json::Error>> Deserializer<'de>
    for MethodVariant<'_, D>
{
    type Error = DecodeProblem;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeProblem> {
        visitor.visit_enum(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de, D: Deserializer<'de, Error = serde_json::Error>> EnumAccess<'de>
    for MethodVariant<'_, D>
{
    type Error = DecodeProblem;
    type Variant = VariantParams<D>;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, VariantParams<D>), DecodeProblem> {
        let name: serde::de::value::StrDeserializer<'_, DecodeProblem> =
            self.method.into_deserializer();
        Ok((seed.deserialize(name)?, VariantParams(self.params)))
    }
}

struct VariantParams<D>(D);

impl<'de, D: Deserializer<'de, Error = serde_json::Error>> VariantAccess<'de> for VariantParams<D> {
    type Error = DecodeProblem;

    fn unit_variant(self) -> Result<(), DecodeProblem> {
        NoParams::deserialize(self.0).map(|NoParams {}| ()).map_err(DecodeProblem::BadParams)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<T::Value, DecodeProblem> {
        seed.deserialize(self.0).map_err(DecodeProblem::BadParams)
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, DecodeProblem> {
        self.0.deserialize_tuple(length, visitor).map_err(DecodeProblem::BadParams)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeProblem> {
        self.0.deserialize_struct("params", fields, visitor).map_err(DecodeProblem::BadParams)
    }
}
