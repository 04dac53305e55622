//! Passages between worlds: into an instance, from one to another, and back to the former place.
//!
//! If the other world is as large as the visible one, it is put behind the circuit and the client keeps its place on the grid
//! ([`Place::showing`]); otherwise it teleports to another place. Shared worlds are seen at their own places only. Until the avatar has
//! arrived the session counts for the world that it is on its way to. An avatar that does not arrive is rerouted by [`super::displaced`].

use super::Hub;
use super::session::Switching;
use super::travel::{ArrivalTarget, VIA_LOCATION, WITHIN_REGION, landing_spot};
use crate::mail::{Spot, ToShard};
use crate::places::Place;
use glam::Vec3;
use grid::names::Name;
use ids::{AgentId, Instant, SessionKey, WorldId};
use link::{Appearance, CircuitKey, Passage, PassageRefusal, PortalTo, TravelOrder, Visitor};
use std::sync::Arc;

impl Hub {
    /// The session of an account.
    #[must_use]
    pub fn session_of(&self, agent: AgentId) -> Option<SessionKey> {
        self.by_agent.get(&agent).copied()
    }

    /// Position of an account's avatar in a shared world, or its last one before it went into an instance. The store gets it only at
    /// the session's end, which is too late for a login that replaces the session.
    #[must_use]
    pub fn shared_spot(&self, agent: AgentId) -> Option<Spot> {
        let session = self.sessions.get(self.by_agent.get(&agent)?)?;
        let place = &session.root_binding()?.place;
        if !place.scene.is_shared {
            return session.return_to;
        }
        let replica = place.scene.feed.current();
        let own = replica.slot(replica.of_session(session.key)?)?;
        let (position, look_at) = (own.motion.position, own.motion.rotation * Vec3::X);
        Some(Spot { place: place.id, position, look_at })
    }

    /// The session of a user by "First Last", in every spelling that logins accept.
    #[must_use]
    pub fn session_named(&self, name: &str) -> Option<SessionKey> {
        let name = Name::parse(name, "").ok()?;
        self.sessions.values().find(|session| session.is_named(&name)).map(|found| found.key)
    }

    /// Appearance of a user, by "First Last", once the client has sent it.
    #[must_use]
    pub fn appearance_of(&self, name: &str) -> Option<Arc<Appearance>> {
        let session = self.sessions.get(&self.session_named(name)?)?;
        session.look.look.as_ref().map(|look| Arc::clone(&look.appearance))
    }

    /// Sends a session's avatar into an instance that is in memory: to a position in metres from its corner, or to where visitors arrive.
    ///
    /// # Errors
    /// [`PassageRefusal`]; the avatar stays where it is.
    pub fn enter(
        &mut self,
        now: Instant,
        session: SessionKey,
        world: WorldId,
        position: Option<Vec3>,
    ) -> Result<Passage, PassageRefusal> {
        if self.draining {
            return Err(PassageRefusal::Draining);
        }
        let scene = &self.places.scene(world).ok_or(PassageRefusal::Gone)?;
        let circuit = self.arrived(session)?;
        let here = self.place_of(circuit).ok_or(PassageRefusal::NotHere)?;
        let place = if here.ground().size_m == scene.ground.size_m {
            here.showing(scene)
        } else {
            self.places.apart(scene.ground.size_m).showing(scene)
        };
        let position = position.unwrap_or(scene.ground.landing);
        let passage =
            self.request_passage(now, circuit, &Arc::new(place), position, Vec3::X, VIA_LOCATION)?;
        self.n_admissions += 1;
        Ok(passage)
    }

    /// Sends a session's avatar out of an instance, back to its former position in a shared world; or to the first region, if it was in none.
    ///
    /// # Errors
    /// [`PassageRefusal`]; the avatar stays where it is.
    pub fn leave(&mut self, now: Instant, session: SessionKey) -> Result<Passage, PassageRefusal> {
        let circuit = self.arrived(session)?;
        self.is_free(circuit)?;
        if self.place_of(circuit).is_some_and(|here| here.scene.is_shared) {
            return Err(PassageRefusal::Outside);
        }
        let spot = self.way_back(session);
        self.pass_to_spot(now, circuit, spot, VIA_LOCATION)
    }

    /// Checks that an avatar is still behind a circuit and in a world, without a passage under way.
    ///
    /// # Errors
    /// The reason if not.
    pub fn is_in(&self, circuit: CircuitKey, world: WorldId) -> Result<(), PassageRefusal> {
        let is_there = self.arrived(circuit.session)? == circuit
            && self.place_of(circuit).is_some_and(|here| here.world() == world);
        if is_there { self.is_free(circuit) } else { Err(PassageRefusal::Elsewhere) }
    }

    /// Checks that a session's avatar is still behind this circuit.
    ///
    /// # Errors
    /// The reason if not.
    pub fn is_behind(&self, circuit: CircuitKey) -> Result<(), PassageRefusal> {
        if self.arrived(circuit.session)? == circuit { Ok(()) } else { Err(PassageRefusal::Elsewhere) }
    }

    /// Checks that a visitor is at the place of its request: in a world, or behind a circuit. A request without a circuit is valid anywhere.
    ///
    /// # Errors
    /// Errors of [`Self::is_in`] and [`Self::is_behind`].
    pub fn check(&self, visitor: &Visitor) -> Result<(), PassageRefusal> {
        let Visitor { session, ticket: Some(ticket), from } = *visitor else { return Ok(()) };
        let circuit = CircuitKey { session, ticket };
        from.map_or_else(|| self.is_behind(circuit), |world| self.is_in(circuit, world))
    }

    /// An order has been carried out, or never will be.
    pub fn end_order(&mut self, order: &TravelOrder) {
        if let Some(session) = self.sessions.get_mut(&order.circuit().session) {
            session.is_ordered = false;
        }
    }

    /// An order cannot be carried out: its user gets the reason.
    pub fn turn_down(&mut self, order: &TravelOrder, why: &str) {
        self.end_order(order);
        let session = order.circuit().session;
        match order {
            TravelOrder::EnterOwn { .. } => self.notify(session, why),
            // The client waits for its teleport.
            TravelOrder::Enter { .. } => self.send_teleport_failed(session, why),
        }
    }

    /// An order found no executor: its user gets the reason.
    pub fn refuse_order(&mut self, order: &TravelOrder, why: &str) {
        self.counters.orders_refused += 1;
        self.turn_down(order, why);
    }

    /// Gives an order; false when one for that session waits.
    pub(super) fn give_order(&mut self, order: TravelOrder) -> bool {
        let Some(session) = self.sessions.get_mut(&order.circuit().session) else { return false };
        let waits = std::mem::replace(&mut session.is_ordered, true);
        if !waits {
            self.counters.orders += 1;
            self.orders.push_back(order);
        }
        !waits
    }

    /// Sessions that are in a world, or on their way into it.
    #[must_use]
    pub fn n_in(&self, world: WorldId) -> usize {
        self.population(world, None) as usize
    }

    /// An avatar has walked into a portal of this world.
    pub(super) fn on_portal(&mut self, now: Instant, circuit: CircuitKey, world: WorldId, number: u8) {
        // It may be in another world already, or on its way.
        if self.is_in(circuit, world).is_err() {
            return;
        }
        let Some(place) = self.place_of(circuit) else { return };
        let Some(portal) = place.scene.portals.get(usize::from(number)) else { return };
        let PortalTo::Own(template) = &portal.to else {
            let left = self.leave(now, circuit.session);
            self.report_refusal(circuit.session, left);
            return;
        };
        let Some(session) = self.sessions.get(&circuit.session) else { return };
        let (agent, template) = (session.agent, Arc::clone(template));
        // It stands in the portal, and another order will come.
        let _ = self.give_order(TravelOrder::EnterOwn { circuit, world, agent, template });
    }

    /// Passage to a place in a shared world.
    pub(super) fn pass_to_spot(
        &mut self,
        now: Instant,
        circuit: CircuitKey,
        spot: Spot,
        flags: u32,
    ) -> Result<Passage, PassageRefusal> {
        let place = Arc::clone(self.places.get(spot.place));
        self.request_passage(now, circuit, &place, spot.position, spot.look_at, flags)
    }

    /// The only route of passages. `flags` are sent to the client if it has to teleport.
    pub(super) fn request_passage(
        &mut self,
        now: Instant,
        circuit: CircuitKey,
        place: &Arc<Place>,
        position: Vec3,
        look_at: Vec3,
        flags: u32,
    ) -> Result<Passage, PassageRefusal> {
        self.is_free(circuit)?;
        self.begin_passage(
            now,
            circuit,
            &ArrivalTarget { place: Arc::clone(place), position, look_at, returns: false },
            flags,
        )
    }

    /// Passage of an avatar without another one under way.
    pub(super) fn begin_passage(
        &mut self,
        now: Instant,
        circuit: CircuitKey,
        way: &ArrivalTarget,
        flags: u32,
    ) -> Result<Passage, PassageRefusal> {
        let binding = self.binding_mut(circuit).ok_or(PassageRefusal::NotHere)?;
        let shard = binding.shard.ok_or(PassageRefusal::NotHere)?;
        let here = Arc::clone(&binding.place);
        let ArrivalTarget { place, look_at, returns, .. } = way;
        let position = place.ground().clamp(way.position);
        if here.world() == place.world() {
            self.send_teleport_started(circuit.session, flags | WITHIN_REGION);
            let command = ToShard::Teleport { circuit, position, look_at: *look_at };
            self.output.push_back((super::Address::One(shard), command));
            return Ok(Passage::Within);
        }
        if !self.has_room(place, circuit.session) {
            return Err(PassageRefusal::Full);
        }
        if here.id != place.id {
            self.begin_teleport(now, circuit.session, place, position, *look_at, flags)?;
            self.note_departure(circuit, &here, place);
            return Ok(Passage::Teleported);
        }
        self.note_departure(circuit, &here, place);
        self.send_teleport_started(circuit.session, flags | WITHIN_REGION);
        self.counters.switches += 1;
        let until = now + self.config.arrival_timeout;
        if let Some(binding) = self.binding_mut(circuit) {
            binding.place = Arc::clone(place);
            let is_orphan = std::mem::replace(&mut binding.is_orphan, false);
            let switching = Switching { until, from: (!is_orphan).then_some(here) };
            let former = binding.switching.replace(switching);
            assert!(former.is_none(), "{circuit:?} goes into a second world before it is in the first");
        }
        self.count_visitors();
        let (place, world) = (place.id, place.world());
        let (look_at, returns) = (*look_at, *returns);
        let command = ToShard::Switch { circuit, place, world, position, look_at, returns };
        self.output.push_back((super::Address::One(shard), command));
        Ok(Passage::Switched)
    }

    /// True if a world has room for one more session.
    pub(super) fn has_room(&self, place: &Place, session: SessionKey) -> bool {
        self.population(place.world(), Some(session)) < place.scene.max_avatars
    }

    /// Checks that a session has no passage under way.
    fn is_free(&self, circuit: CircuitKey) -> Result<(), PassageRefusal> {
        let session = self.sessions.get(&circuit.session).ok_or(PassageRefusal::NotHere)?;
        let binding = session.bindings.get(&circuit.ticket).ok_or(PassageRefusal::NotHere)?;
        let is_on_its_way = session.pending.is_some() || binding.switching.is_some();
        if is_on_its_way { Err(PassageRefusal::OnItsWay) } else { Ok(()) }
    }

    /// The circuit behind which a session's avatar is, for tests.
    #[cfg(test)]
    pub(crate) fn circuit_of(&self, session: SessionKey) -> Option<CircuitKey> {
        self.arrived(session).ok()
    }

    /// The circuit behind which a session's avatar is.
    pub(super) fn arrived(&self, session: SessionKey) -> Result<CircuitKey, PassageRefusal> {
        let session = self.sessions.get(&session).ok_or(PassageRefusal::NotHere)?;
        Ok(session.circuit(session.root.ok_or(PassageRefusal::NotHere)?))
    }

    pub(super) fn place_of(&self, circuit: CircuitKey) -> Option<Arc<Place>> {
        let binding = self.sessions.get(&circuit.session)?.bindings.get(&circuit.ticket)?;
        Some(Arc::clone(&binding.place))
    }

    pub(super) fn way_back(&self, session: SessionKey) -> Spot {
        let known = self.sessions.get(&session).and_then(|session| session.return_to);
        known.unwrap_or_else(|| landing_spot(self.places.iter().next()))
    }

    /// A shard has put another world behind a circuit.
    pub(super) fn on_left(&mut self, circuit: CircuitKey, spot: Option<Spot>) {
        let Some(spot) = spot.filter(|&spot| self.note_way_back(circuit, spot)) else { return };
        if let Some(session) = self.sessions.get(&circuit.session) {
            self.records.push_back(super::Record::LastLocation(session.agent, spot));
        }
    }

    /// Notes by which circuit a shared world is left for an instance.
    fn note_departure(&mut self, circuit: CircuitKey, here: &Place, place: &Place) {
        if let Some(session) = self.sessions.get_mut(&circuit.session)
            && here.scene.is_shared
        {
            session.left_by = (!place.scene.is_shared).then_some(circuit);
        }
    }

    /// Keeps the last position of an avatar in a shared world that it left for an instance by this circuit. False if it did not.
    pub(super) fn note_way_back(&mut self, circuit: CircuitKey, spot: Spot) -> bool {
        let session = self.sessions.get_mut(&circuit.session);
        let Some(session) = session.filter(|session| session.left_by == Some(circuit)) else { return false };
        session.return_to = Some(spot);
        true
    }

    /// Gives the shards' turns the number of sessions in instances.
    pub(super) fn count_visitors(&self) {
        let visitors = self.sessions.values().filter(|session| session.is_visiting());
        self.places.set_visitors(visitors.count());
    }
}
