//! Two copies of a replica that take turns: shards read one while the other is updated.
//!
//! Every frame is applied once to each copy, so nothing is copied as a whole, unless a reader still holds the copy whose turn it is;
//! then the reader keeps it and the newer copy is cloned, which is counted.

use crate::encoder::EncodedFrame;
use crate::replica::Replica;
use std::sync::Arc;
use systems::System;

/// Owner of one world's replica.
#[derive(Debug)]
pub struct Publisher {
    front: Arc<Replica>,
    back: Arc<Replica>,
    /// Applied to `front`, not yet to `back`.
    lagging: Option<EncodedFrame>,
    /// Whole copies made because a reader was slow.
    pub copies: u64,
}

impl Publisher {
    /// Begins with `empty`, a replica without entities.
    #[must_use]
    pub fn new(empty: Replica) -> Self {
        Self { back: Arc::new(empty.clone()), front: Arc::new(empty), lagging: None, copies: 0 }
    }

    /// The newest state. Hold it for one pass, not for longer than a tick.
    #[must_use]
    pub const fn current(&self) -> &Arc<Replica> {
        &self.front
    }

    /// Brings the state forward. Gives back a spent frame whose buffers can be filled again.
    #[inline(never)]
    pub fn publish(&mut self, frame: EncodedFrame) -> EncodedFrame {
        System::ReplicaPublish.enter();
        let spent = self.lagging.take();
        let newest = (self.front.epoch, self.front.sequence);
        let is_next = spent.is_none() || (frame.epoch, frame.sequence) == (newest.0, newest.1 + 1);
        assert!(
            frame.restarts || is_next,
            "a replica at {newest:?} is not brought forward by frame {:?}",
            (frame.epoch, frame.sequence)
        );
        if let Some(back) = Arc::get_mut(&mut self.back) {
            if let Some(missed) = &spent {
                back.apply(missed);
            }
            assert_eq!((back.epoch, back.sequence), newest, "both replicas have applied the same frames");
            back.apply(&frame);
            back.rebuild_cells();
        } else {
            self.copies += 1;
            let mut copy = Replica::clone(&self.front);
            copy.apply(&frame);
            copy.rebuild_cells();
            self.back = Arc::new(copy);
        }
        std::mem::swap(&mut self.front, &mut self.back);
        self.lagging = Some(frame);
        spent.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenery::SceneryReplica;
    use ids::WorldId;

    #[test]
    #[should_panic(expected = "both replicas have applied the same frames")]
    fn a_replica_that_missed_a_frame_does_not_apply_the_next() {
        let frame = |sequence| EncodedFrame { sequence, ..EncodedFrame::default() };
        let scenery = SceneryReplica::new(Arc::default(), 1);
        let mut publisher = Publisher::new(Replica::new(WorldId(0), 256.0, scenery));
        publisher.publish(frame(1));
        publisher.lagging = None;
        publisher.publish(frame(2));
    }
}
