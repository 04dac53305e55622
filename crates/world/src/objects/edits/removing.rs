//! Linksets that leave the world, for nothing or for an inventory.

use super::editor::{ObjectEditor, hand_over};
use ids::{AgentId, LocalId, Uuid};
use link::{Derez, DerezKind, EditRefusal, HeldLinkset};
use prim::Edit;
use std::sync::Arc;

impl ObjectEditor<'_> {
    pub(super) fn derez(&mut self, request: Derez) {
        let Derez { objects, kind, folder, transaction } = request;
        let objects = objects.into_iter().map(|id| (id, kind)).collect();
        self.each(objects, |editor, id, kind| editor.derez_one(id, kind, (folder, transaction)));
    }

    pub(super) fn derez_one(
        &mut self,
        id: LocalId,
        kind: DerezKind,
        destination: (Uuid, Uuid),
    ) -> Result<(), EditRefusal> {
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
            DerezKind::TakeCopy => (Edit::Copy, Some(self.new_owner()?)),
        };
        // The owner of a parcel returns the objects of others on it.
        let is_of_land = kind == DerezKind::Return && self.may_return(id);
        if !judged.allows(deed) && !is_of_land {
            return Err(EditRefusal::Rights);
        }
        if let Some(holder) = holder {
            self.hold(id, holder, kind, destination)?;
        }
        if kind != DerezKind::TakeCopy {
            let object = self.id_of(id);
            self.temporaries.cancel(object);
            self.store.remove(id)?;
            self.judged = None;
        }
        Ok(())
    }

    /// Gives a linkset, as it is now, to the store for a user. Another user than its owner gets it as its next owner.
    pub(super) fn hold(
        &mut self,
        root: LocalId,
        owner: AgentId,
        kind: DerezKind,
        (folder, transaction): (Uuid, Uuid),
    ) -> Result<(), EditRefusal> {
        self.store.escrow().check_room(owner, self.store.linkset_len(root))?;
        self.hold_anyway(root, owner, kind, (folder, transaction))
    }

    /// As [`Self::hold`], also beyond the bounds: of a linkset that cannot stay.
    pub(super) fn hold_anyway(
        &mut self,
        root: LocalId,
        owner: AgentId,
        kind: DerezKind,
        (folder, transaction): (Uuid, Uuid),
    ) -> Result<(), EditRefusal> {
        let prims = self.linkset(root)?.into_iter().filter_map(|id| {
            let (motion, mut versioned) = self.store.prim(id)?;
            if versioned.body.ownership.owner != owner {
                hand_over(Arc::make_mut(&mut versioned.body), owner, Uuid::nil());
            }
            Some((motion, versioned))
        });
        let prims = prims.collect();
        let by = self.actor.session;
        let linkset = HeldLinkset { owner, by, kind, folder, transaction, prims };
        self.transfer(|escrow| escrow.hold(linkset));
        Ok(())
    }
}
