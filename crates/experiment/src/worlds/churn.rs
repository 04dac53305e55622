//! Worlds are created, visited and ended while the others run: durations of frames with that and without, in turn.

use super::frames::{Frames, ScheduleFrame, beats, quantile_ms};
use super::grounds;
use super::stage::{WorldsTestbed, create};
use super::visitors::Visitors;
use crate::clock;
use crate::error::ExperimentError;
use crate::findings::{Chart, ChartLine, Findings};
use report::{Column, Section, Table};
use std::time::Duration;

/// Worlds made in a second, and as many ended.
const PER_S: u32 = 20;
const TURN: Duration = Duration::from_millis(1_000 / PER_S as u64);
/// Pairs of windows.
const PAIRS: usize = 20;
const PAIRS_QUICK: usize = 2;
const WINDOW: Duration = Duration::from_secs(8);
const WINDOW_QUICK: Duration = Duration::from_secs(2);
/// Before each window, and already as in it. The server reports frames once a second: unreported ones belong to the window.
const LEAD_IN: Duration = Duration::from_millis(1_200);
/// Lifetime of a world in turns of a second. Its visitor is sent out halfway, and again at each further turn if that fails.
const LASTS: usize = PER_S as usize;
const VISIT: usize = LASTS / 2;
/// Enough for each to have two seconds from one world to the next.
const VISITORS: u32 = 2 * PER_S;
/// Deadline for the last visitors to leave before a window without any.
const FAREWELL: Duration = Duration::from_secs(2);

/// Measures both kinds of windows, in turn; which comes first changes from pair to pair. The visitors are logged in in both.
pub(super) fn measure(stage: &WorldsTestbed<'_>, findings: &mut Findings) -> Result<(), ExperimentError> {
    let switches = || Ok::<_, ExperimentError>(stage.server.metrics()?.sum("throng_world_switches_total"));
    let switches_before = switches()?;
    stage.run.references.sample();
    let mut churn = Churn::begin(stage)?;
    let mut frames = Frames::from_now(&stage.operator)?;
    let window = stage.run.pick(WINDOW, WINDOW_QUICK);
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for pair in 0..stage.run.pick(PAIRS, PAIRS_QUICK) {
        for half in 0..2 {
            let churns = (pair + half) % 2 == 1;
            churn.pass(churns, LEAD_IN)?;
            let before = beats(frames.take()?);
            churn.pass(churns, window)?;
            let measured = ChurnFrames::behind(&before, beats(frames.take()?));
            churn.calm()?;
            if churns { with.push(measured) } else { without.push(measured) }
        }
    }
    frames.report_lost(findings);
    let Churn { visitors, made, npcs, entered, visited, seconds, .. } = churn;
    let report = visitors.leave()?;
    findings.figure("visitors_lost", f64::from(report.circuits_lost + report.logins_failed));
    findings.figure("churn_per_s", f64::from(made) / seconds);
    findings.figure("churn_npcs_mean", f64::from(npcs) / f64::from(made));
    findings.figure("churn_entered", entered.into());
    findings.figure("churn_visited_ratio", f64::from(visited) / f64::from(made));
    // The export lags by a second, which is as nothing here.
    let passages = switches()? - switches_before;
    findings.figure("churn_passages", passages);
    findings.figure("churn_passages_ratio", passages / f64::from(entered));
    report_frames(&with, &without, findings);
    Ok(())
}

/// Frames of a window.
struct ChurnFrames {
    frames: Vec<ScheduleFrame>,
    /// In which they were due. The server reports frames once a second, and a turn of churn may end behind its window: windows are not
    /// as long as they were waited for.
    seconds: f64,
}

impl ChurnFrames {
    /// Behind others; of no length when there is none to measure it by.
    fn behind(before: &[ScheduleFrame], frames: Vec<ScheduleFrame>) -> Self {
        let ends = before.last().zip(frames.last());
        let seconds = ends.map_or(f64::NAN, |(before, last)| last.due_s_behind(before));
        Self { frames, seconds }
    }

    /// Frames a second, over several windows.
    fn rate_hz(windows: &[Self]) -> f64 {
        let n: usize = windows.iter().map(|window| window.frames.len()).sum();
        n as f64 / windows.iter().map(|window| window.seconds).sum::<f64>()
    }

    /// The frames of several windows.
    fn all(windows: &[Self]) -> Vec<ScheduleFrame> {
        windows.iter().flat_map(|window| &window.frames).copied().collect()
    }
}

/// A world that is there for a second.
struct ShortLivedWorld {
    world: String,
    /// Its visitor, inside or on the way.
    visitor: Option<u32>,
}

struct Churn<'a> {
    stage: &'a WorldsTestbed<'a>,
    visitors: Visitors,
    /// Classes of the worlds that are made, again and again.
    classes: Vec<usize>,
    /// The oldest first.
    lives: Vec<ShortLivedWorld>,
    made: u32,
    /// In the worlds that were made.
    npcs: u32,
    /// Worlds that a visitor was sent into.
    entered: u32,
    /// Worlds that a visitor has been in, and has come out of while they were there.
    visited: u32,
    /// In which worlds were made.
    seconds: f64,
}

impl<'a> Churn<'a> {
    fn begin(stage: &'a WorldsTestbed<'a>) -> Result<Self, ExperimentError> {
        let visitors = Visitors::start(stage, VISITORS)?;
        let lives = Vec::with_capacity(LASTS + 1);
        let classes = grounds::mixed(&stage.classes);
        Ok(Self { stage, visitors, classes, lives, made: 0, npcs: 0, entered: 0, visited: 0, seconds: 0.0 })
    }

    /// Lets time pass, with worlds coming and going or without.
    fn pass(&mut self, churns: bool, duration: Duration) -> Result<(), ExperimentError> {
        let began = clock::now();
        if !churns {
            clock::wait_until(began + duration);
            return Ok(());
        }
        while began.elapsed() < duration {
            let next_at = clock::now() + TURN;
            self.turn()?;
            clock::wait_until(next_at);
        }
        self.seconds += began.elapsed().as_secs_f64();
        Ok(())
    }

    /// One comes and is entered, one is left, and the oldest goes.
    fn turn(&mut self) -> Result<(), ExperimentError> {
        let class = &self.stage.classes[self.classes[self.made as usize % self.classes.len()]];
        let world = create(&self.stage.operator, &class.name)?;
        self.made += 1;
        self.npcs += class.npcs;
        let visitor = self.visitors.send(self.stage, &world);
        self.entered += u32::from(visitor.is_some());
        self.lives.push(ShortLivedWorld { world, visitor });
        self.fetch(self.lives.len().saturating_sub(VISIT));
        if self.lives.len() > LASTS {
            let oldest = self.lives.remove(0);
            self.end(oldest)?;
        }
        Ok(())
    }

    /// Sends the visitors out of the oldest `n` worlds.
    fn fetch(&mut self, n: usize) {
        for life in self.lives.iter_mut().take(n) {
            if life.visitor.take_if(|visitor| self.visitors.fetch(self.stage, *visitor)).is_some() {
                self.visited += 1;
            }
        }
    }

    fn end(&mut self, life: ShortLivedWorld) -> Result<(), ExperimentError> {
        self.stage.end(&life.world)?;
        if let Some(visitor) = life.visitor {
            self.visitors.is_out(visitor);
        }
        Ok(())
    }

    /// Ends all that are there, those that are still visited when they have been left.
    fn calm(&mut self) -> Result<(), ExperimentError> {
        let began = clock::now();
        loop {
            self.fetch(self.lives.len());
            let is_over = began.elapsed() > FAREWELL;
            let lives = std::mem::take(&mut self.lives).into_iter();
            let (empty, visited): (Vec<ShortLivedWorld>, Vec<ShortLivedWorld>) =
                lives.partition(|life| is_over || life.visitor.is_none());
            self.lives = visited;
            empty.into_iter().try_for_each(|life| self.end(life))?;
            if self.lives.is_empty() {
                return Ok(());
            }
            clock::wait(TURN);
        }
    }
}

fn report_frames(with: &[ChurnFrames], without: &[ChurnFrames], findings: &mut Findings) {
    let p99 = |window: &ChurnFrames| quantile_ms(&window.frames, 0.99);
    let ratio = |(with, without): (&ChurnFrames, &ChurnFrames)| p99(with) / p99(without);
    let mut ratios: Vec<f64> = with.iter().zip(without).map(ratio).collect();
    ratios.sort_unstable_by(f64::total_cmp);
    // All windows of a kind together: a tail of 160 frames is one or two of them.
    let (all_with, all_without) = (ChurnFrames::all(with), ChurnFrames::all(without));
    findings.figure("churn_p99_ratio", quantile_ms(&all_with, 0.99) / quantile_ms(&all_without, 0.99));
    findings.figure("churn_p99_ratio_median", ratios.get(ratios.len() / 2).copied().unwrap_or(f64::NAN));
    findings.figure("churn_frames_ratio", ChurnFrames::rate_hz(with) / ChurnFrames::rate_hz(without));
    let mut table = Table::new(vec![
        Column::text("frames"),
        Column::number("", "frames"),
        Column::number("p50", "ms"),
        Column::number("p99", "ms"),
        Column::number("p99.9", "ms"),
        Column::number("max", "ms"),
    ])
    .caption("Windows with churn, in which worlds are created, entered, left and ended, alternate with windows without. Visitors are logged in during both.");
    for (name, frames) in [("with churn", &all_with), ("without", &all_without)] {
        let mut row = vec![name.into(), (frames.len() as f64).into()];
        row.extend([0.5, 0.99, 0.999, 1.0].map(|share| quantile_ms(frames, share).into()));
        table.row(row);
    }
    let line = |name: &str, windows: &[ChurnFrames]| ChartLine {
        name: name.to_owned(),
        points: windows.iter().enumerate().map(|(pair, window)| (pair as f64 + 1.0, p99(window))).collect(),
    };
    let chart = Chart {
        title: "Frames of each window, p99".to_owned(),
        x: ("pair".to_owned(), String::new()),
        y: ("p99".to_owned(), "ms".to_owned()),
        is_log: false,
        lines: vec![line("with churn", with), line("without", without)],
    };
    let pairs = findings.chart("churn_p99_ms", chart);
    findings.sections.push(Section::new("Churn of worlds").table(table).line_plot(pairs));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worlds::frames::tests::frame;

    #[test]
    fn frames_are_counted_by_the_time_in_which_they_were_due() {
        let due = |from_ms: u64, n: u64| {
            (0..n).map(|at| frame(at, from_ms + at * 50, 1, true, 1)).collect::<Vec<_>>()
        };
        let before = due(1_000, 20);
        let whole = ChurnFrames::behind(&before, due(2_000, 160));
        let longer = ChurnFrames::behind(&before, due(2_000, 180));
        assert_eq!((whole.seconds, longer.seconds), (8.0, 9.0));
        let mut missed = due(2_000, 160);
        missed.drain(40..80);
        let rate_hz = |window| ChurnFrames::rate_hz(&[window]);
        assert_eq!(rate_hz(ChurnFrames::behind(&before, missed)), 15.0);
        assert!(rate_hz(ChurnFrames::behind(&[], due(2_000, 160))).is_nan());
        assert!(rate_hz(ChurnFrames::behind(&before, Vec::new())).is_nan());
        assert_eq!(ChurnFrames::rate_hz(&[whole, longer]), 20.0);
    }
}
