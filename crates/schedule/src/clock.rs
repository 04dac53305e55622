//! Due times of one rate's worlds, and the dilation of each world.
//!
//! Every frame stands for the same world time `dt`. Worlds of one rate share a [`FrameClock`], whose beats start their frames; each
//! world has a [`Rhythm`], from which its dilation follows. On an overloaded node beats come later and never more often, and so do the
//! frames of one slow world: missed frames are not made up for, and clients receive the dilation.

use ids::Instant;
use std::time::Duration;

/// Frames that dilation is averaged over: at 20 Hz 0.8 s, slow enough for viewers to follow.
const WINDOW: usize = 16;

/// A frame that comes this much later than `dt` after the last one is attributed to the machine (debugger, stopped process, suspended
/// VM) and counts as an interval of `dt`: world time stood still and did not run slowly. Such gaps are rare, so a second one within the
/// window counts as dilation.
const GAP_MIN: Duration = Duration::from_secs(1);

/// Intervals are kept in whole microseconds. Above this figure that is all there is to it.
const DILATION_NOISE: f64 = 0.99;

/// Decides when the frames of one rate begin.
#[derive(Clone, Debug)]
pub(crate) struct FrameClock {
    dt: Duration,
    due_at: Instant,
}

impl FrameClock {
    /// A clock whose first beat is due at once.
    ///
    /// # Panics
    /// If `dt` is zero.
    pub(crate) const fn new(now: Instant, dt: Duration) -> Self {
        assert!(!dt.is_zero(), "frames have a length");
        Self { dt, due_at: now }
    }

    /// World time of every frame.
    pub(crate) const fn dt(&self) -> Duration {
        self.dt
    }

    /// Earliest time of the next beat.
    pub(crate) const fn due_at(&self) -> Instant {
        self.due_at
    }

    /// Starts the beat if it is due, and returns its nominal time ([`nominal`]). The next beat is due `dt × stretch` later; `stretch`
    /// is 1 without overload.
    pub(crate) fn begin(&mut self, now: Instant, stretch: f64) -> Option<Instant> {
        if now < self.due_at {
            return None;
        }
        let nominal = nominal(self.due_at, now, self.dt);
        self.due_at = nominal + if stretch > 1.0 { self.dt.mul_f64(stretch) } else { self.dt };
        Some(nominal)
    }

    /// Continues after a time without frames.
    pub(crate) fn resume(&mut self, now: Instant) {
        self.due_at = self.due_at.max(now);
    }
}

/// The time that a frame counts as which was due at `due_at` and comes `now`. A little late, the next one comes at its time, so that
/// the mean rate holds. More than that, and the whole rhythm moves: beats never follow each other faster than half of `dt`.
pub(crate) fn nominal(due_at: Instant, now: Instant, dt: Duration) -> Instant {
    if now - due_at > dt / 2 { now } else { due_at }
}

/// Nominal times of one world's frames. The world's place within a batch does not count as dilation.
#[derive(Clone, Debug)]
pub(crate) struct Rhythm {
    dt_us: u32,
    next_index: u8,
    /// Intervals since the last one as long as a gap, `WINDOW` at most.
    since_long: u8,
    last: Option<Instant>,
    sum_us: u64,
    /// Wall time between the last frames, oldest overwritten first.
    intervals_us: [u32; WINDOW],
}

impl Rhythm {
    pub(crate) fn new(dt: Duration) -> Self {
        let dt_us = whole_us(dt);
        let sum_us = u64::from(dt_us) * WINDOW as u64;
        Self {
            dt_us,
            next_index: 0,
            since_long: WINDOW as u8,
            last: None,
            sum_us,
            intervals_us: [dt_us; WINDOW],
        }
    }

    /// World time passed ÷ wall time passed, 0–1, if the next frame counts as this time.
    pub(crate) fn dilation_at(&self, nominal: Instant) -> f32 {
        let oldest_us = u64::from(self.intervals_us[usize::from(self.next_index)]);
        let wall_us =
            self.interval_us(nominal).map_or(self.sum_us, |us| self.sum_us - oldest_us + u64::from(us));
        let ratio = f64::from(self.dt_us) * WINDOW as f64 / wall_us.max(1) as f64;
        if ratio > DILATION_NOISE { 1.0 } else { ratio as f32 }
    }

    /// Records a frame at its nominal time. The interval that ends with it is a sample. The interval that begins with it is one only if
    /// the frame is `anchored`: a world resumed between two beats waits for the next beat without being slow.
    pub(crate) fn frame(&mut self, nominal: Instant, anchored: bool) {
        if let Some(us) = self.interval_us(nominal) {
            self.since_long = if self.is_long(nominal) { 0 } else { (self.since_long + 1).min(WINDOW as u8) };
            let oldest = &mut self.intervals_us[usize::from(self.next_index)];
            self.sum_us = self.sum_us - u64::from(*oldest) + u64::from(us);
            *oldest = us;
            self.next_index = (self.next_index + 1) % WINDOW as u8;
        }
        self.last = anchored.then_some(nominal);
    }

    /// A sleep begins or ends, in which no frame is wanted. It is no dilation.
    pub(crate) const fn rest(&mut self) {
        self.last = None;
    }

    fn interval_us(&self, nominal: Instant) -> Option<u32> {
        let interval = nominal - self.last?;
        Some(if self.is_gap(nominal) { self.dt_us } else { whole_us(interval) })
    }

    /// True if the machine caused the interval until `nominal`.
    fn is_gap(&self, nominal: Instant) -> bool {
        self.is_long(nominal) && usize::from(self.since_long) >= WINDOW
    }

    fn is_long(&self, nominal: Instant) -> bool {
        let dt = Duration::from_micros(self.dt_us.into());
        self.last.is_some_and(|last| nominal - last > dt + GAP_MIN)
    }
}

fn whole_us(duration: Duration) -> u32 {
    u32::try_from(duration.as_micros()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DT: Duration = Duration::from_millis(50);

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    /// Beats of a node whose frames each take `cost` and whose wake-ups are `jitter` late: times of the beats, and the last dilation.
    fn run(beats: usize, cost: Duration, jitter: Duration) -> (Vec<Instant>, f32) {
        let (mut clock, mut rhythm) = (FrameClock::new(at(0), DT), Rhythm::new(DT));
        let (mut now, mut came, mut dilation) = (at(0), Vec::new(), 1.0);
        for _ in 0..beats {
            now = now.max(clock.due_at() + jitter);
            let beat = clock.begin(now, 1.0).expect("it is due");
            dilation = rhythm.dilation_at(beat);
            rhythm.frame(beat, true);
            came.push(now);
            now += cost;
        }
        (came, dilation)
    }

    #[test]
    fn nothing_begins_before_it_is_due() {
        let mut clock = FrameClock::new(at(100), DT);
        assert_eq!(clock.begin(at(99), 1.0), None);
        assert_eq!(clock.begin(at(100), 1.0), Some(at(100)));
        assert_eq!(clock.begin(at(149), 1.0), None);
        assert!(clock.begin(at(150), 1.0).is_some());
    }

    #[test]
    fn late_wake_ups_shift_no_rhythm_and_are_no_dilation() {
        let (came, dilation) = run(1_000, Duration::from_millis(20), Duration::from_millis(3));
        assert_eq!(came[999], at(999 * 50 + 3));
        assert_eq!(dilation, 1.0);
    }

    #[test]
    fn a_node_that_needs_twice_its_time_runs_at_half_speed() {
        let (came, dilation) = run(100, Duration::from_millis(100), Duration::ZERO);
        assert_eq!(came[99], at(9_900));
        assert!((dilation - 0.5).abs() < 1e-6, "{dilation}");
    }

    #[test]
    fn one_slow_frame_is_not_caught_up_by_a_burst() {
        let mut clock = FrameClock::new(at(0), DT);
        clock.begin(at(0), 1.0).unwrap();
        let mut came = vec![at(0)];
        for ms in 300..1_000 {
            if clock.begin(at(ms), 1.0).is_some() {
                came.push(at(ms));
            }
        }
        assert_eq!(came.len(), 1 + 14, "700 ms hold 14 beats, whatever was missed before");
        assert!(came.windows(2).all(|pair| pair[1] - pair[0] >= DT / 2), "{came:?}");
    }

    #[test]
    fn dilation_recovers_when_the_load_is_gone() {
        let mut rhythm = Rhythm::new(DT);
        for frame in 0..20 {
            rhythm.frame(at(frame * 80), true);
        }
        assert!(rhythm.dilation_at(at(20 * 80)) < 0.65);
        for frame in 0..=WINDOW as u64 {
            rhythm.frame(at(19 * 80 + frame * 50), true);
        }
        assert_eq!(rhythm.dilation_at(at(19 * 80 + 17 * 50)), 1.0);
    }

    #[test]
    fn a_stopped_process_makes_one_beat_and_no_dilation() {
        let (mut clock, mut rhythm) = (FrameClock::new(at(0), DT), Rhythm::new(DT));
        rhythm.frame(clock.begin(at(0), 1.0).unwrap(), true);
        let beat = clock.begin(at(30_000), 1.0).unwrap();
        assert_eq!(beat, at(30_000), "the rhythm moves");
        assert_eq!(rhythm.dilation_at(beat), 1.0);
        assert_eq!(clock.begin(at(30_001), 1.0), None);
        assert_eq!(clock.due_at(), at(30_050));
    }

    #[test]
    fn a_world_whose_frames_take_seconds_gets_the_dilation() {
        for (dt, cost) in [(DT, 1_500), (DT, 20_000), (Duration::from_secs(2), 4_000)] {
            let mut rhythm = Rhythm::new(dt);
            (0..20).for_each(|frame| rhythm.frame(at(frame * cost), true));
            let speed = dt.as_secs_f32() * 1e3 / cost as f32;
            let dilation = rhythm.dilation_at(at(20 * cost));
            assert!((dilation / speed - 1.0).abs() < 0.01, "{dilation}, {speed} is true");
        }
        // One in three is enough.
        let mut rhythm = Rhythm::new(DT);
        let mut now = at(0);
        for frame in 0..60 {
            now += if frame % 3 == 0 { Duration::from_secs(2) } else { DT };
            rhythm.frame(now, true);
        }
        assert!(rhythm.dilation_at(now + DT) < 0.1);
    }

    #[test]
    fn a_second_between_two_frames_is_not_slow() {
        let dt = Duration::from_secs(2);
        let mut rhythm = Rhythm::new(dt);
        (0..40).for_each(|frame| rhythm.frame(at(frame * 2_000), true));
        assert_eq!(rhythm.dilation_at(at(80_000)), 1.0);
        assert!(rhythm.dilation_at(at(81_000)) < 1.0, "a second late is late");
    }

    #[test]
    fn neither_a_sleep_nor_taking_up_the_beat_after_it_is_dilation() {
        let mut rhythm = Rhythm::new(DT);
        rhythm.frame(at(0), true);
        rhythm.rest();
        assert_eq!(rhythm.dilation_at(at(830)), 1.0);
        rhythm.frame(at(830), false);
        assert_eq!(rhythm.dilation_at(at(900)), 1.0, "the first beat at least half a dt later");
        rhythm.frame(at(900), true);
        assert_eq!(rhythm.sum_us, 16 * 50_000);
    }
}
