//! Linksets: their order, and the places of parts against their root.

use super::{LINK_MAX, ObjectError, ObjectStore};
use ids::LocalId;
use link::{Motion, ObjectMask, PrimMotion};

impl ObjectStore {
    /// Root of the linkset of a prim: itself without a parent.
    pub(crate) fn root_of(&self, id: LocalId) -> Option<LocalId> {
        let parent = self.pages.motion(id)?.parent;
        Some(if self.pages.motion(parent).is_some() { parent } else { id })
    }

    /// Number of the prims of a linkset.
    pub(crate) fn linkset_len(&self, root: LocalId) -> usize {
        1 + self.parts.get(&root).map_or(0, Vec::len)
    }

    /// Prims of a linkset, its root first.
    pub(crate) fn linkset(&self, root: LocalId) -> impl Iterator<Item = LocalId> {
        std::iter::once(root).chain(self.parts.get(&root).into_iter().flatten().copied())
    }

    /// Makes a linkset and all its prims parts of another one, behind its own parts. Places are relative to the new root afterwards.
    ///
    /// # Errors
    /// [`ObjectError`]; nothing changes then.
    pub(crate) fn link(&mut self, root: LocalId, other: LocalId) -> Result<(), ObjectError> {
        let (root, other) = (self.root_of(root), self.root_of(other));
        let (root, other) = root.zip(other).ok_or(ObjectError::Unknown)?;
        if root == other {
            return Err(ObjectError::Itself);
        }
        let joined: Vec<LocalId> = self.linkset(other).collect();
        if self.linkset_len(root) + joined.len() > LINK_MAX {
            return Err(ObjectError::TooManyParts);
        }
        let in_region: Vec<Motion> = joined.iter().filter_map(|&id| self.motion_in_region(id)).collect();
        self.parts.remove(&other);
        self.touch(root);
        let root_motion = self.pages.motion(root).ok_or(ObjectError::Unknown)?.motion;
        for (&id, motion) in joined.iter().zip(in_region) {
            self.before_change(id, ObjectMask::LINK.union(ObjectMask::MOTION))?;
            let parts = self.parts.entry(root).or_default();
            parts.push(id);
            let number = parts.len() as u8;
            let prim = self.pages.motion_mut(id, &mut self.pool).ok_or(ObjectError::Unknown)?;
            *prim = PrimMotion {
                motion: relative_to(&root_motion, motion),
                parent: root,
                link_number: number,
                ..*prim
            };
            self.raise_version(id);
        }
        Ok(())
    }

    /// Takes a part out of its linkset; it stands alone where it was. A root passes its other parts on to the first of them.
    ///
    /// # Errors
    /// [`ObjectError::Unknown`].
    pub(crate) fn unlink(&mut self, id: LocalId) -> Result<(), ObjectError> {
        let root = self.root_of(id).ok_or(ObjectError::Unknown)?;
        if root != id {
            self.part_from(root, id);
            return Ok(());
        }
        let parts = self.parts.get(&root).cloned().unwrap_or_default();
        let Some((&heir, others)) = parts.split_first() else { return Ok(()) };
        let places: Vec<Motion> = parts.iter().filter_map(|&id| self.motion_in_region(id)).collect();
        self.parts.remove(&root);
        self.touch(root);
        let heir_motion = at_rest(places[0]);
        self.renumber(heir, LocalId(0), 0, Some(heir_motion));
        for ((&other, &place), number) in others.iter().zip(&places[1..]).zip(1..) {
            self.renumber(other, heir, number, Some(relative_to(&heir_motion, place)));
        }
        if !others.is_empty() {
            self.parts.insert(heir, others.to_vec());
        }
        Ok(())
    }

    /// Place and movement in the region, also of a part.
    pub(crate) fn motion_in_region(&self, id: LocalId) -> Option<Motion> {
        let prim = self.pages.motion(id)?;
        let Some(root) = self.pages.motion(prim.parent) else { return Some(prim.motion) };
        let (root, part) = (root.motion, prim.motion);
        Some(Motion {
            position: root.position + root.rotation * part.position,
            rotation: (root.rotation * part.rotation).normalize(),
            ..root
        })
    }

    /// Takes a part out of its linkset and numbers the others anew.
    pub(super) fn part_from(&mut self, root: LocalId, part: LocalId) {
        let motion = self.motion_in_region(part).expect("a part of a linkset is there");
        let parts = self.parts.get_mut(&root).expect("a root with parts");
        parts.retain(|&other| other != part);
        let rest = parts.clone();
        if rest.is_empty() {
            self.parts.remove(&root);
        }
        self.touch(root);
        self.renumber(part, LocalId(0), 0, Some(at_rest(motion)));
        for (&id, number) in rest.iter().zip(1..) {
            self.renumber(id, root, number, None);
        }
    }

    fn renumber(&mut self, id: LocalId, parent: LocalId, link_number: u8, motion: Option<Motion>) {
        let prim = *self.pages.motion(id).expect("a part of a linkset is there");
        if (prim.parent, prim.link_number) == (parent, link_number) {
            return;
        }
        let mask =
            if motion.is_some() { ObjectMask::LINK.union(ObjectMask::MOTION) } else { ObjectMask::LINK };
        self.before_change(id, mask).expect("it is there");
        let prim = self.pages.motion_mut(id, &mut self.pool).expect("it is there");
        *prim = PrimMotion { parent, link_number, motion: motion.unwrap_or(prim.motion), ..*prim };
        self.raise_version(id);
    }
}

/// The same place without movement.
fn at_rest(motion: Motion) -> Motion {
    Motion { position: motion.position, rotation: motion.rotation, ..Motion::default() }
}

/// A motion in the region as one relative to a root.
pub(crate) fn relative_to(root: &Motion, motion: Motion) -> Motion {
    let back = root.rotation.inverse();
    Motion {
        position: back * (motion.position - root.position),
        rotation: (back * motion.rotation).normalize(),
        ..Motion::default()
    }
}
