//! Teleports between regions: a new ticket, a TeleportFinish, and the old circuit only ends once the avatar has arrived. Until then it
//! keeps its place, so a failed teleport changes nothing.

use super::messages::{progress_message, start_message};
use super::travel::{Lure, VIA_HOME, VIA_LANDMARK, VIA_LOCATION, VIA_LURE, landing_spot};
use super::{Hub, Record, events};
use crate::mail::{Ending, Spot};
use crate::places::Place;
use assets::Landmark;
use glam::Vec3;
use ids::{Instant, RegionHandle, SessionKey, Uuid, WELCOME_REGION};
use link::{CircuitKey, Passage, PassageRefusal, TravelOrder};
use std::sync::Arc;

/// Texts for users whose TeleportCancel changes nothing.
const CANNOT_CANCEL: &str = "This teleport can no longer be cancelled.";
pub(super) const NOTHING_TO_CANCEL: &str = "There is no teleport to cancel.";
/// Metres of a grid square.
const GRID_M: f32 = RegionHandle::GRID_M as f32;
/// End of the grid in metres: regions lie below.
const GRID_END_M: f32 = 65_536.0 * GRID_M;

impl Hub {
    pub(super) fn teleport_to_handle(
        &mut self,
        now: Instant,
        circuit: CircuitKey,
        handle: RegionHandle,
        position: Vec3,
        look_at: Vec3,
    ) {
        // A client that sees an instance at that place means the instance.
        let here = self.binding_mut(circuit).map(|binding| Arc::clone(&binding.place));
        let here = here.filter(|here| here.contains(handle.x_m(), handle.y_m()));
        let Some(place) = here.or_else(|| self.places.by_handle(handle).map(Arc::clone)) else {
            self.send_teleport_failed(circuit.session, "There is no region at that place.");
            return;
        };
        // A map click inside a large region names the grid square; positions count from the region's corner.
        let inside = Vec3::new(
            (handle.x_m() - place.handle.x_m()) as f32,
            (handle.y_m() - place.handle.y_m()) as f32,
            0.0,
        );
        let passed = self.request_passage(now, circuit, &place, position + inside, look_at, VIA_LOCATION);
        self.report_refusal(circuit.session, passed);
    }

    pub(super) fn teleport_home(&mut self, now: Instant, circuit: CircuitKey) {
        let Some(session) = self.sessions.get(&circuit.session) else { return };
        let spot = session.home.unwrap_or_else(|| landing_spot(self.places.iter().next()));
        let passed = self.pass_to_spot(now, circuit, spot, VIA_HOME);
        self.report_refusal(circuit.session, passed);
    }

    /// Teleport to the place of a landmark, in a shared world: none leads into an instance. The landmark of the library leads to the landing point of the first region.
    pub(super) fn teleport_by_landmark(
        &mut self,
        now: Instant,
        circuit: CircuitKey,
        landmark: Option<Landmark>,
    ) {
        let Some(landmark) = landmark else {
            return self.send_teleport_failed(circuit.session, "There is no such landmark.");
        };
        let Some(spot) = self.spot_of_landmark(landmark) else {
            return self.send_teleport_failed(circuit.session, "The landmark's region is not on this grid.");
        };
        let passed = self.pass_to_spot(now, circuit, spot, VIA_LANDMARK);
        self.report_refusal(circuit.session, passed);
    }

    fn spot_of_landmark(&self, landmark: Landmark) -> Option<Spot> {
        let (place, position) = match landmark {
            Landmark::InRegion { region, .. } if region == WELCOME_REGION => {
                return Some(landing_spot(self.places.by_region_id(region)));
            }
            Landmark::InRegion { region, position } => {
                let place = self.places.by_region_id(region)?;
                (place, Vec3::from_array(position))
            }
            Landmark::OnGrid { position } => {
                let [x, y, _] = position;
                let is_on_grid = [x, y].iter().all(|metres| (0.0..GRID_END_M).contains(metres));
                let square = |metres: f32| (metres / GRID_M) as u32;
                let handle = is_on_grid.then(|| RegionHandle::from_grid(square(x), square(y)))?;
                let place = self.places.by_handle(handle)?;
                let corner = Vec3::new(place.handle.x_m() as f32, place.handle.y_m() as f32, 0.0);
                (place, Vec3::from_array(position) - corner)
            }
        };
        Some(Spot { place: place.id, position, look_at: Vec3::X })
    }

    /// Only the invited user can follow an invitation.
    pub(super) fn teleport_by_lure(&mut self, now: Instant, circuit: CircuitKey, lure: Uuid) {
        let offered = |offer: &Lure| offer.id == lure && offer.to_session == circuit.session;
        let Some(&Lure { world, is_shared, spot, .. }) = self.lures.iter().find(|offer| offered(offer))
        else {
            self.send_teleport_failed(circuit.session, "That offer is no longer open.");
            return;
        };
        if is_shared {
            let passed = self.pass_to_spot(now, circuit, spot, VIA_LURE);
            self.report_refusal(circuit.session, passed);
        } else if !self.give_order(TravelOrder::Enter { circuit, world, position: spot.position }) {
            self.report_refusal(circuit.session, Err(PassageRefusal::OnItsWay));
        }
    }

    /// Makes a spot a user's home, and confirms it. `None` stands for an instance, which may be gone by the time that the user wants to
    /// go home.
    pub(super) fn set_home(&mut self, key: SessionKey, spot: Option<Spot>) {
        let Some(session) = self.sessions.get_mut(&key) else { return };
        let Some(spot) = spot else {
            return self.notify(key, "Home cannot be set here: this world may end.");
        };
        session.home = Some(spot);
        self.records.push_back(Record::Home(session.agent, spot));
        self.notify(key, "Home position set.");
    }

    pub(super) fn report_refusal(&mut self, session: SessionKey, passed: Result<Passage, PassageRefusal>) {
        if let Err(why) = passed {
            self.send_teleport_failed(session, &why.to_string());
        }
    }

    /// Asks a session's client to open a circuit to another place.
    pub(super) fn begin_teleport(
        &mut self,
        now: Instant,
        key: SessionKey,
        place: &Arc<Place>,
        position: Vec3,
        look_at: Vec3,
        flags: u32,
    ) -> Result<(), PassageRefusal> {
        let session = self.sessions.get(&key).ok_or(PassageRefusal::NotHere)?;
        let (agent, server_ip) = (session.agent, session.server_ip);
        let issued = self.issue_ticket(now, key, place, position, look_at);
        let (port, seed_url) = issued.ok_or(PassageRefusal::NoPort)?;
        self.counters.teleports += 1;
        self.send_teleport_started(key, flags);
        self.send(key, progress_message(agent, flags));
        let finish = events::teleport_finish(agent, place, server_ip, port, &seed_url, flags);
        if let Some(binding) = self.sessions.get_mut(&key).and_then(|session| session.main_binding_mut()) {
            binding.queue.push("TeleportFinish", finish);
        }
        Ok(())
    }

    /// Every kind of teleport is announced: clients that wait for it show the passage from here on.
    pub(super) fn send_teleport_started(&mut self, key: SessionKey, flags: u32) {
        self.send(key, start_message(flags));
    }

    /// Cancels a teleport for its user. Only possible until the client has shown its ticket to the new region, and while there is a world to
    /// stay in. Otherwise the user gets the reason.
    pub(super) fn cancel_teleport(&mut self, now: Instant, circuit: CircuitKey) {
        let Some(session) = self.sessions.get(&circuit.session) else { return };
        let root = session.main_binding();
        let has_world = root.is_none_or(|root| !root.is_orphan);
        let is_unopened =
            |ticket: &u32| session.bindings.get(ticket).is_some_and(|binding| binding.shard.is_none());
        if let Some(pending) = session.pending.filter(|ticket| has_world && is_unopened(ticket)) {
            let pending = session.circuit(pending);
            return self.fail_teleport(now, pending, "You have cancelled the teleport.");
        }
        let is_under_way = session.pending.is_some() || root.is_some_and(|root| root.switching.is_some());
        self.notify(circuit.session, if is_under_way { CANNOT_CANCEL } else { NOTHING_TO_CANCEL });
    }

    /// Takes back the ticket of a teleport; the avatar stays where it is, if it is anywhere.
    pub(super) fn fail_teleport(&mut self, now: Instant, pending: CircuitKey, why: &str) {
        let Some(session) = self.sessions.get_mut(&pending.session) else { return };
        session.pending = None;
        self.close_circuit(pending, Ending::Silent);
        let Some(session) = self.sessions.get_mut(&pending.session) else { return };
        let unopened = session.bindings.get(&pending.ticket).is_some_and(|binding| binding.shard.is_none());
        if unopened && let Some(binding) = session.bindings.remove(&pending.ticket) {
            session.ports.release(now, binding.ticket.port, binding.ticket.first_sequence);
            self.revoke_capabilities(now, &binding);
        }
        self.send_teleport_failed(pending.session, why);
        let root = self.sessions.get(&pending.session).and_then(|session| session.root);
        if let Some(ticket) = root {
            self.reroute_if_displaced(now, CircuitKey { ticket, ..pending });
        }
    }

    /// Reports a failed teleport through the event queue alone: hippolyzer 0.15.6 bans the message from UDP, raises an exception for each copy and never acks it, so
    /// that its circuit is lost; node-metaverse 0.8.16 listens to nothing else; and viewers translate it as any message.
    pub(super) fn send_teleport_failed(&mut self, key: SessionKey, why: &str) {
        self.counters.teleports_failed += 1;
        let Some(session) = self.sessions.get_mut(&key) else { return };
        let agent = session.agent;
        if let Some(binding) = session.main_binding_mut() {
            binding.queue.push("TeleportFailed", events::teleport_failed(agent, why));
        }
    }
}
