//! From worlds' frames to published replicas: on the `replica` thread for shared worlds, within the step for instances.

use super::keepers::Keepers;
use super::node_edits::{NodeEditOutcome, NodeEdits};
use super::parcels::ParcelMaps;
use super::solids::SolidDesk;
use crossbeam_channel::{Receiver, Sender, TrySendError, bounded, select};
use gateway::follower::{FollowerTotals, FrameFollower};
use gateway::http::HttpState;
use gateway::mail::ToShard;
use gateway::places::{Places, Scene};
use gateway::sessions::Sessions;
use keeper::WardrobeOrder;
use link::{Event, Frame};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use telemetry::recorder::{Arg, Recorder, Scope, frame_end};
use telemetry::{Metrics, Timing};
use workplace::faults::Fuse;
use workplace::serving::{FrameOutlet, SentFrame, SnapshotRequest};
use workplace::world_map::WorldMap;
use workplace::worlds::Worlds;
use workplace::{ThreadError, opaque_debug};

/// Frames on their way to the replica thread, all worlds together: two seconds of two worlds. A frame without room is dropped, and a
/// snapshot heals the gap.
const FRAMES_MAX: usize = 64;

/// Changes of an instance for which a worker's frame has memory at once: all of 256 NPCs and 64 visitors move and are animated in one tick.
/// Which instances a worker steps changes at any time, and a steady tick takes no memory.
const INSTANCE_CHANGES: usize = 2 * (world::NPCS_MAX + 64);

/// The frames of an instance: where few avatars are, they are encoded in less time than it takes to wake another thread.
pub struct InstanceFrames {
    follower: FrameFollower,
    sessions: Arc<Sessions>,
}

thread_local! {
    /// The spent frame of a worker, for the next step of any instance: a thousand frames of their own would not stay in its cache.
    static SPENT: Cell<Option<Box<Frame>>> = const { Cell::new(None) };
}

impl InstanceFrames {
    /// Of the instance that has this scene.
    pub fn new(
        scene: &Arc<Scene>,
        dead_reckoning: bool,
        sessions: &Arc<Sessions>,
        request_snapshot: SnapshotRequest,
    ) -> Self {
        let follower = FrameFollower::new(scene, dead_reckoning, request_snapshot);
        Self { follower, sessions: Arc::clone(sessions) }
    }
}

impl FrameOutlet for InstanceFrames {
    fn spare_frame(&mut self) -> Box<Frame> {
        SPENT.take().unwrap_or_else(|| {
            let changes = Vec::with_capacity(INSTANCE_CHANGES);
            Box::new(Frame { changes, ..Frame::empty() })
        })
    }

    fn send(&mut self, mut frame: Box<Frame>) -> SentFrame {
        let copies_before = self.follower.totals().copies;
        self.follower.follow(&frame);
        if !frame.events.is_empty() {
            // A slow shard delays no step of any world. Losses heal: a passage is given up in time, and the others are words.
            self.sessions.offer_shards(&ToShard::Events(frame.world, frame.events.as_slice().into()));
        }
        // Now, so that what this world allocated is freed in its own step.
        frame.changes.clear();
        frame.events.clear();
        SPENT.set(Some(frame));
        SentFrame { is_lost: false, n_copies: self.follower.totals().copies - copies_before }
    }
}

/// The queue of shared worlds' frames to the thread, and the queue of spent ones back: to encode a crowd takes time, and the next step need not
/// wait for it.
pub struct FrameQueue {
    frames: (Sender<Box<Frame>>, Receiver<Box<Frame>>),
    spent: (Sender<Box<Frame>>, Receiver<Box<Frame>>),
}

impl Default for FrameQueue {
    fn default() -> Self {
        Self::new()
    }
}

impl FrameQueue {
    /// An empty one.
    pub fn new() -> Self {
        Self { frames: bounded(FRAMES_MAX), spent: bounded(FRAMES_MAX) }
    }

    /// The sending end for one world.
    pub fn outlet(&self) -> Box<dyn FrameOutlet> {
        Box::new(QueuedFrames { frames: self.frames.0.clone(), spent: self.spent.1.clone() })
    }
}

struct QueuedFrames {
    frames: Sender<Box<Frame>>,
    spent: Receiver<Box<Frame>>,
}

impl FrameOutlet for QueuedFrames {
    fn spare_frame(&mut self) -> Box<Frame> {
        self.spent.try_recv().unwrap_or_else(|_| Box::new(Frame::empty()))
    }

    fn send(&mut self, frame: Box<Frame>) -> SentFrame {
        let is_lost = matches!(self.frames.try_send(frame), Err(TrySendError::Full(_)));
        SentFrame { is_lost, n_copies: 0 }
    }
}

opaque_debug!(InstanceFrames, FrameQueue, Replicas, ReplicaThreadConfig<'_>);

/// The `replica` thread.
pub struct Replicas {
    thread: JoinHandle<Keepers>,
    stop: Sender<()>,
    counters: Arc<ReplicaCounters>,
}

/// Counters of the thread.
#[derive(Debug, Default)]
pub struct ReplicaCounters {
    /// Frames of shared worlds.
    pub frames: AtomicU64,
    /// Blocks that were encoded for all receivers.
    pub blocks_encoded: AtomicU64,
    /// Snapshots that were requested after a gap.
    pub resyncs: AtomicU64,
    /// Copies of whole replicas.
    pub copies: AtomicU64,
}

/// One frame of a world. Half a tick: one thread does this for all worlds.
static ENCODE: Scope = Scope::new("replica.encode").arg(Arg::World).limit_us(25_000);

/// Arguments of the thread.
pub struct ReplicaThreadConfig<'a> {
    /// The regions.
    pub places: &'a Places,
    /// Their worlds.
    pub worlds: &'a Worlds,
    /// Their frames.
    pub frames: FrameQueue,
    /// True if dead reckoning suppresses updates.
    pub dead_reckoning: bool,
    /// The sessions, whose shards get the events.
    pub sessions: &'a Arc<Sessions>,
    /// Chat for the page, and the clock.
    pub http_state: Arc<HttpState>,
    /// Of the times of frames.
    pub metrics: &'a Metrics,
    /// The flight recorder.
    pub recorder: Recorder,
    /// Of faults that are ordered.
    pub fuse: Arc<Fuse>,
    /// Keepers of the worlds' objects.
    pub keepers: Keepers,
    /// Requests of the node whose results come in frames.
    pub node_edits: Arc<NodeEdits>,
    /// Parcels of the worlds, for operators.
    pub parcels: Arc<ParcelMaps>,
    /// Solids of assets that worlds want.
    pub solids: Arc<SolidDesk>,
}

/// One world's follower with this thread's data on the world.
struct FollowedWorld {
    follower: FrameFollower,
    region: u32,
    timing: Timing,
}

/// Starts the thread.
///
/// # Errors
/// The system gives no thread.
pub fn start(start: ReplicaThreadConfig<'_>) -> Result<Replicas, ThreadError> {
    let ReplicaThreadConfig {
        places,
        worlds,
        frames,
        dead_reckoning,
        sessions,
        http_state,
        metrics,
        recorder,
        fuse,
        keepers,
        node_edits,
        parcels,
        solids,
    } = start;
    let followed = places
        .iter()
        .map(|place| {
            let inbox = worlds.inboxes.shared().get(place.world()).expect("a shared world has an inbox");
            let world = FollowedWorld {
                follower: FrameFollower::new(&place.scene, dead_reckoning, inbox.snapshot_request()),
                region: place.id.0.into(),
                timing: metrics.timing(
                    "throng_replica_encode_seconds",
                    "Time to encode and publish one frame of the world.",
                    &[("world", place.name())],
                ),
            };
            (place.world(), world)
        })
        .collect();
    let counters = Arc::new(ReplicaCounters::default());
    let (stop, stopped) = bounded(1);
    let thread = ReplicaThread {
        worlds: followed,
        // The other ends are those of the worlds alone, so that the thread ends after them.
        frames: frames.frames.1,
        spent: frames.spent.0,
        stopped,
        sessions: Arc::clone(sessions),
        http_state,
        counters: Arc::clone(&counters),
        fuse,
        keepers,
        node_edits,
        parcels,
        solids,
    };
    let thread = std::thread::Builder::new()
        .name("replica".into())
        .spawn(move || {
            recorder.thread("replica").install();
            thread.run()
        })
        .map_err(|source| ThreadError { name: "replica", source })?;
    Ok(Replicas { thread, stop, counters })
}

impl Replicas {
    /// Its counters.
    pub fn watch(&self) -> Arc<ReplicaCounters> {
        Arc::clone(&self.counters)
    }

    /// Ends the thread after the last frame. The keepers have not saved all of it yet; `None` if the thread has panicked.
    pub fn stop(self) -> Option<Keepers> {
        drop(self.stop);
        let keepers = self.thread.join();
        if keepers.is_err() {
            tracing::error!("the replica thread has panicked");
        }
        keepers.ok()
    }
}

struct ReplicaThread {
    worlds: WorldMap<FollowedWorld>,
    frames: Receiver<Box<Frame>>,
    spent: Sender<Box<Frame>>,
    stopped: Receiver<()>,
    sessions: Arc<Sessions>,
    http_state: Arc<HttpState>,
    counters: Arc<ReplicaCounters>,
    fuse: Arc<Fuse>,
    keepers: Keepers,
    node_edits: Arc<NodeEdits>,
    parcels: Arc<ParcelMaps>,
    solids: Arc<SolidDesk>,
}

/// Without a batch to hand out, the thread waits for a frame.
const IDLE: Duration = Duration::from_secs(3_600);

impl ReplicaThread {
    fn run(mut self) -> Keepers {
        loop {
            let now = (self.http_state.clock)();
            let until_next = self.keepers.poll_timeout().map_or(IDLE, |at| at.since(now));
            select! {
                recv(self.frames) -> frame => match frame {
                    Ok(frame) => {
                        self.take(frame);
                        frame_end();
                    }
                    Err(_) => return self.keepers,
                },
                recv(self.keepers.outcomes()) -> outcome => if let Ok(outcome) = outcome {
                    self.keepers.take_outcome(now, outcome);
                },
                recv(self.keepers.notices()) -> notice => if let Ok(notice) = notice {
                    self.keepers.tell(notice);
                },
                recv(self.keepers.restores()) -> request => if let Ok(request) = request {
                    self.keepers.take_restore(request);
                },
                recv(self.keepers.dressing()) -> order => if let Ok(order) = order {
                    if matches!(order, WardrobeOrder::Ask(_)) {
                        // What has left its world in an earlier frame is no longer worn.
                        self.take_waiting();
                    }
                    self.keepers.take_dressing((self.http_state.clock)(), order);
                    while let Some((world, answer)) = self.keepers.poll_worn_answer() {
                        self.sessions.send_to_shards(&ToShard::Events(world, [answer].into()));
                    }
                },
                recv(self.keepers.orders()) -> order => if let Ok(order) = order {
                    // Those that were sent before the order are part of it.
                    self.take_waiting();
                    self.keepers.take_order((self.http_state.clock)(), order);
                },
                recv(self.keepers.holds()) -> order => if let Ok(order) = order {
                    self.take_waiting();
                    self.keepers.take_hold((self.http_state.clock)(), order);
                },
                recv(self.stopped) -> _ => {
                    // The worlds have ended; what they sent last is kept, too.
                    while let Ok(frame) = self.frames.try_recv() {
                        self.take(frame);
                    }
                    return self.keepers;
                }
                default(until_next) => self.keepers.save_due((self.http_state.clock)()),
            }
        }
    }

    /// Takes the frames that wait.
    fn take_waiting(&mut self) {
        for _ in 0..FRAMES_MAX {
            let Ok(frame) = self.frames.try_recv() else { break };
            self.take(frame);
        }
    }

    fn take(&mut self, mut frame: Box<Frame>) {
        let _scope = ENCODE.enter(frame.world.0.into());
        let began_at = (self.http_state.clock)();
        self.fuse.strike();
        let followed =
            self.worlds.get_mut(frame.world).expect("only shared worlds send frames to this thread");
        followed.follower.follow(&frame);
        self.keepers.take(began_at, &frame);
        self.parcels.follow(&frame);
        followed.timing.record((self.http_state.clock)() - began_at);
        let region = followed.region;
        let world = frame.world;
        self.count();
        if !frame.events.is_empty() {
            let events: Arc<[Event]> = std::mem::take(&mut frame.events).into();
            for event in events.iter() {
                if let Event::Chat(chat) = event {
                    self.http_state.live.show_chat(region, chat);
                }
                if let Event::ObjectsChanged { sequence, done, refused, reason } = event {
                    let outcome = NodeEditOutcome { done: *done, refused: *refused, reason: *reason };
                    self.node_edits.settle(*sequence, outcome);
                }
                if let Event::SolidsWanted(keys) = event {
                    self.solids.note(world, keys);
                }
            }
            self.sessions.send_to_shards(&ToShard::Events(world, events));
        }
        // The worlds have enough to fill, if this one is not wanted back.
        let _ = self.spent.try_send(frame);
    }

    fn count(&self) {
        let sum = |of: fn(&FollowerTotals) -> u64| {
            self.worlds.values().map(|world| of(&world.follower.totals())).sum()
        };
        let counters = &self.counters;
        counters.frames.fetch_add(1, Ordering::Relaxed);
        counters.blocks_encoded.store(sum(|totals| totals.blocks_encoded), Ordering::Relaxed);
        counters.resyncs.store(sum(|totals| totals.resyncs), Ordering::Relaxed);
        counters.copies.store(sum(|totals| totals.copies), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_beyond_the_queue_is_lost_and_spent_ones_are_filled_again() {
        let queue = FrameQueue::new();
        let mut outlet = queue.outlet();
        let mut send = |n: usize| {
            let frame = outlet.spare_frame();
            (0..n).map(|_| outlet.send(frame.clone()).is_lost).collect::<Vec<_>>()
        };
        assert!(!send(FRAMES_MAX).contains(&true));
        assert_eq!(send(2), [true, true]);
        let mut spent = queue.frames.1.recv().expect("a frame");
        spent.sequence = 7;
        queue.spent.0.send(spent).expect("the world takes it");
        assert_eq!(send(1), [false]);
        assert_eq!(queue.frames.1.try_iter().last().map(|frame| frame.sequence), Some(7));
    }
}
