//! Messages between the hub and the shards, and from shards to worlds. Plain data over bounded queues, so that the simulator can carry
//! it on virtual time.

use crate::places::PlaceId;
use assets::{Asset, AssetKind, Landmark};
use glam::Vec3;
use grid::inventory::InventoryTask;
use ids::{AgentId, CircuitCode, Instant, RegionHandle, SessionId, Uuid, WorldId};
use link::{Appearance, CircuitKey, EntryRefusal, Event, LandEdit, ObjectCommand};
use std::sync::Arc;
use std::time::Duration;
use store::{StoredAppearance, StoredBake};
use wire::llsd::Llsd;
use wire::messages::{MessageNumber, RequestImageRequestImage, TransferRequestTransferInfo};

/// Names in one UUIDNameReply: 16 + 2 × (1 + 32) bytes each at most, within a datagram.
pub(crate) const NAMES_PER_REPLY: usize = 14;

/// Rows as datagrams hold them; one page without rows when there are none, which ends the client's wait.
pub(crate) fn pages<T>(rows: &[T], per_reply: usize) -> impl Iterator<Item = &[T]> {
    rows.is_empty().then_some(rows).into_iter().chain(rows.chunks(per_reply))
}

/// A place to stand, in the shared world of a region.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spot {
    /// The region.
    pub place: PlaceId,
    /// Metres from the region's corner.
    pub position: Vec3,
    /// Direction to face.
    pub look_at: Vec3,
}

/// Index of a shard on its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShardIndex(pub u16);

/// The right to open one circuit: (code, session, agent, local port) → place and world, checked once.
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
    /// Destination.
    pub place: PlaceId,
    /// World behind the place for this circuit.
    pub world: WorldId,
    /// Arrival position, metres from the region's corner.
    pub position: Vec3,
    /// Direction to face.
    pub look_at: Vec3,
    /// Appearance, of the account or as the client has sent it in another region.
    pub look: Option<Look>,
    /// Outfit as inventory items.
    pub wearables: Arc<[Wearable]>,
    /// The next sequence number of this (session, port) pair: a client remembers ids it has seen for a minute.
    pub first_sequence: u32,
    /// Void after this.
    pub expires_at: Instant,
}

/// Appearance of an avatar, and the textures that its client has baked for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// As all clients get it.
    pub appearance: Arc<Appearance>,
    /// By their faces.
    pub bakes: Arc<[StoredBake]>,
}

impl From<StoredAppearance> for Look {
    fn from(stored: StoredAppearance) -> Self {
        let StoredAppearance { height_m, texture_entry, visual_params, bakes } = stored;
        let appearance = Appearance { texture_entry, visual_params, cof_version: 0, height_m };
        Self { appearance: Arc::new(appearance), bakes: bakes.into() }
    }
}

impl From<&Look> for StoredAppearance {
    fn from(Look { appearance, bakes }: &Look) -> Self {
        let Appearance { texture_entry, visual_params, height_m, .. } = &**appearance;
        Self {
            height_m: *height_m,
            texture_entry: texture_entry.clone(),
            visual_params: visual_params.clone(),
            bakes: bakes.to_vec(),
        }
    }
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
    /// Goes to every shard: the kernel's choice of a shard for the client's address is unknown.
    Ticket(Arc<Ticket>),
    /// The ticket is void.
    Revoke(CircuitKey),
    /// Send a message (number and body, reliable) on a circuit.
    Send(CircuitKey, Arc<[u8]>),
    /// Send a message to all clients.
    SendAll(Arc<[u8]>),
    /// Send a message to all clients whose avatars are in a world.
    SendIn(WorldId, Arc<[u8]>),
    /// Move the avatar inside its world; TeleportLocal follows.
    Teleport {
        /// The circuit.
        circuit: CircuitKey,
        /// Metres from the region's corner.
        position: Vec3,
        /// Direction to face.
        look_at: Vec3,
    },
    /// Put another world behind the circuit: the avatar leaves the one where it is and comes into that of this place, which is the same
    /// on the grid.
    Switch {
        /// The circuit.
        circuit: CircuitKey,
        /// Destination: the same place.
        place: PlaceId,
        /// The world to show from now on.
        world: WorldId,
        /// Metres from the region's corner.
        position: Vec3,
        /// Direction to face.
        look_at: Vec3,
        /// The world behind the circuit refused the avatar: if it comes back into its last world, then to its last position there.
        returns: bool,
    },
    /// A message that came on an earlier circuit of the session, as if it had come on this one.
    HandedOn(CircuitKey, RawMessage),
    /// A change of objects that the client of a circuit has requested over HTTP.
    Object(CircuitKey, Box<ObjectCommand>),
    /// End a circuit.
    Close(CircuitKey, Ending),
    /// Changes of land that a client has asked for by a capability.
    Land(CircuitKey, Vec<LandEdit>),
    /// An asset that was read for a client; none if there is none.
    Asset(CircuitKey, Box<AssetRequest>, Option<Asset>),
    /// End of an upload: the asset is on the disk, or was refused.
    Uploaded {
        /// The circuit.
        circuit: CircuitKey,
        /// The asset.
        asset: Uuid,
        /// False if it was refused.
        is_stored: bool,
    },
    /// An item of the inventory has not come into a prim, or the object of an item not out of it.
    NotPut {
        /// The circuit.
        circuit: CircuitKey,
        /// Id of the prim.
        object: Uuid,
    },
    /// Events of a world.
    Events(WorldId, Arc<[Event]>),
}

/// Ways in which the server ends a circuit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The user gets the reason and is sent home: a second login, an operator's kick, a stop of the server.
    Kicked(Arc<str>),
    /// The avatar is in another region now.
    Moved,
    /// The session is gone; no message is sent.
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
        /// The circuit.
        circuit: CircuitKey,
        /// Its last position, if that was in a shared world.
        spot: Option<Spot>,
    },
    /// This world did not let it in.
    Refused(CircuitKey, WorldId, EntryRefusal),
    /// The circuit is gone, and with it the avatar.
    Closed {
        /// The circuit.
        circuit: CircuitKey,
        /// The reason.
        why: Closed,
        /// The account.
        agent: AgentId,
        /// Last position of the avatar, if it was in a shared world.
        spot: Option<Spot>,
        /// Sequence number that a later circuit of the same (session, port) begins with.
        next_sequence: u32,
    },
    /// The avatar wears something else.
    Appeared(CircuitKey, Look),
    /// The client wants something that a shard cannot give.
    Request(CircuitKey, Request),
}

/// Reasons for the end of a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Closed {
    /// The client logged out.
    LoggedOut,
    /// The client closed the circuit without a logout, as clients may on a change of regions.
    HungUp,
    /// Nothing was heard of it for too long.
    TimedOut,
    /// It left reliable messages unacked for too long.
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

/// Requests that only the hub can answer.
#[derive(Clone, Debug)]
pub enum Request {
    /// Teleport to a position of a region.
    TeleportTo {
        /// Region.
        handle: RegionHandle,
        /// Metres from its corner.
        position: Vec3,
        /// Direction to face.
        look_at: Vec3,
    },
    /// Teleport home.
    TeleportHome,
    /// Follow another user's invitation.
    TeleportLure(Uuid),
    /// Follow a landmark; none if its asset is missing, or is no landmark.
    TeleportLandmark(Option<Landmark>),
    /// Stay after all.
    TeleportCancel,
    /// Invite others to where one is.
    Lure {
        /// Invited users.
        targets: Vec<AgentId>,
        /// Text of the invitation.
        message: String,
        /// Position of the inviting avatar.
        position: Vec3,
    },
    /// Pass an instant message on.
    InstantMessage(Box<InstantMessage>),
    /// Names of accounts without an avatar in the client's world.
    Names(Vec<Uuid>),
    /// A question that the store answers.
    LookUp(StoreQuery),
    /// Change the user's inventory, or store an upload for it.
    Inventory(Box<InventoryTask>),
    /// Make this spot home; none when the avatar is in an instance, which may end.
    SetHome(Option<Spot>),
    /// A teleport was refused as one too many: the client waits for its end.
    TeleportRefused,
    /// A message on a circuit that the avatar has left: to be forwarded to its current one.
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
    /// Send users away from a region, by those who manage its estate.
    SendAway {
        /// The region's world.
        world: WorldId,
        /// The users, as far as they are there.
        agents: Vec<AgentId>,
        /// Home, or off the grid.
        goes_home: bool,
    },
    /// Restart of a region's world after a delay, by a manager of its estate.
    Restart {
        /// The region's world.
        world: WorldId,
        /// The time; none takes back what was ordered.
        delay: Option<Duration>,
    },
    /// Describe the parcel; the answer goes through the event queue.
    ParcelProperties {
        /// Echoed.
        sequence_id: i32,
    },
}

/// A question of a client that the store answers.
#[derive(Clone, Debug, PartialEq)]
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
    /// The same for the window of a user picker.
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
    /// Contents of a folder of either.
    Folder {
        /// Id of the folder.
        id: Uuid,
        /// True if its folders are requested.
        folders: bool,
        /// True if its items are requested.
        items: bool,
    },
    /// An asset that is not in memory, for a message of a client.
    Asset(AssetRequest),
}

/// A request for an asset over UDP, with what its answer repeats.
#[derive(Clone, Debug, PartialEq)]
pub enum AssetRequest {
    /// A transfer.
    Transfer {
        /// The asset.
        id: Uuid,
        /// Its kind, as requested.
        kind: AssetKind,
        /// As requested.
        transfer: TransferRequestTransferInfo,
    },
    /// A texture in parts.
    Image(RequestImageRequestImage),
    /// A landmark, for a teleport to its place.
    Landmark(Uuid),
}

impl AssetRequest {
    /// The asset and its kind.
    #[must_use]
    pub const fn asset(&self) -> (Uuid, AssetKind) {
        match self {
            Self::Transfer { id, kind, .. } => (*id, *kind),
            Self::Image(row) => (row.image, AssetKind::Texture),
            Self::Landmark(id) => (*id, AssetKind::Landmark),
        }
    }
}

/// A client's message as received: its number and body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawMessage {
    /// Number of the message.
    pub number: MessageNumber,
    /// Behind the number, not zero-coded.
    pub body: Box<[u8]>,
}

/// Dialog numbers of ImprovedInstantMessage.
pub(crate) mod dialog {
    pub(crate) const MESSAGE: u8 = 0;
    pub(crate) const GROUP_INVITATION: u8 = 3;
    pub(crate) const INVENTORY_OFFERED: u8 = 4;
    pub(crate) const INVENTORY_ACCEPTED: u8 = 5;
    pub(crate) const INVENTORY_DECLINED: u8 = 6;
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

    /// Noun for an invitation by StartLure.
    pub(crate) const INVITATION: &str = "invitation";

    /// Noun for the messages of a kind whose author waits for a reaction of the receiver; `None` for the others. An answer to an
    /// automatic response would be answered in turn.
    pub(crate) const fn awaits(dialog: u8) -> Option<&'static str> {
        match dialog {
            MESSAGE => Some("message"),
            LURE_REQUEST => Some("request for a teleport"),
            _ => None,
        }
    }

    /// True for messages about gifts, which change inventories.
    pub(crate) const fn is_of_gift(dialog: u8) -> bool {
        matches!(dialog, INVENTORY_OFFERED | INVENTORY_ACCEPTED | INVENTORY_DECLINED)
    }

    /// True if messages of this kind are passed on to the user that they name. Others are the server's to send, or belong to missing
    /// features.
    pub(crate) const fn is_passed_on(dialog: u8) -> bool {
        matches!(dialog, MESSAGE | AUTO_RESPONSE | LURE_DECLINED | LURE_REQUEST | TYPING_START | TYPING_STOP)
    }
}

/// An instant message from one agent to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstantMessage {
    /// The recipient.
    pub to: AgentId,
    /// The protocol's dialog number.
    pub dialog: u8,
    /// Id of the conversation.
    pub id: Uuid,
    /// Text as it came, with its NUL.
    pub message: Vec<u8>,
    /// Payload of some dialogs.
    pub bucket: Vec<u8>,
    /// Position of the sender, in thousandths of a metre so that it has equality.
    pub position_mm: [i32; 3],
}
