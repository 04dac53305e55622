//! A batch under way.

use crate::{
    batch::{Batch, Job},
    frames::Open,
};
use ids::Instant;
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct Flight<H> {
    pub(super) batch: Arc<Batch<H>>,
    /// The group whose beat it is.
    pub(super) group: Option<usize>,
    /// When its frames have to be made, for the next ones to be in time.
    pub(super) deadline: Instant,
    /// Jobs of stays that have ended.
    pub(super) n_left: usize,
    /// Somebody had to look before all jobs were made: those that had not been taken back then, by their places.
    pub(super) pending: Vec<u32>,
    pub(super) is_partly_settled: bool,
    pub(super) open: Open,
}

impl<H> Default for Flight<H> {
    fn default() -> Self {
        Self {
            batch: Arc::default(),
            group: None,
            deadline: Instant::ZERO,
            n_left: 0,
            pending: Vec::new(),
            is_partly_settled: false,
            open: Open::default(),
        }
    }
}

impl<H> Flight<H> {
    /// What it is made of, until it is under way.
    pub(super) fn jobs(&mut self) -> &mut Vec<Job<H>> {
        &mut Arc::get_mut(&mut self.batch).expect("nobody else has it yet").jobs
    }

    /// Which of two batches is worked at first, the lesser one: the one whose deadline comes first, which keeps all deadlines that
    /// can be kept and lets nothing wait for ever. Of equal ones the shorter, which is what ran late of the same beat.
    pub(super) fn urgency(&self) -> (Instant, usize) {
        (self.deadline, self.batch.jobs.len())
    }
}
