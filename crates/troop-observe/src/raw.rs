//! Reads JSON of other programs leniently: a value of the wrong type counts as missing, and the rest is read.

use std::{borrow::Cow, fmt, marker::PhantomData};

use memchr::memchr;
use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::value::RawValue;

use crate::team::ObservedTaskId;

/// A raw JSON value, if present.
pub(crate) type Raw<'a> = Option<&'a RawValue>;

/// A string. Half a surrogate pair, as JavaScript leaves it when it cuts, becomes a replacement character.
pub(crate) fn text(raw: Raw<'_>) -> Option<String> {
    said(raw).map(Cow::into_owned)
}

/// A string, borrowed if it has no escapes.
pub(crate) fn said(raw: Raw<'_>) -> Option<Cow<'_, str>> {
    let raw = raw?.get();
    // Cheaper than letting the parser fail.
    let within = raw.strip_prefix('"')?.strip_suffix('"')?;
    if memchr(b'\\', within.as_bytes()).is_none() {
        return Some(Cow::Borrowed(within));
    }
    serde_json::from_str(raw).ok().map(|Lossy(text)| Cow::Owned(text))
}

/// Whether a value is exactly this string.
pub(crate) fn is(raw: Raw<'_>, word: &str) -> bool {
    said(raw).is_some_and(|it| it == word)
}

/// A string that is not blank.
pub(crate) fn filled(raw: Raw<'_>) -> Option<String> {
    text(raw).filter(|text| !text.trim().is_empty())
}

/// A boolean, also if it is written as a string.
pub(crate) fn truth(raw: Raw<'_>) -> Option<bool> {
    match raw?.get() {
        "true" | "\"true\"" => Some(true),
        "false" | "\"false\"" => Some(false),
        _ => None,
    }
}

/// An identifier: a string or a whole number.
pub(crate) fn id(raw: Raw<'_>) -> Option<String> {
    let written = raw?.get();
    if written.starts_with('"') {
        return text(raw);
    }
    let is_whole = written.bytes().all(|byte| byte.is_ascii_digit());
    (is_whole && !written.is_empty()).then(|| written.to_owned())
}

pub(crate) fn task(raw: Raw<'_>) -> Option<ObservedTaskId> {
    ObservedTaskId::new(&id(raw)?)
}

/// The task ids of a list, without values that are not ids.
pub(crate) fn tasks(raw: Raw<'_>) -> Vec<ObservedTaskId> {
    elements(raw).into_iter().filter_map(|it| task(Some(it))).collect()
}

/// The elements of an array.
pub(crate) fn elements(raw: Raw<'_>) -> Vec<&RawValue> {
    raw.filter(|raw| raw.get().starts_with('['))
        .and_then(|raw| serde_json::from_str(raw.get()).ok())
        .unwrap_or_default()
}

/// Parses an object.
pub(crate) fn object<'a, T: Deserialize<'a>>(raw: Raw<'a>) -> Option<T> {
    let raw = raw?.get();
    // serde would read an array as an object with its fields in order.
    if !raw.starts_with('{') {
        return None;
    }
    serde_json::from_str(raw).ok()
}

/// A nested object; `None` if the value is something else.
#[derive(Debug, Default)]
pub(crate) struct Part<T>(pub(crate) Option<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Part<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PartVisitor(PhantomData)).map(Self)
    }
}

struct PartVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for PartVisitor<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Option<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Some)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Option<T>, A::Error> {
        IgnoredAny.visit_seq(seq).map(|_| None)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_unit<E: Error>(self) -> Result<Option<T>, E> {
        Ok(None)
    }
}

struct Lossy(String);

impl<'de> Deserialize<'de> for Lossy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // As bytes, lone surrogates are let through; as text, they would be an error.
        deserializer.deserialize_bytes(LossyVisitor)
    }
}

struct LossyVisitor;

impl Visitor<'_> for LossyVisitor {
    type Value = Lossy;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Lossy, E> {
        Ok(Lossy(String::from_utf8_lossy(bytes).into_owned()))
    }
}
