//! JSON that others wrote, read without trust: what has the wrong type is not there, and nothing else suffers.

use std::{borrow::Cow, fmt, marker::PhantomData};

use memchr::memchr;
use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::value::RawValue;

use crate::team::TaskId;

/// A value as it is written, if it is there.
pub(crate) type Raw<'a> = Option<&'a RawValue>;

/// A text. What is half a character, as JavaScript leaves it when it cuts, becomes a mark of that.
pub(crate) fn text(raw: Raw<'_>) -> Option<String> {
    said(raw).map(Cow::into_owned)
}

/// A text, as it stands there if nothing in it is written in another way.
pub(crate) fn said(raw: Raw<'_>) -> Option<Cow<'_, str>> {
    let raw = raw?.get();
    // Cheaper than to find out by failing.
    let within = raw.strip_prefix('"')?.strip_suffix('"')?;
    if memchr(b'\\', within.as_bytes()).is_none() {
        return Some(Cow::Borrowed(within));
    }
    serde_json::from_str(raw).ok().map(|Lossy(text)| Cow::Owned(text))
}

/// Whether something is just this word.
pub(crate) fn is(raw: Raw<'_>, word: &str) -> bool {
    said(raw).is_some_and(|it| it == word)
}

/// A text that says something.
pub(crate) fn filled(raw: Raw<'_>) -> Option<String> {
    text(raw).filter(|text| !text.trim().is_empty())
}

/// A yes or no.
pub(crate) fn truth(raw: Raw<'_>) -> Option<bool> {
    match raw?.get() {
        "true" | "\"true\"" => Some(true),
        "false" | "\"false\"" => Some(false),
        _ => None,
    }
}

/// An identifier: a text or a whole number.
pub(crate) fn id(raw: Raw<'_>) -> Option<String> {
    let written = raw?.get();
    if written.starts_with('"') {
        return text(raw);
    }
    let is_whole = written.bytes().all(|byte| byte.is_ascii_digit());
    (is_whole && !written.is_empty()).then(|| written.to_owned())
}

/// The identifier of a task.
pub(crate) fn task(raw: Raw<'_>) -> Option<TaskId> {
    TaskId::new(&id(raw)?)
}

/// The tasks of a list; what is none is left out.
pub(crate) fn tasks(raw: Raw<'_>) -> Vec<TaskId> {
    elements(raw).into_iter().filter_map(|it| task(Some(it))).collect()
}

/// What a list holds.
pub(crate) fn elements(raw: Raw<'_>) -> Vec<&RawValue> {
    raw.filter(|raw| raw.get().starts_with('['))
        .and_then(|raw| serde_json::from_str(raw.get()).ok())
        .unwrap_or_default()
}

/// An object of a known shape.
pub(crate) fn object<'a, T: Deserialize<'a>>(raw: Raw<'a>) -> Option<T> {
    let raw = raw?.get();
    // A list would be taken for an object whose fields stand in order.
    if !raw.starts_with('{') {
        return None;
    }
    serde_json::from_str(raw).ok()
}

/// An object of a known shape within another one; nothing where something else stands.
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
        // As bytes, halves of characters are let through; as text, they would be an error.
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
