//! Clients: their logins and circuits, and the browsers of the page.

use crate::config::key::{KeyKind, section};
use gateway::shard::FilterMode;
use serde::{Deserialize, Serialize};

section! {
    /// Admission of logins, and limits of attempts.
    pub struct LoginSection in "login", repeated: false {
        /// True if the first login under a new name creates the account, with the password given.
        ///
        /// Convenient on loopback and for experiments. Any client can take any free name, so on other addresses it is refused unless
        /// `force_open_registration` is set too.
        open_registration: bool = false, "–", KeyKind::Flag;
        /// Allows `open_registration` on addresses other than loopback.
        ///
        /// Strangers then create accounts as they like, and each stays in the database.
        force_open_registration: bool = false, "–", KeyKind::Flag;
        /// Time for which a verified login lets its user in again without hashing the password; 0 is not at all.
        ///
        /// After an outage of the server or network a crowd comes back at once, and hashing admits some thirty per second. A former
        /// password, changed meanwhile, opens nothing.
        remember_min: u32 = 15, "min", KeyKind::whole(0, 1_440);
        /// True if the limits of attempts do not apply to logins from this machine.
        ///
        /// Load tests log in hundreds of accounts from one address. Turn it off behind a proxy on this machine, which makes all clients
        /// look local.
        loopback_exempt: bool = true, "–", KeyKind::Flag;
        /// Failed logins that one address may make in a minute before further ones are refused unread.
        ///
        /// Lower slows guessing down; a school or office behind one address shares the limit.
        address_failures_per_min: u32 = 30, "failures/min", KeyKind::whole(1, 100_000);
        /// Failed logins that one address may make against one account in a minute before further ones are refused unread. After three
        /// times as many from any addresses, an address without an earlier successful login to the account has one per minute.
        ///
        /// Lower slows guessing down, also from many addresses. The owner is not locked out: an address of an earlier successful login
        /// keeps its own count.
        account_failures_per_min: u32 = 10, "failures/min", KeyKind::whole(1, 100_000);
        /// Text of clients at login.
        ///
        /// Keep it to one line: some clients display no more.
        welcome: String = "Welcome to Throng.".into(), "–", KeyKind::Text;
    }
}

/// Filter of agent updates that repeat themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentUpdateFilter {
    /// Everything reaches the world.
    Off,
    /// Byte-equal repetitions are dropped.
    Equality,
    /// Updates without a visible change are dropped.
    #[default]
    Significance,
}

impl From<AgentUpdateFilter> for FilterMode {
    fn from(filter: AgentUpdateFilter) -> Self {
        match filter {
            AgentUpdateFilter::Off => Self::Off,
            AgentUpdateFilter::Equality => Self::Equality,
            AgentUpdateFilter::Significance => Self::Significance,
        }
    }
}

impl From<FilterMode> for AgentUpdateFilter {
    fn from(mode: FilterMode) -> Self {
        match mode {
            FilterMode::Off => Self::Off,
            FilterMode::Equality => Self::Equality,
            FilterMode::Significance => Self::Significance,
        }
    }
}

section! {
    /// Clients' circuits: how many, how fast, and when they count as lost.
    pub struct Gateway in "gateway", repeated: false {
        /// Threads that own circuits; 0 takes half the cores, at least one.
        ///
        /// The fan-out to clients scales with them. More than there are cores only adds switching.
        shards: u16 = 0, "threads", KeyKind::whole(0, 256);
        /// Sessions that may exist at once; beyond that logins are refused with a message.
        ///
        /// With neighbours that move, each session needs the bandwidth of `client_bytes_per_s`.
        max_sessions: u32 = 10_000, "sessions", KeyKind::whole(1, 1_000_000);
        /// Memory that the process may have in RAM; 0 is the limit of its control group, if there is one.
        ///
        /// From 90 % of it on logins are refused, so that the kernel never kills the server with its visitors. Instances without
        /// visitors are suspended for requested ones, which are refused if that is not enough. Caches are given back before that. Can
        /// be tuned while the server runs.
        memory_max_mib: u32 = 0, "MiB", KeyKind::whole(0, 16_777_216);
        /// Bytes that one client receives each second, at most; less if the client asks for less (AgentThrottle), or if much of it gets lost
        /// or queued on the way.
        ///
        /// More keeps distant avatars fresher. 5,000 clients at the default need 2.6 Gbit/s.
        client_bytes_per_s: u32 = 65_536, "bytes/s", KeyKind::whole(8_192, 16_777_216);
        /// Maximum bandwidth to all clients together, with the headers of IP and UDP; 0 is without limit.
        ///
        /// For a network that carries less than `client_bytes_per_s` times the clients. Above it all clients get an equal share, and
        /// unused parts of a share go to the others: distant avatars become less fresh for all, and nothing is lost in a full queue.
        /// Each of the `shards` has an equal part and divides it among its own clients, at least 1,000 bytes/s each. Only circuits
        /// count, not HTTP.
        egress_mbit_per_s: u32 = 0, "Mbit/s", KeyKind::whole(0, 400_000);
        /// Avatars that a client is shown, the nearest ones; 0 is all of them.
        ///
        /// Viewers can hardly draw more than the default, and bandwidth for more is taken from the nearest. Others are dots on
        /// the map at most.
        visible_max: u32 = 200, "avatars", KeyKind::whole(0, 100_000);
        /// Rate of movement updates to a client.
        ///
        /// Higher is smoother for the nearest avatars and costs packets; the byte limit stays the same, so fewer avatars fit into each
        /// send.
        send_hz: u32 = 10, "1/s", KeyKind::whole(1, 45);
        /// True if movements that the client extrapolates correctly, along the velocity that it has, are left out.
        ///
        /// For experiments: without it every moving avatar is sent to all clients that display it, within their byte limit.
        dead_reckoning: bool = true, "–", KeyKind::Flag;
        /// Movements in one datagram at most.
        ///
        /// For experiments. Fewer cost 18 bytes of header each and a packet more.
        terse_per_datagram: u32 = 18, "blocks", KeyKind::whole(1, 18);
        /// Avatars that are shown for the first time in one datagram at most; four or five fit.
        ///
        /// As for `terse_per_datagram`.
        full_per_datagram: u32 = 8, "blocks", KeyKind::whole(1, 8);
        /// Objects in one datagram at most. Four or five static ones fit, some nine prims, and eighty that a viewer keeps in its cache.
        ///
        /// As for `terse_per_datagram`.
        objects_per_datagram: u32 = 80, "blocks", KeyKind::whole(1, 80);
        /// Part of a client's bytes that objects have while some are due or move, at least. While land is due, too, avatars have 60 % at most, and
        /// land and objects half of the others each.
        ///
        /// More fills a scene sooner and makes movements of avatars less fresh meanwhile.
        object_share: u32 = 25, "%", KeyKind::whole(5, 90);
        /// True if objects for a viewer's cache are sent without compression of zeros.
        ///
        /// For experiments: they take half as many bytes again.
        plain_cache: bool = false, "–", KeyKind::Flag;
        /// Bytes of such a datagram at most.
        ///
        /// As for `terse_per_datagram`. Every viewer takes 1,200, and so does every network.
        datagram_bytes: u32 = 1_200, "bytes", KeyKind::whole(400, 1_200);
        /// True if buffers of one turn serve the next one.
        ///
        /// For experiments: without it every turn allocates its memory, which costs only time.
        reuse_buffers: bool = true, "–", KeyKind::Flag;
        /// Agent updates to drop before they reach a world: none, byte-equal ones, or all without visible effect.
        ///
        /// Clients send about ten per second even when their user is idle. `off` and `equality` are for experiments and cost the worlds
        /// time.
        agent_update_filter: AgentUpdateFilter = AgentUpdateFilter::Significance, "–", KeyKind::Choice(&["off", "equality", "significance"]);
        /// Time limit between a login and the client's first datagram.
        ///
        /// Slow clients load for a while between the two; each waiting login holds a place of `max_sessions`.
        ticket_s: u32 = 60, "s", KeyKind::whole(5, 600);
        /// Silence after which a client's circuit counts as lost. Time in which the server itself stood still does not
        /// count.
        ///
        /// Shorter frees places and avatars of crashed clients sooner; longer forgives bad networks.
        idle_timeout_s: u32 = 60, "s", KeyKind::whole(10, 3600);
        /// Period of pings to each client.
        ///
        /// Pings measure the round trip and detect a lost connection. Each costs a datagram both ways.
        ping_s: u32 = 5, "s", KeyKind::whole(1, 60);
        /// Unread datagrams that the kernel keeps per UDP socket.
        ///
        /// A larger buffer survives longer pauses of a shard. The kernel grants at most `net.core.rmem_max` unless the
        /// server has CAP_NET_ADMIN; `throng_udp_receive_drops_total` says whether it was enough.
        receive_buffer_bytes: u32 = 8 << 20, "bytes", KeyKind::whole(65_536, 1 << 30);
        /// Unsent datagrams that the kernel keeps per UDP socket.
        ///
        /// A larger buffer takes bursts of a crowd while the network card is behind; too large delays fresh state. As
        /// above, with `net.core.wmem_max`.
        send_buffer_bytes: u32 = 4 << 20, "bytes", KeyKind::whole(65_536, 1 << 30);
    }
}

/// Visibility of public chat on the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PublicChatAudience {
    /// Only to browsers on this machine.
    #[default]
    Loopback,
    /// To every browser.
    Everyone,
    /// To none.
    Nobody,
}

section! {
    /// The page with the live map.
    pub struct Page in "page", repeated: false {
        /// Visibility of public chat on the page: to browsers on this machine, to everyone or to nobody.
        ///
        /// Visitors of the world cannot see the readers of the page, hence the default.
        public_chat: PublicChatAudience = PublicChatAudience::Loopback, "–", KeyKind::Choice(&["loopback", "everyone", "nobody"]);
        /// Browsers that may watch at once; further ones see the page without the live part.
        ///
        /// Each receives 10 bytes per avatar five times a second.
        watchers_max: u32 = 100, "browsers", KeyKind::whole(0, 10_000);
        /// Maximum number of these from one address.
        ///
        /// Fewer and one address takes less from the others; visitors behind one router share it. A browser that is 64 messages behind
        /// is dropped.
        watchers_per_address_max: u32 = 20, "browsers", KeyKind::whole(0, 10_000);
    }
}
