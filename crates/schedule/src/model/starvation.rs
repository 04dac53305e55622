//! Long tasks on a full node, with and without starvation control.
//!
//! Worlds and long tasks share cores as the kernel would share them at their priorities: short-task workers and the node's other
//! threads take their demand, long threads get the rest. For a minute more long work arrives than fits the rest; afterwards the
//! recovery of the queue is observed. The worlds are scheduled by production code, beat by beat; only the cores are a sum.

use super::{Chance, Crew, VirtualStep};
use crate::{
    Schedule, TaskId,
    long::{LongId, LongQueue, LongSpec},
    starvation::{Backlog, Measure, Starvation},
};
use ids::{Instant, Tick};
use std::{sync::Arc, time::Duration};

/// A node and its storm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EpisodeSettings {
    /// Seed of the worlds' costs.
    pub seed: u64,
    /// True with starvation control.
    pub is_controlled: bool,
    /// Cores, and how many of them the node's other threads keep busy.
    pub cores: f64,
    /// See `cores`.
    pub others: f64,
    /// Short-task workers.
    pub workers: usize,
    /// Long threads.
    pub long_threads: usize,
    /// Worlds.
    pub worlds: usize,
    /// Workers that the worlds need.
    pub demand: f64,
    /// World time of a frame.
    pub dt: Duration,
    /// Long work for each second of the storm, in seconds.
    pub storm_load: f64,
    /// Duration of one long task on a core of its own.
    pub long: Duration,
    /// Time before the storm, its length, and time after it.
    pub calm: Duration,
    /// See `calm`.
    pub storm: Duration,
    /// See `calm`.
    pub after: Duration,
}

impl Default for EpisodeSettings {
    /// Two cores, one of which the shards keep busy and the worlds nearly the other, and ten saves of 25 ms a second.
    fn default() -> Self {
        Self {
            seed: 1,
            is_controlled: true,
            cores: 2.0,
            others: 1.0,
            workers: 1,
            long_threads: 1,
            worlds: 200,
            demand: 0.9,
            dt: Duration::from_millis(50),
            storm_load: 0.25,
            long: Duration::from_millis(25),
            calm: Duration::from_secs(5),
            storm: Duration::from_secs(60),
            after: Duration::from_secs(60),
        }
    }
}

/// The node at one time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EpisodePoint {
    /// Time.
    pub at: Instant,
    /// Orders to the workers.
    pub measure: Measure,
    /// Long work that waits.
    pub backlog: Backlog,
    /// Longest frame that ended since the last point, from its due time; zero if none ended.
    pub frame: Duration,
    /// World time passed ÷ wall time passed.
    pub dilation: f32,
}

/// Course of a run, a point per beat.
#[derive(Clone, Debug, PartialEq)]
pub struct Episode {
    /// In the order of time.
    pub points: Vec<EpisodePoint>,
    /// From the end of the storm until the backlog was below [`Starvation::FALL_BELOW`], if it ever was.
    pub recovered_after: Option<Duration>,
}

impl Episode {
    /// Greatest backlog of long work.
    #[must_use]
    pub fn backlog_max(&self) -> Duration {
        self.points.iter().map(|point| point.backlog.work).max().unwrap_or_default()
    }
}

/// Runs it.
#[must_use]
pub fn episode(settings: &EpisodeSettings) -> Episode {
    let mut node = VirtualNode::new(settings);
    let storm_ends = Instant::ZERO + settings.calm + settings.storm;
    let ends = storm_ends + settings.after;
    let (mut points, mut recovered_after) = (Vec::new(), None);
    while node.now < ends {
        let is_storm = node.now >= Instant::ZERO + settings.calm && node.now < storm_ends;
        let point = node.beat(is_storm);
        if point.at > storm_ends && point.backlog.total() < Starvation::FALL_BELOW {
            recovered_after = recovered_after.or_else(|| Some(point.at - storm_ends));
        }
        points.push(point);
    }
    Episode { points, recovered_after }
}

struct VirtualNode {
    settings: EpisodeSettings,
    now: Instant,
    schedule: Schedule<Duration>,
    crew: Crew<Duration>,
    long: LongQueue<Duration>,
    /// Running tasks and their remaining work.
    running: Vec<(LongId, Duration)>,
    n_submitted: u64,
    /// Long work that has come up and does not make a whole task yet.
    unsubmitted: Duration,
    starvation: Starvation,
}

impl VirtualNode {
    fn new(settings: &EpisodeSettings) -> Self {
        let mut schedule = Schedule::new(settings.workers);
        let mut chance = Chance::new(settings.seed);
        let weights: Vec<f64> = (0..settings.worlds).map(|_| 0.5 + chance.share()).collect();
        let total: f64 = weights.iter().sum();
        for (world, weight) in (1..).zip(weights) {
            let cost = settings.dt.mul_f64(settings.demand * weight / total);
            schedule.add(Instant::ZERO, TaskId(world), settings.dt, Tick(0), cost);
        }
        Self {
            settings: *settings,
            now: Instant::ZERO,
            schedule,
            crew: Crew::new(settings.workers),
            long: LongQueue::default(),
            running: Vec::new(),
            n_submitted: 0,
            unsubmitted: Duration::ZERO,
            starvation: Starvation::new(settings.workers),
        }
    }

    /// One `dt`.
    fn beat(&mut self, is_storm: bool) -> EpisodePoint {
        let dt = self.settings.dt;
        if is_storm {
            self.submit(dt.mul_f64(self.settings.storm_load));
        }
        let busy_before = self.crew.busy();
        let mut dilation = 1.0_f32;
        let mut make = |start: &crate::StepStart, cost: &Duration| {
            dilation = dilation.min(start.dilation);
            VirtualStep { took: *cost, ..VirtualStep::default() }
        };
        self.crew.advance(&mut self.schedule, self.now + dt, &mut make);
        self.now += dt;
        // Long threads get the rest of the cores.
        let busy = (self.crew.busy() - busy_before).as_secs_f64();
        let left = (self.settings.cores - self.settings.others) * dt.as_secs_f64() - busy;
        let given_s = left.clamp(0.0, self.settings.long_threads as f64 * dt.as_secs_f64());
        self.run_long(given_s);
        let each = Duration::from_secs_f64(given_s / self.running.len().max(1) as f64).min(dt);
        for (id, _) in &self.running {
            self.long.observe(*id, self.now, each, dt - each);
        }

        let backlog = self.long.backlog(self.now, self.settings.long_threads);
        let mut measure = Measure { level: 0, n_workers: self.settings.workers, pause_per_mille: 0 };
        if self.settings.is_controlled {
            measure = self.starvation.update(self.now, backlog, self.schedule.demand());
            self.schedule.flags().limit(measure.n_workers, measure.pause_per_mille);
            self.schedule.set_level(measure.level);
        }
        let summary = self.schedule.drain_frames(&mut Vec::new());
        let frame = summary.worst.map_or(Duration::ZERO, |worst| worst.lasted());
        EpisodePoint { at: self.now, measure, backlog, frame, dilation }
    }

    fn submit(&mut self, work: Duration) {
        let long = self.settings.long;
        self.unsubmitted += work;
        while self.unsubmitted >= long {
            self.unsubmitted -= long;
            self.n_submitted += 1;
            let spec = LongSpec { kind: "save", name: String::new(), estimated: long };
            self.long.push(LongId(self.n_submitted), self.now, Arc::default(), spec, long);
        }
    }

    /// Gives long threads `given_s` seconds of cores in this beat, evenly spread and in equal parts.
    fn run_long(&mut self, given_s: f64) {
        let mut left_s = given_s;
        while left_s > 1e-9 {
            let (beat_ends, dt) = (self.now - Instant::ZERO, self.settings.dt);
            let at = |left_s: f64| Instant::ZERO + (beat_ends - dt.mul_f64(left_s / given_s));
            let now = at(left_s);
            while self.running.len() < self.settings.long_threads
                && let Some(begun) = self.long.start_task(now)
            {
                self.running.push((begun.id, begun.work));
            }
            let Some(shortest) = self.running.iter().map(|(_, left)| left.as_secs_f64()).reduce(f64::min)
            else {
                return;
            };
            let part_s = shortest.min(left_s / self.running.len() as f64).max(1e-9);
            left_s -= part_s * self.running.len() as f64;
            for (_, left) in &mut self.running {
                *left = left.saturating_sub(Duration::from_secs_f64(part_s));
            }
            let ended_at = at(left_s.max(0.0));
            self.running.retain(|&(id, left)| {
                if left.is_zero() {
                    self.long.finish(id, ended_at);
                }
                !left.is_zero()
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_control_long_work_queues_up_and_stays() {
        let episode = episode(&EpisodeSettings { is_controlled: false, ..EpisodeSettings::default() });
        assert!(episode.backlog_max() > Duration::from_secs(8), "{:?}", episode.backlog_max());
        assert!(
            episode.recovered_after.is_none_or(|after| after > Duration::from_secs(30)),
            "{:?}",
            episode.recovered_after
        );
    }

    #[test]
    fn with_control_it_is_back_to_normal_within_ten_seconds_and_worlds_keep_half_their_speed() {
        for demand in [0.7, 0.8, 0.9, 0.99] {
            let episode = episode(&EpisodeSettings { demand, ..EpisodeSettings::default() });
            assert!(episode.backlog_max() < Duration::from_secs(2), "{demand}: {:?}", episode.backlog_max());
            let recovered_after = episode.recovered_after.expect("it recovers");
            assert!(recovered_after < Duration::from_secs(10), "{demand}: {recovered_after:?}");
            assert!(episode.points.iter().all(|point| point.dilation > 0.48), "{demand}");
            let last = episode.points.last().unwrap();
            assert_eq!((last.measure.level, last.dilation), (0, 1.0), "all is well again");
        }
    }

    #[test]
    fn frames_stay_within_the_beat_where_demand_and_the_storm_fit_into_it_together() {
        let settings = EpisodeSettings { demand: 0.6, storm_load: 0.35, ..EpisodeSettings::default() };
        let episode = episode(&settings);
        let over = episode.points.iter().filter(|point| point.frame > settings.dt).count();
        assert!(over * 100 <= episode.points.len(), "{over} of {}", episode.points.len());
        assert!(episode.recovered_after.is_some_and(|after| after < Duration::from_secs(10)));
    }

    #[test]
    fn many_workers_make_room_too() {
        let settings = EpisodeSettings {
            cores: 20.0,
            others: 2.0,
            workers: 18,
            long_threads: 4,
            worlds: 1_000,
            demand: 17.0,
            storm_load: 3.0,
            ..EpisodeSettings::default()
        };
        let uncontrolled = episode(&EpisodeSettings { is_controlled: false, ..settings });
        let controlled = episode(&settings);
        assert!(uncontrolled.recovered_after.is_none_or(|after| after > Duration::from_secs(20)));
        assert!(
            controlled.recovered_after.is_some_and(|after| after < Duration::from_secs(10)),
            "{:?}",
            controlled.recovered_after
        );
        assert!(controlled.points.iter().all(|point| point.measure.n_workers >= 1));
    }
}
