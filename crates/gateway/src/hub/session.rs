//! One login and the circuits that belong to it.

use crate::hub::dressing::SessionLook;
use crate::hub::event_queue::EventQueue;
use crate::hub::gifts::SessionGifts;
use crate::hub::messages::Delivery;
use crate::hub::ports::SessionPorts;
use crate::hub::ticket_map::TicketMap;
use crate::mail::{ShardIndex, Spot, Ticket, Wearable};
use crate::places::Place;
use grid::names::Name;
use ids::{AgentId, CircuitCode, Instant, SessionId, SessionKey, Uuid, WorldId};
use link::CircuitKey;
use std::net::Ipv4Addr;
use std::sync::Arc;

/// A login. It outlives its circuits: a teleport gives it a new one, a restarted world takes none away.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) key: SessionKey,
    pub(crate) agent: AgentId,
    pub(crate) session_id: SessionId,
    pub(crate) secure_session_id: Uuid,
    pub(crate) code: CircuitCode,
    pub(crate) first_name: Arc<str>,
    pub(crate) last_name: Arc<str>,
    /// Address of this node as the client knows it.
    pub(crate) server_ip: Ipv4Addr,
    pub(crate) wearables: Arc<[Wearable]>,
    pub(crate) look: SessionLook,
    pub(crate) home: Option<Spot>,
    /// Its position in a shared world before it went into an instance: the exit leads there.
    pub(crate) return_to: Option<Spot>,
    /// The circuit by which it left a shared world for an instance: only reports on this circuit update that position.
    pub(crate) left_by: Option<CircuitKey>,
    /// An order for it is waiting elsewhere ([`link::TravelOrder`]).
    pub(crate) is_ordered: bool,
    pub(crate) ports: SessionPorts,
    /// Circuits by ticket number: expected, open and closing ones.
    pub(crate) bindings: TicketMap<Binding>,
    /// The circuit behind which the avatar is.
    pub(crate) root: Option<u32>,
    /// The circuit that the avatar is on its way to: at login, and during a teleport.
    pub(crate) pending: Option<u32>,
    pub(crate) next_ticket: u32,
    /// Messages to the user that wait for the avatar's arrival, oldest first; at most [`super::delivery::UNDELIVERED_MAX`].
    pub(crate) undelivered: Vec<Delivery>,
    /// Offers of gifts that the user has been shown, or is yet to be shown.
    pub(crate) gifts: SessionGifts,
}

/// One circuit of a session, from its ticket to its end.
#[derive(Debug)]
pub(crate) struct Binding {
    pub(crate) ticket: Arc<Ticket>,
    /// Its current place: the world may be another one than the ticket's.
    pub(crate) place: Arc<Place>,
    /// The switch to another world behind the circuit, while it is under way.
    pub(crate) switching: Option<Switching>,
    /// The avatar is in no world: the one behind the circuit did not let it in, or ends. Then it is on its way elsewhere, or the session
    /// is about to end.
    pub(crate) is_orphan: bool,
    /// Worlds that it was sent to since then.
    pub(crate) tried: Vec<WorldId>,
    /// Path of the seed capability; it authenticates the client.
    pub(crate) secret: Uuid,
    pub(crate) queue: EventQueue,
    /// The shard that the client's datagrams arrive at, once it has opened the circuit.
    pub(crate) shard: Option<ShardIndex>,
    /// Time limit of the avatar's arrival.
    pub(crate) arrive_by: Instant,
}

/// A switch to another world behind a circuit, in which the avatar has not appeared yet.
#[derive(Debug)]
pub(crate) struct Switching {
    /// Time limit of the switch.
    pub(crate) until: Instant,
    /// The former place, if the avatar can go back there.
    pub(crate) from: Option<Arc<Place>>,
}

impl Session {
    /// The circuit that messages to the user go to: where the avatar is, or will be first.
    pub(crate) fn main_binding(&self) -> Option<&Binding> {
        self.bindings.get(&self.root.or(self.pending)?)
    }

    /// The circuit behind which the avatar is.
    pub(crate) fn root_binding(&self) -> Option<&Binding> {
        self.bindings.get(&self.root?)
    }

    pub(crate) fn main_binding_mut(&mut self) -> Option<&mut Binding> {
        self.bindings.get_mut(&self.root.or(self.pending)?)
    }

    pub(crate) fn circuit(&self, ticket: u32) -> CircuitKey {
        CircuitKey { session: self.key, ticket }
    }

    /// Worlds that the session counts for: the present one of the avatar, and its destination.
    pub(crate) fn counts_for(&self) -> impl Iterator<Item = WorldId> {
        let of = |ticket: Option<u32>| Some(self.bindings.get(&ticket?)?.place.world());
        let (root, pending) = (of(self.root), of(self.pending));
        root.into_iter().chain(pending.filter(|world| Some(*world) != root))
    }

    /// True if the avatar is in an instance.
    pub(crate) fn is_visiting(&self) -> bool {
        self.main_binding().is_some_and(|binding| !binding.place.scene.is_shared)
    }

    /// "First Last".
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.first_name, self.last_name)
    }

    /// True if this is the session of this account. Names are kept as [`Name`] makes them, and the store ignores the case of ASCII
    /// letters.
    pub(crate) fn is_named(&self, name: &Name) -> bool {
        name.first.eq_ignore_ascii_case(&self.first_name) && name.last.eq_ignore_ascii_case(&self.last_name)
    }
}
