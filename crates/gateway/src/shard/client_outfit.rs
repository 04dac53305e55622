//! The outfit of objects that a client puts on, which may come in several messages.

use grid::inventory::WEAR_MAX;
use ids::Uuid;

/// The outfit that a client is putting on, which may come in several messages.
#[derive(Debug, Default)]
pub(super) struct ClientOutfit {
    id: Uuid,
    /// Its items so far, at most [`WEAR_MAX`].
    items: Vec<Uuid>,
}

impl ClientOutfit {
    /// Adds the items of a message. All items of its outfit so far.
    pub(super) fn add(&mut self, id: Uuid, items: impl Iterator<Item = Uuid>) -> Vec<Uuid> {
        if self.id != id || id.is_nil() {
            *self = Self { id, items: Vec::new() };
        }
        let room = WEAR_MAX - self.items.len();
        self.items.extend(items.take(room));
        self.items.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_of_one_outfit_are_gathered_up_to_the_bound() {
        let mut outfit = ClientOutfit::default();
        let ids = |range: std::ops::Range<u128>| range.map(Uuid::from_u128);
        let (one, two) = (Uuid::from_u128(1), Uuid::from_u128(2));
        assert_eq!(outfit.add(one, ids(0..2)).len(), 2);
        assert_eq!(outfit.add(one, ids(2..4)), ids(0..4).collect::<Vec<_>>());
        assert_eq!(outfit.add(two, ids(9..10)).len(), 1, "another outfit");
        for _ in 0..2 {
            assert_eq!(outfit.add(Uuid::nil(), ids(0..3)).len(), 3, "a message of its own");
        }
        assert_eq!(outfit.add(one, ids(0..300)).len(), WEAR_MAX);
        assert_eq!(outfit.add(one, ids(0..300)).len(), WEAR_MAX);
    }
}
