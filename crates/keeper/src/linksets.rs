//! Repair of linksets with lost prims: the remaining prims become objects that a world accepts.
//!
//! | lost prim | repair |
//! |---|---|
//! | a child prim | the later child prims are renumbered |
//! | a root with a known position | the first child prim becomes the root, at its own position; the others become its child prims |
//! | a root with an unknown position | its child prims have no position either, and are lost too |
//! | one of two prims with equal ids | the prim with the higher local id counts as lost |

use crate::rows::PlacedPrim;
use ids::LocalId;
use link::{Motion, PrimMotion};
use std::collections::BTreeMap;

/// Maximum number of child prims of a linkset: their numbers are 1 to 255.
const PARTS_MAX: usize = 255;

/// Result of a repair.
#[derive(Debug, Default)]
pub(crate) struct Mended {
    /// Lost prims, each with the reason.
    pub(crate) lost: Vec<(LocalId, &'static str)>,
    /// Number of prims whose place in a linkset differs from the stored one.
    pub(crate) n_changed: usize,
    /// One of these prims.
    pub(crate) changed: Option<LocalId>,
}

/// Removes prims that a world would not accept together with the others, and repairs the linksets of the remaining prims. `prims` are in the order of
/// their local ids; `roots` are the positions of prims that were lost before.
pub(crate) fn mend(prims: &mut Vec<PlacedPrim>, mut roots: BTreeMap<LocalId, PrimMotion>) -> Mended {
    let mut mended = Mended::default();
    let twins = twins(prims);
    if !twins.is_empty() {
        let is_twin = |prim: &PlacedPrim| twins.binary_search(&prim.id).is_ok();
        roots.extend(prims.iter().filter(|prim| is_twin(prim)).map(|prim| (prim.id, prim.motion)));
        prims.retain(|prim| !is_twin(prim));
        mended.lost.extend(twins.into_iter().map(|id| (id, "another object has the same id")));
    }
    for (root, mut parts) in parts_by_root(prims) {
        // Child prims in the order of their numbers; for equal numbers the lower local id comes first.
        parts.sort_unstable_by_key(|part| (part.number, part.id));
        match find(prims, root).map(|at| prims[at].motion.parent) {
            Some(LocalId(0)) => mended.number(prims, root, &parts),
            Some(_) => mended.lose(&parts, "the root of its linkset is a part of another one"),
            None => {
                let former = roots.get(&root).filter(|place| place.parent == LocalId(0));
                match former.and_then(|former| without_root(&former.motion, &parts)) {
                    Some((heir, others)) => mended.replace_root(prims, heir, &others),
                    None => mended.lose(&parts, "the root of its linkset is missing"),
                }
            }
        }
    }
    if !mended.lost.is_empty() {
        mended.lost.sort_unstable();
        prims.retain(|prim| mended.lost.binary_search_by_key(&prim.id, |(id, _)| *id).is_err());
    }
    mended
}

/// A prim of a linkset.
#[derive(Clone, Copy, Debug)]
struct PartPlace {
    id: LocalId,
    number: u8,
    /// Relative to the root.
    motion: Motion,
}

impl Mended {
    fn lose(&mut self, parts: &[PartPlace], why: &'static str) {
        self.lost.extend(parts.iter().map(|part| (part.id, why)));
    }

    /// Assigns the numbers 1, 2, … and the positions to the child prims of a root.
    fn number(&mut self, prims: &mut [PlacedPrim], root: LocalId, parts: &[PartPlace]) {
        let (parts, surplus) = parts.split_at(parts.len().min(PARTS_MAX));
        self.lose(surplus, "its linkset has too many parts");
        for (part, number) in parts.iter().zip(1..=u8::MAX) {
            let place = |prim: &PrimMotion| PrimMotion {
                motion: part.motion,
                parent: root,
                link_number: number,
                ..*prim
            };
            self.change(prims, part.id, place);
        }
    }

    /// Makes a child prim the root of the others.
    fn replace_root(&mut self, prims: &mut [PlacedPrim], heir: PartPlace, others: &[PartPlace]) {
        let place = |prim: &PrimMotion| PrimMotion {
            motion: heir.motion,
            parent: LocalId(0),
            link_number: 0,
            ..*prim
        };
        self.change(prims, heir.id, place);
        self.number(prims, heir.id, others);
    }

    /// Changes the position of a prim. Its version rises, because clients cache a prim with its place in a linkset.
    fn change(
        &mut self,
        prims: &mut [PlacedPrim],
        id: LocalId,
        motion: impl FnOnce(&PrimMotion) -> PrimMotion,
    ) {
        let at = find(prims, id).expect("a part is one of the prims");
        let prim = &mut prims[at];
        let motion = motion(&prim.motion);
        if prim.motion != motion {
            prim.motion = motion;
            prim.body.version = prim.body.version.wrapping_add(1).max(1);
            self.n_changed += 1;
            self.changed = Some(id);
        }
    }
}

/// Prims with the id of another prim that has a lower local id, in the order of their local ids.
fn twins(prims: &[PlacedPrim]) -> Vec<LocalId> {
    let mut ids: Vec<_> = prims.iter().map(|prim| (prim.body.body.id, prim.id)).collect();
    ids.sort_unstable();
    let pairs = ids.windows(2).filter(|pair| pair[0].0 == pair[1].0);
    let mut twins: Vec<LocalId> = pairs.map(|pair| pair[1].1).collect();
    twins.sort_unstable();
    twins
}

/// Child prims by the roots that they refer to.
fn parts_by_root(prims: &[PlacedPrim]) -> BTreeMap<LocalId, Vec<PartPlace>> {
    let mut parts: BTreeMap<LocalId, Vec<PartPlace>> = BTreeMap::new();
    for PlacedPrim { id, motion: place, .. } in prims.iter().filter(|prim| prim.motion.parent != LocalId(0)) {
        let part = PartPlace { id: *id, number: place.link_number, motion: place.motion };
        parts.entry(place.parent).or_default().push(part);
    }
    parts
}

/// Positions of the first child prim in the region and of the others relative to it; `None` if damage has made one of them NaN or infinite.
fn without_root(root: &Motion, parts: &[PartPlace]) -> Option<(PartPlace, Vec<PartPlace>)> {
    let (first, others) = parts.split_first()?;
    let heir = PartPlace { motion: in_region(root, &first.motion), ..*first };
    let others = others.iter().map(|part| {
        let motion = relative_to(&heir.motion, &in_region(root, &part.motion));
        PartPlace { motion, ..*part }
    });
    let others: Vec<PartPlace> = others.collect();
    let has_place = |part: &PartPlace| part.motion.position.is_finite();
    (has_place(&heir) && others.iter().all(has_place)).then_some((heir, others))
}

fn find(prims: &[PlacedPrim], id: LocalId) -> Option<usize> {
    prims.binary_search_by_key(&id, |prim| prim.id).ok()
}

/// Position of a child prim in the region, at rest.
fn in_region(root: &Motion, part: &Motion) -> Motion {
    Motion {
        position: root.position + root.rotation * part.position,
        rotation: unit(root.rotation * part.rotation),
        ..Motion::default()
    }
}

/// Converts a position in the region to a position relative to a root.
fn relative_to(root: &Motion, place: &Motion) -> Motion {
    let back = root.rotation.conjugate();
    Motion {
        position: back * (place.position - root.position),
        rotation: unit(back * place.rotation),
        ..Motion::default()
    }
}

/// Normalised rotation; the identity for a damaged one that is not finite or has length 0.
fn unit(rotation: glam::Quat) -> glam::Quat {
    if rotation.length_squared() > 0.0 && rotation.is_finite() {
        rotation.normalize()
    } else {
        glam::Quat::IDENTITY
    }
}

#[cfg(test)]
mod tests;
