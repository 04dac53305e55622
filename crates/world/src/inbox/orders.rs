//! Commands for objects: requests of sessions, their rights and limits, and orders of the node.

use super::Receivers;
use crate::{
    counters::EditCounters,
    objects::{ActingAvatar, ActingUser, EditedLand, EditedWorld, Edits, RestoreAuthor},
    requests,
};
use glam::Vec3;
use ids::{AgentId, SessionKey, Ticket};
use link::{
    Author, ContentReplacement, ContentRezzing, EditRights, Frame, HeldObject, ItemRestoration,
    ObjectCommand, ObjectLimits, Restoration, RestorePlace, Rezzing, TakeOffOrder, WearOrder,
};

impl Receivers<'_> {
    pub(super) fn change_objects(
        &mut self,
        author: Author,
        (session, sequence): (SessionKey, u64),
        request: ObjectCommand,
        out: &mut Frame,
    ) {
        let presence = self.roster.of_session_mut(session);
        if presence.is_none() && session != SessionKey::NODE {
            self.counters.ignored += 1;
            return;
        }
        self.counters.object += 1;
        let agent = presence.as_ref().map(|presence| presence.identity.agent);
        let avatar = presence.map(|presence| {
            let motion = presence.motion;
            ActingAvatar { id: presence.id, in_front: motion.position + motion.rotation * Vec3::X }
        });
        let actor = ActingUser { session, agent, avatar, is_node: author == Author::Node, sequence };
        let mut request = request;
        if let Some((objects, solids)) = self.objects.as_deref().zip(self.solids) {
            requests::follow_rays(&mut request, objects, solids);
        }
        let (edits, on, counters) = self.editing();
        edits.carry_out(request, actor, on, counters, &mut out.events);
    }

    /// The editors of objects, the parts of the world that they change, and their counters.
    fn editing(&mut self) -> (&mut Edits, EditedWorld<'_>, &mut EditCounters) {
        let Self { setting, objects, land, edits, counters, .. } = self;
        let size_m = setting.ground.terrain.size_m() as f32;
        let land = land.as_mut().map(|EditedLand { land, uses }| EditedLand { land, uses });
        let on = EditedWorld { store: objects.as_deref_mut(), land, size_m };
        (edits, on, &mut counters.edits)
    }

    pub(super) fn grant(&mut self, session: SessionKey, rights: EditRights) {
        if self.objects.is_none() || self.roster.of_session_mut(session).is_none() {
            self.counters.ignored += 1;
            return;
        }
        self.counters.edit_rights += 1;
        self.edits.grant(session, rights);
    }

    pub(super) fn limit_objects(&mut self, limits: ObjectLimits) {
        if self.objects.is_none() {
            self.counters.ignored += 1;
            return;
        }
        self.counters.object_limits += 1;
        self.edits.set_limits(limits);
    }

    /// True if orders of the node are carried out: not in a world without objects, nor while the node has not settled that the world has gone back. Others are ignored.
    fn takes_orders(&mut self) -> bool {
        let takes_them = self.objects.as_deref().is_some_and(|objects| !objects.escrow().is_undoing());
        self.counters.ignored += u64::from(!takes_them);
        takes_them
    }

    pub(super) fn restore(&mut self, order: &Restoration, out: &mut Frame) {
        if !self.takes_orders() {
            return;
        }
        self.counters.restore += 1;
        let author = self.author_of(order, 0);
        let (edits, on, counters) = self.editing();
        edits.restore(order, author, on, counters, &mut out.events);
    }

    pub(super) fn rez_content(&mut self, sequence: u64, order: &ContentRezzing, out: &mut Frame) {
        if !self.takes_orders() {
            return;
        }
        self.counters.restore += 1;
        let author = self.author_of(&order.restoration, sequence);
        let (edits, on, counters) = self.editing();
        edits.rez_content(order, author, on, counters, &mut out.events);
    }

    /// The author of an order for an object, and its place.
    fn author_of(&mut self, order: &Restoration, sequence: u64) -> RestoreAuthor {
        match order.place {
            RestorePlace::Former | RestorePlace::At(_) => RestoreAuthor::Node,
            RestorePlace::Rezzed(rezzing) => self.rez_author(&order.object, &rezzing, sequence),
            RestorePlace::Back { session, .. } => self.restore_author(session, sequence),
        }
    }

    /// The user who rezzes an object, and its place.
    fn rez_author(&mut self, object: &HeldObject, rezzing: &Rezzing, sequence: u64) -> RestoreAuthor {
        let actor = self.acting_user(rezzing.session, sequence);
        let Some((actor, objects)) = actor.zip(self.objects.as_deref()) else {
            return RestoreAuthor::Absent;
        };
        let at = requests::rez_place(object, rezzing, objects, self.solids);
        RestoreAuthor::User(actor, Some(at))
    }

    /// The user of a session in this world, for which the node acts.
    fn acting_user(&mut self, session: SessionKey, sequence: u64) -> Option<ActingUser> {
        let presence = self.roster.of_session_mut(session)?;
        let motion = presence.motion;
        let avatar = ActingAvatar { id: presence.id, in_front: motion.position + motion.rotation * Vec3::X };
        let agent = Some(presence.identity.agent);
        Some(ActingUser { session, agent, avatar: Some(avatar), is_node: false, sequence })
    }

    /// The user of a session for which the node acts, at no place of its own.
    fn restore_author(&mut self, session: SessionKey, sequence: u64) -> RestoreAuthor {
        let actor = self.acting_user(session, sequence);
        actor.map_or(RestoreAuthor::Absent, |actor| RestoreAuthor::User(actor, None))
    }

    pub(super) fn restore_item(&mut self, sequence: u64, order: &ItemRestoration, out: &mut Frame) {
        if !self.takes_orders() {
            return;
        }
        self.counters.restore += 1;
        let author = self.restore_author(order.session, sequence);
        let (edits, on, counters) = self.editing();
        edits.restore_item(order, author, on, counters, &mut out.events);
    }

    pub(super) fn replace_content(&mut self, sequence: u64, order: &ContentReplacement, out: &mut Frame) {
        if !self.takes_orders() {
            return;
        }
        self.counters.restore += 1;
        let author = self.restore_author(order.session, sequence);
        let (edits, on, counters) = self.editing();
        edits.replace_content(order, author, on, counters, &mut out.events);
    }

    pub(super) fn wear(&mut self, order: &WearOrder, out: &mut Frame) {
        if !self.takes_orders() {
            return;
        }
        self.counters.wear += 1;
        let author = self.restore_author(order.session, 0);
        let (edits, on, counters) = self.editing();
        edits.wear(order, author, on, counters, &mut out.events);
    }

    pub(super) fn take_items_off(&mut self, order: &TakeOffOrder, out: &mut Frame) {
        if !self.takes_orders() {
            return;
        }
        self.counters.take_off += 1;
        let (edits, on, counters) = self.editing();
        edits.take_items_off(order, on, counters, &mut out.events);
    }

    pub(super) fn settle(&mut self, ticket: Ticket) {
        let Some(objects) = self.objects.as_deref_mut() else {
            self.counters.ignored += 1;
            return;
        };
        self.counters.settle += 1;
        objects.escrow_mut().settle(ticket);
    }

    pub(super) fn note_full(&mut self, owner: AgentId, is_full: bool) {
        let Some(objects) = self.objects.as_deref_mut() else {
            self.counters.ignored += 1;
            return;
        };
        self.counters.held_full += 1;
        objects.escrow_mut().set_full(owner, is_full);
    }
}
