//! Linksets that have lost prims: the rest becomes objects that a world accepts.
//!
//! | lost | then |
//! |---|---|
//! | a part | the parts behind it are numbered anew |
//! | a root whose place is known | the first part becomes the root, where it was; the others become its parts |
//! | a root whose place is unknown | its parts have no place either, and are lost with it |
//! | one of two prims with one id | the one with the higher local id is lost like a damaged one |

use crate::rows::PlacedPrim;
use ids::LocalId;
use link::{Motion, PrimMotion};
use std::collections::BTreeMap;

/// Parts of a linkset at most: their numbers are 1 to 255.
const PARTS_MAX: usize = 255;

/// Result of mending.
#[derive(Debug, Default)]
pub(crate) struct Mended {
    /// Prims that are lost, each with the reason.
    pub(crate) lost: Vec<(LocalId, &'static str)>,
    /// Number of prims that have another place in a linkset than they were stored with.
    pub(crate) n_changed: usize,
    /// One of these prims.
    pub(crate) changed: Option<LocalId>,
}

/// Takes prims out that no world accepts beside the others, and mends the linksets of the rest. `prims` are in the order of their local ids;
/// `roots` are places of prims that were lost before.
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
        // In the order of their numbers; of equal ones the lower local id comes first.
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

    /// Gives the parts of a root the numbers 1, 2, …, and each its place.
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

    /// Makes a part a root, and the others parts of that.
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

    /// Gives a prim another place. Its version rises, since clients cache it with its place in a linkset.
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

/// Prims whose id one with a lower local id has too, in the order of their local ids.
fn twins(prims: &[PlacedPrim]) -> Vec<LocalId> {
    let mut ids: Vec<_> = prims.iter().map(|prim| (prim.body.body.id, prim.id)).collect();
    ids.sort_unstable();
    let pairs = ids.windows(2).filter(|pair| pair[0].0 == pair[1].0);
    let mut twins: Vec<LocalId> = pairs.map(|pair| pair[1].1).collect();
    twins.sort_unstable();
    twins
}

/// Parts by the roots that they name.
fn parts_by_root(prims: &[PlacedPrim]) -> BTreeMap<LocalId, Vec<PartPlace>> {
    let mut parts: BTreeMap<LocalId, Vec<PartPlace>> = BTreeMap::new();
    for PlacedPrim { id, motion: place, .. } in prims.iter().filter(|prim| prim.motion.parent != LocalId(0)) {
        let part = PartPlace { id: *id, number: place.link_number, motion: place.motion };
        parts.entry(place.parent).or_default().push(part);
    }
    parts
}

/// The first part of a linkset in the region, and the others relative to it. None if damage has made one of their positions NaN or infinite.
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

/// Place of a part in the region, at rest.
fn in_region(root: &Motion, part: &Motion) -> Motion {
    Motion {
        position: root.position + root.rotation * part.position,
        rotation: unit(root.rotation * part.rotation),
        ..Motion::default()
    }
}

/// A place in the region as one relative to a root.
fn relative_to(root: &Motion, place: &Motion) -> Motion {
    let back = root.rotation.conjugate();
    Motion {
        position: back * (place.position - root.position),
        rotation: unit(back * place.rotation),
        ..Motion::default()
    }
}

/// Damage may have left no direction.
fn unit(rotation: glam::Quat) -> glam::Quat {
    if rotation.length_squared() > 0.0 && rotation.is_finite() {
        rotation.normalize()
    } else {
        glam::Quat::IDENTITY
    }
}

#[cfg(test)]
mod tests;
