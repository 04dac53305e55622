//! The process and its database.

use crate::config::key::{KeyKind, section};
use crate::config::{PublicAddress, StoreAddress};
use gateway::hub::PORTS_MAX;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::path::PathBuf;

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
