//! Dead reckoning: a movement is significant to clients only if their own extrapolation departs from it.
//!
//! A client moves an avatar along the received velocity without limit, so a straight walk is significant at its turns and its end only.
//! This is judged once for each entity and band of distance, never for each pair of entity and viewer, 25 million for 5,000 avatars:
//! each band has the last motion sent to its clients, and an entity has changed in a band when the extrapolation has become wrong
//! there.
//!
//! A client may have received an earlier velocity, one that lasted a tick, as after a push. Its extrapolation then differs from its
//! band's. So a velocity other than the expected one is significant too, although the place is still right: at once in the nearest
//! band, and after a pause of the band's own in the others, which bounds the time for which such a client is wrong.
//!
//! An entity at rest is exact in every band: no later update would correct a small error.

use glam::{Quat, Vec3};
use link::Motion;
use wire::terse::velocity_as_received;

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
    /// As it came out of the wire's 16 bits.
    velocity: Vec3,
    rotation: Quat,
    at_rest: bool,
    /// The velocity was another one since.
    has_departed: bool,
}

impl Expected {
    fn of(tick: u32, motion: &Motion) -> Self {
        let velocity = if motion.at_rest() { Vec3::ZERO } else { velocity_as_received(motion.velocity) };
        Self {
            tick,
            position: motion.position,
            velocity,
            rotation: motion.rotation,
            at_rest: motion.at_rest(),
            has_departed: false,
        }
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
            let place = expected.position + expected.velocity * passed_s;
            expected.has_departed |=
                motion.velocity.distance_squared(expected.velocity) > VELOCITY_M_PER_S * VELOCITY_M_PER_S;
            let is_shown_wrong = if motion.at_rest() {
                motion.position != expected.position || !alike(motion.rotation, expected.rotation)
            } else {
                motion.position.distance_squared(place) > PLACE_M[band] * PLACE_M[band]
                    || angle(motion.rotation, expected.rotation) > ROTATION_RAD[band]
            };
            let is_significant = motion.at_rest() != expected.at_rest
                || is_shown_wrong
                // A velocity cannot express an acceleration or a spin.
                || motion.acceleration != Vec3::ZERO
                || motion.angular_velocity != Vec3::ZERO
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
fn angle(a: Quat, b: Quat) -> f32 {
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
