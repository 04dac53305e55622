//! The HTTP side: login, capabilities, the page with its live feed, and the operator's address.
//!
//! Handlers translate for the hub ([`crate::hub`]) and the grid's services. Work that waits for the disk runs on a blocking thread.

mod access;
pub mod admin;
mod appearance;
mod assets;
mod bounds;
mod capabilities;
mod client_address;
mod description;
pub mod door;
mod event_queue;
mod export;
pub mod fault;
mod figures;
mod holder;
mod land;
pub mod listener;
pub mod live;
mod login;
mod logins;
pub mod map;
mod map_picture;
mod notecards;
mod object_capabilities;
mod object_contents;
mod operator;
mod origin;
mod page;
mod present;
pub mod record;
mod reply;
mod texts;
mod uploads;

pub use self::assets::{AssetShares, REQUESTS_MAX};
pub use appearance::appearance_file;
pub use client_address::{Proxies, ProxyHeader};
pub use figures::Figures;
pub use ipnet::IpNet;
pub use logins::LoginRules;
pub use origin::Hostnames;
pub use page::Asset;
pub use uploads::{ContentOrders, TakeContentAnswer, UPLOADS_BYTES_MAX, Uploads, long_bodies};

use crate::places::Places;
use crate::sessions::Sessions;
use ::assets::SizeLimits;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::{any, get, post};
use grid::asset_sources::AssetSources;
use grid::attempts::ClientAddress;
use grid::capability::SimulatorFeatures;
use grid::login::LoginService;
use ids::Instant;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use store::Store;
use telemetry::Timing;
use telemetry::recorder::{Scope, frame_end};

/// A part of a request between two waits: other work of the thread waits for it. Nothing in it may wait for a disk.
static REQUEST: Scope = Scope::new("http.request").limit_us(50_000);
/// Blocking work on a thread of its own.
static BLOCKING: Scope = Scope::new("http.blocking").limit_us(1_000_000);

/// Bytes that a request's body may have at the public address, but for [`long_bodies`].
pub const BODY_BYTES_MAX: usize = 512 * 1024;

/// State shared by all handlers.
pub struct HttpState {
    /// Sessions of the node.
    pub sessions: Arc<Sessions>,
    /// Accounts and inventories.
    pub store: Arc<Store>,
    /// Password checks.
    pub login: LoginService,
    /// The regions.
    pub places: Arc<Places>,
    /// Content for clients.
    pub assets: Arc<AssetSources>,
    /// Shares of its delivery.
    pub asset_shares: AssetShares,
    /// Time until it has the bytes, or knows that there are none. What a client's share holds an answer back is not in it.
    pub asset_times: Timing,
    /// Limits of the sizes of uploads.
    pub asset_limits: SizeLimits,
    /// Uploads that have begun.
    pub uploads: Uploads,
    /// Way of content to items in objects.
    pub content_orders: ContentOrders,
    /// The live feed of browsers.
    pub live: live::Live,
    /// The page's files.
    pub page: &'static [Asset],
    /// Names and addresses.
    pub settings: Settings,
    /// The process's clock.
    pub clock: Arc<dyn Fn() -> Instant + Send + Sync>,
    /// Admission of logins.
    pub door: door::Door,
    /// The operator's rules for logins.
    pub logins: LoginRules,
    /// Counters.
    pub counters: HttpCounters,
}

impl std::fmt::Debug for HttpState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpState").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Names and addresses sent to clients.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The grid's name.
    pub grid_name: String,
    /// Shown at login.
    pub welcome: String,
    /// Address under which clients reach the server; none: the one in their request.
    pub advertised_ip: Option<Ipv4Addr>,
    /// Port of this HTTP server as clients reach it.
    pub http_port: u16,
    /// The operator's address, as bound.
    pub admin: SocketAddr,
    /// Unix time in seconds at [`Instant::ZERO`].
    pub unix_start_s: u64,
    /// Readers of public chat.
    pub public_chat: live::PublicChat,
    /// Features of clients.
    pub features: SimulatorFeatures,
    /// Names under which the page is reached.
    pub hostnames: Hostnames,
}

/// Requests by outcome.
#[derive(Debug, Default)]
pub struct HttpCounters {
    /// Answered with success or a redirect.
    pub ok: AtomicU64,
    /// The client's mistakes: 4xx.
    pub refused: AtomicU64,
    /// Ours: 5xx, without the event queue's "nothing new" (502).
    pub failed: AtomicU64,
    /// Admitted logins.
    pub logins_ok: AtomicU64,
    /// Refused logins.
    pub logins_refused: AtomicU64,
}

/// Both ends of a request's way.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// The client; without its port when a proxy names it.
    pub remote: SocketAddr,
    /// The address of ours at which the connection arrived.
    pub local: SocketAddr,
    /// True without a proxy between both.
    pub is_direct: bool,
}

impl Peer {
    /// True if the client runs on this machine. A request through a proxy never counts as one, whatever the header claims.
    #[must_use]
    pub fn is_this_machine(&self) -> bool {
        self.is_direct && self.remote.ip().to_canonical().is_loopback()
    }

    /// The client's address, as limits know it.
    pub(crate) fn client_address(&self) -> ClientAddress {
        ClientAddress { ip: self.remote.ip().to_canonical(), is_direct: self.is_direct }
    }
}

impl HttpState {
    /// The IPv4 address to give to this client for us.
    #[must_use]
    pub fn address_for(&self, peer: Peer) -> Ipv4Addr {
        self.settings.advertised_ip.unwrap_or_else(|| match peer.local.ip().to_canonical() {
            IpAddr::V4(ip) => ip,
            IpAddr::V6(_) => Ipv4Addr::LOCALHOST,
        })
    }

    /// Base address of the map's pictures, at the server's address as the client knows it.
    #[must_use]
    pub fn map_url(&self, server_ip: Ipv4Addr) -> String {
        format!("http://{server_ip}:{}/map/", self.settings.http_port)
    }

    /// Now, in seconds since 1970.
    #[must_use]
    pub fn unix_s(&self) -> i64 {
        (self.settings.unix_start_s + (self.clock)().0 / 1_000_000_000) as i64
    }
}

/// The routes of the public address.
pub fn router(state: Arc<HttpState>) -> Router {
    Router::new()
        .route("/", get(page::index).post(login::login))
        .route("/assets/{*path}", get(page::asset))
        .route(live::PATH, get(live::connect))
        .route("/api/info", get(live::info))
        .route("/regions/{id}/heights", get(live::heights))
        .route("/regions/{id}/objects", get(live::objects))
        .route("/get_grid_info", get(login::grid_info))
        .route("/map/{file}", get(map_picture::picture))
        .route("/cap/{secret}", post(capabilities::seed))
        .route("/cap/{secret}/EventQueueGet", post(event_queue::poll))
        .route("/cap/{secret}/NewFileAgentInventory", post(uploads::begin_new_file))
        .route("/cap/{secret}/upload/{id}", post(uploads::receive))
        .route("/cap/{secret}/{name}", any(capabilities::call))
        // node-metaverse appends a slash before its query.
        .route("/cap/{secret}/{name}/", any(capabilities::call))
        .fallback(page::fallback)
        // As one layer, the outermost first: each of its own would box every request's future once more, and a client always has one waiting.
        .layer((
            from_fn_with_state(Arc::clone(&state), count),
            from_fn_with_state(state.settings.hostnames.clone(), origin::guard_public),
            DefaultBodyLimit::max(BODY_BYTES_MAX),
        ))
        .with_state(state)
}

async fn count(State(state): State<Arc<HttpState>>, request: Request, next: Next) -> Response {
    let mut running = pin!(next.run(request));
    let response = std::future::poll_fn(|context| {
        let _scope = REQUEST.enter(0);
        running.as_mut().poll(context)
    })
    .await;
    let counters = &state.counters;
    let status = response.status();
    let counter = if status.is_client_error() {
        &counters.refused
    } else if status.is_server_error() && status != axum::http::StatusCode::BAD_GATEWAY {
        &counters.failed
    } else {
        &counters.ok
    };
    counter.fetch_add(1, Ordering::Relaxed);
    response
}

/// Runs blocking work off the async workers.
async fn blocking<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> R {
    let recorded = || {
        let scope = BLOCKING.enter(0);
        let done = work();
        drop(scope);
        // The runtime marks idle time of its workers, but not of these threads.
        frame_end();
        done
    };
    tokio::task::spawn_blocking(recorded).await.expect("blocking work does not panic and is not cancelled")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use telemetry::recorder::{Recorder, RecorderConfig};

    #[test]
    fn blocking_threads_report_their_figures() {
        let recorder = Recorder::start(RecorderConfig::default()).unwrap();
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.on_thread_start(move || recorder.thread("http").install()).build().unwrap();
        runtime.block_on(blocking(|| ()));
        let capture = recorder.capture(Duration::MAX);
        assert_eq!(capture.threads[0].slices.len(), 1);
        assert!(!capture.threads[0].samples.is_empty());
    }
}
