//! A map whose changes can be undone until they are durable.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A sorted map that can be rolled back to its contents at `begin`.
#[derive(Clone, Debug)]
pub(crate) struct JournaledMap<K, V> {
    map: BTreeMap<K, V>,
    undo: Vec<(K, Option<V>)>,
}

impl<K: Ord + Clone, V: Clone> JournaledMap<K, V> {
    pub(crate) fn entries(&self) -> &BTreeMap<K, V> {
        &self.map
    }

    pub(crate) fn insert(&mut self, key: K, value: V) {
        let before = self.map.insert(key.clone(), value);
        self.undo.push((key, before));
    }

    pub(crate) fn remove(&mut self, key: &K) {
        if let Some(before) = self.map.remove(key) {
            self.undo.push((key.clone(), Some(before)));
        }
    }

    /// Changes a value in place; does nothing if the key is missing.
    pub(crate) fn update(&mut self, key: &K, change: impl FnOnce(&mut V)) {
        if let Some(value) = self.map.get_mut(key) {
            self.undo.push((key.clone(), Some(value.clone())));
            change(value);
        }
    }

    pub(crate) fn begin(&mut self) {
        self.undo.clear();
    }

    pub(crate) fn rollback(&mut self) {
        while let Some((key, before)) = self.undo.pop() {
            match before {
                Some(value) => self.map.insert(key, value),
                None => self.map.remove(&key),
            };
        }
    }
}

impl<K, V> Default for JournaledMap<K, V> {
    fn default() -> Self {
        Self { map: BTreeMap::new(), undo: Vec::new() }
    }
}

impl<K, V> From<BTreeMap<K, V>> for JournaledMap<K, V> {
    fn from(map: BTreeMap<K, V>) -> Self {
        Self { map, undo: Vec::new() }
    }
}

impl<K: PartialEq, V: PartialEq> PartialEq for JournaledMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.map == other.map
    }
}

impl<K: Serialize, V: Serialize> Serialize for JournaledMap<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.map.serialize(serializer)
    }
}

impl<'de, K: Deserialize<'de> + Ord, V: Deserialize<'de>> Deserialize<'de> for JournaledMap<K, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self { map: BTreeMap::deserialize(deserializer)?, undo: Vec::new() })
    }
}
