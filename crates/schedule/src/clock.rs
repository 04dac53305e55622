//! When a frame is due, and how much slower than the wall's the world's time runs.
//!
//! Every frame is worth the same `dt` of world time. A world that cannot keep up gets its frames later, never more of them:
//! there are no bursts to catch up, and viewers are told the dilation.

use ids::Instant;
use std::time::Duration;

/// Frames that dilation is averaged over: at 20 Hz 0.8 s, slow enough for viewers to follow.
const WINDOW: usize = 16;

/// A longer pause is the machine's and not the world's: a debugger, a stopped process, a suspended VM. Time did not run
/// slowly meanwhile, it stood still, and goes on as if nothing had been (DESIGN §6).
const GAP_MAX: Duration = Duration::from_secs(1);

/// Wake-ups come a little late at random. Above this figure that is all there is to it.
const DILATION_NOISE: f64 = 0.99;

/// Decides when frames of one world begin.
#[derive(Clone, Debug)]
pub struct FrameClock {
    dt: Duration,
    due_at: Instant,
    last_began_at: Option<Instant>,
    /// Wall time between the last frames, oldest overwritten first.
    intervals: [Duration; WINDOW],
    next_index: usize,
}

/// A frame that may begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beat {
    /// World time passed ÷ wall time passed, 0–1.
    pub dilation: f32,
    /// How long ago the frame was due.
    pub late_by: Duration,
}

impl FrameClock {
    /// A clock whose first frame is due at once.
    ///
    /// # Panics
    /// When `dt` is zero.
    #[must_use]
    pub const fn new(now: Instant, dt: Duration) -> Self {
        assert!(!dt.is_zero(), "frames have a length");
        Self { dt, due_at: now, last_began_at: None, intervals: [dt; WINDOW], next_index: 0 }
    }

    /// World time of every frame.
    #[must_use]
    pub const fn dt(&self) -> Duration {
        self.dt
    }

    /// When the next frame may begin.
    #[must_use]
    pub const fn due_at(&self) -> Instant {
        self.due_at
    }

    /// Begins the next frame if it is due.
    pub fn begin(&mut self, now: Instant) -> Option<Beat> {
        if now < self.due_at {
            return None;
        }
        let late_by = now - self.due_at;
        // A little late, the next frame comes at its time, so that the mean rate holds. More than that, and the whole rhythm
        // moves: frames never follow each other faster than half of `dt`.
        self.due_at = if late_by > self.dt / 2 { now + self.dt } else { self.due_at + self.dt };

        if let Some(last) = self.last_began_at.replace(now) {
            let interval = now - last;
            self.intervals[self.next_index] = if interval > GAP_MAX { self.dt } else { interval };
            self.next_index = (self.next_index + 1) % WINDOW;
        }
        Some(Beat { dilation: self.dilation(), late_by })
    }

    /// Goes on after a sleep in which no frame was wanted. The sleep is no dilation.
    pub fn resume(&mut self, now: Instant) {
        self.due_at = self.due_at.max(now);
        self.last_began_at = None;
    }

    fn dilation(&self) -> f32 {
        let wall: Duration = self.intervals.iter().sum();
        let world = self.dt.as_secs_f64() * WINDOW as f64;
        let ratio = world / wall.as_secs_f64();
        if ratio > DILATION_NOISE { 1.0 } else { ratio as f32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DT: Duration = Duration::from_millis(50);

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    /// Runs frames that each take `cost`, woken `jitter` late; returns when they began and the last dilation.
    fn run(frames: usize, cost: Duration, jitter: Duration) -> (Vec<Instant>, f32) {
        let mut clock = FrameClock::new(at(0), DT);
        let (mut now, mut began, mut dilation) = (at(0), Vec::new(), 1.0);
        for _ in 0..frames {
            now = now.max(clock.due_at() + jitter);
            dilation = clock.begin(now).expect("it is due").dilation;
            began.push(now);
            now += cost;
        }
        (began, dilation)
    }

    #[test]
    fn nothing_begins_before_it_is_due() {
        let mut clock = FrameClock::new(at(100), DT);
        assert_eq!(clock.begin(at(99)), None);
        assert_eq!(clock.begin(at(100)), Some(Beat { dilation: 1.0, late_by: Duration::ZERO }));
        assert_eq!(clock.begin(at(149)), None);
        assert!(clock.begin(at(150)).is_some());
    }

    #[test]
    fn late_wake_ups_shift_no_rhythm_and_are_no_dilation() {
        let (began, dilation) = run(1_000, Duration::from_millis(20), Duration::from_millis(3));
        assert_eq!(began[999], at(999 * 50 + 3));
        assert_eq!(dilation, 1.0);
    }

    #[test]
    fn a_world_that_needs_twice_its_time_runs_at_half_speed() {
        let (began, dilation) = run(100, Duration::from_millis(100), Duration::ZERO);
        assert_eq!(began[99], at(9_900));
        assert!((dilation - 0.5).abs() < 1e-6, "{dilation}");
    }

    #[test]
    fn one_slow_frame_is_not_caught_up_by_a_burst() {
        let mut clock = FrameClock::new(at(0), DT);
        clock.begin(at(0)).unwrap();
        let mut began = vec![at(0)];
        for ms in 300..1_000 {
            if clock.begin(at(ms)).is_some() {
                began.push(at(ms));
            }
        }
        assert_eq!(began.len(), 1 + 14, "700 ms hold 14 frames, whatever was missed before");
        assert!(began.windows(2).all(|pair| pair[1] - pair[0] >= DT / 2), "{began:?}");
    }

    #[test]
    fn dilation_recovers_when_the_load_is_gone() {
        let mut clock = FrameClock::new(at(0), DT);
        let mut now = 0;
        for _ in 0..20 {
            clock.begin(at(now)).unwrap();
            now += 80;
        }
        assert!(clock.dilation() < 0.65);
        for _ in 0..=WINDOW {
            now = now.max(clock.due_at().0 / 1_000_000);
            clock.begin(at(now)).unwrap();
        }
        assert_eq!(clock.dilation(), 1.0);
    }

    #[test]
    fn a_stopped_process_makes_one_frame_and_no_dilation() {
        let mut clock = FrameClock::new(at(0), DT);
        clock.begin(at(0)).unwrap();
        let beat = clock.begin(at(30_000)).unwrap();
        assert_eq!(beat, Beat { dilation: 1.0, late_by: Duration::from_millis(29_950) });
        assert_eq!(clock.begin(at(30_001)), None);
        assert_eq!(clock.due_at(), at(30_050));
    }

    #[test]
    fn a_sleep_is_no_dilation_and_the_first_frame_after_it_is_due_at_once() {
        let mut clock = FrameClock::new(at(0), DT);
        clock.begin(at(0)).unwrap();
        clock.resume(at(800));
        assert_eq!(clock.begin(at(800)), Some(Beat { dilation: 1.0, late_by: Duration::ZERO }));
    }
}
