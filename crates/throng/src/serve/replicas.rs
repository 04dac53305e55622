//! The `replica` thread: frames in, published replicas out, off the worlds' threads.

use super::ServeError;
use super::faults::Fuse;
use super::inboxes::Inbox;
use super::lines::{Followed, FrameFollower};
use super::world_map::WorldMap;
use super::worlds::Worlds;
use crossbeam_channel::{Receiver, Sender, select};
use gateway::http::HttpState;
use gateway::mail::ToShard;
use gateway::places::{Places, Scene};
use gateway::sessions::Sessions;
use link::{Event, Frame};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use telemetry::recorder::{Arg, Recorder, Scope, frame_end};
use telemetry::{Metrics, Timing};

pub(super) struct Replicas {
    thread: JoinHandle<()>,
    stop: Sender<()>,
    counters: Arc<ReplicaCounters>,
}

/// Counters of the thread.
#[derive(Debug, Default)]
pub(super) struct ReplicaCounters {
    pub(super) frames: AtomicU64,
    pub(super) blocks_encoded: AtomicU64,
    pub(super) resyncs: AtomicU64,
    pub(super) copies: AtomicU64,
}

/// One frame of a world. Half a tick: one thread does this for all worlds.
static ENCODE: Scope = Scope::new("replica.encode").arg(Arg::World).limit_us(25_000);

/// Arguments of the thread.
pub(super) struct ReplicaThreadConfig<'a> {
    pub(super) places: &'a Places,
    pub(super) worlds: &'a Worlds,
    /// True if dead reckoning suppresses updates.
    pub(super) dead_reckoning: bool,
    pub(super) sessions: &'a Arc<Sessions>,
    pub(super) portal: Arc<HttpState>,
    pub(super) metrics: &'a Metrics,
    pub(super) recorder: Recorder,
    pub(super) fuse: Arc<Fuse>,
}

/// One world's follower with this thread's data on the world.
struct FollowedWorld {
    line: FrameFollower,
    region: u32,
    timing: Timing,
}

pub(super) fn start(start: ReplicaThreadConfig<'_>) -> Result<Replicas, ServeError> {
    let ReplicaThreadConfig { places, worlds, dead_reckoning, sessions, portal, metrics, recorder, fuse } =
        start;
    let line = |scene: &Arc<Scene>, Inbox { waiting, waker }: &Inbox| {
        FrameFollower::new(scene, waiting, Some(waker.clone()), dead_reckoning)
    };
    let ways = places
        .iter()
        .map(|place| {
            let inbox = worlds.inboxes.shared().get(place.world()).expect("a shared world has an inbox");
            let way = FollowedWorld {
                line: line(&place.scene, inbox),
                region: place.id.0.into(),
                timing: metrics.timing(
                    "throng_replica_encode_seconds",
                    "Time to encode and publish one frame of the world.",
                    &[("world", place.name())],
                ),
            };
            (place.world(), way)
        })
        .collect();
    let counters = Arc::new(ReplicaCounters::default());
    let (stop, stopped) = crossbeam_channel::bounded(1);
    let thread = ReplicaThread {
        ways,
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
    pub(super) fn watch(&self) -> Arc<ReplicaCounters> {
        Arc::clone(&self.counters)
    }

    pub(super) fn stop(self) {
        drop(self.stop);
        if self.thread.join().is_err() {
            tracing::error!("the replica thread has panicked");
        }
    }
}

struct ReplicaThread {
    ways: WorldMap<FollowedWorld>,
    frames: Receiver<Box<Frame>>,
    spent: Sender<Box<Frame>>,
    stopped: Receiver<()>,
    sessions: Arc<Sessions>,
    portal: Arc<HttpState>,
    counters: Arc<ReplicaCounters>,
    fuse: Arc<Fuse>,
}

impl ReplicaThread {
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
        let way = self.ways.get_mut(frame.world).expect("only shared worlds send frames to this thread");
        way.line.follow(&frame);
        way.timing.record((self.portal.clock)() - began_at);
        let region = way.region;
        let world = frame.world;
        self.count();
        if !frame.events.is_empty() {
            let events: Arc<[Event]> = std::mem::take(&mut frame.events).into();
            for event in events.iter() {
                if let Event::Chat(chat) = event {
                    self.portal.live.show_chat(region, chat);
                }
            }
            self.sessions.send_to_shards(&ToShard::Events(world, events));
        }
        // The worlds have enough to fill, if this one is not wanted back.
        let _ = self.spent.try_send(frame);
    }

    fn count(&self) {
        let sum = |of: fn(&Followed) -> u64| self.ways.values().map(|way| of(&way.line.followed())).sum();
        let counters = &self.counters;
        counters.frames.fetch_add(1, Ordering::Relaxed);
        counters.blocks_encoded.store(sum(|followed| followed.blocks_encoded), Ordering::Relaxed);
        counters.resyncs.store(sum(|followed| followed.resyncs), Ordering::Relaxed);
        counters.copies.store(sum(|followed| followed.copies), Ordering::Relaxed);
    }
}
