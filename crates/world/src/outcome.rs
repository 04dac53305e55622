//! The output of the NPC phase and input of the game: NPCs that fell or rose, and blows against visitors.

use ids::LocalId;
use serde::{Deserialize, Serialize};
use state_hash::StateHasher;

/// NPCs of one world at most. A look considers all of them, so that this bounds the cost of a look.
pub const NPCS_MAX: usize = 256;

/// Effects of a tick's NPCs outside themselves. Empty at the start of every tick.
#[derive(Clone, Debug, Default)]
pub struct NpcDeeds {
    /// NPCs that fell.
    pub fell: NpcSet,
    /// NPCs that came back.
    pub rose: NpcSet,
    /// Blows that reached visitors, in order; at most one of each NPC.
    pub blows: Vec<Blow>,
    /// Visitors' blows that hit NPCs, in order.
    pub hits: Vec<Blow>,
}

impl NpcDeeds {
    pub(crate) fn clear(&mut self) {
        (self.fell, self.rose) = (NpcSet::default(), NpcSet::default());
        self.blows.clear();
        self.hits.clear();
    }
}

/// A blow between a visitor and an NPC.
#[derive(Clone, Copy, Debug)]
pub struct Blow {
    /// The target.
    pub to: LocalId,
    /// The attacker, while it is in the world.
    pub by: Option<LocalId>,
    /// Health that it takes; of visitors where damage is on.
    pub points: u16,
}

/// Some of a world's NPCs, by number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NpcSet([u64; NPCS_MAX / 64]);

impl NpcSet {
    /// Adds an NPC by number, below [`NPCS_MAX`].
    pub const fn insert(&mut self, number: usize) {
        self.0[number / 64] |= 1 << (number % 64);
    }

    /// True if the set contains this NPC.
    #[must_use]
    pub const fn has(&self, number: usize) -> bool {
        self.0[number / 64] >> (number % 64) & 1 == 1
    }

    /// The numbers in it, ascending.
    pub fn numbers(self) -> impl Iterator<Item = usize> {
        (0..NPCS_MAX).filter(move |number| self.has(*number))
    }

    /// True for the empty set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Union.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }

    /// Intersection.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] & other.0[word]))
    }

    /// Its share of a state hash.
    pub fn fold_into(&self, hasher: &mut StateHasher) {
        self.0.iter().for_each(|&word| hasher.u64(word));
    }
}

impl FromIterator<usize> for NpcSet {
    fn from_iter<I: IntoIterator<Item = usize>>(numbers: I) -> Self {
        let mut set = Self::default();
        numbers.into_iter().for_each(|number| set.insert(number));
        set
    }
}
