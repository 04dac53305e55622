//! Animations: the key frames of joints, in the binary form that viewers upload and store.
//!
//! ```text
//! version sub_version            u16 each: 1 0, or 0 1 of old content
//! priority duration              i32, f32 seconds
//! emote                          text up to a NUL
//! loop_in loop_out loops         f32, f32, i32
//! ease_in ease_out hand_pose     f32, f32, u32
//! n_joints, for each             u32
//!     name priority              text up to a NUL, i32
//!     n_rotations, for each      i32; time x y z: u16 each, or f32 each in 0.1
//!     n_positions, for each      i32; the same
//! n_constraints, for each        i32; absent from some of 0.1
//!     n_chain_joints form        u8 each
//!     source offset              16 bytes of a name, 3 f32
//!     target offset direction    16 bytes of a name, 3 f32, 3 f32
//!     times                      4 f32
//! ```
//!
//! All is little-endian. The limits are those with which viewers refuse an animation; names of joints are not compared with a skeleton.

use super::Unfit;
use super::cursor::Cursor;
use crate::kind::AssetKind;

const SECONDS_MAX: f32 = 60.0;
const JOINTS_MAX: u32 = 216;
const CONSTRAINTS_MAX: u32 = 10;

/// Viewers know the poses 0 to 13, and take 14, their number, too.
const HAND_POSE_MAX: u32 = 14;

/// Forms of constraints: a point, and a plane.
const CONSTRAINT_FORMS: u8 = 2;

/// Bytes of a joint's name.
const NAME_MAX: usize = 63;

/// Bytes of an emote: the name of a facial expression, or the id of an animation.
const EMOTE_MAX: usize = 255;

const KIND: AssetKind = AssetKind::Animation;

/// Width of keys.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keys {
    /// Version 1.0: four u16, of which all values are valid.
    Quantised,
    /// Version 0.1: four f32.
    Floats,
}

/// Checks an animation. Bytes behind its end are ignored, as viewers do.
pub(super) fn check(bytes: &[u8]) -> Result<(), Unfit> {
    let mut motion = Cursor::new(KIND, bytes);
    let version: [u8; 4] = motion.array("version")?;
    let keys = match version {
        [1, 0, 0, 0] => Keys::Quantised,
        [0, 0, 1, 0] => Keys::Floats,
        _ => return Err(Unfit::OtherForm { kind: KIND, expected: "an animation of version 1.0 or 0.1" }),
    };
    check_header(&mut motion)?;
    let n_joints = read_count(&mut motion, "joints", JOINTS_MAX)?;
    // Viewers refuse an animation without joints.
    if n_joints == 0 {
        return Err(Unfit::Missing { kind: KIND, part: "joints" });
    }
    for _ in 0..n_joints {
        check_joint(&mut motion, keys)?;
    }
    if keys == Keys::Floats && motion.is_at_end() {
        return Ok(());
    }
    for _ in 0..read_count(&mut motion, "constraints", CONSTRAINTS_MAX)? {
        check_constraint(&mut motion, n_joints)?;
    }
    Ok(())
}

/// Reads all between the version and the number of joints.
fn check_header(motion: &mut Cursor<'_>) -> Result<(), Unfit> {
    let _priority: [u8; 4] = motion.array("priority")?;
    let duration = motion.finite("duration")?;
    if duration < 0.0 {
        return Err(invalid("duration"));
    }
    if duration > SECONDS_MAX {
        // A cast from float saturates, and the duration is positive.
        let [seconds, seconds_max] = [duration.ceil() as u64, SECONDS_MAX as u64];
        return Err(Unfit::TooLong { kind: KIND, seconds, seconds_max });
    }
    motion.c_string(EMOTE_MAX, "emote")?;
    finite_run(motion, 2, "loop points")?;
    let _loops: [u8; 4] = motion.array("loop flag")?;
    finite_run(motion, 2, "ease times")?;
    if u32::from_le_bytes(motion.array("hand pose")?) > HAND_POSE_MAX {
        return Err(invalid("hand pose"));
    }
    Ok(())
}

fn check_joint(motion: &mut Cursor<'_>, keys: Keys) -> Result<(), Unfit> {
    if motion.c_string(NAME_MAX, "name of a joint")?.is_empty() {
        return Err(invalid("name of a joint"));
    }
    let _priority: [u8; 4] = motion.array("priority of a joint")?;
    skip_keys(motion, keys, "rotations")?;
    skip_keys(motion, keys, "positions")
}

/// Reads a number of keys, and the keys. A huge or negative number ends with the bytes.
fn skip_keys(motion: &mut Cursor<'_>, keys: Keys, part: &'static str) -> Result<(), Unfit> {
    for _ in 0..read_count(motion, part, u32::MAX)? {
        match keys {
            Keys::Quantised => {
                motion.take(8, part)?;
            }
            Keys::Floats => finite_run(motion, 4, part)?,
        }
    }
    Ok(())
}

fn check_constraint(motion: &mut Cursor<'_>, n_joints: u32) -> Result<(), Unfit> {
    let part = "constraints";
    let [n_chain_joints, form]: [u8; 2] = motion.array(part)?;
    // A viewer indexes the animation's joints by the chain.
    if u32::from(n_chain_joints) > n_joints || form >= CONSTRAINT_FORMS {
        return Err(invalid(part));
    }
    motion.take(16, part)?;
    finite_run(motion, 3, part)?;
    motion.take(16, part)?;
    finite_run(motion, 3 + 3 + 4, part)
}

/// Reads a number of items, which is signed in the format: a negative one is above every limit here.
fn read_count(motion: &mut Cursor<'_>, items: &'static str, count_max: u32) -> Result<u32, Unfit> {
    let count = u32::from_le_bytes(motion.array(items)?);
    if count > count_max {
        return Err(Unfit::TooMany { kind: KIND, items, count, count_max });
    }
    Ok(count)
}

fn finite_run(motion: &mut Cursor<'_>, n_floats: usize, field: &'static str) -> Result<(), Unfit> {
    for _ in 0..n_floats {
        motion.finite(field)?;
    }
    Ok(())
}

const fn invalid(field: &'static str) -> Unfit {
    Unfit::Invalid { kind: KIND, field }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::assert_whole_only;
    use proptest::prelude::*;

    fn floats(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    /// Version, priority, duration, emote, loop, ease times, hand pose and number of joints.
    fn header(version: [u8; 4], duration: f32, n_joints: u32) -> Vec<u8> {
        let mut bytes = version.to_vec();
        bytes.extend(4_i32.to_le_bytes());
        bytes.extend(floats(&[duration]));
        bytes.extend(b"smile\0");
        bytes.extend(floats(&[0.0, duration]));
        bytes.extend(1_i32.to_le_bytes());
        bytes.extend(floats(&[0.3, 0.3]));
        bytes.extend(1_u32.to_le_bytes());
        bytes.extend(n_joints.to_le_bytes());
        bytes
    }

    /// A joint with one rotation and no position; `key` is the bytes of the rotation.
    fn joint(name: &[u8], key: &[u8]) -> Vec<u8> {
        let mut bytes = name.to_vec();
        bytes.push(0);
        bytes.extend(4_i32.to_le_bytes());
        bytes.extend(1_i32.to_le_bytes());
        bytes.extend(key);
        bytes.extend(0_i32.to_le_bytes());
        bytes
    }

    fn constraint(n_chain_joints: u8) -> Vec<u8> {
        let mut bytes = vec![n_chain_joints, 1];
        bytes.extend([b'a'; 16]);
        bytes.extend(floats(&[0.0; 3]));
        bytes.extend(b"GROUND\0\0\0\0\0\0\0\0\0\0");
        bytes.extend(floats(&[0.0; 10]));
        bytes
    }

    const CURRENT: [u8; 4] = [1, 0, 0, 0];
    const OLD: [u8; 4] = [0, 0, 1, 0];

    fn sample() -> Vec<u8> {
        let constraints = [1_u32.to_le_bytes().to_vec(), constraint(1)].concat();
        [header(CURRENT, 2.0, 1), joint(b"mHead", &[0xFF; 8]), constraints].concat()
    }

    #[test]
    fn animations_of_both_versions_are_taken() {
        assert_whole_only(&sample(), check);
        let old = [header(OLD, 2.0, 1), joint(b"mHead", &floats(&[0.5; 4]))].concat();
        assert_whole_only(&old, check);
        assert_eq!(check(&[old, 0_u32.to_le_bytes().to_vec()].concat()), Ok(()));
        assert_eq!(check(&[sample(), b"more".to_vec()].concat()), Ok(()), "bytes behind the end");
    }

    #[test]
    fn durations_are_limited() {
        let lasting = |duration| check(&header(CURRENT, duration, 1));
        let seconds_max = 60;
        assert_eq!(lasting(60.5), Err(Unfit::TooLong { kind: KIND, seconds: 61, seconds_max }));
        assert_eq!(lasting(f32::MAX), Err(Unfit::TooLong { kind: KIND, seconds: u64::MAX, seconds_max }));
        for duration in [-0.5, f32::NAN, f32::INFINITY] {
            assert_eq!(lasting(duration), Err(invalid("duration")), "{duration}");
        }
        assert_eq!(lasting(60.0), Err(Unfit::Truncated { kind: KIND, part: "name of a joint" }));
    }

    #[test]
    fn counts_are_limited() {
        let joints = |n_joints| check(&header(CURRENT, 1.0, n_joints));
        let (items, count_max) = ("joints", JOINTS_MAX);
        assert_eq!(joints(217), Err(Unfit::TooMany { kind: KIND, items, count: 217, count_max }));
        assert_eq!(joints(u32::MAX), Err(Unfit::TooMany { kind: KIND, items, count: u32::MAX, count_max }));
        assert_eq!(joints(0), Err(Unfit::Missing { kind: KIND, part: "joints" }));
        for version in [CURRENT, OLD] {
            let endless = [header(version, 1.0, 1), b"mHead\0\0\0\0\0\xFF\xFF\xFF\xFFkeys".to_vec()].concat();
            assert_eq!(check(&endless), Err(Unfit::Truncated { kind: KIND, part: "rotations" }));
        }
        let whole = [header(CURRENT, 1.0, 1), joint(b"mHead", &[0; 8])].concat();
        let constraints = |count: u32| check(&[whole.clone(), count.to_le_bytes().to_vec()].concat());
        let (items, count_max) = ("constraints", CONSTRAINTS_MAX);
        assert_eq!(constraints(11), Err(Unfit::TooMany { kind: KIND, items, count: 11, count_max }));
        assert_eq!(constraints(10), Err(Unfit::Truncated { kind: KIND, part: "constraints" }));
    }

    #[test]
    fn values_that_viewers_cannot_bear_are_refused() {
        let with_joint = |version, joint: Vec<u8>| check(&[header(version, 1.0, 1), joint].concat());
        assert_eq!(with_joint(CURRENT, joint(b"", &[0; 8])), Err(invalid("name of a joint")));
        assert_eq!(with_joint(CURRENT, joint(&[b'a'; 64], &[0; 8])), Err(invalid("name of a joint")));
        let broken = joint(b"mHead", &floats(&[0.0, f32::NAN, 0.0, 0.0]));
        assert_eq!(with_joint(OLD, broken), Err(invalid("rotations")));
        let chained = [1_u32.to_le_bytes().to_vec(), constraint(2)].concat();
        let chained = [joint(b"mHead", &[0; 8]), chained].concat();
        assert_eq!(
            with_joint(CURRENT, chained),
            Err(invalid("constraints")),
            "a chain of more joints than there are"
        );
        let other = [header([2, 0, 0, 0], 1.0, 1), joint(b"mHead", &[0; 8])].concat();
        let expected = "an animation of version 1.0 or 0.1";
        assert_eq!(check(&other), Err(Unfit::OtherForm { kind: KIND, expected }));
    }

    proptest! {
        #[test]
        fn a_damaged_animation_never_panics(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let mut bytes = sample();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let _ = check(&bytes);
        }
    }
}
