//! Sets by key.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// Sets by key. None is empty, so that equal tables have equal indexes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
// Building a set from a sorted list is much faster than inserting one by one.
#[serde(
    from = "BTreeMap<K, Vec<V>>",
    bound(deserialize = "K: Deserialize<'de>, V: Deserialize<'de>")
)]
pub(super) struct Sets<K: Ord, V: Ord>(BTreeMap<K, BTreeSet<V>>);

impl<K: Ord, V: Ord> Sets<K, V> {
    pub(super) fn of<'a>(
        &'a self,
        key: &K,
    ) -> impl DoubleEndedIterator<Item = &'a V> + use<'a, K, V> {
        self.0.get(key).into_iter().flatten()
    }

    pub(super) fn n_of(&self, key: &K) -> usize {
        self.0.get(key).map_or(0, BTreeSet::len)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (&K, &BTreeSet<V>)> {
        self.0.iter()
    }

    pub(super) fn insert(&mut self, key: K, value: V) {
        self.0.entry(key).or_default().insert(value);
    }

    pub(super) fn remove(&mut self, key: &K, value: &V) {
        if let Some(set) = self.0.get_mut(key) {
            set.remove(value);
            if set.is_empty() {
                self.0.remove(key);
            }
        }
    }
}

impl<K: Ord, V: Ord> Default for Sets<K, V> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord, V: Ord> From<BTreeMap<K, Vec<V>>> for Sets<K, V> {
    fn from(lists: BTreeMap<K, Vec<V>>) -> Self {
        Self(lists.into_iter().map(|(key, list)| (key, list.into_iter().collect())).collect())
    }
}
