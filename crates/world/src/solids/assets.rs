//! Solids of assets that the world's prims collide as: which ones are in use, and those that have come.
//!
//! An asset is unknown to the world. It announces the keys of the solids that come into use ([`link::Event::SolidsWanted`]), and its prims are boxes until a command
//! brings the solid. A solid that no prim uses any more is forgotten. All of this follows from objects and commands; those solids that have come are in snapshots, so that a restored
//! world needs nothing else to continue.

use ids::LocalId;
use link::KnownSolid;
use physics::Geometry;
use prim::{AssetSolid, SolidKey};
use record::Part;
use serde::{Deserialize, Serialize};
use state_hash::StateHasher;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of all solids of a world: about 1,500 with as many triangles as they may have. Prims of further ones stay boxes.
const SOLIDS_BYTES_MAX: usize = 64 << 20;

/// State in a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct StoredAssetSolids {
    /// Solids that have come, in the order of their keys.
    pub(super) known: Vec<KnownSolid>,
    /// Prims that are boxes although their solid has come, ascending: their turn follows.
    pub(super) refining: Vec<LocalId>,
}

impl StoredAssetSolids {
    /// The record in snapshots.
    pub(crate) const PART: Part = Part::new(*b"ASOL", "solids of assets");
}

/// Solids by key, and their prims.
#[derive(Debug, Default)]
pub(crate) struct AssetSolids {
    /// Those in use.
    entries: BTreeMap<SolidKey, AssetEntry>,
    /// Key of each prim that uses one.
    keys: BTreeMap<LocalId, SolidKey>,
    /// Keys that came into use in this step; emptied by it.
    new: Vec<SolidKey>,
    /// Keys that a prim gave up in this step; emptied by it.
    given_up: Vec<SolidKey>,
    /// Of the solids that have come.
    bytes: usize,
    /// Sum over them: their order does not count.
    hash: u64,
}

#[derive(Debug, Default)]
struct AssetEntry {
    users: BTreeSet<LocalId>,
    known: Option<HeldSolid>,
}

#[derive(Debug)]
struct HeldSolid {
    solid: AssetSolid,
    /// Built when the first prim needs it; decides nothing.
    geometry: Option<Geometry>,
}

/// Outcome of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// It is in use from now on.
    Taken,
    /// There is no room: its prims stay boxes.
    NoRoom,
    /// No prim uses it, or it has come before.
    NotWanted,
}

impl AssetSolids {
    /// Those of a snapshot, without prims yet; `None` if one is there twice, or if there are more than a world takes.
    pub(super) fn restored(known: Vec<KnownSolid>) -> Option<Self> {
        let mut solids = Self::default();
        for KnownSolid { key, solid } in known {
            if !solids.has_room(&solid) {
                return None;
            }
            let entry = solids.entries.entry(key).or_default();
            if entry.known.is_some() {
                return None;
            }
            solids.put(key, solid);
        }
        solids.given_up = solids.entries.keys().copied().collect();
        Some(solids)
    }

    /// A prim uses a solid, and no other one.
    pub(super) fn hold(&mut self, id: LocalId, key: SolidKey) {
        if self.keys.get(&id) == Some(&key) {
            return;
        }
        self.release(id);
        self.keys.insert(id, key);
        let entry = self.entries.entry(key).or_insert_with(|| {
            self.new.push(key);
            AssetEntry::default()
        });
        entry.users.insert(id);
    }

    /// A prim uses none. The solid is kept until [`Self::drop_unused`].
    pub(super) fn release(&mut self, id: LocalId) {
        let Some(key) = self.keys.remove(&id) else { return };
        let entry = self.entries.get_mut(&key).expect("a solid in use has an entry");
        entry.users.remove(&id);
        if entry.users.is_empty() {
            self.given_up.push(key);
        }
    }

    /// Forgets the solids that lost their last prim.
    pub(super) fn drop_unused(&mut self) {
        for key in std::mem::take(&mut self.given_up) {
            if self.entries.get(&key).is_none_or(|entry| !entry.users.is_empty()) {
                continue;
            }
            let known = self.entries.remove(&key).and_then(|entry| entry.known);
            if let Some(HeldSolid { solid, .. }) = known {
                self.bytes -= solid.bytes();
                self.hash = self.hash.wrapping_sub(hash_of(&key, &solid));
            }
        }
    }

    /// Takes a solid that came.
    pub(super) fn arrive(&mut self, KnownSolid { key, solid }: KnownSolid) -> Arrival {
        if self.entries.get(&key).is_none_or(|entry| entry.known.is_some()) {
            return Arrival::NotWanted;
        }
        let has_room = self.has_room(&solid);
        self.put(key, if has_room { solid } else { AssetSolid::FULL });
        if has_room { Arrival::Taken } else { Arrival::NoRoom }
    }

    /// Key of the solid that a prim uses.
    pub(super) fn key_of(&self, id: LocalId) -> Option<SolidKey> {
        self.keys.get(&id).copied()
    }

    /// Prims that use a solid, ascending.
    pub(super) fn users(&self, key: &SolidKey) -> impl Iterator<Item = LocalId> {
        self.entries.get(key).into_iter().flat_map(|entry| entry.users.iter().copied())
    }

    /// True if a prim's solid has come.
    pub(super) fn is_known(&self, id: LocalId) -> bool {
        let entry = self.keys.get(&id).and_then(|key| self.entries.get(key));
        entry.is_some_and(|entry| entry.known.is_some())
    }

    /// Geometry of a solid: a box that fills the scale until it comes.
    pub(super) fn geometry(&mut self, key: &SolidKey) -> Geometry {
        let known = self.entries.get_mut(key).and_then(|entry| entry.known.as_mut());
        known.map_or(Geometry::BOX, |HeldSolid { solid, geometry }| {
            geometry.get_or_insert_with(|| Geometry::of_asset(solid)).clone()
        })
    }

    /// Keys that came into use in this step and whose solids have not come, in the order of their prims.
    pub(super) fn take_new(&mut self) -> Vec<SolidKey> {
        let new = std::mem::take(&mut self.new);
        new.into_iter().filter(|key| self.is_wanted(key)).collect()
    }

    /// All keys whose solids have not come, ascending.
    pub(super) fn wanted(&self) -> impl Iterator<Item = SolidKey> {
        self.entries.iter().filter(|(_, entry)| entry.known.is_none()).map(|(key, _)| *key)
    }

    /// Forgets which keys came into use: they are announced already.
    pub(super) fn forget_new(&mut self) {
        self.new = Vec::new();
    }

    /// Those that have come, for a snapshot.
    pub(super) fn stored(&self) -> Vec<KnownSolid> {
        let known = |(&key, entry): (&SolidKey, &AssetEntry)| {
            Some(KnownSolid { key, solid: entry.known.as_ref()?.solid.clone() })
        };
        self.entries.iter().filter_map(known).collect()
    }

    /// Hash of those that have come; 0 without one.
    pub(super) const fn hash(&self) -> u64 {
        self.hash
    }

    fn is_wanted(&self, key: &SolidKey) -> bool {
        self.entries.get(key).is_some_and(|entry| entry.known.is_none())
    }

    fn has_room(&self, solid: &AssetSolid) -> bool {
        self.bytes + solid.bytes() <= SOLIDS_BYTES_MAX
    }

    /// Puts a solid into its entry, which has none.
    fn put(&mut self, key: SolidKey, solid: AssetSolid) {
        self.bytes += solid.bytes();
        self.hash = self.hash.wrapping_add(hash_of(&key, &solid));
        let entry = self.entries.get_mut(&key).expect("the caller has looked it up");
        entry.known = Some(HeldSolid { solid, geometry: None });
    }
}

fn hash_of(key: &SolidKey, solid: &AssetSolid) -> u64 {
    let mut hasher = StateHasher::new();
    key.fold_into(&mut hasher);
    solid.fold_into(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::Vec3;
    use ids::Uuid;
    use prim::SolidPart;

    fn key(n: u128) -> SolidKey {
        SolidKey { asset: Uuid::from_u128(n), part: SolidPart::MeshSurface }
    }

    fn known(n: u128) -> KnownSolid {
        let corners = vec![Vec3::ZERO, Vec3::X, Vec3::Y * 0.1 * n as f32];
        KnownSolid { key: key(n), solid: AssetSolid::surface(corners, vec![[0, 1, 2]], false).unwrap() }
    }

    #[test]
    fn a_solid_is_announced_once_taken_once_and_forgotten_with_its_last_prim() {
        let mut solids = AssetSolids::default();
        let [first, second] = [LocalId(1), LocalId(2)];
        solids.hold(first, key(7));
        solids.hold(second, key(7));
        solids.hold(first, key(7));
        assert_eq!((solids.take_new(), solids.take_new()), (vec![key(7)], Vec::new()));
        assert_eq!(solids.geometry(&key(7)), Geometry::BOX);
        assert_eq!(solids.arrive(known(8)), Arrival::NotWanted);
        assert_eq!(solids.arrive(known(7)), Arrival::Taken);
        assert_eq!(solids.arrive(known(7)), Arrival::NotWanted);
        assert!(matches!(solids.geometry(&key(7)), Geometry::Mesh(_)) && solids.is_known(second));
        assert_eq!(solids.users(&key(7)).collect::<Vec<_>>(), [first, second]);
        let hash = solids.hash();
        assert_ne!(hash, 0);
        solids.release(first);
        solids.drop_unused();
        assert_eq!((solids.hash(), solids.key_of(first)), (hash, None));
        // A prim that changes keeps it.
        solids.release(second);
        solids.hold(second, key(7));
        solids.drop_unused();
        assert!(solids.is_known(second) && solids.take_new().is_empty());
        solids.release(second);
        solids.drop_unused();
        assert_eq!((solids.hash(), solids.bytes, solids.entries.len()), (0, 0, 0));
        solids.hold(first, key(7));
        assert_eq!(solids.take_new(), [key(7)], "wanted anew");
    }

    #[test]
    fn a_prim_that_changes_its_asset_gives_up_the_former_one() {
        let mut solids = AssetSolids::default();
        solids.hold(LocalId(1), key(1));
        solids.hold(LocalId(1), key(2));
        solids.drop_unused();
        assert_eq!(solids.wanted().collect::<Vec<_>>(), [key(2)]);
        assert_eq!(solids.take_new(), [key(2)], "the first one is of no use any more");
    }

    #[test]
    fn a_solid_without_room_is_a_box() {
        let mut solids = AssetSolids { bytes: SOLIDS_BYTES_MAX, ..AssetSolids::default() };
        solids.hold(LocalId(1), key(1));
        assert_eq!(solids.arrive(known(1)), Arrival::NoRoom);
        assert_eq!(solids.geometry(&key(1)), Geometry::BOX);
        assert_eq!((solids.bytes, solids.wanted().count()), (SOLIDS_BYTES_MAX, 0));
    }

    #[test]
    fn stored_solids_are_restored_and_those_without_a_prim_dropped() {
        let mut solids = AssetSolids::default();
        for n in [3, 1, 2] {
            solids.hold(LocalId(n), key(n.into()));
            assert_eq!(solids.arrive(known(n.into())), Arrival::Taken);
        }
        let stored = solids.stored();
        let mut restored = AssetSolids::restored(stored.clone()).expect("its own state");
        assert_eq!((restored.hash(), restored.bytes), (solids.hash(), solids.bytes));
        for n in [1, 3] {
            restored.hold(LocalId(n), key(n.into()));
        }
        restored.drop_unused();
        assert!(restored.take_new().is_empty());
        assert_eq!(restored.stored(), [stored[0].clone(), stored[2].clone()]);
        assert!(AssetSolids::restored(vec![known(1), known(1)]).is_none());
    }
}
