//! A world's way from frames to a published replica: on the `replica` thread, or behind the step of a small world.

use crate::inboxes::Waiting;
use gateway::places::Scene;
use ids::SessionKey;
use link::{Action, Command, Frame};
use replicate::{EncodedFrame, Encoder, Intake, Publisher};
use schedule::Waker;
use std::sync::Arc;

/// Follower of one world's frames.
pub struct FrameFollower {
    encoder: Encoder,
    publisher: Publisher,
    /// Buffers to be filled again.
    spare: EncodedFrame,
    scene: Arc<Scene>,
    waiting: Arc<Waiting>,
    /// Of the world, when it does not follow its frames itself.
    waker: Option<Waker>,
    commands_sent: u64,
}

/// Counters of followers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Followed {
    /// Blocks encoded.
    pub blocks_encoded: u64,
    /// Snapshots requested.
    pub resyncs: u64,
    /// Replicas copied because a shard held the one whose turn it was.
    pub copies: u64,
}

impl FrameFollower {
    /// For a world that takes commands there. Without `dead_reckoning` every movement is sent.
    pub fn new(
        scene: &Arc<Scene>,
        waiting: &Arc<Waiting>,
        waker: Option<Waker>,
        dead_reckoning: bool,
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
            waiting: Arc::clone(waiting),
            waker,
            commands_sent: 0,
        }
    }

    /// Encodes a frame and publishes the state after it, or requests a snapshot from the world.
    pub fn follow(&mut self, frame: &Frame) {
        let mut encoded = std::mem::take(&mut self.spare);
        match self.encoder.encode(frame, &mut encoded) {
            Intake::Ready => {
                self.spare = self.publisher.publish(encoded);
                self.scene.feed.publish(Arc::clone(self.publisher.current()));
            }
            Intake::NeedsSnapshot => {
                self.spare = encoded;
                self.ask_for_snapshot();
            }
            Intake::Waiting => self.spare = encoded,
        }
    }

    /// Totals.
    pub const fn followed(&self) -> Followed {
        let Self { encoder, publisher, .. } = self;
        Followed {
            blocks_encoded: encoder.blocks_encoded,
            resyncs: encoder.resyncs,
            copies: publisher.copies,
        }
    }

    fn ask_for_snapshot(&mut self) {
        let command = Command::by_node(SessionKey::NODE, self.commands_sent, Action::Resync);
        self.commands_sent += 1;
        // If the inbox is full, the encoder asks again later.
        if self.waiting.push_command(command)
            && let Some(waker) = &self.waker
        {
            waker.wake();
        }
    }
}

opaque_debug!(FrameFollower);
