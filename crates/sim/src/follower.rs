//! Followers of a world's frames: the part of the `replica` thread for one world.

use gateway::feed::Feed;
use ids::SessionKey;
use link::{Action, Command, Frame};
use replicate::{EncodedFrame, Encoder, Intake, Publisher, Replica};
use std::sync::Arc;
use std::time::Duration;

pub(crate) struct Follower {
    pub(crate) encoder: Encoder,
    encoded: EncodedFrame,
    publisher: Publisher,
    /// Numbers the node's own commands.
    next_command: u64,
}

impl Follower {
    /// For a world with steps of this length and this initial replica.
    pub(crate) fn new(dt: Duration, replica: Replica) -> Self {
        Self {
            encoder: Encoder::new(dt),
            encoded: EncodedFrame::default(),
            publisher: Publisher::new(replica),
            next_command: 0,
        }
    }

    /// Encodes and publishes a frame, or asks its world for a snapshot.
    pub(crate) fn handle_frame(&mut self, frame: &Frame, feed: &Feed) -> Option<Command> {
        match self.encoder.encode(frame, &mut self.encoded) {
            Intake::Ready => {
                self.encoded = self.publisher.publish(std::mem::take(&mut self.encoded));
                feed.publish(Arc::clone(self.publisher.current()));
                None
            }
            Intake::NeedsSnapshot => {
                let sequence = self.next_command;
                self.next_command += 1;
                Some(Command::by_node(SessionKey::NODE, sequence, Action::Resync))
            }
            Intake::Waiting => None,
        }
    }
}

/// Edge of a square of the grid.
const GRID_M: u32 = 256;

/// Position of a region: far enough from the other not to be a neighbour.
pub(crate) const fn grid(n: u32, size_m: u32) -> (u32, u32) {
    (1_000 + 2 * n * (size_m / GRID_M), 1_000)
}
