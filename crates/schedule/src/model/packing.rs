//! Packing of worlds on workers: the figure `makespan_ratio`.
//!
//! No frame is shorter than `max(sum of all steps ÷ workers, longest step)`. The excess is the loss by a bad order of starts. Costs are
//! distributed like those of real worlds, most cheap and a few very expensive, and drift; the schedule knows only former frames.

use super::{Chance, Crew, VirtualStep};
use crate::{FrameTrace, Schedule, TaskId};
use ids::{Instant, Tick};
use std::time::Duration;

/// Worlds, workers and costs of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PackingSettings {
    /// Seed of costs and their drift.
    pub seed: u64,
    /// Virtual workers.
    pub workers: usize,
    /// Worlds.
    pub worlds: usize,
    /// Frames that count.
    pub frames: usize,
    /// World time of a frame.
    pub dt: Duration,
    /// Share of the workers' time that the worlds take, about.
    pub fill: f64,
    /// Shape of the Pareto distribution of costs.
    pub alpha: f64,
    /// No world costs more than all together ÷ this.
    pub truncated_at: f64,
    /// Relative change of a cost per frame, up or down.
    pub drift: f64,
}

impl Default for PackingSettings {
    /// Settings for which `makespan_ratio` is defined.
    fn default() -> Self {
        Self {
            seed: 1,
            workers: 36,
            worlds: 1_000,
            frames: 1_000,
            dt: Duration::from_millis(50),
            fill: 0.6,
            alpha: 1.5,
            truncated_at: 72.0,
            drift: 0.1,
        }
    }
}

/// Result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct WorldPacking {
    /// Length of each frame ÷ its shortest possible length.
    pub ratios: Vec<f64>,
    /// All frames together: the sum of their lengths ÷ the sum of the shortest possible.
    pub ratio: f64,
    /// Steps of the last frames.
    pub trace: FrameTrace,
}

impl WorldPacking {
    /// Quantile of the ratios, for example `quantile(0.99)`.
    #[must_use]
    pub fn quantile(&self, share: f64) -> f64 {
        let mut sorted = self.ratios.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1);
        sorted.get((last as f64 * share) as usize).copied().unwrap_or(1.0)
    }
}

/// Frames from which costs are learned before the others count.
const WARM_UP: usize = 32;
/// Frames to be drawn.
const TRACED: usize = 2;
/// Drift stays within initial cost ÷ 4 and × 4, so that the distribution keeps its shape.
const DRIFT_MAX: f64 = 4.0;

/// Runs it.
#[must_use]
pub fn packing(settings: &PackingSettings) -> WorldPacking {
    let &PackingSettings { workers, worlds, frames, dt, .. } = settings;
    let mut costs = DriftingCosts::new(settings);
    let (mut schedule, mut crew) = (Schedule::new(workers), Crew::new(workers));
    for world in 0..worlds {
        schedule.add(Instant::ZERO, TaskId(world as u64 + 1), dt, Tick(0), world);
    }
    let (mut records, mut ratios) = (Vec::new(), Vec::new());
    let (mut took, mut least) = (0.0, 0.0);
    for frame in 0..WARM_UP + frames {
        if frame + TRACED == WARM_UP + frames {
            drop(schedule.trace(FrameTrace::with_room(TRACED, worlds), TRACED));
        }
        // Up to just before the next beat.
        let until = Instant::ZERO + (dt * (frame as u32 + 1) - Duration::from_nanos(1));
        crew.advance(&mut schedule, until, &mut |_, &world| VirtualStep {
            took: costs.of(world),
            ..VirtualStep::default()
        });
        schedule.drain_frames(&mut records);
        for record in records.drain(..).filter(|_| frame >= WARM_UP) {
            let lasted = (record.ended_at - record.formed_at).as_secs_f64();
            let shortest = (record.cost.as_secs_f64() / workers as f64).max(record.longest.as_secs_f64());
            took += lasted;
            least += shortest;
            ratios.push(lasted / shortest);
        }
        costs.drift();
    }
    WorldPacking { ratios, ratio: took / least, trace: schedule.take_trace().unwrap_or_default() }
}

/// Current costs of the worlds.
struct DriftingCosts {
    chance: Chance,
    settings: PackingSettings,
    /// At first, and how far it has drifted.
    worlds: Vec<(f64, f64)>,
    /// Seconds for each unit.
    scale: f64,
    cap: f64,
}

impl DriftingCosts {
    fn new(settings: &PackingSettings) -> Self {
        let mut chance = Chance::new(settings.seed);
        let pareto = |_| (libm::pow(chance.share(), -1.0 / settings.alpha), 1.0);
        let worlds = (0..settings.worlds).map(pareto).collect();
        let mut costs = Self { chance, settings: *settings, worlds, scale: 1.0, cap: f64::MAX };
        costs.truncate();
        let goal_s = settings.fill * settings.workers as f64 * settings.dt.as_secs_f64();
        costs.scale = goal_s / costs.total();
        costs
    }

    fn of(&self, world: usize) -> Duration {
        let (base, drifted) = self.worlds[world];
        Duration::from_secs_f64((base * drifted).min(self.cap) * self.scale)
    }

    fn drift(&mut self) {
        let step = 1.0 + self.settings.drift;
        for (_, drifted) in &mut self.worlds {
            let goes_up = self.chance.coin();
            let next = if goes_up { *drifted * step } else { *drifted / step };
            // Reflected where it would leave its bounds.
            *drifted = match next {
                next if next > DRIFT_MAX => *drifted / step,
                next if next < 1.0 / DRIFT_MAX => *drifted * step,
                next => next,
            };
        }
        self.truncate();
    }

    fn total(&self) -> f64 {
        self.worlds.iter().map(|(base, drifted)| (base * drifted).min(self.cap)).sum()
    }

    /// Cap on costs that equals 1/72 of the sum under it.
    fn truncate(&mut self) {
        self.cap = f64::MAX;
        loop {
            let cap = self.total() / self.settings.truncated_at;
            let is_found = cap > self.cap * (1.0 - 1e-9);
            self.cap = cap;
            if is_found {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_at_most_a_tenth_longer_than_the_shortest_possible() {
        for seed in 1..=3 {
            let packing = packing(&PackingSettings { seed, frames: 300, ..PackingSettings::default() });
            assert_eq!(packing.ratios.len(), 300);
            assert!(
                packing.ratio <= 1.05 && packing.quantile(0.99) <= 1.10,
                "seed {seed}: {}",
                packing.ratio
            );
            assert!(packing.ratios.iter().all(|ratio| *ratio >= 0.999), "shorter than possible");
        }
    }

    #[test]
    fn the_order_is_learned_and_matters() {
        // Few worlds, so that one at the end is felt.
        let settings = PackingSettings {
            workers: 8,
            worlds: 40,
            truncated_at: 16.0,
            frames: 200,
            ..PackingSettings::default()
        };
        let learned = packing(&settings);
        let unlearnable = packing(&PackingSettings { drift: 3.0, ..settings });
        assert!(learned.ratio + 0.03 < unlearnable.ratio, "{} and {}", learned.ratio, unlearnable.ratio);
    }

    #[test]
    fn equal_seeds_are_packed_equally() {
        let settings = PackingSettings { frames: 40, ..PackingSettings::default() };
        let run = packing(&settings);
        assert_eq!(run, packing(&settings));
        assert_eq!(run.trace.frames.len(), TRACED);
        assert_eq!(run.trace.steps.len(), TRACED * settings.worlds);
        assert!(run.ratios != packing(&PackingSettings { seed: 2, ..settings }).ratios);
    }
}
