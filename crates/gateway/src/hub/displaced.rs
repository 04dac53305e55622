//! Displaced avatars: the world behind their circuit refused them, or ends under them.
//!
//! Each is rerouted to its former world, else to its last place in a region, else to any region with room; without any, its session
//! ends with a message. Its binding is marked until it arrives, so that a failed teleport is followed by an attempt at an untried
//! place.

use super::Hub;
use super::travel::{ArrivalTarget, VIA_LOCATION, landing_spot};
use crate::mail::{Ending, Spot};
use crate::places::Place;
use ids::{Instant, SessionKey, WorldId};
use link::{CircuitKey, EntryRefusal};
use std::sync::Arc;

impl Hub {
    /// Sends all visitors out of an instance that is about to end. A session teleporting into it stays in its former place, and one
    /// teleporting out of it continues.
    pub fn empty(&mut self, now: Instant, world: WorldId, why: &str) {
        // No session is turned back into it.
        let bindings = self.sessions.values_mut().flat_map(|session| session.bindings.values_mut());
        for switching in bindings.filter_map(|binding| binding.switching.as_mut()) {
            switching.from.take_if(|from| from.world() == world);
        }
        let inside = |session: &&super::Session| session.counts_for().any(|counted| counted == world);
        let sessions: Vec<SessionKey> =
            self.sessions.values().filter(inside).map(|session| session.key).collect();
        for session in sessions {
            self.send_out(now, session, world, why);
        }
        self.lures.retain(|lure| lure.world != world);
    }

    /// Sends one visitor out of an instance.
    fn send_out(&mut self, now: Instant, key: SessionKey, world: WorldId, why: &str) {
        let Ok(root) = self.arrived(key) else {
            // Its client has left the circuit that it had for one into that world.
            self.end_session(now, key, why);
            return;
        };
        if self.place_of(root).is_some_and(|here| here.world() == world) {
            self.turn_back(now, root, why);
        }
        let Some(session) = self.sessions.get(&key) else { return };
        let Some(pending) = session.pending.map(|ticket| session.circuit(ticket)) else { return };
        if self.place_of(pending).is_some_and(|there| there.world() == world) {
            self.fail_teleport(now, pending, why);
        }
    }

    /// A world refused an avatar. A circuit with another world behind it by then has moved on: shards report the events of a circuit in
    /// order.
    pub(super) fn on_refused(
        &mut self,
        now: Instant,
        circuit: CircuitKey,
        world: WorldId,
        reason: EntryRefusal,
    ) {
        if self.place_of(circuit).is_none_or(|place| place.world() != world) {
            return;
        }
        let Some(session) = self.sessions.get(&circuit.session) else { return };
        let is_root = session.root == Some(circuit.ticket);
        let why = match reason {
            EntryRefusal::Full if is_root => "That world is full.",
            EntryRefusal::Full => "The region is full.",
            EntryRefusal::NotAdmitted => "The estate of that region does not admit you.",
        };
        if is_root {
            // It was put before another world, or had to come in again, into one that restarted and is full; or the estate has banned its user.
            self.turn_back(now, circuit, why);
        } else if session.pending == Some(circuit.ticket) {
            match session.root {
                Some(_) => self.fail_teleport(now, circuit, why),
                None => self.close_circuit(circuit, Ending::Kicked(why.into())),
            }
        }
    }

    /// Gives up on avatars that were put before a world and did not appear in it.
    pub(super) fn end_late_passages(&mut self, now: Instant) {
        let late = |session: &super::Session| {
            let ticket = session.root?;
            let switching = session.bindings.get(&ticket)?.switching.as_ref()?;
            (switching.until <= now).then(|| session.circuit(ticket))
        };
        let late: Vec<CircuitKey> = self.sessions.values().filter_map(late).collect();
        for circuit in late {
            self.turn_back(now, circuit, "That world did not let you in in time.");
        }
    }

    /// Reroutes an avatar without a world or a passage to one.
    pub(super) fn reroute_if_displaced(&mut self, now: Instant, circuit: CircuitKey) {
        let is_orphan = self.binding_mut(circuit).is_some_and(|binding| binding.is_orphan);
        if is_orphan {
            self.turn_back(now, circuit, "You cannot stay where you were.");
        }
    }

    /// The world behind a circuit is none for its avatar: it is sent elsewhere, unless it is on its way already.
    fn turn_back(&mut self, now: Instant, circuit: CircuitKey, why: &str) {
        let Some(binding) = self.binding_mut(circuit) else { return };
        binding.is_orphan = true;
        let switching = binding.switching.take();
        let is_teleporting =
            self.sessions.get(&circuit.session).is_some_and(|session| session.pending.is_some());
        if is_teleporting {
            return;
        }
        let ways = self.ways_on(circuit, switching.and_then(|switching| switching.from));
        for way in ways {
            if self.begin_passage(now, circuit, &way, VIA_LOCATION).is_ok() {
                if let Some(binding) = self.binding_mut(circuit) {
                    binding.tried.push(way.place.world());
                }
                self.notify(circuit.session, why);
                return;
            }
        }
        self.end_session(now, circuit.session, &format!("{why} There is nowhere else to go just now."));
    }

    /// Routes of a displaced avatar, the best first.
    fn ways_on(&self, circuit: CircuitKey, from: Option<Arc<Place>>) -> Vec<ArrivalTarget> {
        let binding =
            self.sessions.get(&circuit.session).and_then(|session| session.bindings.get(&circuit.ticket));
        let Some(binding) = binding else { return Vec::new() };
        let no_more = |world| binding.place.world() == world || binding.tried.contains(&world);
        let back = self.way_back(circuit.session);
        let landing = |place: &Arc<Place>| landing_spot(Some(place));
        let way = |place: &Arc<Place>, spot: Spot, returns| ArrivalTarget {
            place: Arc::clone(place),
            position: spot.position,
            look_at: spot.look_at,
            returns,
        };
        let from = from.map(|from| {
            let knows = from.scene.is_shared && back.place == from.id;
            way(&from, if knows { back } else { landing(&from) }, true)
        });
        let was = way(self.places.get(back.place), back, false);
        let others = self.places.iter().filter(|place| place.id != back.place);
        let others = others.map(|place| way(place, landing(place), false));
        let ways = from.into_iter().chain([was]).chain(others);
        ways.filter(|way| !no_more(way.place.world())).collect()
    }
}
