//! What the hub and the shards tell each other, and what shards tell worlds. Plain data over bounded queues, so
//! that the simulator can carry it on virtual time.

use crate::places::{Place, PlaceId};
use glam::Vec3;
use ids::{AgentId, CircuitCode, Instant, RegionHandle, SessionId, SessionKey, Uuid, WorldId};
use link::{Appearance, Event, Refusal};
use std::sync::Arc;
use wire::llsd::Llsd;
use wire::messages::MessageNumber;

/// Names in one UUIDNameReply: 16 + 2 × (1 + 32) bytes each at most, within a datagram.
pub(crate) const NAMES_PER_REPLY: usize = 14;

/// A place to stand, in the shared world of a region.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spot {
    /// Which region.
    pub place: PlaceId,
    /// Metres from the region's corner.
    pub position: Vec3,
    /// Where to face.
    pub look_at: Vec3,
}

/// Which shard of the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShardIndex(pub u16);

/// One circuit of a session: tickets of a session are numbered, and so are the circuits they open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CircuitKey {
    /// Whose.
    pub session: SessionKey,
    /// Rises with every ticket of the session. Commands to worlds are ordered by it, so that a circuit's last
    /// command always comes before its successor's first.
    pub ticket: u32,
}

/// The right to open one circuit: (code, session, agent, local port) → world, checked once (DESIGN §2).
#[derive(Clone, Debug)]
pub struct Ticket {
    /// The circuit it opens.
    pub circuit: CircuitKey,
    /// Shown in UseCircuitCode.
    pub code: CircuitCode,
    /// Shown in UseCircuitCode.
    pub session_id: SessionId,
    /// Shown in UseCircuitCode.
    pub agent: AgentId,
    /// Known to the client only; the ids of assets that it uploads are made from it.
    pub secure_session_id: Uuid,
    /// First name.
    pub first_name: Arc<str>,
    /// Last name.
    pub last_name: Arc<str>,
    /// Index into the pool of UDP ports.
    pub port: u8,
    /// Where it leads.
    pub place: Arc<Place>,
    /// Where the avatar arrives, metres from the region's corner.
    pub position: Vec3,
    /// Where it faces.
    pub look_at: Vec3,
    /// What it wears, when it comes from another region.
    pub appearance: Option<Arc<Appearance>>,
    /// What it wears, as inventory items.
    pub wearables: Arc<[Wearable]>,
    /// The next sequence number of this (session, port) pair: a client remembers ids it has seen for a minute.
    pub first_sequence: u32,
    /// Void after this.
    pub expires_at: Instant,
}

/// A row of AgentWearablesUpdate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wearable {
    /// Inventory item.
    pub item: Uuid,
    /// Asset.
    pub asset: Uuid,
    /// 0 shape, 1 skin, 2 hair, 3 eyes …
    pub kind: u8,
}

/// Hub → shard.
#[derive(Clone, Debug)]
pub enum ToShard {
    /// Goes to every shard: nobody knows which one the kernel will choose for the client's address.
    Ticket(Arc<Ticket>),
    /// The ticket is void.
    Revoke(CircuitKey),
    /// Send a message (number and body, reliable) on a circuit.
    Send(CircuitKey, Arc<[u8]>),
    /// Send a message to everybody.
    SendAll(Arc<[u8]>),
    /// Move the avatar inside its world; TeleportLocal follows.
    Teleport {
        /// Whose circuit.
        circuit: CircuitKey,
        /// Metres from the region's corner.
        position: Vec3,
        /// Where to face.
        look_at: Vec3,
    },
    /// Put another world behind the circuit: the avatar leaves the one where it is and comes into that of this place, which is the same
    /// on the grid.
    Switch {
        /// Whose circuit.
        circuit: CircuitKey,
        /// With the world to show from now on.
        place: Arc<Place>,
        /// Metres from the region's corner.
        position: Vec3,
        /// Where to face.
        look_at: Vec3,
        /// The avatar did not get into the world that it was put before: if it comes back into the one that it stood in last, then to
        /// where it stood.
        returns: bool,
    },
    /// A message that came on an earlier circuit of the session, as if it had come on this one.
    HandedOn(CircuitKey, RawMessage),
    /// End a circuit.
    Close(CircuitKey, Ending),
    /// What happened in a world.
    Events(WorldId, Arc<[Event]>),
}

/// How a circuit ends when the server ends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The user is told why and sent home: a second login, an operator's kick, a server that stops.
    Kicked(Arc<str>),
    /// The avatar is in another region now.
    Moved,
    /// The session is gone; nobody is there to be told.
    Silent,
}

/// Shard → hub.
#[derive(Clone, Debug)]
pub enum FromShard {
    /// A client showed its ticket.
    Opened(CircuitKey),
    /// Its avatar is in this world; another one than before, when the circuit was switched.
    Arrived(CircuitKey, WorldId),
    /// Its avatar has left a world for another one behind the same circuit.
    Left {
        /// Which.
        circuit: CircuitKey,
        /// Where it was, if that was in a shared world.
        spot: Option<Spot>,
    },
    /// This world did not let it in.
    Refused(CircuitKey, WorldId, Refusal),
    /// The circuit is gone, and with it the avatar.
    Closed {
        /// Which.
        circuit: CircuitKey,
        /// Why.
        why: Closed,
        /// Whose.
        agent: AgentId,
        /// Where the avatar was, when it was in a shared world.
        spot: Option<Spot>,
        /// Sequence number that a later circuit of the same (session, port) begins with.
        next_sequence: u32,
    },
    /// The avatar wears something else.
    Appeared(CircuitKey, Arc<Appearance>),
    /// The client wants something that a shard cannot give.
    Request(CircuitKey, Request),
}

/// Why a circuit is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Closed {
    /// The client logged out.
    LoggedOut,
    /// The client closed the circuit without a logout, as one that changes regions may.
    HungUp,
    /// Nothing was heard of it for too long.
    TimedOut,
    /// It did not take what was sent to it.
    Unresponsive,
    /// The hub asked for it.
    Asked,
}

impl Closed {
    /// Metric label.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::LoggedOut => "logged_out",
            Self::HungUp => "hung_up",
            Self::TimedOut => "timed_out",
            Self::Unresponsive => "unresponsive",
            Self::Asked => "asked",
        }
    }
}

/// What only the hub can answer.
#[derive(Clone, Debug)]
pub enum Request {
    /// Teleport to a position of a region.
    TeleportTo {
        /// Region.
        handle: RegionHandle,
        /// Metres from its corner.
        position: Vec3,
        /// Where to face.
        look_at: Vec3,
    },
    /// Teleport home.
    TeleportHome,
    /// Follow somebody's invitation.
    TeleportLure(Uuid),
    /// Stay after all.
    TeleportCancel,
    /// Invite others to where one is.
    Lure {
        /// Whom.
        targets: Vec<AgentId>,
        /// What to say.
        message: String,
        /// Where the inviting avatar stands.
        position: Vec3,
    },
    /// Pass an instant message on.
    InstantMessage(Box<InstantMessage>),
    /// Who are these? They do not stand in the client's world.
    Names(Vec<Uuid>),
    /// A question that the store answers.
    LookUp(StoreQuery),
    /// Make this spot home; none when the avatar is in an instance, which may end.
    SetHome(Option<Spot>),
    /// A teleport was refused as one too many: the client waits for its end.
    TeleportRefused,
    /// A message that came on a circuit which the avatar has left: for the one that it is behind now.
    HandOn(RawMessage),
    /// The avatar has walked into a portal.
    Portal {
        /// The world that it was in.
        world: WorldId,
        /// The portal's number among that world's.
        number: u8,
    },
    /// Put an event into the queue of the circuit: an answer that clients do not take over UDP.
    Event {
        /// As clients know it.
        name: &'static str,
        /// Its content.
        body: Llsd,
    },
    /// Describe the parcel; the answer goes through the event queue.
    ParcelProperties {
        /// Echoed.
        sequence_id: i32,
    },
}

/// A question of a client that the store answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreQuery {
    /// Names of accounts that are not logged in, at most `NAMES_PER_REPLY`.
    Names(Vec<AgentId>),
    /// Accounts by the beginnings of their names, for the search window.
    People {
        /// Echoed.
        query_id: Uuid,
        /// As typed.
        text: String,
        /// Accounts to leave out, those of earlier pages.
        skip: u32,
    },
    /// Likewise for the window in which a user is picked.
    Picker {
        /// Echoed.
        query_id: Uuid,
        /// As typed.
        text: String,
    },
    /// The profile of an account.
    Profile(AgentId),
    /// Items of the user's own inventory, or of the library.
    Items(Vec<Uuid>),
    /// What a folder of either holds.
    Folder {
        /// Which.
        id: Uuid,
        /// Whether its folders are wanted.
        folders: bool,
        /// Whether its items are.
        items: bool,
    },
}

/// A client's message as it came: its number, and what follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawMessage {
    /// Which message it is.
    pub number: MessageNumber,
    /// Behind the number, not zero-coded.
    pub body: Box<[u8]>,
}

/// Dialog numbers of ImprovedInstantMessage.
pub(crate) mod dialog {
    pub(crate) const MESSAGE: u8 = 0;
    pub(crate) const GROUP_INVITATION: u8 = 3;
    pub(crate) const INVENTORY_OFFERED: u8 = 4;
    pub(crate) const SESSION_GROUP_START: u8 = 15;
    pub(crate) const SESSION_CONFERENCE_START: u8 = 16;
    pub(crate) const SESSION_SEND: u8 = 17;
    pub(crate) const AUTO_RESPONSE: u8 = 20;
    pub(crate) const LURE: u8 = 22;
    pub(crate) const LURE_DECLINED: u8 = 24;
    pub(crate) const LURE_REQUEST: u8 = 26;
    pub(crate) const GROUP_NOTICE: u8 = 32;
    pub(crate) const FRIENDSHIP_OFFERED: u8 = 38;
    pub(crate) const TYPING_START: u8 = 41;
    pub(crate) const TYPING_STOP: u8 = 42;

    /// Whether a message of this kind is passed on to the user that it names. Others are the server's to send, or belong to what does
    /// not exist.
    pub(crate) const fn is_passed_on(dialog: u8) -> bool {
        matches!(dialog, MESSAGE | AUTO_RESPONSE | LURE_DECLINED | LURE_REQUEST | TYPING_START | TYPING_STOP)
    }
}

/// An instant message from one agent to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstantMessage {
    /// To whom.
    pub to: AgentId,
    /// The protocol's dialog number (PROTOCOL §8f).
    pub dialog: u8,
    /// Id of the conversation.
    pub id: Uuid,
    /// Text as it came, with its NUL.
    pub message: Vec<u8>,
    /// Payload of some dialogs.
    pub bucket: Vec<u8>,
    /// Where the sender stands, in thousandths of a metre for equality's sake.
    pub position_mm: [i32; 3],
}
