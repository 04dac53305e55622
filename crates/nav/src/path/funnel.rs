//! String pulling: the shortest way through a sequence of doors.
//!
//! From the last corner a funnel opens to the view through the doors so far. A door that would turn it inside out makes the end of the
//! other side the next corner.

use glam::Vec2;

/// Goes from `from` through doors, each given by its right and left end, to `to`, and passes each corner and the end on to `corner`. Stops and is
/// false when that is.
pub(super) fn pull_string(
    from: Vec2,
    to: Vec2,
    doors: &[[Vec2; 2]],
    mut corner: impl FnMut(Vec2) -> bool,
) -> bool {
    let mut apex = from;
    let (mut right, mut left) = (from, from);
    // Doors of the funnel's sides, and the next door.
    let (mut right_door, mut left_door) = (0, 0);
    let mut door = 0;
    // Ends, since every corner lies at a later door than the one before.
    while door <= doors.len() {
        let [next_right, next_left] = doors.get(door).copied().unwrap_or([to, to]);
        // The right side moves in …
        if orientation(apex, right, next_right) >= 0.0 {
            if apex == right || orientation(apex, left, next_right) < 0.0 {
                (right, right_door) = (next_right, door);
            } else {
                // Beyond the left side: that end is a corner.
                if left != to && !corner(left) {
                    return false;
                }
                apex = left;
                door = left_door + 1;
                (right, left) = (apex, apex);
                (right_door, left_door) = (left_door, left_door);
                continue;
            }
        }
        if orientation(apex, left, next_left) <= 0.0 {
            if apex == left || orientation(apex, right, next_left) > 0.0 {
                (left, left_door) = (next_left, door);
            } else {
                if right != to && !corner(right) {
                    return false;
                }
                apex = right;
                door = right_door + 1;
                (right, left) = (apex, apex);
                (right_door, left_door) = (right_door, right_door);
                continue;
            }
        }
        door += 1;
    }
    corner(to)
}

/// Positive when `c` lies to the left of the line from `a` to `b`.
fn orientation(a: Vec2, b: Vec2, c: Vec2) -> f32 {
    (b - a).perp_dot(c - a)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corners(from: Vec2, to: Vec2, doors: &[[Vec2; 2]]) -> Vec<Vec2> {
        let mut corners = Vec::new();
        assert!(pull_string(from, to, doors, |corner| {
            corners.push(corner);
            true
        }));
        corners
    }

    const fn at(x: f32, y: f32) -> Vec2 {
        Vec2::new(x, y)
    }

    #[test]
    fn a_free_view_has_no_corners() {
        // Northward: right is east.
        let doors = [[at(2.0, 1.0), at(-2.0, 1.0)], [at(2.0, 2.0), at(-2.0, 2.0)]];
        assert_eq!(corners(at(0.0, 0.0), at(1.0, 3.0), &doors), [at(1.0, 3.0)]);
        assert_eq!(corners(at(0.0, 0.0), at(1.0, 3.0), &[]), [at(1.0, 3.0)]);
    }

    #[test]
    fn the_way_bends_at_the_ends_of_doors() {
        let doors = [[at(5.0, 1.0), at(4.0, 1.0)], [at(-4.0, 2.0), at(-5.0, 2.0)]];
        assert_eq!(corners(at(0.0, 0.0), at(0.0, 3.0), &doors), [at(4.0, 1.0), at(-4.0, 2.0), at(0.0, 3.0)]);
    }

    #[test]
    fn the_funnel_stops_when_its_sink_is_full() {
        let doors = [[at(5.0, 1.0), at(4.0, 1.0)], [at(-4.0, 2.0), at(-5.0, 2.0)]];
        let mut room = 1;
        let complete = pull_string(at(0.0, 0.0), at(0.0, 3.0), &doors, |_| {
            room -= 1;
            room >= 0
        });
        assert!(!complete);
    }
}
