//! Ids of an archive's objects, folders and items, kept or given anew.

use ids::Uuid;
use std::collections::HashMap;

/// Bits of a number that say which form of id it is.
const VERSION: (u128, u128) = (0xF << 76, 0x4 << 76);
const VARIANT: (u128, u128) = (0x3 << 62, 0x2 << 62);

/// The source of ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdRule {
    /// Ids stay.
    Keep,
    /// Ids are given anew.
    Renew,
}

/// Ids of one load. The same id of an archive becomes the same id, until it is there a second time.
#[derive(Debug)]
pub struct RenewedIds {
    rule: IdRule,
    /// Chosen at random for each load, so that no two loads give the same ids.
    seed: [u8; 32],
    /// Number of uses of each id of the archive.
    uses: HashMap<Uuid, u32>,
}

impl RenewedIds {
    /// By this rule, with a random seed.
    #[must_use]
    pub fn new(rule: IdRule, seed: [u8; 32]) -> Self {
        Self { rule, seed, uses: HashMap::new() }
    }

    /// The id in place of the archive's. Null ids, and all uses of an id but the first, get ids of their own by either rule.
    pub fn give(&mut self, archived: Uuid) -> Uuid {
        let uses = self.uses.entry(archived).or_default();
        let n_before = std::mem::replace(uses, uses.saturating_add(1));
        if self.rule == IdRule::Keep && n_before == 0 && !archived.is_nil() {
            return archived;
        }
        self.derived(archived, n_before)
    }

    /// The id of a part of something, such as an item of a prim, by its place.
    #[must_use]
    pub fn part(&self, whole: Uuid, place: u64) -> Uuid {
        let mut hasher = blake3::Hasher::new_keyed(&self.seed);
        hasher.update(b"part").update(whole.as_bytes()).update(&place.to_le_bytes());
        id_of(&hasher.finalize())
    }

    /// The rule.
    #[must_use]
    pub const fn rule(&self) -> IdRule {
        self.rule
    }

    fn derived(&self, archived: Uuid, n: u32) -> Uuid {
        let mut hasher = blake3::Hasher::new_keyed(&self.seed);
        hasher.update(b"whole").update(archived.as_bytes()).update(&n.to_le_bytes());
        id_of(&hasher.finalize())
    }
}

/// The beginning of a hash in the form of a random id.
fn id_of(hash: &blake3::Hash) -> Uuid {
    let first = hash.as_bytes().first_chunk::<16>().expect("a hash is longer than an id");
    let bits = u128::from_be_bytes(*first);
    let set = |bits: u128, (mask, value): (u128, u128)| bits & !mask | value;
    Uuid::from_u128(set(set(bits, VERSION), VARIANT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn id(n: u128) -> Uuid {
        Uuid::from_u128(n)
    }

    #[test]
    fn renewed_ids_differ_from_each_other_and_between_loads() {
        let mut seen = HashSet::new();
        for seed in [1, 2] {
            let mut ids = RenewedIds::new(IdRule::Renew, [seed; 32]);
            for archived in [1, 2, 1, 1, 0, 0] {
                let new = ids.give(id(archived));
                assert!(seen.insert(new) && new.get_version_num() == 4, "{new}");
                assert_eq!(new.as_u128() >> 62 & 3, 2, "{new}");
            }
            assert!(seen.insert(ids.part(id(1), 0)) && seen.insert(ids.part(id(1), 1)));
        }
        let [mut one, mut other] = [(); 2].map(|()| RenewedIds::new(IdRule::Renew, [3; 32]));
        assert_eq!(one.give(id(5)), other.give(id(5)), "two passes through one archive give the same ids");
    }

    #[test]
    fn kept_ids_are_given_once() {
        let mut ids = RenewedIds::new(IdRule::Keep, [1; 32]);
        assert_eq!(ids.give(id(7)), id(7));
        let second = ids.give(id(7));
        assert!(second != id(7) && second.get_version_num() == 4);
        assert!(!ids.give(id(0)).is_nil());
    }
}
