//! Values of rows by key, in one piece of memory.

use ids::LocalId;
use std::fmt;

/// Values of objects by local id.
pub type ObjectRows = KeyedRows<LocalId>;

/// One value for each of some keys, in their order.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyedRows<K> {
    /// Each with the end of its value.
    rows: Vec<(K, usize)>,
    bytes: Vec<u8>,
}

impl<K> Default for KeyedRows<K> {
    fn default() -> Self {
        Self { rows: Vec::new(), bytes: Vec::new() }
    }
}

impl<K: Copy + Ord + fmt::Debug> KeyedRows<K> {
    /// Adds the value of a key.
    ///
    /// # Panics
    /// When the key is not above all others: a row has one value, and a statement changes it once.
    pub fn push(&mut self, key: K, value: &[u8]) {
        let is_next = self.rows.last().is_none_or(|&(last, _)| last < key);
        assert!(is_next, "values come in the order of their keys, each once: {key:?}");
        self.bytes.extend_from_slice(value);
        self.rows.push((key, self.bytes.len()));
    }

    /// Keys with their values, in the order of the keys.
    pub fn iter(&self) -> impl Iterator<Item = (K, &[u8])> {
        let mut begin = 0;
        self.rows.iter().map(move |&(key, end)| {
            let value = &self.bytes[begin..end];
            begin = end;
            (key, value)
        })
    }
}

impl<K> KeyedRows<K> {
    /// Removes all of them, and keeps the memory.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.bytes.clear();
    }

    /// Number of values.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.rows.len()
    }

    /// True without any.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Bytes of all values.
    #[must_use]
    pub const fn n_bytes(&self) -> usize {
        self.bytes.len()
    }
}

impl<K: Copy + Ord + fmt::Debug> fmt::Debug for KeyedRows<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_with_their_keys() {
        let mut rows = ObjectRows::default();
        assert!(rows.is_empty() && rows.iter().next().is_none());
        let expected = [(LocalId(3), &b"three"[..]), (LocalId(4), b""), (LocalId(9), b"nine")];
        expected.iter().for_each(|&(object, value)| rows.push(object, value));
        assert_eq!(rows.iter().collect::<Vec<_>>(), expected);
        assert_eq!((rows.len(), rows.n_bytes()), (3, 9));
    }

    #[test]
    #[should_panic(expected = "values come in the order of their keys, each once")]
    fn a_key_has_one_value() {
        let mut rows = ObjectRows::default();
        rows.push(LocalId(3), b"");
        rows.push(LocalId(3), b"");
    }
}
