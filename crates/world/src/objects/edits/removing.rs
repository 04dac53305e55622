//! Linksets that leave the world, for nothing or for an inventory.
//!
//! Objects that a user takes, or copies, with one request become one item for each of their owners, as in OpenSimulator: prims of two owners are never in one.
//! Linksets that are deleted, returned or saved become objects of their own, so that each can come back by itself.

use super::editor::{Judgement, ObjectEditor, hand_over};
use ids::{AgentId, LocalId, Uuid};
use link::{Derez, DerezKind, EditRefusal, HeldObject, PlacedLinkset};
use prim::Edit;
use std::sync::Arc;

/// Linksets of one owner that leave together.
struct Bundle {
    /// Their owner in the world.
    former: AgentId,
    /// The user who gets them.
    holder: AgentId,
    roots: Vec<LocalId>,
    n_prims: usize,
}

impl ObjectEditor<'_> {
    pub(super) fn derez(&mut self, request: Derez) {
        let Derez { objects, kind, folder, transaction } = request;
        let destination = (folder, transaction);
        match kind {
            DerezKind::Take | DerezKind::TakeCopy => self.take(objects, kind, destination),
            DerezKind::Delete | DerezKind::Trash | DerezKind::Return | DerezKind::Save => {
                let objects = objects.into_iter().map(|id| (id, kind)).collect();
                self.each(objects, |editor, id, kind| editor.derez_one(id, kind, destination));
            }
        }
    }

    pub(super) fn derez_one(
        &mut self,
        id: LocalId,
        kind: DerezKind,
        destination: (Uuid, Uuid),
    ) -> Result<(), EditRefusal> {
        let (_, holder) = self.judge_removal(id, kind)?;
        if let Some(holder) = holder {
            self.hold(id, holder, kind, destination)?;
        }
        if !kind.is_copy() {
            self.remove_judged(id)?;
        }
        Ok(())
    }

    /// Gives linksets to the acting user, together as far as they have one owner.
    fn take(&mut self, objects: Vec<LocalId>, kind: DerezKind, destination: (Uuid, Uuid)) {
        let mut bundles: Vec<Bundle> = Vec::new();
        for id in objects {
            if let Err(reason) = self.charge(1).and_then(|()| self.add_to_bundle(id, kind, &mut bundles)) {
                self.settle(Some(id), Err(reason));
            }
        }
        for Bundle { holder, roots, n_prims, .. } in bundles {
            let room = self.store.escrow().check_room(holder, n_prims);
            if room.is_ok() {
                self.hold_together(&roots, holder, kind, destination, false);
            }
            for id in roots {
                let result = room.and_then(|()| if kind.is_copy() { Ok(()) } else { self.remove_judged(id) });
                self.settle(Some(id), result);
            }
        }
    }

    /// Judges whether a linkset may be taken, and adds it to the linksets of its owner.
    fn add_to_bundle(
        &mut self,
        id: LocalId,
        kind: DerezKind,
        bundles: &mut Vec<Bundle>,
    ) -> Result<(), EditRefusal> {
        if bundles.iter().any(|bundle| bundle.roots.contains(&id)) {
            return Err(EditRefusal::Twice);
        }
        let (judged, holder) = self.judge_removal(id, kind)?;
        let holder = holder.ok_or(EditRefusal::NoOwner)?;
        let prims = self.linkset(id)?;
        self.charge_items(&prims)?;
        let n_prims = prims.len();
        let has_room = |bundle: &&mut Bundle| {
            bundle.former == judged.owner && bundle.n_prims + n_prims <= HeldObject::PRIMS_MAX
        };
        match bundles.iter_mut().find(has_room) {
            Some(bundle) => {
                bundle.roots.push(id);
                bundle.n_prims += n_prims;
            }
            None => bundles.push(Bundle { former: judged.owner, holder, roots: vec![id], n_prims }),
        }
        Ok(())
    }

    /// Judges whether the acting user may do this with a linkset; the user who gets it, if it is not deleted for good.
    fn judge_removal(
        &mut self,
        id: LocalId,
        kind: DerezKind,
    ) -> Result<(Judgement, Option<AgentId>), EditRefusal> {
        let judged = self.judge(id)?;
        if judged.root != id {
            return Err(EditRefusal::Part);
        }
        if judged.is_attached {
            return Err(EditRefusal::Attached);
        }
        let (deed, holder) = match kind {
            DerezKind::Delete => (Edit::Delete, None),
            DerezKind::Trash | DerezKind::Return => (Edit::Delete, Some(judged.owner)),
            DerezKind::Take => (Edit::Take, Some(self.new_owner()?)),
            DerezKind::TakeCopy | DerezKind::Save => (Edit::Copy, Some(self.new_owner()?)),
        };
        // The owner of a parcel returns the objects of others on it.
        let is_of_land = kind == DerezKind::Return && self.may_return(id);
        if !judged.allows(deed) && !is_of_land {
            return Err(EditRefusal::Rights);
        }
        Ok((judged, holder))
    }

    /// Takes a linkset out of the world that was judged.
    pub(super) fn remove_judged(&mut self, id: LocalId) -> Result<(), EditRefusal> {
        let object = self.id_of(id);
        self.temporaries.cancel(object);
        self.store.remove(id)?;
        self.judged = None;
        Ok(())
    }

    /// Gives a linkset, as it is now, to the store for a user. Another user than its owner gets it as its next owner.
    pub(super) fn hold(
        &mut self,
        root: LocalId,
        owner: AgentId,
        kind: DerezKind,
        destination: (Uuid, Uuid),
    ) -> Result<(), EditRefusal> {
        self.store.escrow().check_room(owner, self.store.linkset_len(root))?;
        let prims = self.linkset(root)?;
        self.charge_items(&prims)?;
        self.hold_together(&[root], owner, kind, destination, false);
        Ok(())
    }

    /// As [`Self::hold`], of a linkset that an avatar wears: also beyond the bounds, since it cannot stay.
    pub(super) fn hold_worn(&mut self, root: LocalId, owner: AgentId) {
        self.hold_together(&[root], owner, DerezKind::Take, (Uuid::nil(), Uuid::nil()), true);
    }

    /// Gives linksets of one owner to the store as one object.
    fn hold_together(
        &mut self,
        roots: &[LocalId],
        owner: AgentId,
        kind: DerezKind,
        (folder, transaction): (Uuid, Uuid),
        is_worn: bool,
    ) {
        let linksets = roots.iter().map(|root| self.placed(*root, owner)).collect();
        let by = self.actor.session;
        let object = HeldObject { owner, by, kind, folder, transaction, is_worn, linksets };
        self.transfer(|escrow| escrow.hold(object));
    }

    /// Prims of a linkset as its new owner gets them.
    fn placed(&self, root: LocalId, owner: AgentId) -> PlacedLinkset {
        let prims = self.store.linkset(root).filter_map(|id| {
            let (motion, mut versioned) = self.store.prim(id)?;
            if versioned.body.ownership.owner != owner {
                hand_over(Arc::make_mut(&mut versioned.body), owner, Uuid::nil());
            }
            Some((motion, versioned))
        });
        prims.collect()
    }
}
