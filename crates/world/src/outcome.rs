//! The output of the NPC phase and input of the game: NPCs that fell or rose, and blows against visitors.

use ids::LocalId;
use serde::{Deserialize, Serialize};
use state_hash::StateHasher;

/// NPCs of one world at most. A look considers all of them, so that this bounds the cost of a look.
pub const NPCS_MAX: usize = 256;

/// What NPCs did in a tick that matters beyond them. Begins empty in every tick.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    /// NPCs that fell.
    pub(crate) fell: NpcSet,
    /// NPCs that came back.
    pub(crate) rose: NpcSet,
    /// Blows that reached visitors, in order; at most one of each NPC.
    pub(crate) blows: Vec<Blow>,
}

impl Outcome {
    pub(crate) fn clear(&mut self) {
        (self.fell, self.rose) = (NpcSet::default(), NpcSet::default());
        self.blows.clear();
    }
}

/// A blow of an NPC against a visitor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blow {
    /// The visitor.
    pub(crate) to: LocalId,
    /// The NPC.
    pub(crate) by: Option<LocalId>,
    /// Health that it takes where damage is on.
    pub(crate) points: u16,
}

/// Some of a world's NPCs, by number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NpcSet([u64; NPCS_MAX / 64]);

impl NpcSet {
    pub(crate) const fn insert(&mut self, number: usize) {
        self.0[number / 64] |= 1 << (number % 64);
    }

    pub(crate) const fn has(&self, number: usize) -> bool {
        self.0[number / 64] >> (number % 64) & 1 == 1
    }

    /// The numbers in it, ascending.
    pub(crate) fn numbers(self) -> impl Iterator<Item = usize> {
        (0..NPCS_MAX).filter(move |number| self.has(*number))
    }

    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn or(self, other: Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] & other.0[word]))
    }

    pub(crate) fn hash(&self, hasher: &mut StateHasher) {
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
