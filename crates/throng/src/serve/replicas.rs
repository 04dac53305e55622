//! The `replica` thread: frames in, published replicas out, off the worlds' threads (DESIGN §2).

use super::ServeError;
use super::faults::Fuse;
use super::worlds::{Inbox, Worlds};
use crossbeam_channel::{Receiver, Sender, select};
use gateway::feed::Feed;
use gateway::http::Portal;
use gateway::mail::ToShard;
use gateway::places::{Place, Places};
use gateway::sessions::Sessions;
use ids::SessionKey;
use replicate::{EncodedFrame, Encoder, Intake, Publisher, Replica};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use telemetry::recorder::{Arg, Recorder, Scope, frame_end};
use telemetry::{Metrics, Timing};
use world::{Action, Command, Event, Frame};

pub(super) struct Replicas {
    thread: JoinHandle<()>,
    stop: Sender<()>,
    counters: Arc<Counters>,
}

/// What the thread has counted.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) frames: AtomicU64,
    pub(super) blocks_encoded: AtomicU64,
    pub(super) resyncs: AtomicU64,
    pub(super) copies: AtomicU64,
}

/// One frame of a world. Half a tick: one thread does this for all worlds.
static ENCODE: Scope = Scope::new("replica.encode").arg(Arg::World).limit_us(25_000);

/// What the thread is made of.
pub(super) struct Start<'a> {
    pub(super) places: &'a Places,
    pub(super) feeds: &'a [Arc<Feed>],
    pub(super) worlds: &'a Worlds,
    /// Whether what clients go on to show by themselves is left out.
    pub(super) dead_reckoning: bool,
    pub(super) sessions: &'a Arc<Sessions>,
    pub(super) portal: Arc<Portal>,
    pub(super) metrics: &'a Metrics,
    pub(super) recorder: Recorder,
    pub(super) fuse: Arc<Fuse>,
}

/// One world's way from frames to a published replica.
struct Line {
    encoder: Encoder,
    publisher: Publisher,
    /// Buffers to be filled again.
    spare: EncodedFrame,
    feed: Arc<Feed>,
    inbox: Inbox,
    commands_sent: u64,
    region: u32,
    timing: Timing,
}

/// A place's replica before its world's first frame.
pub(super) fn empty(place: &Place) -> Replica {
    Replica::new(place.world, place.handle, place.size_m as f32)
}

pub(super) fn start(start: Start<'_>) -> Result<Replicas, ServeError> {
    let Start { places, feeds, worlds, dead_reckoning, sessions, portal, metrics, recorder, fuse } = start;
    let encoder = || {
        let mut encoder = Encoder::new(worlds.dt());
        if !dead_reckoning {
            encoder.stop_reckoning();
        }
        encoder
    };
    let lines = places
        .iter()
        .map(|place| Line {
            encoder: encoder(),
            publisher: Publisher::new(empty(place)),
            spare: EncodedFrame::default(),
            feed: Arc::clone(&feeds[place.world.0 as usize]),
            inbox: worlds.inboxes[place.world.0 as usize].clone(),
            commands_sent: 0,
            region: place.id.0.into(),
            timing: metrics.timing(
                "throng_replica_encode_seconds",
                "Time to encode and publish one frame of the world.",
                &[("world", &place.name)],
            ),
        })
        .collect();
    let counters = Arc::new(Counters::default());
    let (stop, stopped) = crossbeam_channel::bounded(1);
    let thread = Thread {
        lines,
        frames: worlds.frames.clone(),
        spent: worlds.spent.clone(),
        stopped,
        sessions: Arc::clone(sessions),
        portal,
        counters: Arc::clone(&counters),
        fuse,
    };
    let thread = std::thread::Builder::new()
        .name("replica".into())
        .spawn(move || {
            recorder.thread("replica").install();
            thread.run();
        })
        .map_err(|source| ServeError::Thread { name: "replica", source })?;
    Ok(Replicas { thread, stop, counters })
}

impl Replicas {
    pub(super) fn watch(&self) -> Arc<Counters> {
        Arc::clone(&self.counters)
    }

    pub(super) fn stop(self) {
        drop(self.stop);
        if self.thread.join().is_err() {
            tracing::error!("the replica thread has panicked");
        }
    }
}

struct Thread {
    lines: Vec<Line>,
    frames: Receiver<Box<Frame>>,
    spent: Sender<Box<Frame>>,
    stopped: Receiver<()>,
    sessions: Arc<Sessions>,
    portal: Arc<Portal>,
    counters: Arc<Counters>,
    fuse: Arc<Fuse>,
}

impl Thread {
    fn run(mut self) {
        loop {
            select! {
                recv(self.frames) -> frame => match frame {
                    Ok(frame) => {
                        self.take(frame);
                        frame_end();
                    }
                    Err(_) => return,
                },
                recv(self.stopped) -> _ => return,
            }
        }
    }

    fn take(&mut self, mut frame: Box<Frame>) {
        let _scope = ENCODE.enter(frame.world.0.into());
        let began_at = (self.portal.clock)();
        self.fuse.strike();
        let line = &mut self.lines[frame.world.0 as usize];
        let mut encoded = std::mem::take(&mut line.spare);
        match line.encoder.encode(&frame, &mut encoded) {
            Intake::Ready => {
                line.spare = line.publisher.publish(encoded);
                line.feed.publish(Arc::clone(line.publisher.current()));
            }
            Intake::NeedsSnapshot => {
                line.spare = encoded;
                line.ask_for_snapshot();
            }
            Intake::Waiting => line.spare = encoded,
        }
        line.timing.record((self.portal.clock)() - began_at);
        let region = line.region;
        let world = frame.world;
        self.count();
        if !frame.events.is_empty() {
            let events: Arc<[Event]> = std::mem::take(&mut frame.events).into();
            for event in events.iter() {
                if let Event::Chat(chat) = event {
                    self.portal.live.show_chat(region, chat);
                }
            }
            self.sessions.tell_shards(&ToShard::Events(world, events));
        }
        // The worlds have enough to fill, if this one is not wanted back.
        let _ = self.spent.try_send(frame);
    }

    fn count(&self) {
        let sum = |of: fn(&Line) -> u64| self.lines.iter().map(of).sum();
        let counters = &self.counters;
        counters.frames.fetch_add(1, Ordering::Relaxed);
        counters.blocks_encoded.store(sum(|line| line.encoder.blocks_encoded), Ordering::Relaxed);
        counters.resyncs.store(sum(|line| line.encoder.resyncs), Ordering::Relaxed);
        counters.copies.store(sum(|line| line.publisher.copies), Ordering::Relaxed);
    }
}

impl Line {
    fn ask_for_snapshot(&mut self) {
        let command =
            Command { session: SessionKey::NODE, sequence: self.commands_sent, action: Action::Resync };
        self.commands_sent += 1;
        // When the inbox is full, the encoder asks again after a while.
        if self.inbox.commands.try_send(command).is_ok() {
            self.inbox.waker.wake();
        }
    }
}
