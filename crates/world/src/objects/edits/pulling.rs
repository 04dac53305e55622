//! Requests to pull linksets that physics moves.

use super::editor::{ObjectEditor, finite};
use super::pull::Pull;
use glam::Vec3;
use ids::LocalId;
use link::{EditRefusal, PrimFlags};
use prim::Edit;

impl ObjectEditor<'_> {
    /// Lets the acting user pull a linkset of its own by a point, given from the prim along the region's axes. The last pull of a tick counts. A linkset that physics does not move stays where it is.
    pub(super) fn pull(&mut self, id: LocalId, grip: Vec3, target: Vec3) -> Result<(), EditRefusal> {
        let (grip, target) = (finite(grip)?, finite(target)?);
        let judged = self.need(id, Edit::Move)?;
        if judged.is_attached {
            return Err(EditRefusal::Attached);
        }
        if self.actor.agent != Some(judged.owner) {
            return Err(EditRefusal::Rights);
        }
        let is_physical = self.store.motion(id).is_some_and(|prim| prim.flags.any(PrimFlags::PHYSICS));
        let places = self.store.motion_in_region(id).zip(self.store.motion(judged.root));
        let (prim, root) = places.ok_or(EditRefusal::Unknown)?;
        if is_physical {
            let grip = root.motion.rotation.inverse() * (prim.position + grip - root.motion.position);
            self.pulls.insert(self.actor.session, Some(Pull { root: judged.root, grip, target }));
        }
        Ok(())
    }

    /// Ends the acting user's pull, if there is one.
    pub(super) fn let_go(&mut self) {
        self.pulls.insert(self.actor.session, None);
        self.settle(None, Ok(()));
    }
}
