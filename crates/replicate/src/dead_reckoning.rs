//! Dead reckoning: a movement is significant to clients only if their own extrapolation departs from it.
//!
//! A client moves an avatar along the received velocity without limit, so a straight walk is significant at its turns and its end only. It moves a prim
//! by the acceleration too, and turns it by its angular velocity, so that of a fall the begin and the end are significant.
//! This is judged once for each entity and band of distance, never for each pair of entity and viewer, 25 million for 5,000 avatars:
//! each band has the last motion sent to its clients, and an entity has changed in a band when the extrapolation has become wrong
//! there.
//!
//! A client may have received an earlier velocity, one that lasted a tick, as after a push. Its extrapolation then differs from its
//! band's. So a velocity other than the expected one is significant too, although the place is still right: at once in the nearest
//! band, and after a pause of the band's own in the others, which bounds the time for which such a client is wrong. So are another acceleration and
//! another spin.
//!
//! An entity at rest is exact in every band: no later update would correct a small error.

use glam::{Quat, Vec3};
use link::Motion;
use wire::terse::{acceleration_as_received, angular_velocity_as_received, velocity_as_received};

/// Bands of distance: near, middle and far.
pub const BANDS: usize = 3;
/// As bits.
pub(crate) const ALL_BANDS: u8 = (1 << BANDS) - 1;

/// Dead-reckoning threshold of each band, metres: the error of position that a client may show before it is sent an update. In the
/// nearest band it is less than the 0.05 m from which on an error counts.
pub const PLACE_M: [f32; BANDS] = [0.04, 0.15, 0.5];
/// The same of rotation, which viewers do not extrapolate, radians: 1.5, 6 and 20 degrees.
pub const ROTATION_RAD: [f32; BANDS] = [0.026, 0.105, 0.35];
/// Resolution of a rotation's component on the wire (16 bits over ±1).
const ROTATION_STEP: f32 = 1.0 / 65_535.0;
/// Metres per second by which a velocity departs from the expected one.
const VELOCITY_M_PER_S: f32 = 0.05;
/// The same of an acceleration, metres per second squared, and of a spin, radians per second: 6 degrees.
const ACCELERATION_M_PER_S2: f32 = 0.1;
const SPIN_RAD_PER_S: f32 = 0.1;
/// Seconds between two such updates of a band.
const PAUSE_S: [f32; BANDS] = [0.0, 0.2, 0.5];

/// Last motions of an entity that were sent to the clients of each band.
#[derive(Clone, Debug)]
pub(crate) struct DeadReckoning {
    expected: [Expected; BANDS],
}

#[derive(Clone, Copy, Debug)]
struct Expected {
    tick: u32,
    position: Vec3,
    /// As it came out of the wire's 16 bits; likewise acceleration and spin.
    velocity: Vec3,
    acceleration: Vec3,
    rotation: Quat,
    spin: Vec3,
    at_rest: bool,
    /// Velocity, acceleration or spin was another one since.
    has_departed: bool,
}

impl Expected {
    fn of(tick: u32, motion: &Motion) -> Self {
        Self {
            tick,
            position: motion.position,
            velocity: velocity_as_received(motion.velocity),
            acceleration: acceleration_as_received(motion.acceleration),
            rotation: motion.rotation,
            spin: angular_velocity_as_received(motion.angular_velocity),
            at_rest: motion.at_rest(),
            has_departed: false,
        }
    }

    /// The extrapolated place after so many seconds.
    fn place(&self, passed_s: f32) -> Vec3 {
        self.position + self.velocity * passed_s + self.acceleration * (passed_s * passed_s / 2.0)
    }

    fn rotation(&self, passed_s: f32) -> Quat {
        if self.spin == Vec3::ZERO {
            self.rotation
        } else {
            Quat::from_scaled_axis(self.spin * passed_s) * self.rotation
        }
    }

    /// True if a motion is another one than that which a client extrapolates, wherever it is.
    fn is_departed_by(&self, motion: &Motion, passed_s: f32) -> bool {
        let is_beyond = |a: Vec3, b: Vec3, most: f32| a.distance_squared(b) > most * most;
        is_beyond(motion.velocity, self.velocity + self.acceleration * passed_s, VELOCITY_M_PER_S)
            || is_beyond(motion.acceleration, self.acceleration, ACCELERATION_M_PER_S2)
            || is_beyond(motion.angular_velocity, self.spin, SPIN_RAD_PER_S)
    }
}

impl DeadReckoning {
    /// Every client receives the entity in full.
    pub(crate) fn new(tick: u32, motion: &Motion) -> Self {
        Self { expected: [Expected::of(tick, motion); BANDS] }
    }

    /// Bands, as bits, to whose clients this motion is significant. `tick_s` is world time between two ticks.
    pub(crate) fn due_bands(&mut self, tick: u32, tick_s: f32, motion: &Motion) -> u8 {
        let mut bands = 0;
        for (band, expected) in self.expected.iter_mut().enumerate() {
            let passed_s = tick.wrapping_sub(expected.tick) as f32 * tick_s;
            expected.has_departed |= expected.is_departed_by(motion, passed_s);
            let is_shown_wrong = if motion.at_rest() {
                motion.position != expected.position || !alike(motion.rotation, expected.rotation)
            } else {
                let place = expected.place(passed_s);
                motion.position.distance_squared(place) > PLACE_M[band] * PLACE_M[band]
                    || angle(motion.rotation, expected.rotation(passed_s)) > ROTATION_RAD[band]
            };
            let is_significant = motion.at_rest() != expected.at_rest
                || is_shown_wrong
                || (expected.has_departed && passed_s >= PAUSE_S[band]);
            if is_significant {
                *expected = Expected::of(tick, motion);
                bands |= 1 << band;
            }
        }
        bands
    }
}

/// True if two rotations are equal on the wire. A quaternion and its negative are the same rotation.
fn alike(a: Quat, b: Quat) -> bool {
    a.abs_diff_eq(b, ROTATION_STEP) || a.abs_diff_eq(-b, ROTATION_STEP)
}

/// Between two rotations, in radians. Below 30 degrees the sine of half of it is as good as half of it.
pub(crate) fn angle(a: Quat, b: Quat) -> f32 {
    let cos = a.dot(b).abs().min(1.0);
    2.0 * (1.0 - cos * cos).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK_S: f32 = 0.05;
    const ALL: u8 = ALL_BANDS;
    const NEAR: u8 = 0b001;

    fn walk(position: Vec3, velocity: Vec3) -> Motion {
        Motion { position, velocity, ..Motion::default() }
    }

    /// Bands due in each tick of a path, from tick 1 on.
    fn bands_due(path: impl IntoIterator<Item = Motion>) -> Vec<u8> {
        let mut dead_reckoning = DeadReckoning::new(0, &Motion::default());
        (1..).zip(path).map(|(tick, motion)| dead_reckoning.due_bands(tick, TICK_S, &motion)).collect()
    }

    fn straight(ticks: u32) -> impl Iterator<Item = Motion> {
        let velocity = Vec3::new(3.2, 0.0, 0.0);
        (0..ticks).map(move |tick| walk(velocity * (tick as f32 * TICK_S), velocity))
    }

    #[test]
    fn a_straight_walk_is_due_once() {
        let due = bands_due(straight(200));
        assert_eq!(due[0], ALL);
        assert!(due[1..].iter().all(|&bands| bands == 0), "{due:?}");
    }

    #[test]
    fn a_stop_is_due_in_every_band_at_once() {
        let end = Vec3::new(1.5, 0.0, 0.0);
        let due = bands_due(straight(10).chain([Motion { position: end, ..Motion::default() }; 3]));
        assert_eq!(due[10..], [ALL, 0, 0]);
    }

    #[test]
    fn a_turn_while_walking_is_due_by_how_far_it_goes() {
        let degrees = [0.0_f32, 1.0, 2.0, 7.0, 21.0];
        let turned = straight(5)
            .zip(degrees)
            .map(|(walk, degrees)| Motion { rotation: Quat::from_rotation_z(degrees.to_radians()), ..walk });
        assert_eq!(bands_due(turned), [ALL, 0, NEAR, 0b011, ALL]);
    }

    #[test]
    fn a_resting_avatar_is_shown_exactly_in_every_band() {
        let turned = |degrees: f32| Motion {
            rotation: Quat::from_rotation_z(degrees.to_radians()),
            ..Motion::default()
        };
        // The same rotation under the other sign is no change.
        let other_sign = Motion { rotation: -turned(1.0).rotation, ..Motion::default() };
        assert_eq!(bands_due([turned(1.0), turned(1.0), other_sign, turned(2.0)]), [ALL, 0, 0, ALL]);
        let moved = Motion { position: Vec3::new(0.001, 0.0, 0.0), ..Motion::default() };
        assert_eq!(bands_due([moved, turned(0.0), turned(0.05)]), [ALL; 3], "by a hair");
    }

    #[test]
    fn a_push_of_one_tick_is_due_in_every_band_in_time() {
        let mut path: Vec<Motion> = straight(40).collect();
        path[20].velocity = Vec3::new(0.0, 3.2, 0.0);
        let due = bands_due(path);
        assert_eq!((due[20] & NEAR, due[21] & NEAR), (NEAR, NEAR), "there and back");
        for (band, pause) in [(1, 4), (2, 10)] {
            let sent = (20..40).filter(|&tick| due[tick] & 1 << band != 0).count();
            assert!(sent >= 1, "band {band}");
            // An update follows the return to the old velocity, so that no avatar drifts sideways.
            assert!((21..=21 + pause).any(|tick| due[tick] & 1 << band != 0), "band {band}: {due:?}");
        }
    }

    #[test]
    fn a_fall_is_due_at_its_begin_and_its_end() {
        let (spin, gravity) = (Vec3::new(3.0, -1.0, 2.0), Vec3::NEG_Z * 9.8);
        let falls = |tick: u32| {
            let s = tick as f32 * TICK_S;
            Motion {
                position: Vec3::X * s + gravity * (s * s / 2.0),
                velocity: Vec3::X + gravity * s,
                acceleration: gravity,
                rotation: Quat::from_scaled_axis(spin * s),
                angular_velocity: spin,
            }
        };
        let lies = Motion { acceleration: Vec3::ZERO, ..falls(40) };
        let due = bands_due((1..40).map(falls).chain([lies]));
        assert_eq!((due[0], due[39] & NEAR), (ALL, NEAR), "{due:?}");
        // The wire's 16 bits make a fast fall wrong by 4 cm at last.
        assert!(due[1..39].iter().filter(|&&bands| bands != 0).count() <= 1, "{due:?}");
    }

    #[test]
    fn an_acceleration_or_a_spin_of_one_tick_is_due_there_and_back() {
        for glitch in [
            Motion { acceleration: Vec3::NEG_Z * 9.8, ..walk(Vec3::ZERO, Vec3::X) },
            Motion { angular_velocity: Vec3::Z, ..walk(Vec3::ZERO, Vec3::X) },
        ] {
            let path = (1..20).map(|tick| {
                let position = Vec3::X * (tick as f32 * TICK_S);
                let motion = if tick == 10 { glitch } else { walk(Vec3::ZERO, Vec3::X) };
                Motion { position, ..motion }
            });
            let due = bands_due(path);
            assert_eq!((due[9] & NEAR, due[10] & NEAR), (NEAR, NEAR), "{due:?}");
            let farther = [1, 2].map(|band| due[9..].iter().any(|bands| bands & 1 << band != 0));
            assert_eq!(farther, [true; 2], "{due:?}");
        }
    }

    #[test]
    fn a_steady_turn_is_due_in_the_far_bands_now_and_then() {
        let circle = (0..200u32).map(|tick| {
            let angle = tick as f32 * 0.1;
            walk(
                Vec3::new(angle.cos(), angle.sin(), 0.0) * 1.6,
                Vec3::new(-angle.sin(), angle.cos(), 0.0) * 3.2,
            )
        });
        let due = bands_due(circle);
        let n = |band: u8| due.iter().filter(|&&bands| bands & 1 << band != 0).count();
        assert!(
            n(0) > 190 && (30..=70).contains(&n(1)) && (15..=40).contains(&n(2)),
            "{} {} {}",
            n(0),
            n(1),
            n(2)
        );
    }

    #[test]
    fn the_shown_position_is_never_further_off_than_the_band_allows() {
        // A client of each band with immediate updates.
        let mut dead_reckoning = DeadReckoning::new(0, &Motion::default());
        let mut shown = [(0, Motion::default()); BANDS];
        for tick in 1..400u32 {
            let at = tick as f32 * TICK_S;
            let velocity = Vec3::new((at * 0.7).sin() * 3.0, (at * 1.3).cos() * 2.0, 0.0);
            let position = Vec3::new(-(at * 0.7).cos() * 3.0 / 0.7, (at * 1.3).sin() * 2.0 / 1.3, 0.0);
            let motion = walk(position, velocity);
            let bands = dead_reckoning.due_bands(tick, TICK_S, &motion);
            for band in 0..BANDS {
                if bands & 1 << band != 0 {
                    shown[band] = (tick, motion);
                }
                let (sent_at, sent) = &shown[band];
                let expected =
                    sent.position + velocity_as_received(sent.velocity) * ((tick - sent_at) as f32 * TICK_S);
                assert!(expected.distance(position) <= PLACE_M[band] + 1e-4, "band {band} at tick {tick}");
            }
        }
    }
}
