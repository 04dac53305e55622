//! Linksets that avatars wear. They come from the ground and go back there; when their avatar leaves, its account has them.

use super::editor::{ObjectEditor, is_temporary};
use ids::{LocalId, Uuid};
use link::{DerezKind, EditRefusal, Motion, ObjectMask};
use prim::Edit;

/// Linksets that an avatar wears at most, as in viewers.
const WORN_MAX: usize = 38;
/// Points of a body: 1 chest to 55 hind right foot; 31 to 38 are on the screen of the wearer.
const POINT_MAX: u8 = 55;
/// The point of an object that names none: the right hand.
const POINT_DEFAULT: u8 = 6;
/// Bit of a point by which a viewer adds to the objects there.
const POINT_ADDS: u8 = 0x80;

impl ObjectEditor<'_> {
    /// Makes the acting avatar wear an object of its own.
    pub(super) fn attach(&mut self, id: LocalId, point: u8) -> Result<(), EditRefusal> {
        let wearer = self.actor.avatar.ok_or(EditRefusal::NoOwner)?.id;
        let point = match point & !POINT_ADDS {
            0 => POINT_DEFAULT,
            point if point <= POINT_MAX => point,
            _ => return Err(EditRefusal::BadValue),
        };
        let judged = self.need(id, Edit::Take)?;
        if judged.is_attached {
            return Err(EditRefusal::Attached);
        }
        if self.actor.agent != Some(judged.owner) {
            return Err(EditRefusal::Rights);
        }
        if is_temporary(self.store, judged.root) {
            return Err(EditRefusal::Unsupported);
        }
        if self.store.worn_by(wearer).len() >= WORN_MAX {
            return Err(EditRefusal::Full);
        }
        // The store has to take it when the avatar leaves.
        self.store.escrow().check_room(judged.owner, self.store.linkset_len(judged.root))?;
        let prims = self.linkset(judged.root)?;
        let rotation = self.store.motion(judged.root).ok_or(EditRefusal::Unknown)?.motion.rotation;
        let root = self.store.wear(judged.root, wearer, Motion { rotation, ..Motion::default() })?;
        self.judged = None;
        assert_eq!(self.store.linkset_len(root), prims.len(), "a linkset is worn whole");
        self.set_state(root, point.rotate_left(4));
        self.report_created(root, false);
        Ok(())
    }

    /// Puts an object that the acting avatar wears on the ground in front of it.
    pub(super) fn put_down(&mut self, id: LocalId) -> Result<(), EditRefusal> {
        let avatar = self.actor.avatar.ok_or(EditRefusal::NoOwner)?;
        let root = self.store.root_of(id).ok_or(EditRefusal::Unknown)?;
        if self.store.wearer_of(root) != Some(avatar.id) {
            return Err(EditRefusal::Rights);
        }
        let position = self.nearest_in_region(avatar.in_front)?;
        let n_prims = self.linkset(root)?.len();
        self.need_building_land(position, n_prims)?;
        let rotation = self.store.motion(root).ok_or(EditRefusal::Unknown)?.motion.rotation;
        let root = self.store.put_down(root, Motion { position, rotation, ..Motion::default() })?;
        self.judged = None;
        self.set_state(root, 0);
        self.report_created(root, false);
        Ok(())
    }

    /// Takes everything off an avatar that is gone, for its account.
    pub(super) fn take_all_off(&mut self, wearer: LocalId) {
        for root in self.store.worn_by(wearer).to_vec() {
            let result = self.take_off(root);
            self.settle(None, result);
        }
    }

    fn take_off(&mut self, root: LocalId) -> Result<(), EditRefusal> {
        let owner = self.store.body(root).ok_or(EditRefusal::Unknown)?.body.ownership.owner;
        self.hold_anyway(root, owner, DerezKind::Take, (Uuid::nil(), Uuid::nil()))?;
        self.store.remove(root)?;
        Ok(())
    }

    /// The point of a body, with its nibbles exchanged, as viewers read it from each prim of a worn linkset.
    fn set_state(&mut self, root: LocalId, state: u8) {
        let prims: Vec<LocalId> = self.store.linkset(root).collect();
        for id in prims {
            self.edit_body(id, ObjectMask::FLAGS, |body| body.state = state);
        }
    }
}
