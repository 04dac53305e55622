//! A world's frames on their way to its feed: encoded once for all clients, and published as the next replica.

use crate::places::Scene;
use link::Frame;
use replicate::{EncodedFrame, Encoder, Intake, Publisher};
use std::fmt;
use std::sync::Arc;

/// Follower of one world's frames.
pub struct FrameFollower {
    encoder: Encoder,
    publisher: Publisher,
    /// Buffers to be filled again.
    spare: EncodedFrame,
    scene: Arc<Scene>,
    request_snapshot: Box<dyn FnMut() -> bool + Send>,
    /// The world has had no room for the request.
    is_request_due: bool,
}

/// Totals of a follower.
#[derive(Clone, Copy, Debug, Default)]
pub struct FollowerTotals {
    /// Blocks encoded.
    pub blocks_encoded: u64,
    /// Snapshots requested.
    pub resyncs: u64,
    /// Replicas copied because a shard held the one whose turn it was.
    pub copies: u64,
}

impl FrameFollower {
    /// For the world of this scene. Without `dead_reckoning` every movement is sent. `request_snapshot` asks the world for a snapshot; false
    /// if that has no room for the request, which is repeated at the next frame then.
    #[must_use]
    pub fn new(
        scene: &Arc<Scene>,
        dead_reckoning: bool,
        request_snapshot: Box<dyn FnMut() -> bool + Send>,
    ) -> Self {
        let mut encoder = Encoder::new(scene.dt());
        if !dead_reckoning {
            encoder.stop_dead_reckoning();
        }
        Self {
            encoder,
            publisher: Publisher::new(scene.replica()),
            spare: EncodedFrame::default(),
            scene: Arc::clone(scene),
            request_snapshot,
            is_request_due: false,
        }
    }

    /// Encodes a frame and publishes the state after it, or requests a snapshot from the world.
    pub fn follow(&mut self, frame: &Frame) {
        let mut encoded = std::mem::take(&mut self.spare);
        match self.encoder.encode(frame, &mut encoded) {
            Intake::Ready => {
                self.is_request_due = false;
                self.spare = self.publisher.publish(encoded);
                self.scene.feed.publish(Arc::clone(self.publisher.current()));
            }
            Intake::NeedsSnapshot => {
                self.spare = encoded;
                self.is_request_due = true;
            }
            Intake::Waiting => self.spare = encoded,
        }
        if self.is_request_due {
            self.is_request_due = !(self.request_snapshot)();
        }
    }

    /// Totals.
    #[must_use]
    pub const fn totals(&self) -> FollowerTotals {
        let Self { encoder, publisher, .. } = self;
        FollowerTotals {
            blocks_encoded: encoder.blocks_encoded,
            resyncs: encoder.resyncs,
            copies: publisher.copies,
        }
    }
}

impl fmt::Debug for FrameFollower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameFollower").field("world", &self.scene.world).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{HARBOUR, Node};
    use link::SnapshotChunk;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn frames_are_published_in_order_and_a_gap_requests_a_snapshot() {
        let node = Node::new();
        let scene = &node.places.get(HARBOUR).scene;
        let requests = Arc::new(AtomicU32::new(0));
        let count = {
            let requests = Arc::clone(&requests);
            // The world has no room for the first one.
            Box::new(move || requests.fetch_add(1, Ordering::Relaxed) > 0)
        };
        let mut follower = FrameFollower::new(scene, true, count);
        let mut shown_after = |sequence, snapshot| {
            follower.follow(&Frame { world: scene.world, sequence, snapshot, ..Frame::empty() });
            (scene.feed.current().sequence, requests.load(Ordering::Relaxed), follower.totals().resyncs)
        };
        let first = shown_after(0, None);
        assert_eq!(shown_after(1, None), (first.0 + 1, 0, 0));
        assert_eq!(shown_after(3, None), (first.0 + 1, 1, 1), "the world has not answered yet");
        let whole = SnapshotChunk { index: 0, count: 1, ..SnapshotChunk::default() };
        assert_eq!(shown_after(4, None), (first.0 + 1, 2, 1), "it is asked again at once");
        assert_eq!(shown_after(5, None), (first.0 + 1, 2, 1));
        assert_eq!(shown_after(6, Some(whole)), (first.0 + 6, 2, 1));
    }
}
