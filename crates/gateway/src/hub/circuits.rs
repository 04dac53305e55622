//! Circuits of sessions, from the ticket to the end, and the end of sessions with their last circuit.

use super::event_queue::EventQueue;
use super::session::{Binding, Session};
use super::{Address, EndedQueue, FAREWELLS_MAX, Hub, Record};
use crate::mail::{Closed, Ending, ShardIndex, Spot, Ticket, ToShard};
use crate::places::Place;
use glam::Vec3;
use ids::{Instant, SessionKey, WorldId};
use link::CircuitKey;
use std::sync::Arc;

/// Sequence number of an unsolicited ParcelProperties, sent for the avatar's position.
pub(crate) const UNASKED_PARCEL: i32 = 0;

impl Hub {
    /// Issues a ticket and announces it to every shard. Returns the UDP port and the seed URL, or `None` when every
    /// port of the session is in use or resting.
    pub(super) fn issue_ticket(
        &mut self,
        now: Instant,
        key: SessionKey,
        place: &Arc<Place>,
        position: Vec3,
        look_at: Vec3,
    ) -> Option<(u16, String)> {
        let secret = self.random_id();
        let session = self.sessions.get_mut(&key)?;
        assert!(session.pending.is_none(), "{key:?} is sent to a second place while it is on its way to one");
        let (port, first_sequence) = session.ports.take_port(now, place.id)?;
        let number = session.next_ticket;
        session.next_ticket += 1;
        let expires_at = now + self.config.arrival_timeout;
        let ticket = Arc::new(Ticket {
            circuit: CircuitKey { session: key, ticket: number },
            code: session.code,
            session_id: session.session_id,
            agent: session.agent,
            secure_session_id: session.secure_session_id,
            first_name: Arc::clone(&session.first_name),
            last_name: Arc::clone(&session.last_name),
            port,
            place: place.id,
            world: place.world(),
            position: place.ground().clamp(position),
            look_at,
            look: session.look.look.clone(),
            wearables: Arc::clone(&session.wearables),
            first_sequence,
            expires_at,
        });
        session.bindings.insert(
            number,
            Binding {
                ticket: Arc::clone(&ticket),
                place: Arc::clone(place),
                switching: None,
                is_orphan: false,
                tried: Vec::new(),
                secret,
                queue: EventQueue::new(),
                shard: None,
                arrive_by: expires_at,
            },
        );
        session.pending = Some(number);
        let seed_url = format!("http://{}:{}/cap/{secret}", session.server_ip, self.config.http_port);
        self.by_secret.insert(secret, ticket.circuit);
        self.output.push_back((Address::All, ToShard::Ticket(ticket)));
        Some((self.config.udp_ports[port as usize], seed_url))
    }

    pub(super) fn on_opened(&mut self, from: ShardIndex, circuit: CircuitKey) {
        match self.binding_mut(circuit) {
            Some(binding) => {
                binding.shard = Some(from);
                // Every other shard holds the ticket, too, and a ticket opens one circuit.
                self.output.push_back((Address::All, ToShard::Revoke(circuit)));
            }
            // The session ended while the client's first datagram was under way.
            None => self.output.push_back((Address::One(from), ToShard::Close(circuit, Ending::Silent))),
        }
    }

    pub(super) fn on_arrived(&mut self, circuit: CircuitKey, world: WorldId) {
        // It may have been sent elsewhere while it arrived.
        if let Some(binding) = self.binding_mut(circuit).filter(|binding| binding.place.world() == world) {
            binding.switching = None;
            binding.is_orphan = false;
            binding.tried = Vec::new();
            // Clients show the parcel's name from now on, and do not ask for it. In a world that is built on the shard sends it, which knows
            // where the avatar is.
            let has_land = binding.place.scene.feed.current().land().is_some();
            if !has_land {
                self.answer_parcel(circuit, UNASKED_PARCEL);
            }
            self.note_arrival(circuit.session);
        }
        let Some(session) = self.sessions.get_mut(&circuit.session) else { return };
        if session.pending != Some(circuit.ticket) {
            self.dress(circuit.session);
            return;
        }
        session.pending = None;
        if let Some(old) = session.root.replace(circuit.ticket) {
            let old = session.circuit(old);
            self.close_circuit(old, Ending::Moved);
        }
        self.remember_place(circuit);
        self.count_visitors();
        self.deliver_kept(circuit.session);
        self.announce_gifts(circuit.session);
        self.dress(circuit.session);
    }

    pub(super) fn on_closed(&mut self, now: Instant, circuit: CircuitKey, why: Closed, next_sequence: u32) {
        let Some(session) = self.sessions.get_mut(&circuit.session) else { return };
        let was_visiting = session.is_visiting();
        let Some(binding) = session.bindings.remove(&circuit.ticket) else { return };
        session.ports.release(now, binding.ticket.port, next_sequence);
        let was_root = session.root == Some(circuit.ticket);
        let was_pending = session.pending == Some(circuit.ticket);
        if was_root {
            session.root = None;
        }
        if was_pending {
            session.pending = None;
        }
        let on_its_way = session.pending.is_some();
        self.revoke_capabilities(now, &binding);
        // A client that teleports may close its old circuit before it opens the new one.
        if was_root && (why == Closed::LoggedOut || !on_its_way) {
            self.end_session(now, circuit.session, "The session has ended.");
        } else if was_pending {
            let root = self.sessions.get(&circuit.session).and_then(|session| session.root);
            match root {
                Some(root) => {
                    self.send_teleport_failed(circuit.session, "The region lost contact with you.");
                    self.reroute_if_displaced(now, CircuitKey { ticket: root, ..circuit });
                }
                None => self.end_session(now, circuit.session, "The session has ended."),
            }
        }
        if was_visiting {
            self.count_visitors();
        }
    }

    /// An avatar did not arrive: a login ends, a teleport fails.
    pub(super) fn give_up(&mut self, now: Instant, circuit: CircuitKey, why: &str) {
        let Some(session) = self.sessions.get(&circuit.session) else { return };
        let root = session.root.and_then(|root| session.bindings.get(&root));
        // A client that failed to reach one fallback is not expected to reach another.
        if root.is_some_and(|root| !root.is_orphan) {
            self.fail_teleport(now, circuit, why);
        } else {
            self.end_session(now, circuit.session, why);
        }
    }

    /// Ends a session with all its state. Circuits close by themselves afterwards; their reports are ignored.
    pub(super) fn end_session(&mut self, now: Instant, key: SessionKey, why: &str) {
        let is_visitor = self.sessions.get(&key).is_some_and(Session::is_visiting);
        self.remove_session(now, key, why);
        if is_visitor {
            self.count_visitors();
        }
    }

    pub(super) fn remove_session(&mut self, now: Instant, key: SessionKey, why: &str) {
        self.report_shown(key);
        self.report_end(key);
        let Some(session) = self.sessions.remove(&key) else { return };
        if self.by_agent.get(&session.agent) == Some(&key) {
            self.by_agent.remove(&session.agent);
        }
        for (number, binding) in session.bindings.iter() {
            let circuit = session.circuit(number);
            let ending = if session.root == Some(number) || session.root.is_none() {
                Ending::Kicked(why.into())
            } else {
                Ending::Silent
            };
            self.output.push_back(match binding.shard {
                Some(shard) => (Address::One(shard), ToShard::Close(circuit, ending)),
                None => (Address::All, ToShard::Revoke(circuit)),
            });
            self.revoke_capabilities(now, binding);
        }
        self.return_to_senders(session.undelivered);
    }

    /// Ends one circuit of a session; the shard reports when it is closed.
    pub(super) fn close_circuit(&mut self, circuit: CircuitKey, ending: Ending) {
        let Some(binding) = self.binding_mut(circuit) else { return };
        let message = match binding.shard {
            Some(shard) => (Address::One(shard), ToShard::Close(circuit, ending)),
            None => (Address::All, ToShard::Revoke(circuit)),
        };
        self.output.push_back(message);
    }

    /// Takes a binding's capabilities away.
    pub(super) fn revoke_capabilities(&mut self, now: Instant, binding: &Binding) {
        self.by_secret.remove(&binding.secret);
        self.counters.events_dropped += binding.queue.dropped;
        if self.farewells.len() == FAREWELLS_MAX {
            self.farewells.pop_front();
        }
        let newest = binding.queue.waiting_poll();
        self.farewells.push_back(EndedQueue { at: now, secret: binding.secret, newest });
    }

    /// Stores where a user arrived, so that a crash forgets no more than the walk since then.
    pub(super) fn remember_place(&mut self, circuit: CircuitKey) {
        let Some(session) = self.sessions.get(&circuit.session) else { return };
        let Some(binding) = session.bindings.get(&circuit.ticket) else { return };
        let ticket = &binding.ticket;
        if !binding.place.scene.is_shared {
            return;
        }
        let spot = Spot { place: binding.place.id, position: ticket.position, look_at: ticket.look_at };
        self.records.push_back(Record::LastLocation(session.agent, spot));
    }
}
