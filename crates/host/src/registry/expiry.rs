//! Expiry of unvisited instances that portals created, and the record of their last visits.
//!
//! Each user that enters a portal gets an instance. Instances of portals therefore have a total limit ([`super::RegistryConfig::portal_max`]), a
//! quota per user, and an expiry time: last visit + [`super::TemplateFacts::keep`]. The last visit is written with a delay of at most
//! [`NOTE_AFTER_S`] + [`Registry::SWEEP_PERIOD`]: a crash shortens the keep time by at most this sum.

use super::phase::InstancePhase;
use super::{InstanceRecord, Job, JobId, Registry};
use ids::{Uuid, WorldId};
use std::time::Duration;

/// Age of the stored time, in seconds, from which a later visit is written.
const NOTE_AFTER_S: i64 = 300;
/// Maximum number of instances that expire in one sweep: bounds the deletions that compete with other writes.
const EXPIRIES_MAX: usize = 64;

impl Registry {
    /// Period of the search for instances that have expired.
    pub const SWEEP_PERIOD: Duration = Duration::from_secs(10);

    /// Seconds since 1970.
    pub(super) fn unix_now_s(&self) -> i64 {
        self.config.unix_start_s + (self.now.0 / 1_000_000_000).cast_signed()
    }

    /// Sets the last visit of an instance that a portal created to the present time.
    pub(super) fn note_visit(&mut self, world: WorldId) {
        let now_s = self.unix_now_s();
        if let Some(visited_s) = &mut self.record_mut(world).row.visited_s {
            *visited_s = now_s;
        }
    }

    /// Ends expired instances, and issues the job that writes last visits.
    pub(super) fn sweep(&mut self) {
        let now_s = self.unix_now_s();
        for record in self.instances.values_mut() {
            let occupied = record.phase.active_mut().is_some_and(|active| !active.is_empty());
            if let Some(visited_s) = record.row.visited_s.as_mut().filter(|_| occupied) {
                *visited_s = now_s;
            }
        }
        let expired: Vec<WorldId> = self
            .instances
            .iter()
            .filter(|(_, record)| self.is_expired(record, now_s))
            .map(|(&world, _)| world)
            .take(EXPIRIES_MAX)
            .collect();
        for world in expired {
            self.counters.expired += 1;
            self.begin_delete(world);
        }
        self.write_visits(NOTE_AFTER_S);
    }

    fn is_expired(&self, record: &InstanceRecord, now_s: i64) -> bool {
        let is_unused = match &record.phase {
            InstancePhase::Suspended => true,
            InstancePhase::Active(active) => active.is_evictable(self.now),
            _ => false,
        };
        let keep = self.template(&record.row.template).ok().and_then(|template| template.keep);
        match record.row.visited_s.zip(keep) {
            Some((visited_s, keep)) if is_unused => {
                now_s.saturating_sub(visited_s) >= i64::try_from(keep.as_secs()).unwrap_or(i64::MAX)
            }
            _ => false,
        }
    }

    /// Issues a job that writes last visits which are at least `after_s` seconds later than the stored ones. One such job runs at a time.
    pub(super) fn write_visits(&mut self, after_s: i64) {
        if self.noting.is_some() {
            return;
        }
        let is_due = |record: &InstanceRecord| {
            let (visited_s, noted_s) = record.row.visited_s.zip(record.noted_s)?;
            let is_stored = !matches!(record.phase, InstancePhase::Recording(_) | InstancePhase::Deleting(_));
            (is_stored && visited_s - noted_s >= after_s).then_some((record.row.id, visited_s))
        };
        let due: Vec<(Uuid, i64)> = self.instances.values().filter_map(is_due).collect();
        if !due.is_empty() {
            let job = self.push_job(Job::NoteVisits(due.clone()));
            self.noting = Some((job, due));
        }
    }

    /// Handles the end of the job. After a failure the next sweep issues the job again.
    pub(super) fn on_visits_noted(&mut self, job: JobId, is_written: bool) {
        let (known, written) = self.noting.take().expect("last visits are noted once");
        assert_eq!(known, job, "one job writes last visits at a time");
        for (id, visited_s) in written.into_iter().filter(|_| is_written) {
            if let Some(world) = self.by_id.get(&id) {
                let record = self.instances.get_mut(world).expect("the world of a known instance");
                record.noted_s = record.noted_s.map(|_| visited_s);
            }
        }
    }
}
