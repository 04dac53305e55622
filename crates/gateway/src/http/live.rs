//! What browsers see: where everybody is, what is said in public, and how the server is doing, over one WebSocket.
//!
//! One task puts each message together for all watchers; nothing runs while nobody watches.

use super::map::{self, positions};
use super::{Peer, Portal};
use axum::Json;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{ConnectInfo, Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use replicate::Replica;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::sync::{Notify, broadcast, watch};
use world::{Chat, ChatKind};

/// Positions a second.
const POSITIONS_PERIOD: Duration = Duration::from_millis(200);
/// Messages that a slow browser may be behind; the oldest are skipped.
const BEHIND_MAX: usize = 64;

/// Who may read along what is said in public.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublicChat {
    /// Browsers on this machine.
    Loopback,
    /// All.
    Everyone,
    /// None.
    Nobody,
}

/// How the server is doing, once a second.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Figures {
    /// Circuits open.
    pub clients: u32,
    /// Slowest world step of the last second.
    pub tick_ms_max: f32,
    /// Mean world step of the last second.
    pub tick_ms_mean: f32,
    /// Datagrams received.
    pub packets_in_per_s: f32,
    /// Datagrams sent.
    pub packets_out_per_s: f32,
    /// Bytes sent.
    pub bytes_out_per_s: f32,
    /// Smallest of the worlds' time dilations.
    pub dilation: f32,
    /// Since the start.
    pub uptime_s: f32,
}

/// What all watchers share.
#[derive(Debug)]
pub struct Live {
    /// Positions, rosters and figures.
    everyone: broadcast::Sender<Message>,
    /// Chat, for those who may read it.
    chat: broadcast::Sender<Message>,
    figures: watch::Receiver<Figures>,
    watchers: AtomicU32,
    watchers_max: u32,
    watched: Notify,
}

impl Live {
    /// Nobody watches yet. `figures` is fed by whoever measures.
    #[must_use]
    pub fn new(figures: watch::Receiver<Figures>, watchers_max: u32) -> Self {
        Self {
            everyone: broadcast::Sender::new(BEHIND_MAX),
            chat: broadcast::Sender::new(BEHIND_MAX),
            figures,
            watchers: AtomicU32::new(0),
            watchers_max,
            watched: Notify::new(),
        }
    }

    /// Shows a line of public chat to those who watch.
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
        // Nobody is there to read it, then.
        let _ = self.chat.send(line.message());
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Text<'a> {
    Hello { grid: &'a str, login_uri: String, chat: bool, regions: Vec<Region<'a>> },
    Roster { region: u32, avatars: &'a [Name] },
    Chat { region: u32, from: &'a str, kind: &'a str, text: &'a str },
    Figures(Figures),
}

#[derive(Serialize)]
struct Region<'a> {
    id: u32,
    name: &'a str,
    x: u32,
    y: u32,
    size_m: u32,
    water_m: f32,
}

#[derive(Clone, PartialEq, Serialize)]
struct Name {
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

impl Portal {
    fn may_read_chat(&self, peer: Peer) -> bool {
        match self.settings.public_chat {
            PublicChat::Everyone => true,
            PublicChat::Loopback => peer.remote.ip().to_canonical().is_loopback(),
            PublicChat::Nobody => false,
        }
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
            regions: self
                .places
                .iter()
                .map(|place| {
                    let (id, x, y) = region(place);
                    Region {
                        id,
                        name: place.name(),
                        x,
                        y,
                        size_m: place.land().size_m,
                        water_m: place.land().water_m,
                    }
                })
                .collect(),
        }
    }
}

/// `GET /api/info`.
pub(super) async fn info(
    State(portal): State<Arc<Portal>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], portal.hello(peer).json()).into_response()
}

/// `GET /regions/{id}/heights`.
pub(super) async fn heights(State(portal): State<Arc<Portal>>, Path(id): Path<u16>) -> Response {
    let Some(place) = portal.places.iter().find(|place| place.id.0 == id) else {
        return (StatusCode::NOT_FOUND, Json("no such region")).into_response();
    };
    let bytes = map::heights(place.land());
    ([(header::CONTENT_TYPE, "application/octet-stream")], bytes).into_response()
}

/// `GET /live`.
pub(super) async fn connect(
    State(portal): State<Arc<Portal>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    upgrade: WebSocketUpgrade,
) -> Response {
    let watching = portal.live.watchers.fetch_add(1, Ordering::Relaxed);
    if watching >= portal.live.watchers_max {
        portal.live.watchers.fetch_sub(1, Ordering::Relaxed);
        return (StatusCode::SERVICE_UNAVAILABLE, "Too many browsers watch already.\n").into_response();
    }
    let failed = Arc::clone(&portal);
    upgrade
        .max_message_size(1_024)
        .on_failed_upgrade(move |_| {
            failed.live.watchers.fetch_sub(1, Ordering::Relaxed);
        })
        .on_upgrade(move |socket| async move {
            show(&portal, peer, socket).await;
            portal.live.watchers.fetch_sub(1, Ordering::Relaxed);
        })
}

/// Serves one watcher until it goes.
async fn show(portal: &Portal, peer: Peer, mut socket: WebSocket) {
    let mut everyone = portal.live.everyone.subscribe();
    let mut chat = portal.live.chat.subscribe();
    let reads_chat = portal.may_read_chat(peer);
    let hello = portal.hello(peer).message();
    if socket.send(hello).await.is_err() {
        return;
    }
    for roster in rosters(portal) {
        if socket.send(roster).await.is_err() {
            return;
        }
    }
    portal.live.watched.notify_one();
    loop {
        let message = tokio::select! {
            shown = everyone.recv() => shown,
            said = chat.recv(), if reads_chat => said,
            heard = socket.recv() => match heard {
                // The page has nothing to say; pings are answered by the library.
                Some(Ok(_)) => continue,
                Some(Err(_)) | None => return,
            },
        };
        match message {
            Ok(message) => {
                if socket.send(message).await.is_err() {
                    return;
                }
            }
            // Newer positions follow at once; a roster that was missed has to be sent again.
            Err(broadcast::error::RecvError::Lagged(_)) => {
                for roster in rosters(portal) {
                    if socket.send(roster).await.is_err() {
                        return;
                    }
                }
            }
            Err(broadcast::error::RecvError::Closed) => return,
        }
    }
}

/// The task behind all watchers. Runs until the process ends.
pub async fn run(portal: Arc<Portal>) {
    let mut shown: BTreeMap<u32, Vec<Name>> = BTreeMap::new();
    let mut figures = portal.live.figures.clone();
    let mut next = tokio::time::interval(POSITIONS_PERIOD);
    next.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    loop {
        if portal.live.everyone.receiver_count() == 0 {
            shown.clear();
            portal.live.watched.notified().await;
        }
        next.tick().await;
        for place in portal.places.iter() {
            let region = u32::from(place.id.0);
            let replica = place.scene.feed.current();
            let names = names(&replica);
            if shown.get(&region) != Some(&names) {
                send(&portal, Text::Roster { region, avatars: &names }.message());
                shown.insert(region, names);
            }
            send(&portal, Message::Binary(positions(region, place.land().size_m, &replica)));
        }
        if figures.has_changed().unwrap_or(false) {
            let newest = *figures.borrow_and_update();
            send(&portal, Text::Figures(newest).message());
        }
    }
}

fn send(portal: &Portal, message: Message) {
    // An error says that the last watcher has just gone.
    let _ = portal.live.everyone.send(message);
}

fn names(replica: &Replica) -> Vec<Name> {
    map::present(replica).into_iter().map(|one| Name { id: one.id, name: one.name }).collect()
}

fn rosters(portal: &Portal) -> Vec<Message> {
    let roster = |place: &Arc<crate::places::Place>| {
        let names = names(&place.scene.feed.current());
        Text::Roster { region: u32::from(place.id.0), avatars: &names }.message()
    };
    portal.places.iter().map(roster).collect()
}
