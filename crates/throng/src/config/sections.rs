//! Every key of the configuration. The doc comments are the operator's documentation (`throng config docs`): the first paragraph states
//! the key's effect, the second the trade-off of a change.

use super::key::{KeyKind, section};
use super::{PublicAddress, StoreAddress};
use gateway::hub::PORTS_MAX;
use gateway::shard::FilterMode;
use ids::WorldId;
use link::{SHARED_WORLDS_MAX, WORN_MAX};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::path::PathBuf;
use std::time::Duration;
use telemetry::captures::{CaptureLimits, Trigger};

/// Loopback with this port.
const fn local(port: u16) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)
}

section! {
    /// The process: its name, its data directory and its addresses.
    pub struct ServerSection in "server", repeated: false {
        /// The grid's name, shown by clients and on the page.
        ///
        /// Viewers file the grid and the logins they remember under it, so choose it before people come.
        name: String = "Throng".into(), "–", KeyKind::Name;
        /// Directory of the database, the admin token and `run.json`. Created when missing.
        ///
        /// Put it on a local disk that keeps acknowledged writes; the server waits for it at every account change.
        data: PathBuf = "data".into(), "path", KeyKind::Line;
        /// Address of HTTP: login, capabilities and the page. Port 0 picks a free one.
        ///
        /// Loopback admits this machine only. `0.0.0.0:9000` admits every machine that can reach it, without encryption: clients of
        /// this protocol log in over plain HTTP.
        http: SocketAddr = SocketAddr::V4(local(9000)), "address", KeyKind::Address;
        /// The first of the consecutive UDP ports of `udp_ports`. Port 0 picks free ones.
        ///
        /// As for `http`. A firewall has to let all the ports through.
        udp: SocketAddrV4 = local(9000), "address", KeyKind::AddressV4;
        /// Number of UDP ports.
        ///
        /// Clients distinguish regions by port, and after a teleport a port rests for 60 s before it may stand for another region to
        /// the same client. More ports allow more teleports per minute; each costs a socket per shard.
        udp_ports: u16 = 4, "ports", KeyKind::whole(1, PORTS_MAX as i64);
        /// Address of metrics, health checks and the operator's commands.
        ///
        /// Metrics contain the number of visitors, and commands need the token in the data directory; even so keep it on loopback or in
        /// a private network.
        admin: SocketAddr = SocketAddr::V4(local(9009)), "address", KeyKind::Address;
        /// The IPv4 address under which clients reach this server from outside, when it is behind NAT; with a port if the
        /// router maps HTTP to another one. Empty: the addresses that clients asked for.
        ///
        /// A wrong address lets people log in and then leaves them waiting for a region that never answers.
        advertise: PublicAddress = PublicAddress::default(), "address", KeyKind::PublicAddress;
        /// Names under which browsers reach the page and the operator's address, in front of a proxy or by DNS. Addresses, `localhost` and names
        /// without a dot need not be listed.
        ///
        /// Under any other name the page's live part and the operator's address answer 421: a stranger's page could otherwise point a name of its own
        /// at this machine and read along.
        hostnames: Vec<String> = Vec::new(), "names", KeyKind::Hostnames;
        /// Addresses and networks of proxies in front of the HTTP address. A client's address is then the rightmost in the header of
        /// `proxy_header` that is none of theirs.
        ///
        /// Without it all clients behind a proxy count as one, towards limits of attempts and of connections. An address that is listed here
        /// and is no proxy may claim any address. Nothing that comes through a proxy counts as this machine.
        trusted_proxies: Vec<String> = Vec::new(), "addresses", KeyKind::Networks;
        /// Header in which trusted proxies name the client: nginx's `X-Forwarded-For`, or `Forwarded` of RFC 7239.
        ///
        /// The proxy has to append to it; the other header is passed on as the client sent it, and not read.
        proxy_header: String = "x-forwarded-for".into(), "–", KeyKind::Choice(&["x-forwarded-for", "forwarded"]);
        /// Form of log lines on standard error: for people, or one JSON object a line.
        ///
        /// JSON takes more space and suits log collectors.
        log_format: String = "text".into(), "–", KeyKind::Choice(&["text", "json"]);
        /// Filter of log lines: a level (`error`, `warn`, `info`, `debug`, `trace`), or levels by part, such as `info,gateway=debug`.
        ///
        /// The server writes little below `info`; `debug` and `trace` add the lines of its libraries.
        log_filter: String = "info".into(), "–", KeyKind::Line;
        /// After SIGTERM: how long clients get to take notice and leave before the rest is cut off.
        ///
        /// Longer is kinder to people; shorter makes a restart quicker. Keep it below the time after which a service
        /// manager kills (systemd: 90 s).
        drain_s: u32 = 10, "s", KeyKind::whole(0, 3600);
    }
}

section! {
    /// The database: accounts, inventories, instances and tokens ([store.md](store.md)).
    pub struct Database in "store", repeated: false {
        /// `sqlite:` is the file `throng.sqlite` in the data directory, `sqlite:PATH` another file, and
        /// `postgres://USER@HOST:PORT/DATABASE` a database of a PostgreSQL server, version 15 or newer.
        ///
        /// SQLite needs no administration. With PostgreSQL the rows outlive the machine that serves, and may be backed up and
        /// replicated by its own means. A server's password is better kept in the environment variable `PGPASSWORD` than here;
        /// `throng config show` and logs leave it out.
        url: StoreAddress = StoreAddress::default(), "–", KeyKind::StoreUrl;
        /// Time between a change of an object and the transaction that saves it, with all changes of the region since. Can be tuned while the server
        /// runs.
        ///
        /// Longer saves the disk some work, and more is lost by a power cut.
        save_ms: u32 = 250, "ms", KeyKind::whole(10, 10_000);
        /// Bytes per second that are written of objects in motion. A moving object is written every 5 s and when it comes to rest. Can be tuned while
        /// the server runs.
        ///
        /// With fewer, objects in motion stand after a crash where they were longer ago. Users' changes do not count.
        moving_bytes_per_s: u32 = 4_194_304, "bytes/s", KeyKind::whole(1_024, 1_073_741_824);
        /// Age of the oldest change of an object that is not on the disk, from which on users' further changes in that region are refused with a
        /// message; 0 is never. Can be tuned while the server runs.
        ///
        /// While the disk is full or the database does not answer, changes stay in memory and are lost with the process. Longer lets people go on
        /// building for that long; the operator is told after 5 s in any case (`/healthz/ready`).
        refuse_edits_after_s: u32 = 60, "s", KeyKind::whole(0, 86_400);
        /// Objects that are kept of a user outside of the regions: returned, deleted and taken ones.
        ///
        /// A user who has as many can have no more returned or taken, and deletes objects for good. More take disk space: a linkset of ten prims some 3 KB.
        held_per_user_max: u32 = 10_000, "objects", KeyKind::whole(1, 10_000_000);
    }
}

section! {
    /// Assets: textures, sounds, meshes and other content of users, as files named by their hash ([keeping.md](keeping.md)).
    pub struct AssetsSection in "assets", repeated: false {
        /// Directory of the files, within the data directory unless it is absolute. Created when missing.
        ///
        /// On a file system of its own it can grow without taking space from the database. A change of it takes no files along: move them while the server is
        /// stopped.
        directory: PathBuf = "assets".into(), "path", KeyKind::Line;
        /// Memory for assets that were read or written of late.
        ///
        /// An asset that is not in memory is read from the disk and verified, a fraction of a millisecond for a texture.
        cache_bytes: u64 = 134_217_728, "bytes", KeyKind::whole(1_048_576, 1_099_511_627_776);
        /// Time in which all files are verified once, evenly, while the server runs.
        ///
        /// Shorter finds damage sooner, while the backup that has the file is still kept, and reads more from the disk.
        scrub_days: u32 = 14, "days", KeyKind::whole(1, 365);
        /// Time since its last use after which a baked texture is removed.
        ///
        /// Clients compose the appearance of an avatar, and upload it when it changes. Shorter saves disk space; an avatar that comes back later is
        /// shown as a cloud to others until its own client has baked it anew.
        bake_hours: u32 = 48, "h", KeyKind::whole(1, 8_760);
        /// Size of a texture at most.
        ///
        /// Viewers compress what users upload; photographs of 1,024 pixels take some 200 kB. Uploads of larger ones are refused.
        texture_bytes_max: u32 = 2_097_152, "bytes", KeyKind::whole(1_024, 67_108_864);
        /// Size of a sound at most.
        ///
        /// Viewers take sounds of 30 s, some 300 kB.
        sound_bytes_max: u32 = 2_097_152, "bytes", KeyKind::whole(1_024, 67_108_864);
        /// Size of a mesh at most.
        ///
        /// Each viewer that sees it fetches parts of it.
        mesh_bytes_max: u32 = 10_485_760, "bytes", KeyKind::whole(1_024, 67_108_864);
        /// Size of an animation at most.
        ///
        /// Viewers refuse animations of more than 250 kB.
        animation_bytes_max: u32 = 262_144, "bytes", KeyKind::whole(1_024, 67_108_864);
        /// Size of a notecard, a script or another text at most.
        ///
        /// Viewers' editors end at 64 KiB.
        text_bytes_max: u32 = 65_536, "bytes", KeyKind::whole(1_024, 1_048_576);
    }
}

section! {
    /// Backups of the database and of all assets, and their rehearsals ([keeping.md](keeping.md#backups)).
    pub struct BackupSection in "backup", repeated: false {
        /// Directory of the backups, by its whole path; empty: no backups but those of `throng backup`. Created when missing.
        ///
        /// On another disk, or on a file system of another machine, backups outlive the disk of the data directory. Files of assets are stored once for all
        /// backups. One server at a time writes to it.
        directory: PathBuf = PathBuf::new(), "path", KeyKind::Text;
        /// Time between two backups; 0: none without an order.
        ///
        /// Shorter loses less with the disk. The next backup copies only what is new, but reads the whole database.
        every_h: u32 = 24, "h", KeyKind::whole(0, 8_760);
        /// Backups that are kept. The newest one that is whole is kept in any case.
        ///
        /// Damage that is noticed later than the oldest backup was made is in all of them.
        keep: u32 = 14, "backups", KeyKind::whole(1, 1_000);
        /// Time between two rehearsals: the newest backup is restored for trial, verified byte by byte, and its worlds run for a second; 0: none without an
        /// order.
        ///
        /// A backup that was never restored may be none. A rehearsal reads all of it, and takes the memory of another server for some seconds.
        rehearse_every_h: u32 = 168, "h", KeyKind::whole(0, 8_760);
        /// Bytes per second that backups, rehearsals and verifications read.
        ///
        /// More ends sooner, and leaves the disk less time for the server's own work.
        bytes_per_s: u64 = 67_108_864, "bytes/s", KeyKind::whole(1_048_576, 1_099_511_627_776);
    }
}

section! {
    /// HTTP beside logins: content for clients.
    pub struct HttpSection in "http", repeated: false {
        /// Bytes of assets per second that one user is sent, on average over four seconds.
        ///
        /// A viewer that enters a region fetches some hundred textures at once. More serves it sooner, and lets fewer users take the line of all.
        asset_bytes_per_s: u32 = 4_194_304, "bytes/s", KeyKind::whole(16_384, 1_073_741_824);
    }
}

section! {
    /// Objects that users build ([building.md](building.md)). All keys can be tuned while the server runs.
    pub struct ObjectsSection in "objects", repeated: false {
        /// Prims that one session may make per second, on average over a second and more.
        ///
        /// Copies of large linksets need as many seconds as they have prims for each of these. More lets one user fill a region sooner.
        rez_per_s: u32 = 200, "prims/s", KeyKind::whole(1, 100_000);
        /// Time after which a temporary object vanishes.
        ///
        /// Temporary objects are never saved. Shorter and longer times hold for objects that become temporary from then on.
        temporary_s: u32 = 60, "s", KeyKind::whole(1, 86_400);
        /// Prims of a linkset at most.
        ///
        /// A linkset is sent, moved and saved as a whole. Existing linksets with more stay.
        link_max: u32 = 256, "prims", KeyKind::whole(1, 256);
        /// Time without a change after which viewers may keep an object in their cache.
        ///
        /// Shorter, and viewers keep objects that soon change again, for which their entry is worth nothing. Longer, and objects of a region that is
        /// being built are sent in full at each visit.
        cache_after_s: u32 = 60, "s", KeyKind::whole(1, 86_400);
    }
}

section! {
    /// Inventories of users.
    pub struct InventorySection in "inventory", repeated: false {
        /// Items of one user's inventory at most, links included. Requests for more are refused with a message.
        ///
        /// An item takes about half a kilobyte of the disk, and a viewer keeps the whole list in its memory. What an inventory has beyond a lowered limit stays.
        items_max: u32 = 200_000, "items", KeyKind::whole(1, 10_000_000);
    }
}

section! {
    /// Avatars of users.
    pub struct AvatarSection in "avatar", repeated: false {
        /// Objects that an avatar wears at most, those on its user's screen among them.
        ///
        /// Every client near by is sent them all. What an avatar wears beyond a lowered limit stays on.
        attachments_max: u32 = 38, "objects", KeyKind::whole(1, WORN_MAX as i64);
    }
}

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

section! {
    /// Stepping of worlds.
    pub struct WorldSection in "world", repeated: false {
        /// Steps a second of every region and instance that is given no rate of its own.
        ///
        /// Higher makes movement follow the keys more closely and costs CPU in proportion. A world that cannot
        /// hold its rate slows its time down rather than dropping inputs.
        hz: u32 = 20, "1/s", KeyKind::whole(10, 45);
        /// Threads that step worlds; 0 takes as many as there are cores.
        ///
        /// A world runs on one thread at a time, so more threads than worlds bring nothing. Those that have nothing to do sleep.
        threads: u16 = 0, "threads", KeyKind::whole(0, 256);
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

section! {
    /// The flight recorder: activity of every thread in the last seconds ([captures.md](captures.md)).
    pub struct RecorderSection in "recorder", repeated: false {
        /// True if threads record.
        ///
        /// Recording takes less than half a percent of a core with 1,000 clients. Without it there are no captures of slow frames, and
        /// crash dumps do not show the events before them.
        enabled: bool = true, "–", KeyKind::Flag;
        /// Memory of the record, taken as it is used.
        ///
        /// An event takes 32 bytes; at 5,000 clients 64 MiB hold more than five seconds. If it is too small, the record reaches less
        /// far back than `horizon_s` and `throng_recorder_blocks_recycled_total` rises.
        memory_mib: u32 = 64, "MiB", KeyKind::whole(4, 4_096);
        /// Time span of captures. Can be tuned while the server runs.
        ///
        /// Longer shows more of the time before a slow frame, and makes captures larger and slower to write.
        horizon_s: u32 = 5, "s", KeyKind::whole(1, 60);
    }
}

section! {
    /// Captures of the flight recorder after something was too slow, in `DATA/captures` ([captures.md](captures.md)). All keys can be
    /// tuned while the server runs.
    pub struct CapturesSection in "captures", repeated: false {
        /// Disk space for captures of a world's step that took longer than its tick; then the oldest of them go.
        ///
        /// More keeps captures of more days. A capture has some 50 bytes per slice.
        frame_quota_mib: u32 = 128, "MiB", KeyKind::whole(1, 1_000_000);
        /// Least time from one such capture to the next; overruns in between are captured only if they are twice as bad, and otherwise
        /// counted in `throng_captures_suppressed_total`.
        ///
        /// Shorter catches more of them, and gives the disk and the `recorder` thread more to do. It is at least 300 times the CPU time
        /// of the latest capture of any kind, the effective bound with a thousand worlds.
        frame_interval_s: u32 = 10, "s", KeyKind::whole(0, 86_400);
        /// Disk space for captures of a phase of a step that took longer than it may; then the oldest of them go.
        ///
        /// As for `frame_quota_mib`.
        system_quota_mib: u32 = 128, "MiB", KeyKind::whole(1, 1_000_000);
        /// Least time from one such capture to the next; overruns in between are captured only if they are twice as bad, and otherwise
        /// counted in `throng_captures_suppressed_total`.
        ///
        /// As for `frame_interval_s`.
        system_interval_s: u32 = 10, "s", KeyKind::whole(0, 86_400);
        /// Disk space for captures of any other scope that took longer than its limit; then the oldest of them go.
        ///
        /// As for `frame_quota_mib`.
        scope_quota_mib: u32 = 128, "MiB", KeyKind::whole(1, 1_000_000);
        /// Least time from one such capture to the next; overruns in between are captured only if they are twice as bad, and otherwise
        /// counted in `throng_captures_suppressed_total`.
        ///
        /// As for `frame_interval_s`.
        scope_interval_s: u32 = 10, "s", KeyKind::whole(0, 86_400);
        /// Disk space for captures that the operator asked for (`throng trace save`); then the oldest of them go.
        ///
        /// As for `frame_quota_mib`.
        operator_quota_mib: u32 = 128, "MiB", KeyKind::whole(1, 1_000_000);
    }
}

impl CapturesSection {
    /// The limits of each trigger.
    #[must_use]
    pub fn limits(&self) -> BTreeMap<Trigger, CaptureLimits> {
        let limits = |quota_mib: u32, interval_s: u32| CaptureLimits {
            quota_bytes: u64::from(quota_mib) << 20,
            interval: Duration::from_secs(interval_s.into()),
        };
        BTreeMap::from([
            (Trigger::Frame, limits(self.frame_quota_mib, self.frame_interval_s)),
            (Trigger::System, limits(self.system_quota_mib, self.system_interval_s)),
            (Trigger::Scope, limits(self.scope_quota_mib, self.scope_interval_s)),
            (Trigger::Operator, limits(self.operator_quota_mib, 0)),
        ])
    }
}

/// Shape of a region's ground.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TerrainShape {
    /// Generated hills around a flat plaza, with water.
    #[default]
    Hills,
    /// One level, slightly above the water.
    Flat,
}

section! {
    /// Diagnosis of the server's own failures ([crashes.md](crashes.md)).
    pub struct DiagnoseSection in "diagnose", repeated: false {
        /// Crash dumps to keep in `DATA/crashes`: this number of those that ended the server, and the same of survived panics; the
        /// oldest of a kind are deleted. 0 writes none and starts no monitor process.
        ///
        /// A dump holds the stacks of all threads and the environment, about a megabyte. The monitor takes a few megabytes of memory.
        crash_dumps_max: u32 = 20, "dumps", KeyKind::whole(0, 1_000);
        /// Space of the dumps of one kind, with their summaries and the flight recorder's last seconds.
        ///
        /// As for `crash_dumps_max`, whichever is reached first.
        crash_mib_max: u32 = 512, "MiB", KeyKind::whole(1, 1_000_000);
        /// True if the operator's address takes `POST /v1/fault`, which makes a thread panic, crash or stall.
        ///
        /// For tests and experiments. The token then suffices to crash the server.
        allow_faults: bool = false, "–", KeyKind::Flag;
    }
}

section! {
    /// Worlds that are made while the server runs, by `POST /v1/worlds` on the operator's address and by portals
    /// ([worlds.md](worlds.md)).
    pub struct InstancesSection in "instances", repeated: false {
        /// Maximum number of instances; more are refused.
        ///
        /// A suspended one takes some hundred bytes of memory, and some kilobytes on the disk.
        max: u32 = 10_000, "worlds", KeyKind::whole(0, 100_000);
        /// Share of `max` for instances that portals create; the rest is left for the API.
        ///
        /// With 100, visitors who walk into portals may leave no instance for programs.
        portal_percent: u32 = 90, "%", KeyKind::whole(0, 100);
        /// Instances that portals create for one user at most, one for each template; 0 is without limit.
        ///
        /// An instance that has ended, or has expired (`template.keep_h`), makes room for another one.
        per_user_max: u32 = 16, "worlds", KeyKind::whole(0, 100_000);
        /// Instances in memory at once. Another one is resumed if one without visitors can be suspended for it; otherwise the visitor
        /// is refused.
        ///
        /// Each takes memory, and time in every step while it has visitors.
        active_max: u32 = 1_000, "worlds", KeyKind::whole(0, 100_000);
        /// Time without visitors after which an instance is suspended: saved, and taken out of memory. Its former name
        /// `park_after_s` is accepted with a warning.
        ///
        /// Longer, and a visitor who comes back soon waits for nothing; shorter, and less memory lies idle. With 0 it happens at once.
        suspend_after_s: u32 = 60, "s", KeyKind::whole(0, 86_400);
        /// Share of the time of `world.threads` that all worlds may need. When they have needed more for five seconds, or three quarters of the frames
        /// were late, none is resumed and new ones are created suspended, until they have needed a tenth less for as long. 0 is without limit.
        ///
        /// Beyond 100 all worlds dilate, those that people are in already, too. Can be tuned while the server runs.
        load_max_percent: u32 = 95, "%", KeyKind::whole(0, 1_000);
    }
}

section! {
    /// A region, one table for each. Without any there are two: a 256 m one with hills and a 512 m one.
    pub struct RegionSection in "region", repeated: true {
        /// Its name, unique without regard to case.
        ///
        /// People type it to teleport; landmarks and `start` addresses contain it.
        name: String = String::new(), "–", KeyKind::Name;
        /// Id of its world, unique on the grid; 0 stands for the position among the regions, from 1.
        ///
        /// Local ids of the world are derived from it, and its content is stored under it. A stated id does not change when regions are added or removed
        /// before this one; without it, the server does not start with the content of another region.
        id: u32 = 0, "–", KeyKind::whole(0, SHARED_WORLDS_MAX as i64);
        /// Former name of a region that has another one now; empty for none.
        ///
        /// Content that was saved under another name is not taken for the region's without it. It may be removed after a start.
        former_name: String = String::new(), "–", KeyKind::Text;
        /// Name of the account that owns the estate and the first parcel of a new region; empty for none.
        ///
        /// Used until the region's land is saved for the first time; from then on the estate's owner is changed by an operator.
        estate_owner: String = String::new(), "–", KeyKind::Text;
        /// Column of its south-west corner on the grid's map, in squares of 256 m.
        ///
        /// Clients draw regions with adjacent squares as one landscape, but one cannot walk across yet, so leave a gap.
        x: u32 = 1000, "squares", KeyKind::whole(1, 64_000);
        /// Row of its south-west corner on the grid's map, in squares of 256 m.
        ///
        /// As for `x`.
        y: u32 = 1000, "squares", KeyKind::whole(1, 64_000);
        /// Length of its sides.
        ///
        /// Above 256 only clients that know variable regions show all of it (most of today's do). A larger ground takes
        /// longer to reach them.
        size_m: u32 = 256, "m", KeyKind::Whole { min: 256, max: 1024, step: 256 };
        /// Shape of its ground, generated at every start.
        ///
        /// Flat ground is easier on experiments with many avatars; hills are nicer.
        terrain: TerrainShape = TerrainShape::Hills, "–", KeyKind::Choice(&["hills", "flat"]);
        /// Seed of the hills: equal seeds give equal ground.
        ///
        /// Any number will do.
        seed: u32 = 1, "–", KeyKind::whole(0, 4_294_967_295);
        /// Height of the water.
        ///
        /// Generated hills and the flat level are made for the default.
        water_m: f32 = 20.0, "m", KeyKind::Number { min: 0.0, max: 255.0 };
        /// Avatars that may be in it at once; beyond that arrivals are refused with a message.
        ///
        /// A region is stepped by one core, the real limit of a crowd.
        max_avatars: u32 = 10_000, "avatars", KeyKind::whole(1, 100_000);
        /// Prims that may be in it at once; beyond that new ones are refused with a message. Existing ones above it stay.
        ///
        /// Each takes about a kilobyte of memory, and of the disk.
        max_objects: u32 = 45_000, "prims", KeyKind::whole(0, 500_000);
        /// Physical prims among them at most.
        ///
        /// Physics steps those that are awake 60 times a second.
        max_physical: u32 = 1_000, "prims", KeyKind::whole(0, 10_000);
        /// Boxes scattered over the ground, for tests and experiments. Avatars pass through them.
        ///
        /// A client receives those within 64 m, about 260 bytes each; each takes half a kilobyte of memory.
        boxes: u32 = 0, "boxes", KeyKind::whole(0, 100_000);
        /// Name of these boxes, as clients show it.
        ///
        /// Their owner and creator is the grid's operator.
        box_name: String = link::BOX_NAME.into(), "–", KeyKind::Name;
        /// File of a whole region with which it begins, beside the configuration file; empty: none. `throng region export` writes such files, and
        /// archives (`.oar`) are some.
        ///
        /// It is read at the first start only, as long as the database has nothing of the region. Later the region has what was built there. `throng region import` on a
        /// stopped server refuses such a region before its first start. The land of the file comes with it if that is of a region of the same size, that of an
        /// archive if it is no larger.
        content: PathBuf = PathBuf::new(), "path", KeyKind::Text;
        /// Time without a change after which its picture on the map is drawn again; 20 times as long after a change at the latest. The first one is drawn at once.
        ///
        /// A picture takes up to a second of one core, at low priority.
        map_after_s: u32 = 15, "s", KeyKind::whole(1, 3_600);
        /// Steps a second of this region; 0 is as many as `world.hz`.
        ///
        /// As for `world.hz`. Worlds of one rate are stepped together, so each further rate costs some microseconds a step.
        hz: u32 = 0, "1/s", KeyKind::OneOf(&[0, 20, 30, 45]);
    }
}

section! {
    /// Templates of instances, one table for each. Without any there are no instances.
    pub struct TemplateSection in "template", repeated: true {
        /// Its name, unique without regard to case: the argument of `POST /v1/worlds`.
        ///
        /// Instances that are given no name of their own are called so, too, and clients show it.
        name: String = String::new(), "–", KeyKind::Name;
        /// Length of its sides.
        ///
        /// A visitor from a region of the same size stays on its circuit, and the world changes around it; others are teleported, which
        /// takes a second or two.
        size_m: u32 = 256, "m", KeyKind::Whole { min: 256, max: 1024, step: 256 };
        /// Shape of its ground. All instances share one copy.
        ///
        /// As for regions.
        terrain: TerrainShape = TerrainShape::Hills, "–", KeyKind::Choice(&["hills", "flat"]);
        /// Seed of the hills: equal seeds give equal ground.
        ///
        /// Any number will do.
        seed: u32 = 1, "–", KeyKind::whole(0, 4_294_967_295);
        /// Height of the water.
        ///
        /// Generated hills and the flat level are made for the default.
        water_m: f32 = 20.0, "m", KeyKind::Number { min: 0.0, max: 255.0 };
        /// Avatars that may be in an instance at once.
        ///
        /// Instances are for small groups: their frames are encoded in their own step.
        max_avatars: u32 = 20, "avatars", KeyKind::whole(1, 1_000);
        /// Boxes scattered over the ground. Visitors walk through them, NPCs around them.
        ///
        /// As for regions; with NPCs at most 16,384.
        boxes: u32 = 0, "boxes", KeyKind::whole(0, 100_000);
        /// Name of these boxes, as clients show it.
        ///
        /// Their owner and creator is the grid's operator.
        box_name: String = link::BOX_NAME.into(), "–", KeyKind::Name;
        /// File of a whole region whose objects stand in every instance, beside the configuration file; empty: none. `throng region export` writes such
        /// files, and archives (`.oar`) are some, whose assets the server stores at each start.
        ///
        /// All instances share one copy, which none of them can change. Visitors walk through the objects, NPCs around boxes of their sizes. With NPCs at
        /// most 16,384 objects and boxes.
        content: PathBuf = PathBuf::new(), "path", KeyKind::Text;
        /// File with the NPCs of its instances ([npcs.md](npcs.md)), beside the configuration file; empty: none.
        ///
        /// The navmesh is built at the start, about half a second for 256 m. Each NPC takes a few hundred nanoseconds per tick while a
        /// visitor is present, and about two kilobytes of memory.
        npcs: PathBuf = PathBuf::new(), "path", KeyKind::Text;
        /// Time without visitors after which an instance that a portal created ends, with all that is saved of it; 0 is never.
        ///
        /// Instances created by the API are kept until they are ended. A user who walks into the portal after that gets a new instance.
        keep_h: u32 = 720, "h", KeyKind::whole(0, 87_600);
        /// Steps a second of its instances; 0 is as many as `world.hz`.
        ///
        /// As for regions.
        hz: u32 = 0, "1/s", KeyKind::OneOf(&[0, 20, 30, 45]);
    }
}

section! {
    /// Portals between worlds, one table for each. An arch stands over it.
    pub struct PortalSection in "portal", repeated: true {
        /// Name of the region or template that it stands in.
        ///
        /// In a template it stands in every instance.
        from: String = String::new(), "–", KeyKind::Name;
        /// Metres from the western border.
        ///
        /// Keep away from where visitors arrive, which is the middle of the world.
        x: f32 = 128.0, "m", KeyKind::Number { min: 1.0, max: 1_023.0 };
        /// Metres from the southern border.
        ///
        /// As for `x`.
        y: f32 = 128.0, "m", KeyKind::Number { min: 1.0, max: 1_023.0 };
        /// Radius of the portal.
        ///
        /// Avatars are 0.6 m wide and miss a narrow portal.
        radius_m: f32 = 1.5, "m", KeyKind::Number { min: 0.5, max: 20.0 };
        /// Destination: the name of a template, of which each visitor gets an instance of its own, or `back`.
        ///
        /// `back` stands in templates only: it leads to the visitor's former place in a region. Exits of an instance without a way back
        /// are its end, the API, a teleport home and a logout.
        to: String = PortalSection::BACK.into(), "–", KeyKind::Name;
    }
}

/// Steps a second of a world that is given this rate, when those without one have the other.
pub(crate) const fn hz_or(given: u32, usual: u32) -> u32 {
    if given == 0 { usual } else { given }
}

impl RegionSection {
    /// World id of the region at this index.
    pub(crate) fn world(&self, index: usize) -> WorldId {
        let by_place = || u32::try_from(index + 1).unwrap_or(u32::MAX);
        WorldId(if self.id == 0 { by_place() } else { self.id })
    }
}

impl PortalSection {
    /// Destination of the way back.
    pub const BACK: &'static str = "back";
}
