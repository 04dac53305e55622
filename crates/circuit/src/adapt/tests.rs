use super::*;
use crate::tests::pair::Rng as Draws;
use proptest::prelude::*;

const RATE: f32 = 64_000.0;
const PACKET_BYTES: u64 = 500;

/// A channel of Gilbert and Elliott: with each packet it may change between a good state and another that loses in bursts.
#[derive(Clone, Copy, Debug)]
struct Channel {
    loss_good: f64,
    loss_bad: f64,
    good_to_bad: f64,
    bad_to_good: f64,
    is_bad: bool,
}

impl Channel {
    /// Half of everything lost in bursts of about ten packets, 2 % otherwise: 6.4 % in all.
    const FADING: Self =
        Self { loss_good: 0.02, loss_bad: 0.5, good_to_bad: 0.01, bad_to_good: 0.1, is_bad: false };

    /// Packets lost independently.
    const fn steady(loss: f64) -> Self {
        Self { loss_good: loss, loss_bad: loss, good_to_bad: 0.0, bad_to_good: 1.0, is_bad: false }
    }

    fn loses(&mut self, rng: &mut Draws) -> bool {
        let turn = if self.is_bad { self.bad_to_good } else { self.good_to_bad };
        self.is_bad ^= rng.unit() < turn;
        rng.unit() < if self.is_bad { self.loss_bad } else { self.loss_good }
    }

    /// Share lost in the long run.
    fn mean_loss(&self) -> f64 {
        let bad = self.good_to_bad / (self.good_to_bad + self.bad_to_good);
        bad * self.loss_bad + (1.0 - bad) * self.loss_good
    }
}

/// A circuit that uses all of its rate on a path, second by second.
struct Line {
    adapt: Adapt,
    rng: Draws,
    /// For packets and for acks.
    channels: [Channel; 2],
    /// Bytes per second beyond which the path drops.
    capacity: f32,
    round_trip: Option<Duration>,
    losses: Losses,
    sequence: u32,
    latest_lost: bool,
    bytes_out: u64,
    second: u64,
}

impl Line {
    fn over(channels: [Channel; 2], seed: u64) -> Self {
        Self {
            adapt: Adapt::new(Instant::ZERO),
            rng: Draws::new(seed),
            channels,
            capacity: f32::INFINITY,
            round_trip: None,
            losses: Losses::default(),
            sequence: 0,
            latest_lost: false,
            bytes_out: 0,
            second: 0,
        }
    }

    fn steady(loss: f64) -> Self {
        Self::over([Channel::steady(loss), Channel::steady(0.0)], 1)
    }

    fn packet(&mut self, is_lost: bool) {
        self.sequence += 1;
        if is_lost {
            self.losses.on_missing(self.sequence, Some(self.sequence - 1), self.latest_lost);
        } else {
            self.losses.on_acked();
        }
        self.latest_lost = is_lost;
    }

    /// Ends a second with this number of bytes sent; returns the part after it.
    fn end_second(&mut self, bytes: u64) -> f32 {
        self.second += 1;
        let bytes_per_s = (RATE * self.adapt.part()) as u32;
        self.bytes_out += bytes;
        let now = Instant::from_millis(self.second * 1_000);
        if self.adapt.is_due(now) {
            let (bytes_out, round_trip, losses) = (self.bytes_out, self.round_trip, self.losses);
            self.adapt.judge_path(now, &PathSample { bytes_per_s, bytes_out, round_trip, losses });
        }
        self.adapt.part()
    }

    /// A second in which all of the rate is used.
    fn pass(&mut self) -> f32 {
        let bytes = (RATE * self.adapt.part()) as u64;
        let overflow = f64::from(1.0 - (self.capacity / bytes as f32).min(1.0));
        for _ in 0..bytes / PACKET_BYTES {
            let [down, up] = &mut self.channels;
            // Each draws every time: a lost packet has no ack, but the other direction carries more than acks.
            let lost = [down.loses(&mut self.rng), up.loses(&mut self.rng), self.rng.unit() < overflow];
            self.packet(lost.contains(&true));
        }
        self.end_second(bytes)
    }

    /// Runs for `seconds`; returns the part after them.
    fn run(&mut self, seconds: u32) -> f32 {
        (0..seconds).for_each(|_| {
            self.pass();
        });
        self.adapt.part()
    }

    /// Runs for `seconds`; returns the mean part.
    fn mean_part(&mut self, seconds: u32) -> f32 {
        (0..seconds).map(|_| self.pass()).sum::<f32>() / seconds as f32
    }
}

#[test]
fn a_path_that_loses_a_little_carries_all() {
    assert_eq!(Line::steady(0.05).run(60), 1.0);
    assert!(Line::steady(0.13).mean_part(600) > 0.95, "an eighth is what radio links lose");
}

#[test]
fn losses_of_seconds_in_which_this_end_was_late_do_not_count() {
    let mut line = Line::steady(0.0);
    line.run(5);
    for _ in 0..30 {
        (0..100).for_each(|n| line.packet(n % 4 < 2));
        line.second += 1;
        line.bytes_out += RATE as u64;
        let sample = PathSample {
            bytes_per_s: RATE as u32,
            bytes_out: line.bytes_out,
            round_trip: None,
            losses: line.losses,
        };
        line.adapt.skip(Instant::from_millis(line.second * 1_000), &sample);
        assert_eq!(line.adapt.part(), 1.0);
    }
    assert_eq!(line.run(30), 1.0);
}

#[test]
fn a_path_that_loses_in_bursts_carries_all() {
    for seed in 0..20 {
        let mean = Line::over([Channel::FADING; 2], seed).mean_part(600);
        assert!(mean > 0.95, "{mean} of the rate with seed {seed}");
    }
}

#[test]
fn a_path_that_carries_half_gets_about_half() {
    for seed in 0..20 {
        let mut line = Line { capacity: RATE / 2.0, ..Line::over([Channel::steady(0.02); 2], seed) };
        line.run(20);
        let mean = line.mean_part(300);
        assert!((0.45..0.65).contains(&mean), "{mean} of the rate with seed {seed}");
    }
}

#[test]
fn a_full_path_gets_less_and_not_nothing_and_all_again_when_it_is_free() {
    let mut line = Line { capacity: RATE / 10.0, ..Line::steady(0.0) };
    assert!(line.run(15) < 0.6);
    assert_eq!(line.run(60), LEAST);
    line.capacity = f32::INFINITY;
    assert!(line.run(6) < 0.8, "not at once");
    assert_eq!(line.run(20), 1.0);
}

#[test]
fn loss_that_cutting_does_not_lower_is_the_path_s_own() {
    let mut line = Line::steady(0.3);
    let least = (0..20).map(|_| line.pass()).fold(1.0, f32::min);
    assert!(least < 0.7, "it might have been full");
    assert_eq!(line.adapt.part(), 1.0);
    assert_eq!(line.run(90), 1.0);
    // From now on it is full, too: of 0.7 that arrive a third more goes missing.
    line.capacity = RATE * 0.6;
    let mean = line.mean_part(60);
    assert!(mean < 0.8, "{mean} of the rate on a path that carries 0.6");
}

#[test]
fn a_cut_of_seconds_is_no_full_path() {
    let mut line = Line::steady(0.02);
    line.run(10);
    let channels = std::mem::replace(&mut line.channels, [Channel::steady(1.0); 2]);
    assert_eq!(line.run(8), 1.0);
    line.channels = channels;
    assert_eq!(line.run(10), 1.0);
}

#[test]
fn one_bad_measurement_is_no_full_path() {
    let mut line = Line::steady(0.0);
    for second in 0..60 {
        for n in 0..100 {
            line.packet(second % 2 == 0 && n % 3 == 0);
        }
        assert_eq!(line.end_second(RATE as u64), 1.0, "in second {second}");
    }
}

#[test]
fn a_queue_shows_by_the_round_trip_before_anything_is_lost() {
    let mut line = Line { round_trip: Some(Duration::from_millis(150)), ..Line::steady(0.0) };
    line.run(5);
    line.round_trip = Some(Duration::from_millis(450));
    assert_eq!(line.run(5), 1.0, "some jitter is none");
    line.round_trip = Some(Duration::from_millis(900));
    assert!(line.run(10) < 0.5);
    // A long way is no queue.
    let long = Line { round_trip: Some(Duration::from_millis(900)), ..Line::steady(0.0) };
    assert_eq!({ long }.run(60), 1.0);
}

#[test]
fn a_client_that_has_come_to_a_longer_way_gets_all_again() {
    let mut line = Line { round_trip: Some(Duration::from_millis(20)), ..Line::steady(0.0) };
    line.run(5);
    line.round_trip = Some(Duration::from_millis(600));
    assert!(line.run(8) < 1.0);
    assert_eq!(line.run(60), 1.0);
}

#[test]
fn a_client_that_does_not_use_its_rate_is_not_judged_by_it() {
    let mut line = Line::steady(0.0);
    for second in 0..60 {
        for n in 0..100 {
            line.packet(n % 3 == 0);
        }
        assert_eq!(line.end_second(1_000), 1.0, "in second {second}");
    }
}

#[test]
fn few_answers_are_collected_until_they_say_something() {
    let mut line = Line::steady(0.0);
    let mut until_cut = 0;
    while line.adapt.part() == 1.0 {
        line.packet(false);
        line.packet(true);
        line.end_second(RATE as u64);
        until_cut += 1;
    }
    assert_eq!(until_cut, SAMPLES_MIN, "two a second, and two measurements");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn bursts_of_any_length_leave_the_rate(
        burst in 2.0_f64..60.0,
        loss_bad in 0.3_f64..1.0,
        mean in 0.0_f64..0.06,
        seed in any::<u64>(),
    ) {
        let bad = mean / loss_bad;
        let bad_to_good = 1.0 / burst;
        let good_to_bad = bad * bad_to_good / (1.0 - bad);
        let channel = Channel { loss_good: 0.0, loss_bad, good_to_bad, bad_to_good, is_bad: false };
        prop_assert!((channel.mean_loss() - mean).abs() < 1e-9);
        let part = Line::over([channel; 2], seed).mean_part(600);
        prop_assert!(part > 0.9, "{} of the rate", part);
    }

    #[test]
    fn a_full_path_is_sent_about_its_capacity(
        carried in 0.3_f32..0.9,
        own in 0.0_f64..0.08,
        seed in any::<u64>(),
    ) {
        let channels = [Channel::steady(own), Channel::steady(0.0)];
        let mut line = Line { capacity: RATE * carried, ..Line::over(channels, seed) };
        line.run(30);
        let part = line.mean_part(300);
        prop_assert!(part > 0.8 * carried && part < 1.5 * carried, "{} of the rate", part);
    }

    #[test]
    fn the_part_keeps_its_bounds(
        seconds in prop::collection::vec((0_u64..200, 0_u64..200, 0_u64..100_000, 0_u64..3_000), 1..200),
    ) {
        let mut line = Line::steady(0.0);
        for (acked, lost, bytes, round_trip_ms) in seconds {
            (0..acked).for_each(|_| line.packet(false));
            (0..lost).for_each(|_| line.packet(true));
            line.round_trip = Some(Duration::from_millis(round_trip_ms));
            let part = line.end_second(bytes);
            prop_assert!((LEAST..=1.0).contains(&part), "{}", part);
        }
    }
}
