//! Passages between worlds: into an instance, from one to another, and back to where one came from.
//!
//! Where the other world is as large as the one that a client sees, it is put behind the circuit and the client stays where it is on the
//! grid ([`Place::showing`]); otherwise it has to go to another place, by a teleport. Shared worlds are seen at their own places only.
//! Until the avatar has arrived the session counts for the world that it is on its way to.

use super::Hub;
use super::teleport::{VIA_LOCATION, landing_spot};
use crate::mail::{CircuitKey, Ending, Spot, ToShard};
use crate::places::{Place, PortalTo, Scene};
use glam::Vec3;
use ids::{AgentId, Instant, SessionKey, WorldId};
use std::sync::Arc;
use thiserror::Error;

/// How an avatar gets into another world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// It is there already, and is put somewhere else in it.
    Within,
    /// Behind the same circuit.
    Switched,
    /// By a teleport to another place.
    Teleported,
}

/// Why it does not. The texts are shown to users.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PassageRefusal {
    /// Nobody is behind the circuit, or its avatar has not arrived yet.
    #[error("That user is not here.")]
    NotHere,
    /// One passage at a time.
    #[error("You are already on your way.")]
    OnItsWay,
    /// The other world has its `max_avatars`.
    #[error("That region is full.")]
    Full,
    /// All ports of the session are in use, or rest.
    #[error("Please wait a minute before you travel on.")]
    NoPort,
    /// The server is about to stop.
    #[error("The server is about to stop.")]
    Draining,
}

/// What the hub cannot do itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Send a session into its user's own instance of a template, which may have to be made.
    EnterOwn {
        /// Whose.
        session: SessionKey,
        /// The user.
        agent: AgentId,
        /// Name of the template.
        template: Arc<str>,
    },
}

impl Hub {
    /// The session of an account.
    #[must_use]
    pub fn session_of(&self, agent: AgentId) -> Option<SessionKey> {
        self.by_agent.get(&agent).copied()
    }

    /// The session of a user by "First Last", without regard to case.
    #[must_use]
    pub fn session_named(&self, name: &str) -> Option<SessionKey> {
        self.sessions
            .values()
            .find(|session| session.name().eq_ignore_ascii_case(name))
            .map(|found| found.key)
    }

    /// Sends a session's avatar into an instance: to a position in metres from its corner, or to where visitors arrive.
    ///
    /// # Errors
    /// [`PassageRefusal`]; the avatar stays where it is.
    pub fn enter(
        &mut self,
        now: Instant,
        session: SessionKey,
        scene: &Arc<Scene>,
        position: Option<Vec3>,
    ) -> Result<Passage, PassageRefusal> {
        if self.draining {
            return Err(PassageRefusal::Draining);
        }
        let circuit = self.arrived(session)?;
        let here = self.place_of(circuit).ok_or(PassageRefusal::NotHere)?;
        let place = if here.land().size_m == scene.land.size_m {
            here.showing(scene)
        } else {
            self.places.apart(scene.land.size_m).showing(scene)
        };
        self.pass(
            now,
            circuit,
            &Arc::new(place),
            position.unwrap_or(scene.land.landing),
            Vec3::X,
            VIA_LOCATION,
        )
    }

    /// Sends a session's avatar back to where it was last in a shared world; or to the first region, if it was in none.
    ///
    /// # Errors
    /// [`PassageRefusal`]; the avatar stays where it is.
    pub fn leave(&mut self, now: Instant, session: SessionKey) -> Result<Passage, PassageRefusal> {
        let circuit = self.arrived(session)?;
        let spot = self.way_back(session);
        self.pass_to_spot(now, circuit, spot, VIA_LOCATION)
    }

    /// Sends everybody out of an instance that is about to end. Who is on the way into it stays where it is; who cannot go anywhere is put
    /// out.
    pub fn empty(&mut self, now: Instant, world: WorldId, why: &str) {
        let inside = |session: &&super::Session| session.counts_for().any(|counted| counted == world);
        let everybody: Vec<SessionKey> =
            self.sessions.values().filter(inside).map(|session| session.key).collect();
        for session in everybody {
            // A passage under way would be one to or from nowhere.
            let Some(state) = self.sessions.get(&session) else { continue };
            if let (Some(_), Some(pending)) = (state.root, state.pending) {
                let pending = state.circuit(pending);
                self.fail_teleport(now, pending, why);
            }
            let is_inside = self.arrived(session).ok().and_then(|circuit| self.place_of(circuit));
            if is_inside.is_some_and(|place| place.world() != world) {
                continue;
            }
            if self.leave(now, session).is_err() {
                self.end_session(now, session, why);
            }
        }
        self.lures.retain(|lure| lure.scene.world != world);
    }

    /// Sessions that are in a world, or on their way into it.
    #[must_use]
    pub fn n_in(&self, world: WorldId) -> usize {
        self.population(world, None) as usize
    }

    /// An avatar has walked into a portal.
    pub(super) fn on_portal(&mut self, now: Instant, circuit: CircuitKey, number: u8) {
        let Some(place) = self.place_of(circuit) else { return };
        let Some(session) = self.sessions.get(&circuit.session) else { return };
        match place.scene.portals.get(usize::from(number)).map(|portal| &portal.to) {
            Some(PortalTo::Own(template)) => {
                let (session, agent, template) = (circuit.session, session.agent, Arc::clone(template));
                self.orders.push_back(Order::EnterOwn { session, agent, template });
            }
            Some(PortalTo::Back) => {
                let spot = self.way_back(circuit.session);
                let passed = self.pass_to_spot(now, circuit, spot, VIA_LOCATION);
                self.tell_refusal(circuit.session, passed);
            }
            // It is in another world already.
            None => {}
        }
    }

    /// To a place in a shared world.
    pub(super) fn pass_to_spot(
        &mut self,
        now: Instant,
        circuit: CircuitKey,
        spot: Spot,
        flags: u32,
    ) -> Result<Passage, PassageRefusal> {
        let place = Arc::clone(self.places.get(spot.place));
        self.pass(now, circuit, &place, spot.position, spot.look_at, flags)
    }

    /// The one way by which avatars get elsewhere. `flags` are told to the client if it has to teleport.
    pub(super) fn pass(
        &mut self,
        now: Instant,
        circuit: CircuitKey,
        place: &Arc<Place>,
        position: Vec3,
        look_at: Vec3,
        flags: u32,
    ) -> Result<Passage, PassageRefusal> {
        let session = self.sessions.get(&circuit.session).ok_or(PassageRefusal::NotHere)?;
        let binding = session.bindings.get(&circuit.ticket).ok_or(PassageRefusal::NotHere)?;
        if session.pending.is_some() || binding.switching_until.is_some() {
            return Err(PassageRefusal::OnItsWay);
        }
        let shard = binding.shard.ok_or(PassageRefusal::NotHere)?;
        let here = Arc::clone(&binding.place);
        let position = place.land().clamp(position);
        if here.world() == place.world() {
            let command = ToShard::Teleport { circuit, position, look_at };
            self.output.push_back((super::Address::One(shard), command));
            return Ok(Passage::Within);
        }
        if self.population(place.world(), Some(circuit.session)) >= place.scene.max_avatars {
            return Err(PassageRefusal::Full);
        }
        if here.id != place.id {
            self.begin_teleport(now, circuit.session, place, position, look_at, flags)?;
            return Ok(Passage::Teleported);
        }
        self.counters.switches += 1;
        let until = now + self.config.arrival_timeout;
        if let Some(binding) = self.binding_mut(circuit) {
            binding.place = Arc::clone(place);
            binding.switching_until = Some(until);
        }
        self.count_visitors();
        let command = ToShard::Switch { circuit, place: Arc::clone(place), position, look_at };
        self.output.push_back((super::Address::One(shard), command));
        Ok(Passage::Switched)
    }

    /// Likewise, for tests.
    #[cfg(test)]
    pub(crate) fn circuit_of(&self, session: SessionKey) -> Option<CircuitKey> {
        self.arrived(session).ok()
    }

    /// The circuit behind which a session's avatar is.
    fn arrived(&self, session: SessionKey) -> Result<CircuitKey, PassageRefusal> {
        let session = self.sessions.get(&session).ok_or(PassageRefusal::NotHere)?;
        Ok(session.circuit(session.root.ok_or(PassageRefusal::NotHere)?))
    }

    fn place_of(&self, circuit: CircuitKey) -> Option<Arc<Place>> {
        let binding = self.sessions.get(&circuit.session)?.bindings.get(&circuit.ticket)?;
        Some(Arc::clone(&binding.place))
    }

    fn way_back(&self, session: SessionKey) -> Spot {
        let known = self.sessions.get(&session).and_then(|session| session.return_to);
        known.unwrap_or_else(|| landing_spot(self.places.iter().next()))
    }

    /// A shard has put another world behind a circuit.
    pub(super) fn on_left(&mut self, circuit: CircuitKey, spot: Option<Spot>) {
        self.note_way_back(circuit, spot);
        let session = self.sessions.get(&circuit.session);
        if let Some((session, spot)) = session.zip(spot) {
            self.records.push_back(super::Record::LastLocation(session.agent, spot));
        }
    }

    /// Keeps where an avatar was in a shared world.
    pub(super) fn note_way_back(&mut self, circuit: CircuitKey, spot: Option<Spot>) {
        if let Some(session) = self.sessions.get_mut(&circuit.session)
            && spot.is_some()
        {
            session.return_to = spot;
        }
    }

    /// An instance did not let somebody in who was put before it: back to where they came from. False when that is not what happened.
    pub(super) fn turn_back(&mut self, now: Instant, circuit: CircuitKey, why: &str) -> bool {
        let Some(binding) = self.binding_mut(circuit) else { return false };
        if binding.switching_until.take().is_none() || binding.place.scene.is_shared {
            return false;
        }
        let back = self.way_back(circuit.session);
        if self.pass_to_spot(now, circuit, back, VIA_LOCATION).is_err() {
            self.close_circuit(circuit, Ending::Kicked(why.into()));
        }
        true
    }

    /// Gives up on avatars that were put before a world and did not appear in it.
    pub(super) fn end_late_passages(&mut self, now: Instant) {
        let late = |session: &super::Session| {
            let ticket = session.root?;
            let until = session.bindings.get(&ticket)?.switching_until?;
            (until <= now).then(|| session.circuit(ticket))
        };
        let late: Vec<CircuitKey> = self.sessions.values().filter_map(late).collect();
        for circuit in late {
            if !self.turn_back(now, circuit, "That world did not let you in in time.") {
                self.end_session(now, circuit.session, "The region did not let you in in time.");
            }
        }
    }

    /// Tells the shards' turns how many sessions are in instances.
    pub(super) fn count_visitors(&self) {
        let is_visitor = |session: &&super::Session| {
            session.main_binding().is_some_and(|binding| !binding.place.scene.is_shared)
        };
        self.places.set_visitors(self.sessions.values().filter(is_visitor).count());
    }
}
