//! The live feed of browsers: positions, public chat and the server's figures, over one WebSocket.
//!
//! One task builds each message for all watchers; nothing runs without watchers.

use super::figures::{FigureHistory, FigureLog, Figures};
use super::map::{self, MapObjects, positions};
use super::{HttpState, Peer};
use crate::land::water_m;
use axum::Json;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{ConnectInfo, Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use grid::attempts::ClientNetwork;
use link::{Chat, ChatKind};
use replicate::Replica;
use serde::Serialize;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, broadcast};

/// The feed's path.
pub(super) const PATH: &str = "/live";
/// Positions a second.
const POSITIONS_PERIOD: Duration = Duration::from_millis(200);
/// Maximum backlog of a browser, messages; one beyond it is dropped.
const BEHIND_MAX: usize = 64;

/// Readers of public chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublicChat {
    /// Browsers on this machine.
    Loopback,
    /// All.
    Everyone,
    /// None.
    Nobody,
}

/// Maximum numbers of watching browsers.
#[derive(Clone, Copy, Debug)]
pub struct WatcherLimits {
    /// In total.
    pub max: u32,
    /// From one address; all addresses behind the 64-bit prefix of an IPv6 address are one.
    pub per_address_max: u32,
}

/// A browser's place among those that watch, until this is dropped.
struct Watcher {
    state: Arc<HttpState>,
    network: ClientNetwork,
}

impl Watcher {
    /// None when there are as many already as there may be.
    fn admit(state: &Arc<HttpState>, peer: Peer) -> Option<Self> {
        let network = ClientNetwork::of(peer.remote.ip());
        state.live.admit(network).then(|| Self { state: Arc::clone(state), network })
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.state.live.release(self.network);
    }
}

/// State shared by all watchers.
#[derive(Debug)]
pub struct Live {
    /// Positions, rosters and figures.
    everyone: broadcast::Sender<Message>,
    /// Chat, for browsers that may read it.
    chat: broadcast::Sender<Message>,
    figures: FigureLog,
    /// Browsers that watch, by their network.
    watchers: Mutex<BTreeMap<ClientNetwork, u32>>,
    limits: WatcherLimits,
    watched: Notify,
}

impl Live {
    /// Without watchers, of which there may be `watchers_max` at once.
    #[must_use]
    pub fn new(limits: WatcherLimits) -> Self {
        Self {
            everyone: broadcast::Sender::new(BEHIND_MAX),
            chat: broadcast::Sender::new(BEHIND_MAX),
            figures: FigureLog::default(),
            watchers: Mutex::default(),
            limits,
            watched: Notify::new(),
        }
    }

    /// False when as many watch already as may, in total or from this network.
    fn admit(&self, network: ClientNetwork) -> bool {
        let mut watchers = self.watchers();
        let of_network = watchers.get(&network).copied().unwrap_or(0);
        let is_full =
            watchers.values().sum::<u32>() >= self.limits.max || of_network >= self.limits.per_address_max;
        if !is_full {
            watchers.insert(network, of_network + 1);
        }
        !is_full
    }

    fn release(&self, network: ClientNetwork) {
        let mut watchers = self.watchers();
        let left = watchers.get(&network).copied().unwrap_or(0).saturating_sub(1);
        if left == 0 {
            watchers.remove(&network);
        } else {
            watchers.insert(network, left);
        }
    }

    fn watchers(&self) -> MutexGuard<'_, BTreeMap<ClientNetwork, u32>> {
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the figures of the last second to the live messages, and to the history of new browsers.
    pub fn record_figures(&self, figures: Figures) {
        self.figures.record(figures);
    }

    /// Sends a line of public chat to the watchers.
    pub fn show_chat(&self, region: u32, chat: &Chat) {
        let kind = match chat.kind {
            ChatKind::Whisper => "whisper",
            ChatKind::Say => "say",
            ChatKind::Shout => "shout",
            ChatKind::StartTyping | ChatKind::StopTyping => return,
        };
        if chat.channel != 0 || self.chat.receiver_count() == 0 {
            return;
        }
        let line = Text::Chat { region, from: &chat.name, kind, text: &chat.text };
        // Fails without watchers.
        let _ = self.chat.send(line.message());
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Text<'a> {
    Hello {
        grid: &'a str,
        login_uri: String,
        chat: bool,
        /// The operator's page, for browsers on this machine.
        worlds_uri: Option<String>,
        regions: Vec<LiveRegion<'a>>,
    },
    History(FigureHistory),
    Roster {
        region: u32,
        avatars: &'a [AvatarName],
    },
    Chat {
        region: u32,
        from: &'a str,
        kind: &'a str,
        text: &'a str,
    },
    Figures(Figures),
}

#[derive(Serialize)]
struct LiveRegion<'a> {
    id: u32,
    name: &'a str,
    x: u32,
    y: u32,
    size_m: u32,
    water_m: f32,
}

#[derive(Clone, PartialEq, Serialize)]
struct AvatarName {
    id: u32,
    name: String,
}

impl Text<'_> {
    fn json(&self) -> String {
        serde_json::to_string(self).expect("plain data becomes JSON")
    }

    fn message(&self) -> Message {
        Message::Text(self.json().into())
    }
}

impl HttpState {
    fn may_read_chat(&self, peer: Peer) -> bool {
        match self.settings.public_chat {
            PublicChat::Everyone => true,
            PublicChat::Loopback => peer.is_this_machine(),
            PublicChat::Nobody => false,
        }
    }

    /// The operator's page, which other machines cannot reach by default and need not know of.
    fn worlds_uri(&self, peer: Peer) -> Option<String> {
        let admin = self.settings.admin;
        let host = if admin.ip().is_unspecified() { self.address_for(peer).into() } else { admin.ip() };
        peer.is_this_machine().then(|| format!("http://{}/worlds", SocketAddr::new(host, admin.port())))
    }

    fn hello(&self, peer: Peer) -> Text<'_> {
        let region = |place: &'_ Arc<crate::places::Place>| -> (u32, u32, u32) {
            let (x, y) = place.handle.grid();
            (u32::from(place.id.0), x, y)
        };
        Text::Hello {
            grid: &self.settings.grid_name,
            login_uri: format!("http://{}:{}/", self.address_for(peer), self.settings.http_port),
            chat: self.may_read_chat(peer),
            worlds_uri: self.worlds_uri(peer),
            regions: self
                .places
                .iter()
                .map(|place| {
                    let (id, x, y) = region(place);
                    LiveRegion {
                        id,
                        name: place.name(),
                        x,
                        y,
                        size_m: place.ground().size_m,
                        water_m: water_m(place.ground(), &place.scene.feed.current()),
                    }
                })
                .collect(),
        }
    }
}

/// `GET /api/info`.
pub(super) async fn info(
    State(state): State<Arc<HttpState>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], state.hello(peer).json()).into_response()
}

/// `GET /regions/{id}/heights`.
pub(super) async fn heights(State(state): State<Arc<HttpState>>, Path(id): Path<u16>) -> Response {
    let Some(place) = state.places.iter().find(|place| place.id.0 == id) else {
        return (StatusCode::NOT_FOUND, Json("no such region")).into_response();
    };
    let bytes = map::heights(&place.scene);
    ([(header::CONTENT_TYPE, "application/octet-stream")], bytes).into_response()
}

/// `GET /regions/{id}/objects`.
pub(super) async fn objects(State(state): State<Arc<HttpState>>, Path(id): Path<u16>) -> Response {
    let Some(place) = state.places.iter().find(|place| place.id.0 == id) else {
        return (StatusCode::NOT_FOUND, Json("no such region")).into_response();
    };
    Json(MapObjects::of(&place.scene)).into_response()
}

/// `GET /live`.
pub(super) async fn connect(
    State(state): State<Arc<HttpState>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    upgrade: WebSocketUpgrade,
) -> Response {
    let Some(watcher) = Watcher::admit(&state, peer) else {
        return (StatusCode::SERVICE_UNAVAILABLE, "Too many browsers watch already.\n").into_response();
    };
    // A failed upgrade drops the watcher with the closure.
    upgrade.max_message_size(1_024).on_upgrade(move |socket| async move {
        serve_watcher(&watcher.state, peer, socket).await;
    })
}

/// Serves one watcher until it goes.
async fn serve_watcher(state: &HttpState, peer: Peer, mut socket: WebSocket) {
    let mut everyone = state.live.everyone.subscribe();
    let mut chat = state.live.chat.subscribe();
    let reads_chat = state.may_read_chat(peer);
    let hello = state.hello(peer).message();
    let history = Text::History(state.live.figures.history()).message();
    for greeting in [hello, history] {
        if socket.send(greeting).await.is_err() {
            return;
        }
    }
    for roster in rosters(state) {
        if socket.send(roster).await.is_err() {
            return;
        }
    }
    state.live.watched.notify_one();
    loop {
        let message = tokio::select! {
            message = next_message(&mut everyone, &mut chat, reads_chat) => message,
            heard = socket.recv() => match heard {
                // The page has nothing to say; pings are answered by the library.
                Some(Ok(_)) => continue,
                Some(Err(_)) | None => return,
            },
        };
        let Some(message) = message else { return };
        if socket.send(message).await.is_err() {
            return;
        }
    }
}

/// The next message of a watcher. `None` if its backlog has overflowed: its page comes back with a new connection.
async fn next_message(
    everyone: &mut broadcast::Receiver<Message>,
    chat: &mut broadcast::Receiver<Message>,
    reads_chat: bool,
) -> Option<Message> {
    let message = tokio::select! {
        shown = everyone.recv() => shown,
        said = chat.recv(), if reads_chat => said,
    };
    message.ok()
}

/// The task behind all watchers. Runs until the process ends.
pub async fn run(state: Arc<HttpState>) {
    let mut shown: BTreeMap<u32, Vec<AvatarName>> = BTreeMap::new();
    let mut figures = state.live.figures.subscribe();
    let mut next = tokio::time::interval(POSITIONS_PERIOD);
    next.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    loop {
        if state.live.everyone.receiver_count() == 0 {
            shown.clear();
            state.live.watched.notified().await;
        }
        next.tick().await;
        for place in state.places.iter() {
            let region = u32::from(place.id.0);
            let replica = place.scene.feed.current();
            let names = names(&replica);
            if shown.get(&region) != Some(&names) {
                send(&state, Text::Roster { region, avatars: &names }.message());
                shown.insert(region, names);
            }
            send(&state, Message::Binary(positions(region, place.ground().size_m, &replica)));
        }
        if figures.has_changed().unwrap_or(false) {
            let newest = *figures.borrow_and_update();
            send(&state, Text::Figures(newest).message());
        }
    }
}

fn send(state: &HttpState, message: Message) {
    // An error says that the last watcher has just gone.
    let _ = state.live.everyone.send(message);
}

fn names(replica: &Replica) -> Vec<AvatarName> {
    map::present(replica).into_iter().map(|one| AvatarName { id: one.id, name: one.name }).collect()
}

fn rosters(state: &HttpState) -> Vec<Message> {
    let roster = |place: &Arc<crate::places::Place>| {
        let names = names(&place.scene.feed.current());
        Text::Roster { region: u32::from(place.id.0), avatars: &names }.message()
    };
    state.places.iter().map(roster).collect()
}

#[cfg(test)]
mod tests;
