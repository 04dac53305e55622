//! Import of linksets of a region file into a stored region that is not running.
//!
//! A running world inserts linksets by commands ([`link::ObjectCommand::Insert`]); this module inserts them into stored objects.

use crate::load::RegionIds;
use ids::{LocalId, Uuid};
use link::{ObjectChange, ObjectMask, ObjectPage, PrimFlags, PrimMotion, StoredObjects, VersionedBody};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Prims of a linkset, the root first.
pub type Linkset = Vec<(PrimMotion, VersionedBody)>;

/// Linksets of a set of objects, in the order of their roots, with the child prims in the order of their link numbers.
#[must_use]
pub fn linksets(objects: &StoredObjects) -> Vec<Linkset> {
    let mut by_root: BTreeMap<LocalId, BTreeMap<u8, (PrimMotion, VersionedBody)>> = BTreeMap::new();
    for (id, place, versioned) in objects.pages.iter().flat_map(ObjectPage::prims) {
        let root = if place.parent == LocalId(0) { id } else { place.parent };
        by_root.entry(root).or_default().insert(place.link_number, (*place, versioned.clone()));
    }
    by_root.into_values().map(|prims| prims.into_values().collect()).collect()
}

/// Result of an import.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The new objects, for the frame after the frame of the existing objects.
    pub changes: Vec<ObjectChange>,
    /// Number of prims with a new id, because existing objects have the original ids.
    pub n_renamed: usize,
}

/// The region has no room for an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the region has {n_there} prims of {n_max} at most, and the file has {n_new}")]
pub struct NoRoom {
    /// Prims in the region.
    pub n_there: usize,
    /// Prims of the import.
    pub n_new: usize,
    /// Maximum number of prims of the region.
    pub n_max: usize,
}

/// Assigns local ids of a region to linksets, and new ids to prims whose ids exist in the region. `random` supplies these ids and all versions: a
/// viewer may have cached another state of an object with the same id.
///
/// # Errors
/// [`NoRoom`] for more than `n_max` prims, or without free local ids.
pub fn import(
    there: &StoredObjects,
    ids: &RegionIds,
    new: Vec<Linkset>,
    n_max: usize,
    mut random: impl FnMut() -> u64,
) -> Result<Imported, NoRoom> {
    let prims_there = || there.pages.iter().flat_map(ObjectPage::prims);
    let mut known: BTreeSet<Uuid> = prims_there().map(|(.., versioned)| versioned.body.id).collect();
    let n_new = new.iter().map(Vec::len).sum();
    let n_max = n_max.min(ids.kept.len());
    let no_room = NoRoom { n_there: known.len(), n_new, n_max };
    if known.len() + n_new > n_max {
        return Err(no_room);
    }
    // Resting ids are free: the region has no client that could have missed a removal.
    let resting = there.kept.resting.iter().map(|&(place, _)| ids.kept.start + place);
    let mut free = (ids.kept.start + there.kept.n_used..ids.kept.end).chain(resting).map(LocalId);
    let mut imported = Imported { changes: Vec::with_capacity(n_new), n_renamed: 0 };
    for linkset in new {
        let mut root = LocalId(0);
        for ((place, mut versioned), link_number) in linkset.into_iter().zip(0_u8..=u8::MAX) {
            let id = free.next().ok_or(no_room)?;
            if !known.insert(versioned.body.id) {
                let fresh = random_id(&mut random);
                known.insert(fresh);
                Arc::make_mut(&mut versioned.body).id = fresh;
                imported.n_renamed += 1;
            }
            versioned.version = (random() as u32).max(1);
            let is_filled = versioned.body.n_items() > 0;
            let emptiness = if is_filled { PrimFlags::INVENTORY_EMPTY } else { PrimFlags::default() };
            let cleared = PrimFlags(PrimFlags::TEMPORARY.0 | emptiness.0);
            let flags = place.flags.with(cleared, PrimFlags::default());
            let motion = PrimMotion { parent: root, link_number, flags, ..place };
            if link_number == 0 {
                root = id;
            }
            imported.changes.push(ObjectChange::Set {
                id,
                motion,
                body: versioned,
                mask: ObjectMask::CREATED,
            });
        }
    }
    Ok(imported)
}

/// An id in the form of random ones.
fn random_id(random: &mut impl FnMut() -> u64) -> Uuid {
    let (high, low) = (random(), random());
    let version_4 = high & !0xf000 | 0x4000;
    let variant = low & (u64::MAX >> 2) | 1 << 63;
    Uuid::from_u64_pair(version_4, variant)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{IDS, at, body, frame, kept, set};
    use crate::{Following, Keeper};
    use ids::Instant;
    use store::StoredRegion;

    fn stored(prims: &[(u32, PrimMotion, VersionedBody)]) -> StoredObjects {
        let mut pages: Vec<ObjectPage> = Vec::new();
        for (place, motion, body) in prims {
            let id = kept(*place);
            if pages.last().is_none_or(|page| page.first != link::page_of(id)) {
                pages.push(ObjectPage::empty(id));
            }
            let page = pages.last_mut().expect("just pushed");
            Arc::make_mut(&mut page.motions)[link::index_in_page(id)] = *motion;
            Arc::make_mut(&mut page.bodies)[link::index_in_page(id)] = Some(body.clone());
        }
        let n_used = prims.last().map_or(0, |(place, ..)| place + 1);
        let kept = link::RestingIds { n_used, resting: Vec::new() };
        StoredObjects { pages, kept, ..StoredObjects::default() }
    }

    fn part(x: f32, root: u32, link_number: u8) -> PrimMotion {
        PrimMotion { parent: kept(root), link_number, ..at(x) }
    }

    #[test]
    fn linksets_have_their_root_first_and_their_parts_by_number() {
        let objects = stored(&[
            (0, part(1.0, 2, 2), body(0)),
            (1, at(5.0), body(1)),
            (2, at(9.0), body(2)),
            (3, part(2.0, 2, 1), body(3)),
        ]);
        let ids: Vec<Vec<u128>> = linksets(&objects)
            .iter()
            .map(|prims| prims.iter().map(|(_, versioned)| versioned.body.id.as_u128() - 1).collect())
            .collect();
        assert_eq!(ids, [vec![1], vec![2, 3, 0]]);
    }

    #[test]
    fn an_import_takes_free_local_ids_and_replaces_ids_that_are_taken() {
        let mut there = stored(&[(0, at(1.0), body(0)), (3, at(2.0), body(1))]);
        there.kept.resting = vec![(1, 5), (2, 6)];
        let new = vec![vec![(at(7.0), body(1)), (part(1.0, 0, 1), body(8))], vec![(at(8.0), body(9))]];
        let mut n = 0;
        let imported = import(&there, &IDS, new, 5, || {
            n += 1;
            n << 32 | n
        });
        let Imported { changes, n_renamed } = imported.expect("room");
        assert_eq!(n_renamed, 1);
        let seen: Vec<_> = changes
            .iter()
            .map(|change| match change {
                ObjectChange::Set { id, motion, body, .. } => {
                    (*id, motion.parent, body.body.id, body.version)
                }
                other => panic!("{other:?}"),
            })
            .collect();
        let [(root, none, renamed, _), (second, parent, kept_id, version), (third, ..)] = seen[..] else {
            panic!("{seen:?}")
        };
        assert_eq!((root, second, third), (kept(4), kept(5), kept(6)));
        assert_eq!((none, parent, kept_id), (LocalId(0), root, body(8).body.id));
        assert_eq!((renamed.get_version_num(), version > 1), (4, true));
    }

    #[test]
    fn an_import_that_has_no_room_changes_nothing() {
        let there = stored(&[(0, at(1.0), body(0))]);
        let new = vec![vec![(at(7.0), body(1)), (part(1.0, 0, 1), body(8))]];
        let refused = import(&there, &IDS, new, 2, || 7);
        assert_eq!(refused, Err(NoRoom { n_there: 1, n_new: 2, n_max: 2 }));
    }

    #[test]
    fn a_keeper_saves_an_import_beside_the_former_objects() {
        let config = crate::testing::config();
        let (mut keeper, region) =
            Keeper::load(&config, &StoredRegion::default(), Uuid::from_u128(1)).expect("an empty region");
        let first = ObjectChange::Pages(region.objects.pages.clone());
        assert_eq!(keeper.handle_frame(Instant::ZERO, &frame(0, vec![first])), Following::Current);
        let imported = import(&region.objects, &IDS, vec![vec![(at(7.0), body(1))]], 10, || 7);
        let changes = imported.expect("room").changes;
        let expected = set(kept(0), at(7.0), VersionedBody { version: 7, ..body(1) });
        assert_eq!(changes, [expected]);
        assert_eq!(keeper.handle_frame(Instant::ZERO, &frame(1, changes)), Following::Current);
        keeper.order_save();
        let batch = keeper.poll_batch(Instant::ZERO).expect("it was ordered");
        assert_eq!((batch.changes.bodies.len(), batch.changes.states.len()), (1, 1));
        assert_eq!(keeper.cut(), Some((ids::Epoch(0), 1)));
    }
}
