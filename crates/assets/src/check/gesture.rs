//! Gestures: steps that an avatar plays in order, one value a line.
//!
//! ```text
//! 2                    version
//! key modifiers        two lines: u8, u32
//! trigger              chat that starts the gesture; may be empty
//! replacement          chat that is said instead; may be empty
//! n_steps              for each: 0 animation or 1 sound: name, id, flags
//!                                2 chat: text, flags
//!                                3 wait: seconds, flags
//! ```

use super::Unfit;
use super::lines::{Lines, is_uuid};
use crate::kind::AssetKind;
use std::str::FromStr;

/// Steps of a gesture, at most.
const STEPS_MAX: u32 = 1_024;

const KIND: AssetKind = AssetKind::Gesture;

/// Checks a gesture.
pub(super) fn check(bytes: &[u8]) -> Result<(), Unfit> {
    let mut lines = Lines::new(KIND, bytes);
    if value::<u32>(&mut lines, "version")? != 2 {
        return Err(lines.invalid("version"));
    }
    value::<u8>(&mut lines, "key")?;
    value::<u32>(&mut lines, "modifiers")?;
    lines.line("trigger")?;
    lines.line("replacement")?;
    let count: u32 = value(&mut lines, "number of steps")?;
    if count > STEPS_MAX {
        return Err(Unfit::TooMany { kind: KIND, items: "steps", count, count_max: STEPS_MAX });
    }
    for _ in 0..count {
        check_step(&mut lines)?;
    }
    Ok(())
}

fn check_step(lines: &mut Lines<'_>) -> Result<(), Unfit> {
    match value::<u32>(lines, "type of a step")? {
        0 | 1 => {
            lines.line("name of a step")?;
            if !is_uuid(lines.line("id of a step")?.trim()) {
                return Err(lines.invalid("id of a step"));
            }
        }
        2 => {
            lines.line("chat of a step")?;
        }
        3 => {
            let seconds: f32 = value(lines, "seconds of a step")?;
            if !seconds.is_finite() || seconds < 0.0 {
                return Err(lines.invalid("seconds of a step"));
            }
        }
        _ => return Err(lines.invalid("type of a step")),
    }
    value::<u32>(lines, "flags of a step")?;
    Ok(())
}

/// The next line as a value.
fn value<T: FromStr>(lines: &mut Lines<'_>, field: &'static str) -> Result<T, Unfit> {
    let line = lines.line(field)?;
    lines.parse(line, field)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::assert_whole_only;
    use proptest::prelude::*;

    const SAMPLE: &str = "2
0
0
/wave

4
0
Wave
c228d1cf-4b5d-4ba8-84f4-899a0796aa97
0
1
Chime\r
c228d1cf-4b5d-4ba8-84f4-899a0796aa97
0
3
1.500000
1
2
Hello, all!
0";

    fn invalid(field: &'static str) -> Result<(), Unfit> {
        Err(Unfit::Invalid { kind: KIND, field })
    }

    #[test]
    fn gestures_with_every_step_are_taken() {
        assert_whole_only(SAMPLE.as_bytes(), check);
        assert_eq!(check(format!("{SAMPLE}\n\0").as_bytes()), Ok(()));
        assert_eq!(check(SAMPLE.replace('\n', "\r\n").as_bytes()), Ok(()));
        assert_eq!(check(b"2\n255\n4294967295\n\n\n0\n"), Ok(()), "no step");
    }

    #[test]
    fn values_that_viewers_do_not_read_are_refused() {
        for (found, replaced, field) in [
            ("2\n0\n", "1\n0\n", "version"),
            ("2\n0\n", "2\n256\n", "key"),
            ("\n\n4\n", "\n\n-4\n", "number of steps"),
            ("\n3\n", "\n4\n", "type of a step"),
            ("-899a0796aa97", "", "id of a step"),
            ("1.500000", "nan", "seconds of a step"),
            ("1.500000", "-1", "seconds of a step"),
            ("\n1\n2\n", "\nx\n2\n", "flags of a step"),
        ] {
            let gesture = SAMPLE.replacen(found, replaced, 1);
            assert_eq!(check(gesture.as_bytes()), invalid(field), "{replaced}");
        }
        assert_eq!(check(b"{ \"version\": 2 }"), invalid("version"));
    }

    #[test]
    fn steps_are_limited() {
        let steps = |count: u32| check(format!("2\n0\n0\n\n\n{count}\n").as_bytes());
        let many = Unfit::TooMany { kind: KIND, items: "steps", count: u32::MAX, count_max: STEPS_MAX };
        assert_eq!(steps(u32::MAX), Err(many));
        assert_eq!(steps(STEPS_MAX), Err(Unfit::Truncated { kind: KIND, part: "type of a step" }));
    }

    proptest! {
        #[test]
        fn a_damaged_gesture_never_panics(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let mut bytes = SAMPLE.as_bytes().to_vec();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let _ = check(&bytes);
        }
    }
}
