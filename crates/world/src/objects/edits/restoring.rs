//! Objects that the store held, or that items describe, and that come into the world again.

use super::creating::{become_another, derived_id};
use super::editor::{OFFSET_MAX_M, ObjectEditor, finite, unit_rotation};
use glam::Vec3;
use ids::{AgentId, Uuid};
use link::{
    EditRefusal, Event, HeldObject, Motion, PlacedLinkset, PrimFlags, PrimMotion, Restoration, RestorePlace,
};
use prim::PCode;
use std::sync::Arc;

impl ObjectEditor<'_> {
    /// Puts an object into the world, with the root of its first linkset at a place if there is one, and answers. An order with a key that was answered before gets no second
    /// answer while the first is not settled; one without gets the same. A reason to refuse it may be known already.
    pub(super) fn restore(
        &mut self,
        order: &Restoration,
        at: Option<Vec3>,
        verdict: Result<(), EditRefusal>,
    ) {
        match order.key {
            Some(key) if self.store.escrow().is_answered(key) => {}
            Some(key) => {
                let result = verdict.and_then(|()| self.try_restore(order, at));
                self.transfer(|escrow| escrow.answer(key, result.err()));
                self.settle(None, result);
            }
            None => {
                let answer = self
                    .answer_once(order.ids, |editor| verdict.and_then(|()| editor.try_restore(order, at)));
                self.events.push(Event::Rezzed { order: order.ids, refusal: answer.err() });
            }
        }
    }

    /// Carries out an order that no transfer answers, and notes the answer. An order that comes again, since its answer may have been lost, has the answer that it had:
    /// what it has done may be undone or replaced by now, and is not done again.
    pub(super) fn answer_once(
        &mut self,
        order: Uuid,
        carry_out: impl FnOnce(&mut Self) -> Result<(), EditRefusal>,
    ) -> Result<(), EditRefusal> {
        if let Some(answer) = self.store.orders().answer_to(order) {
            return answer;
        }
        let answer = carry_out(self);
        self.store.orders_mut().note(order, answer);
        self.settle(None, answer);
        answer
    }

    fn try_restore(&mut self, order: &Restoration, at: Option<Vec3>) -> Result<(), EditRefusal> {
        let linksets = self.linksets_of(order, at)?;
        self.add_together(linksets, order.place.is_selected())
    }

    /// Linksets as they are added.
    pub(super) fn linksets_of(
        &self,
        order: &Restoration,
        at: Option<Vec3>,
    ) -> Result<Vec<PlacedLinkset>, EditRefusal> {
        let object = &*order.object;
        let (first, first_body) = object.root().filter(|_| object.is_whole()).ok_or(EditRefusal::BadValue)?;
        if object.n_prims() > HeldObject::PRIMS_MAX {
            return Err(EditRefusal::TooManyParts);
        }
        let owner = first_body.body.ownership.owner;
        if !self.actor.is_node && self.actor.agent != Some(owner) {
            return Err(EditRefusal::OtherOwner);
        }
        let former = first.motion.position;
        let at = match order.place {
            RestorePlace::At(at) => Some(at),
            RestorePlace::Former | RestorePlace::Rezzed(_) | RestorePlace::Back { .. } => at,
        };
        let mut fresh = (0..).map(|number| derived_id(order.ids, number));
        let mut linksets = Vec::with_capacity(object.linksets.len());
        for (prims, number) in object.linksets.iter().zip(0..) {
            let position = prims.first().ok_or(EditRefusal::BadValue)?.0.motion.position;
            let position = match at {
                Some(at) if number == 0 => at,
                Some(at) => position + (at - former),
                None => position,
            };
            let fresh: &mut dyn Iterator<Item = Uuid> = &mut fresh;
            let fresh = order.has_fresh_ids().then_some(fresh);
            linksets.push(self.prims_of(prims, owner, position, fresh)?);
        }
        Ok(linksets)
    }

    /// Prims of a linkset as they are added, the root at this place: with these ids, or with their own.
    fn prims_of(
        &self,
        prims: &PlacedLinkset,
        owner: AgentId,
        root_position: Vec3,
        mut fresh: Option<&mut dyn Iterator<Item = Uuid>>,
    ) -> Result<PlacedLinkset, EditRefusal> {
        let mut prims = prims.clone();
        let root_flags = prims.first().ok_or(EditRefusal::BadValue)?.0.flags;
        for ((place, versioned), number) in prims.iter_mut().zip(0..) {
            if versioned.body.ownership.owner != owner {
                return Err(EditRefusal::OtherOwner);
            }
            self.settle_place(place, (number == 0).then_some(root_position), root_flags)?;
            if versioned.body.p_code == PCode::Prim && versioned.body.state != 0 {
                Arc::make_mut(&mut versioned.body).state = 0;
            }
            match fresh.as_mut().and_then(|fresh| fresh.next()) {
                Some(id) => become_another(versioned, id),
                // Clients may have it in their caches as it was.
                None => versioned.version = versioned.version.wrapping_add(1).max(1),
            }
        }
        Ok(prims)
    }

    /// Brings a prim to rest, a root at this place.
    fn settle_place(
        &self,
        place: &mut PrimMotion,
        root_position: Option<Vec3>,
        root_flags: PrimFlags,
    ) -> Result<(), EditRefusal> {
        let Motion { position, rotation, .. } = place.motion;
        let position = match root_position {
            Some(at) => self.nearest_in_region(at)?,
            None => offset(position)?,
        };
        place.motion = Motion { position, rotation: unit_rotation(rotation)?, ..Motion::default() };
        // A held linkset is neither temporary nor worn.
        let flags = place.flags.with(PrimFlags::OF_LINKSET, root_flags);
        place.flags = flags.with(PrimFlags::TEMPORARY, PrimFlags::default());
        Ok(())
    }

    /// Adds all of these linksets, or none.
    pub(super) fn add_together(
        &mut self,
        linksets: Vec<PlacedLinkset>,
        is_selected: bool,
    ) -> Result<(), EditRefusal> {
        let n_events = self.events.len();
        let mut added = Vec::with_capacity(linksets.len());
        for prims in linksets {
            let root = prims.first().ok_or(EditRefusal::BadValue)?.1.body.id;
            if let Err(reason) = self.add(prims, is_selected) {
                self.events.truncate(n_events);
                for root in added {
                    let id = self.store.local_id(root).expect("it was just added");
                    self.store.remove(id).expect("it was just added");
                }
                return Err(reason);
            }
            added.push(root);
        }
        Ok(())
    }
}

/// The place of a part, if it is near enough to its root.
fn offset(position: Vec3) -> Result<Vec3, EditRefusal> {
    let position = finite(position)?;
    if position.abs().max_element() <= OFFSET_MAX_M { Ok(position) } else { Err(EditRefusal::TooFar) }
}
