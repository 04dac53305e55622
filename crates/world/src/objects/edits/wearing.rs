//! Linksets that avatars wear. Each is an item of its user's inventory, which has its state when it is taken off; a linkset from the ground becomes one. When the avatar
//! leaves, the node keeps the linkset for the world that the avatar comes into next.
//!
//! A transfer goes with each change of hands ([`WornChange`]). Worn linksets without an item are those of builds that knew none: their accounts get them as objects
//! that were returned.

use super::creating::{become_another, derived_id};
use super::editor::{OFFSET_MAX_M, ObjectEditor, finite, is_temporary, unit_rotation};
use crate::objects::with_emptiness;
use ids::{AgentId, LocalId, Uuid};
use link::{
    ATTACHMENT_POINT_ADDS, ATTACHMENT_POINT_DEFAULT, ATTACHMENT_POINT_MAX, DerezKind, EditRefusal, Event,
    HeldObject, Motion, ObjectMask, PlacedLinkset, PrimFlags, TakeOffOrder, WORN_MAX, WearOrder, WornChange,
    WornTransfer,
};
use prim::{Edit, PCode};
use std::sync::Arc;

/// Number among the ids that are derived from a prim's for the item that it becomes when it is worn, to which the ticket is added. Those of the prim's own items
/// are below it.
const WORN_ITEM_IDS: u64 = 1 << 40;

impl ObjectEditor<'_> {
    /// Makes the acting avatar wear objects of its own: beside those that it wore at their points before, or in place of them, as in OpenSimulator.
    pub(super) fn attach_all(&mut self, objects: Vec<(LocalId, u8)>) {
        let avatar = self.actor.avatar;
        let before = avatar.map_or_else(Vec::new, |avatar| self.store.worn_by(avatar.id).to_vec());
        self.each(objects, |editor, id, point| editor.attach(id, point, &before));
    }

    fn attach(&mut self, id: LocalId, point: u8, before: &[LocalId]) -> Result<(), EditRefusal> {
        let wearer = self.actor.avatar.ok_or(EditRefusal::NoOwner)?.id;
        let replaces = point & ATTACHMENT_POINT_ADDS == 0;
        let point = match point & !ATTACHMENT_POINT_ADDS {
            0 => ATTACHMENT_POINT_DEFAULT,
            point if point <= ATTACHMENT_POINT_MAX => point,
            _ => return Err(EditRefusal::BadValue),
        };
        let judged = self.need(id, Edit::Take)?;
        if judged.is_attached {
            return Err(EditRefusal::Attached);
        }
        if self.actor.agent != Some(judged.owner) {
            return Err(EditRefusal::Rights);
        }
        if is_temporary(self.store, judged.root) || !self.is_of_prims(judged.root) {
            return Err(EditRefusal::Unsupported);
        }
        let is_replaced = |root: &LocalId| {
            replaces && self.store.wearer_of(*root) == Some(wearer) && self.is_at_point(*root, point)
        };
        let replaced: Vec<LocalId> = before.iter().copied().filter(is_replaced).collect();
        if self.store.worn_by(wearer).len() - replaced.len() >= WORN_MAX {
            return Err(EditRefusal::Full);
        }
        let prims = self.linkset(judged.root)?;
        let mut leaving = prims.clone();
        for &root in &replaced {
            leaving.extend(self.linkset(root)?);
        }
        // The inventory has to take all of them.
        self.store.escrow().check_room(judged.owner, leaving.len())?;
        self.charge_items(&leaving)?;
        // Tickets are never given twice, so that no other linkset with this id gets the number.
        let number = WORN_ITEM_IDS + u64::from(self.store.escrow().last().0);
        let item = derived_id(self.id_of(judged.root), number);
        let rotation = self.store.motion(judged.root).ok_or(EditRefusal::Unknown)?.motion.rotation;
        let root = self.store.wear(judged.root, wearer, Motion { rotation, ..Motion::default() })?;
        self.judged = None;
        assert_eq!(self.store.linkset_len(root), prims.len(), "a linkset is worn whole");
        self.set_worn(root, Some(item), point.rotate_left(4));
        self.note_worn(root, WornChange::PutOn);
        self.report_created(root, false);
        for root in replaced {
            self.remove_worn(root, WornChange::TakenOff)?;
        }
        Ok(())
    }

    /// Puts an object that the acting avatar wears on the ground in front of it.
    pub(super) fn put_down(&mut self, id: LocalId) -> Result<(), EditRefusal> {
        let root = self.worn_root(id)?;
        let avatar = self.actor.avatar.ok_or(EditRefusal::NoOwner)?;
        let position = self.nearest_in_region(avatar.in_front)?;
        let n_prims = self.linkset(root)?.len();
        self.need_building_land(position, n_prims)?;
        if !self.store.escrow().has_room(n_prims) {
            return Err(EditRefusal::HeldFull);
        }
        let rotation = self.store.motion(root).ok_or(EditRefusal::Unknown)?.motion.rotation;
        let transfer = self.worn_transfer(root, WornChange::PutDown);
        let root = self.store.put_down(root, Motion { position, rotation, ..Motion::default() })?;
        self.judged = None;
        if let Some(transfer) = transfer {
            self.transfer(|escrow| escrow.change_hands(transfer));
        }
        self.set_worn(root, None, 0);
        self.report_created(root, false);
        Ok(())
    }

    /// Takes an object off that the acting avatar wears.
    pub(super) fn take_off(&mut self, id: LocalId) -> Result<(), EditRefusal> {
        let root = self.worn_root(id)?;
        let prims = self.linkset(root)?;
        self.charge_items(&prims)?;
        if !self.store.escrow().has_room(prims.len()) {
            return Err(EditRefusal::HeldFull);
        }
        self.remove_worn(root, WornChange::TakenOff)
    }

    /// Takes items off the avatars of a user.
    pub(super) fn take_items_off(&mut self, order: &TakeOffOrder) {
        let all: Vec<LocalId> =
            self.store.wearers().flat_map(|wearer| self.store.worn_by(wearer)).copied().collect();
        for root in all {
            let is_meant = self.owner_of_worn(root) == Some(order.owner)
                && self.store.worn_item(root).is_some_and(|item| order.items.contains(item));
            if is_meant {
                let result = self.remove_worn(root, WornChange::TakenOff);
                self.settle(None, result);
            }
        }
    }

    /// Takes everything off an avatar that is gone, for its account.
    pub(super) fn take_all_off(&mut self, wearer: LocalId) {
        for root in self.store.worn_by(wearer).to_vec() {
            let result = self.remove_worn(root, WornChange::Left);
            self.settle(None, result);
        }
    }

    /// Lets the acting avatar wear an item. A reason to refuse it may be known already.
    pub(super) fn wear(&mut self, order: &WearOrder, verdict: Result<(), EditRefusal>) {
        let answer = self.answer_once(order.ids, |editor| verdict.and_then(|()| editor.try_wear(order)));
        if let Err(reason) = answer {
            let (owner, item) = (order.object.owner, order.item);
            self.events.push(Event::WearRefused { owner, item, reason });
        }
    }

    fn try_wear(&mut self, order: &WearOrder) -> Result<(), EditRefusal> {
        let wearer = self.actor.avatar.ok_or(EditRefusal::NoOwner)?.id;
        if self.actor.agent != Some(order.object.owner) {
            return Err(EditRefusal::OtherOwner);
        }
        let worn = self.store.worn_by(wearer).to_vec();
        // By an earlier order.
        if worn.iter().any(|&root| self.store.worn_item(root) == Some(order.item)) {
            return Ok(());
        }
        if !(1..=ATTACHMENT_POINT_MAX).contains(&order.point) {
            return Err(EditRefusal::BadValue);
        }
        let is_replaced = |root: &LocalId| order.replaces && self.is_at_point(*root, order.point);
        let (replaced, others): (Vec<LocalId>, Vec<LocalId>) = worn.into_iter().partition(is_replaced);
        if others.len() >= WORN_MAX {
            return Err(EditRefusal::Full);
        }
        let prims = self.worn_prims(order)?;
        let bodies = || prims.iter().map(|(_, versioned)| &versioned.body);
        self.check_items(
            bodies().map(|body| body.n_items()).sum(),
            bodies().map(|body| body.carried_len()).sum(),
        )?;
        self.store.put_on(prims, wearer)?;
        for root in replaced {
            self.remove_worn(root, WornChange::TakenOff)?;
        }
        Ok(())
    }

    /// Prims of an item as the avatar wears them.
    fn worn_prims(&self, order: &WearOrder) -> Result<PlacedLinkset, EditRefusal> {
        let HeldObject { owner, linksets, .. } = &*order.object;
        let [linkset] = &linksets[..] else { return Err(EditRefusal::BadValue) };
        let mut prims = linkset.clone();
        let is_taken = prims.iter().any(|(_, versioned)| self.store.local_id(versioned.body.id).is_some());
        let root_flags = prims.first().ok_or(EditRefusal::BadValue)?.0.flags;
        for ((place, versioned), number) in prims.iter_mut().zip(0_u64..) {
            if versioned.body.ownership.owner != *owner {
                return Err(EditRefusal::OtherOwner);
            }
            if versioned.body.p_code != PCode::Prim {
                return Err(EditRefusal::Unsupported);
            }
            if is_taken {
                become_another(versioned, derived_id(order.ids, number));
            }
            let position = finite(place.motion.position)?;
            if position.abs().max_element() > OFFSET_MAX_M {
                return Err(EditRefusal::TooFar);
            }
            let rotation = unit_rotation(place.motion.rotation)?;
            place.motion = Motion { position, rotation, ..Motion::default() };
            let flags = place.flags.with(PrimFlags::OF_LINKSET, root_flags);
            let flags = flags.with(PrimFlags::TEMPORARY, PrimFlags::default());
            place.flags = with_emptiness(flags, versioned.body.n_items());
            let (state, item) = (order.point.rotate_left(4), (number == 0).then_some(order.item));
            if (versioned.body.state, versioned.body.worn_item) != (state, item) {
                let body = Arc::make_mut(&mut versioned.body);
                (body.state, body.worn_item) = (state, item);
            }
        }
        Ok(prims)
    }

    /// The root of a linkset that the acting avatar wears, by any of its prims.
    fn worn_root(&self, id: LocalId) -> Result<LocalId, EditRefusal> {
        let avatar = self.actor.avatar.ok_or(EditRefusal::NoOwner)?;
        let root = self.store.root_of(id).ok_or(EditRefusal::Unknown)?;
        if self.store.wearer_of(root) == Some(avatar.id) { Ok(root) } else { Err(EditRefusal::Rights) }
    }

    /// True if a worn linkset is at this attachment point.
    fn is_at_point(&self, root: LocalId, point: u8) -> bool {
        self.store.body(root).is_some_and(|root| root.body.attachment_point() == point)
    }

    /// True if no prim of a linkset is a tree or grass: their species are in the place of the attachment point.
    fn is_of_prims(&self, root: LocalId) -> bool {
        let mut bodies = self.store.linkset(root).filter_map(|id| self.store.body(id));
        bodies.all(|versioned| versioned.body.p_code == PCode::Prim)
    }

    fn owner_of_worn(&self, root: LocalId) -> Option<AgentId> {
        Some(self.store.body(root)?.body.ownership.owner)
    }

    /// Removes a worn linkset, whose transfer says what has become of it.
    fn remove_worn(&mut self, root: LocalId, change: WornChange) -> Result<(), EditRefusal> {
        let owner = self.owner_of_worn(root).ok_or(EditRefusal::Unknown)?;
        if self.store.worn_item(root).is_some() {
            self.note_worn(root, change);
        } else {
            self.hold_worn(root, owner);
        }
        self.store.remove(root)?;
        self.judged = None;
        Ok(())
    }

    /// Notes a change of a worn linkset for the store.
    fn note_worn(&mut self, root: LocalId, change: WornChange) {
        if let Some(transfer) = self.worn_transfer(root, change) {
            self.transfer(|escrow| escrow.change_hands(transfer));
        }
    }

    /// The transfer of a linkset as it is worn now; `None` for one without an item.
    fn worn_transfer(&self, root: LocalId, change: WornChange) -> Option<WornTransfer> {
        let item = self.store.worn_item(root)?;
        let owner = self.owner_of_worn(root)?;
        let prims: PlacedLinkset = self.store.linkset(root).filter_map(|id| self.store.prim(id)).collect();
        let object = HeldObject {
            owner,
            by: self.actor.session,
            kind: DerezKind::Take,
            folder: Uuid::nil(),
            transaction: Uuid::nil(),
            is_worn: true,
            linksets: vec![prims],
        };
        Some(WornTransfer { item, change, object })
    }

    /// The item of a root, and the point of all prims, with its nibbles exchanged as viewers read it.
    fn set_worn(&mut self, root: LocalId, item: Option<Uuid>, state: u8) {
        let prims: Vec<LocalId> = self.store.linkset(root).collect();
        for id in prims {
            self.edit_body(id, ObjectMask::FLAGS, |body| {
                body.state = state;
                body.worn_item = item.filter(|_| id == root);
            });
        }
    }
}
