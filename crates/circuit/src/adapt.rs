//! The part of a client's rate that its path carries.
//!
//! A client may request a higher rate than its path carries, or the path gets worse. Bytes beyond the path's capacity are lost or queued on
//! the way. So two measurements are judged once a second: losses since the last judgement, and the round trip against the shortest one.
//!
//! Radio links lose without being full, in bursts. Three rules keep them apart from full paths:
//!
//! 1. Losses are counted as runs per acked packet ([`Losses`]): a burst, or a cut of seconds, is one run.
//! 2. Loss > [`LOSS_FULL`] cuts the rate only in the second judgement in a row. A queue cuts at once.
//! 3. On a path that carries `c` of the `r` bytes per second sent, loss is `1 - c / r` and falls with the rate. If two cuts have not
//!    lowered it in two measurements, the loss is the path's [own](OwnLoss): the rate is given back, and for [`OWN_HOLD`] only loss
//!    beyond it counts.
//!
//! Loss < [`LOSS_FREE`] without a queue gives a part of the whole rate back. Between the two limits the rate stays: radio links lose
//! that share without being full. The rate never falls below a quarter, which a viewer needs to walk about. The losses of a client that
//! uses less than half of its rate cut nothing, since they do not depend on it.

use crate::losses::Losses;
use ids::Instant;
use std::time::Duration;

#[cfg(test)]
mod tests;

/// Time between two judgements; a longer round trip makes them rarer.
const PERIOD: Duration = Duration::from_secs(1);
/// Least number of acked packets and runs of missing ones for a judgement of losses. With fewer, chance makes a path that loses a twelfth
/// appear to lose a fifth in two judgements in a row.
const SAMPLES_MIN: u32 = 32;
/// Loss above which a path is taken for full. Radio links lose some per cent by themselves, and a lost ack counts as a lost packet:
/// 5 % each way are 10 % here.
const LOSS_FULL: f32 = 0.2;
/// Loss below which a path is taken to have room.
const LOSS_FREE: f32 = 0.11;
/// Round trip > 2 × the shortest one + this is a queue, whatever the path's length.
const QUEUE: Duration = Duration::from_millis(200);
/// Part of the rate that a cut leaves.
const DECREASE: f32 = 0.8;
/// Part of the whole rate that a judgement of a free path gives back.
const INCREASE: f32 = 1.0 / 16.0;
/// Least part of the rate.
const LEAST: f32 = 0.25;
/// Least used part of a rate for a cut.
const USED_MIN: f32 = 0.5;
/// Bytes per second, relative to those before the first cut, below which losses show the effect of the cuts: two cuts.
const TRIAL_PART: f32 = 0.65;
/// Maximum loss attributed to a path itself. Beyond it the measurement is too coarse.
const OWN_MAX: f32 = 0.35;
/// Time for which a path's own loss is taken as given. Afterwards cuts are tried again, since the path may have changed.
const OWN_HOLD: Duration = Duration::from_secs(120);

/// A circuit's measurements of its path, for a judgement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathSample {
    /// The rate allowed now, bytes per second.
    pub(crate) bytes_per_s: u32,
    /// Bytes sent since the circuit began.
    pub(crate) bytes_out: u64,
    /// The smoothed round trip of pings, once there was one.
    pub(crate) round_trip: Option<Duration>,
    /// Of all packets since the circuit began.
    pub(crate) losses: Losses,
}

/// A circuit's part of its rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Adapt {
    /// From [`LEAST`] to 1.
    part: f32,
    judged_at: Instant,
    next_at: Instant,
    /// [`PathSample::bytes_out`] of the last judgement.
    bytes_out: u64,
    shortest: Option<Duration>,
    losses: LossWindow,
    /// The last loss measured, if it was above [`LOSS_FULL`].
    suspected: Option<MeasuredLoss>,
    trial: Option<CutTrial>,
    own: Option<OwnLoss>,
}

/// Counters at the last measurement of loss.
#[derive(Clone, Copy, Debug)]
struct LossWindow {
    began_at: Instant,
    bytes_out: u64,
    acked: u32,
    runs: u32,
}

/// Loss over a time, and the bytes that were sent in it.
#[derive(Clone, Copy, Debug)]
struct MeasuredLoss {
    /// From 0 to 1.
    share: f32,
    bytes_per_s: f32,
}

/// Cuts whose effect is awaited.
#[derive(Clone, Copy, Debug)]
struct CutTrial {
    /// The part before the first of them.
    part: f32,
    /// The loss that led to it.
    before: MeasuredLoss,
    /// The first of the two measurements after them.
    after: Option<MeasuredLoss>,
}

/// The outcome of a trial.
#[derive(Clone, Copy, Debug)]
enum TrialVerdict {
    /// Cuts lower the loss.
    Full,
    /// They do not; the loss is this.
    Own(f32),
}

/// Loss that does not depend on the rate.
#[derive(Clone, Copy, Debug)]
struct OwnLoss {
    share: f32,
    until: Instant,
}

impl Adapt {
    pub(crate) const fn new(now: Instant) -> Self {
        Self {
            part: 1.0,
            judged_at: now,
            next_at: Instant(now.0 + PERIOD.as_nanos() as u64),
            bytes_out: 0,
            shortest: None,
            losses: LossWindow { began_at: now, bytes_out: 0, acked: 0, runs: 0 },
            suspected: None,
            trial: None,
            own: None,
        }
    }

    pub(crate) const fn part(&self) -> f32 {
        self.part
    }

    /// True once [`Self::judge_path`] is due.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        now >= self.next_at
    }

    /// Judges what happened since the last time. True when the part has changed.
    pub(crate) fn judge_path(&mut self, now: Instant, path: &PathSample) -> bool {
        let before = self.part;
        let passed_s = now.since(self.judged_at).as_secs_f32();
        let used = (path.bytes_out - self.bytes_out) as f32 / (path.bytes_per_s as f32 * passed_s);
        let is_queued = path.round_trip.is_some_and(|round_trip| self.is_queued(round_trip));
        match self.losses.measure(now, path) {
            Some(loss) => self.judge_loss(now, loss, is_queued, used),
            None if is_queued => self.cut(used),
            None if self.losses.is_free(path) && self.suspected.is_none() => self.give_back(),
            None => {}
        }
        self.bytes_out = path.bytes_out;
        self.judged_at = now;
        self.next_at = now + PERIOD.max(path.round_trip.unwrap_or_default() * 2);
        self.part != before
    }

    /// Begins the next measurement at `path` without a judgement: this end was late since the last one, so that its delay is in the samples.
    pub(crate) fn skip(&mut self, now: Instant, path: &PathSample) {
        let Losses { acked, runs, .. } = path.losses;
        self.losses = LossWindow { began_at: now, bytes_out: path.bytes_out, acked, runs };
        self.bytes_out = path.bytes_out;
        self.judged_at = now;
        self.next_at = now + PERIOD;
    }

    fn judge_loss(&mut self, now: Instant, loss: MeasuredLoss, is_queued: bool, used: f32) {
        match self.trial.as_mut().and_then(|trial| trial.end_with(loss)) {
            Some(TrialVerdict::Own(share)) if !is_queued => {
                self.part = self.trial.map_or(self.part, |trial| trial.part);
                self.own = Some(OwnLoss { share, until: now + OWN_HOLD });
                (self.trial, self.suspected) = (None, None);
                return;
            }
            Some(_) => self.trial = None,
            None => {}
        }
        self.own = self.own.filter(|own| own.until > now);
        let excess = self.own.map_or(loss.share, |own| own.excess_of(loss.share));
        let is_lossy = excess > LOSS_FULL;
        let suspected = std::mem::replace(&mut self.suspected, is_lossy.then_some(loss));
        if is_queued {
            self.cut(used);
        } else if let Some(first) = suspected
            && is_lossy
        {
            if used >= USED_MIN {
                let before = first.mean_with(loss);
                self.trial.get_or_insert(CutTrial { part: self.part, before, after: None });
            }
            self.cut(used);
        } else if excess < LOSS_FREE {
            self.give_back();
        }
    }

    fn cut(&mut self, used: f32) {
        if used >= USED_MIN {
            self.part = (self.part * DECREASE).max(LEAST);
        }
    }

    fn give_back(&mut self) {
        self.part = (self.part + INCREASE).min(1.0);
        self.trial = self.trial.filter(|trial| self.part < trial.part);
    }

    /// True if the round trip shows a queue on the way. At the least rate this circuit does not cause a queue, so that a long round trip is
    /// that of another path, and becomes the shortest one.
    fn is_queued(&mut self, round_trip: Duration) -> bool {
        let shortest = self.shortest.map_or(round_trip, |shortest| shortest.min(round_trip));
        let is_queued = round_trip > 2 * shortest + QUEUE;
        let is_another = is_queued && self.part <= LEAST;
        self.shortest = Some(if is_another { round_trip } else { shortest });
        is_queued && !is_another
    }
}

impl LossWindow {
    /// The loss since the last measurement, and begins the next one; `None` while there are fewer than [`SAMPLES_MIN`] samples.
    fn measure(&mut self, now: Instant, path: &PathSample) -> Option<MeasuredLoss> {
        let Losses { acked, runs, .. } = path.losses;
        let (new_acked, new_runs) = (acked.wrapping_sub(self.acked), runs.wrapping_sub(self.runs));
        if new_acked.saturating_add(new_runs) < SAMPLES_MIN {
            return None;
        }
        let passed_s = now.since(self.began_at).as_secs_f32();
        let loss = MeasuredLoss {
            share: (new_runs as f32 / new_acked.max(1) as f32).min(1.0),
            bytes_per_s: (path.bytes_out - self.bytes_out) as f32 / passed_s,
        };
        *self = Self { began_at: now, bytes_out: path.bytes_out, acked, runs };
        Some(loss)
    }

    /// True if no packet has gone missing since the last measurement.
    const fn is_free(&self, path: &PathSample) -> bool {
        path.losses.runs == self.runs
    }
}

impl MeasuredLoss {
    fn mean_with(self, other: Self) -> Self {
        Self {
            share: (self.share + other.share) / 2.0,
            bytes_per_s: (self.bytes_per_s + other.bytes_per_s) / 2.0,
        }
    }
}

impl CutTrial {
    /// Adds a measurement; the second one at a rate of at most [`TRIAL_PART`] of the former rate gives the verdict. With loss l before and
    /// the rate reduced to the part p, a full path loses 1 − (1 − l) / p. The loss is the path's own if it is nearer to l than to that.
    fn end_with(&mut self, loss: MeasuredLoss) -> Option<TrialVerdict> {
        if loss.bytes_per_s > TRIAL_PART * self.before.bytes_per_s {
            return None;
        }
        let Some(first) = self.after else {
            self.after = Some(loss);
            return None;
        };
        let after = first.mean_with(loss);
        let part = after.bytes_per_s / self.before.bytes_per_s;
        let if_full = (1.0 - (1.0 - self.before.share) / part).max(0.0);
        let is_own = after.share <= OWN_MAX && after.share > (if_full + self.before.share) / 2.0;
        Some(if is_own { TrialVerdict::Own(after.share) } else { TrialVerdict::Full })
    }
}

impl OwnLoss {
    /// The part of a loss beyond the path's own. Both are independent, so the shares that arrive multiply.
    fn excess_of(&self, share: f32) -> f32 {
        (1.0 - (1.0 - share) / (1.0 - self.share)).max(0.0)
    }
}
