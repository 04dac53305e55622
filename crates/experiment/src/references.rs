//! References: fixed work whose cost is the machine's and not the server's, sampled between the windows of a run.
//!
//! A virtual machine is not equally fast from minute to minute, and not for all work alike. Three kinds of work follow three kinds of
//! cost: a datagram ([`Reference::Datagram`], the calibrator L), a chain of dependent multiplications ([`Reference::Cpu`]), and a chain
//! of dependent loads from more memory than the last cache holds ([`Reference::Memory`]). A sample is CPU time of the sampling thread,
//! so time that other processes take is left out as far as the kernel accounts for it; their effects on clock rates, caches and memory are
//! included.
//!
//! Samples are taken outside of windows, which would measure them. Budgets name the reference that their limit follows
//! ([`crate::budget::Limit`]); [`crate::summary`] prints which reference each figure followed over several runs.

use crate::calibrate::{Calibration, Calibrator, ROUNDS, ROUNDS_QUICK, thread_cpu};
use crate::error::ExperimentError;
use crate::findings::{Chart, ChartLine, Findings};
use crate::median::median;
use crate::sink::Sink;
use crate::{Run, clock};
use report::{Column, Section, Table};
use serde::Serialize;
use std::fs;
use std::hint::black_box;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Work by which costs are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reference {
    /// CPU time of an unsegmented datagram, microseconds: L.
    Datagram,
    /// A step of dependent integer arithmetic, nanoseconds.
    Cpu,
    /// A dependent load that misses every cache, nanoseconds.
    Memory,
}

impl Reference {
    pub(crate) const ALL: [Self; 3] = [Self::Datagram, Self::Cpu, Self::Memory];

    /// The figure of a run that has its median.
    pub(crate) const fn figure(self) -> &'static str {
        match self {
            Self::Datagram => "l_us",
            Self::Cpu => "reference_cpu_ns",
            Self::Memory => "reference_memory_ns",
        }
    }

    /// The cost at which relative limits are stated.
    pub(crate) const fn nominal(self) -> f64 {
        match self {
            Self::Datagram => 2.0,
            Self::Cpu => 1.0,
            Self::Memory => 100.0,
        }
    }

    const fn describe(self) -> (&'static str, &'static str) {
        match self {
            Self::Datagram => ("datagram (L)", "µs"),
            Self::Cpu => ("dependent arithmetic, a step", "ns"),
            Self::Memory => ("dependent load beyond the caches", "ns"),
        }
    }
}

/// One reading of all references.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct ReferenceSample {
    /// Seconds since the run began.
    at_s: f64,
    l_us: f64,
    cpu_ns: f64,
    memory_ns: f64,
}

impl ReferenceSample {
    const fn of(&self, reference: Reference) -> f64 {
        match reference {
            Reference::Datagram => self.l_us,
            Reference::Cpu => self.cpu_ns,
            Reference::Memory => self.memory_ns,
        }
    }
}

/// The references of a run, with their costs so far.
pub(crate) struct References {
    began: Instant,
    /// Rounds of L in each sample behind the first one.
    rounds: usize,
    kept: Mutex<ReferenceState>,
}

struct ReferenceState {
    calibrator: Calibrator,
    chase: Chase,
    samples: Vec<ReferenceSample>,
    /// Share of the datagrams of all samples that were lost.
    lost: f64,
}

impl References {
    /// Prepares them in a sink and takes the first sample, which has the most rounds.
    pub(crate) fn open(sink: &Sink, is_quick: bool) -> Result<Self, ExperimentError> {
        let mut calibrator = Calibrator::open(sink)?;
        let began = clock::now();
        let rounds = if is_quick { ROUNDS_QUICK } else { ROUNDS };
        let first = calibrator.measure(rounds);
        let mut chase = Chase::new();
        let samples = vec![sample(&first, &mut chase, 0.0)];
        let kept = ReferenceState { calibrator, chase, samples, lost: first.lost };
        Ok(Self { began, rounds: ROUNDS_QUICK, kept: Mutex::new(kept) })
    }

    /// Takes a sample. Never while a window is measured.
    pub(crate) fn sample(&self) {
        let mut kept = self.lock();
        let kept = &mut *kept;
        let calibration = kept.calibrator.measure(self.rounds);
        kept.lost = calibration.lost;
        kept.samples.push(sample(&calibration, &mut kept.chase, self.began.elapsed().as_secs_f64()));
    }

    /// Median cost of a reference over its samples so far.
    pub(crate) fn median(&self, reference: Reference) -> f64 {
        let mut costs: Vec<f64> = self.lock().samples.iter().map(|sample| sample.of(reference)).collect();
        median(&mut costs)
    }

    /// L as [`Self::median`], with the share of its datagrams that were lost.
    pub(crate) fn calibration(&self) -> Calibration {
        let (rounds, lost) = {
            let kept = self.lock();
            (self.rounds * kept.samples.len(), kept.lost)
        };
        Calibration { l_us: self.median(Reference::Datagram), rounds, lost }
    }

    pub(crate) fn samples(&self) -> Vec<ReferenceSample> {
        self.lock().samples.clone()
    }

    fn lock(&self) -> MutexGuard<'_, ReferenceState> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds medians and spreads as figures, and a section with their course.
pub(crate) fn report_references(run: &Run, findings: &mut Findings) {
    let samples = run.references.samples();
    let mut table = Table::new(vec![
        Column::text("reference"),
        Column::text("unit"),
        Column::number("median", ""),
        Column::number("least", ""),
        Column::number("most", ""),
        Column::number("samples", ""),
    ])
    .caption("Fixed work, sampled before and behind each window: how fast the machine was meanwhile.");
    let mut lines = Vec::new();
    for reference in Reference::ALL {
        let costs = || samples.iter().map(|sample| sample.of(reference));
        let median = run.references.median(reference);
        let (least, most) = (costs().fold(f64::INFINITY, f64::min), costs().fold(0.0, f64::max));
        findings.figure(reference.figure(), median);
        findings.figure(format!("{}_spread_percent", reference.figure()), (most - least) / median * 100.0);
        let (name, unit) = reference.describe();
        let numbers = [median, least, most, samples.len() as f64];
        table.row([name, unit].map(Into::into).into_iter().chain(numbers.map(Into::into)).collect());
        let points = samples.iter().map(|sample| (sample.at_s, sample.of(reference) / median)).collect();
        lines.push(ChartLine { name: name.to_owned(), points });
    }
    let chart = Chart {
        title: "References over the run".to_owned(),
        x: ("time".to_owned(), "s".to_owned()),
        y: ("cost ÷ its median".to_owned(), String::new()),
        is_log: false,
        lines,
    };
    let plot = findings.chart("references", chart);
    findings.sections.push(Section::new("References").table(table).line_plot(plot));
}

fn sample(calibration: &Calibration, chase: &mut Chase, at_s: f64) -> ReferenceSample {
    let repeat = |measure: &mut dyn FnMut() -> f64| {
        let mut costs: Vec<f64> = (0..REPEATS).map(|_| measure()).collect();
        median(&mut costs)
    };
    ReferenceSample {
        at_s,
        l_us: calibration.l_us,
        cpu_ns: repeat(&mut || cost_ns(CPU_STEPS, || spin(CPU_STEPS))),
        memory_ns: repeat(&mut || cost_ns(LOADS, || chase.follow(LOADS))),
    }
}

/// Measurements of which a sample is the median.
const REPEATS: usize = 5;
/// Steps of arithmetic in a measurement: about 10 ms.
const CPU_STEPS: u32 = 5_000_000;
/// Loads in a measurement: about 20 ms.
const LOADS: u32 = 200_000;

/// CPU time of this thread for one of `steps` steps, nanoseconds.
fn cost_ns(steps: u32, work: impl FnOnce() -> u64) -> f64 {
    let began = thread_cpu();
    black_box(work());
    (thread_cpu() - began).as_secs_f64() * 1e9 / f64::from(steps)
}

/// `steps` steps of arithmetic. Each depends on the one before: nothing overlaps and nothing is vectorised.
pub(crate) fn spin(steps: u32) -> u64 {
    let mut x = black_box(0x9E37_79B9_7F4A_7C15_u64);
    for _ in 0..steps {
        x = (x ^ (x >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    }
    x
}

/// A cycle through cache lines in random order.
struct Chase {
    /// The index of the next line in the first number of each.
    lines: Vec<Cacheline>,
    at: u32,
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Cacheline(u32);

/// Least and most bytes of the cycle.
const CHASE_BYTES: (usize, usize) = (64 << 20, 256 << 20);

impl Chase {
    /// Four times as large as the last cache.
    fn new() -> Self {
        let bytes = (last_cache_bytes() * 4).clamp(CHASE_BYTES.0, CHASE_BYTES.1);
        Self::of((bytes / size_of::<Cacheline>()) as u32)
    }

    /// A chain of `lines` lines. Sattolo's shuffle gives one cycle through all of them.
    fn of(lines: u32) -> Self {
        let mut all: Vec<Cacheline> = (0..lines).map(Cacheline).collect();
        let mut random = 0x2545_F491_4F6C_DD1D_u64;
        for last in (1..all.len()).rev() {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            all.swap(last, (random % last as u64) as usize);
        }
        Self { lines: all, at: 0 }
    }

    /// Continues where the former call ended, so that no call finds its lines cached.
    fn follow(&mut self, loads: u32) -> u64 {
        for _ in 0..loads {
            self.at = self.lines[self.at as usize].0;
        }
        u64::from(self.at)
    }
}

/// Bytes of the largest cache of the first core; 32 MiB where the system does not say.
fn last_cache_bytes() -> usize {
    let sizes =
        fs::read_dir("/sys/devices/system/cpu/cpu0/cache").into_iter().flatten().filter_map(|index| {
            let size = fs::read_to_string(index.ok()?.path().join("size")).ok()?;
            size.trim().strip_suffix('K')?.parse::<usize>().ok()
        });
    sizes.max().map_or(32 << 20, |kib| kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sink::SinkKind;
    use std::path::Path;

    #[test]
    fn the_chase_is_one_cycle_through_every_line() {
        for lines in [2, 3, 1_000] {
            let mut chase = Chase::of(lines);
            let visited: std::collections::BTreeSet<u64> = (0..lines).map(|_| chase.follow(1)).collect();
            assert_eq!((visited.len() as u32, chase.at), (lines, 0));
        }
    }

    #[test]
    fn a_run_has_samples_of_all_references_and_their_medians() {
        let sink = Sink::open(SinkKind::Lo, Path::new("unused on loopback")).expect("loopback");
        let references = References::open(&sink, true).expect("sockets");
        references.sample();
        let samples = references.samples();
        assert_eq!(samples.len(), 2);
        assert!(samples[0].at_s < samples[1].at_s);
        for reference in Reference::ALL {
            assert!(samples.iter().all(|sample| sample.of(reference) > 0.0), "{samples:?}");
            let (a, b) = (samples[0].of(reference), samples[1].of(reference));
            assert_eq!(references.median(reference), a.max(b));
        }
    }
}
