//! A batch under way.

use crate::{
    batch::{Batch, StepJob},
    frames::OpenRecord,
};
use ids::Instant;
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct Flight<H> {
    pub(super) batch: Arc<Batch<H>>,
    /// Group of the beat; `None` off the beat.
    pub(super) group: Option<usize>,
    /// Deadline of its frames, for the next ones to be on time.
    pub(super) deadline: Instant,
    /// Jobs of stays that have ended.
    pub(super) n_left: usize,
    /// Jobs whose results were not collected when a worker looked before the end of the batch, by index.
    pub(super) pending: Vec<u32>,
    pub(super) is_partly_collected: bool,
    pub(super) open: OpenRecord,
}

impl<H> Default for Flight<H> {
    fn default() -> Self {
        Self {
            batch: Arc::default(),
            group: None,
            deadline: Instant::ZERO,
            n_left: 0,
            pending: Vec::new(),
            is_partly_collected: false,
            open: OpenRecord::default(),
        }
    }
}

impl<H> Flight<H> {
    /// Its jobs, before it is shared.
    pub(super) fn jobs(&mut self) -> &mut Vec<StepJob<H>> {
        &mut Arc::get_mut(&mut self.batch).expect("the batch is not shared").jobs
    }

    /// Order of batches, least first: earliest deadline first, which keeps all deadlines that can be kept and starves no batch; on a
    /// tie the shorter one, which holds the late tasks of the same beat.
    pub(super) fn urgency(&self) -> (Instant, usize) {
        (self.deadline, self.batch.jobs.len())
    }
}
