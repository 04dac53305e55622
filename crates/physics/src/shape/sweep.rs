//! Path of a prim: the places of its profile from begin to end.
//!
//! A straight path leads up along z, a circle around x, from y towards z. At each station the profile is scaled, turned in its own plane
//! (twist), turned around the circle and moved, in that order, so that a station is an affine map.

use super::detail::Detail;
use core::f32::consts::{PI, TAU};
use glam::{Vec2, Vec3};
use prim::Shape;

/// Steps of a cut.
const CUT_STEPS: f32 = 50_000.0;
/// Turns of a circle above one, per code.
const REVOLUTION_STEP: f32 = 0.015;

/// Place of the profile: its point (x, y) comes to `origin + x_axis × x + y_axis × y`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Station {
    pub(super) origin: Vec3,
    pub(super) x_axis: Vec3,
    pub(super) y_axis: Vec3,
}

/// Stations along a path.
#[derive(Clone, Debug)]
pub(super) struct Sweep {
    pub(super) stations: Vec<Station>,
    /// The last station is followed by the first one.
    pub(super) is_closed: bool,
}

/// Parameters of a circle, with the numbers of the protocol resolved.
struct CirclePath {
    turns: f32,
    shear: Vec2,
    skew: f32,
    twist: (f32, f32),
    scale: (Vec2, Vec2),
    radius: (f32, f32),
}

impl Station {
    pub(super) fn at(&self, point: Vec2) -> Vec3 {
        self.origin + self.x_axis * point.x + self.y_axis * point.y
    }
}

impl Sweep {
    /// Path of a clamped shape as a line. Sides that are not `flat` get more steps.
    pub(super) fn along_line(shape: &Shape, detail: Detail, flat: bool, steps_max: usize) -> Self {
        let (begin, end) = share_of_path(shape);
        let twist = (hundredths(shape.path_twist_begin) * PI, hundredths(shape.path_twist) * PI);
        let turns = (twist.1 - twist.0).abs() / TAU;
        let least = if flat { 1.0 } else { detail.bent_steps() as f32 };
        let wanted = libm::ceilf(turns * detail.circle_sides() as f32 * (end - begin)) + least;
        // Above 1 a scale makes the bottom smaller, below 1 the top.
        let scale = Vec2::new(scale_of(shape.path_scale_x), scale_of(shape.path_scale_y));
        let (bottom, top) = ((2.0 - scale).min(Vec2::ONE), scale.min(Vec2::ONE));
        let shear = Vec2::new(hundredths(shape.path_shear_x), hundredths(shape.path_shear_y));
        let station = |share: f32| {
            let (sin, cos) = libm::sincosf(mix(twist.0, twist.1, share));
            let scale = bottom + (top - bottom) * share;
            Station {
                origin: (shear * share).extend(share - 0.5),
                x_axis: Vec3::new(cos, sin, 0.0) * scale.x,
                y_axis: Vec3::new(-sin, cos, 0.0) * scale.y,
            }
        };
        let steps = (wanted as usize).clamp(1, steps_max);
        Self { stations: stations(begin, end, steps, true, station), is_closed: false }
    }

    /// Path of a clamped shape as a circle.
    pub(super) fn along_circle(shape: &Shape, detail: Detail, steps_max: usize) -> Self {
        let (begin, end) = share_of_path(shape);
        let path = CirclePath::new(shape);
        // A turn of twist adds half as many steps as a turn of the path has.
        let twists = (path.twist.1 - path.twist.0).abs() / TAU;
        let turns = (1.0 + twists / 2.0) * path.turns;
        let wanted = libm::ceilf(turns * detail.circle_sides() as f32 * (end - begin));
        let is_closed = circle_is_closed(shape);
        let least = if is_closed { 3 } else { 1 };
        let steps = (wanted as usize).clamp(least, steps_max);
        let stations = stations(begin, end, steps, !is_closed, |share| path.station(share));
        Self { stations, is_closed }
    }
}

/// True if the end of a circle meets its begin.
pub(super) const fn circle_is_closed(shape: &Shape) -> bool {
    shape.path_begin == 0
        && shape.path_end == 0
        && shape.path_revolutions == 0
        && shape.path_skew == 0
        && shape.path_taper_x == 0
        && shape.path_taper_y == 0
        && shape.path_radius_offset == 0
        && shape.path_twist == shape.path_twist_begin
}

impl CirclePath {
    fn new(shape: &Shape) -> Self {
        let skew = hundredths(shape.path_skew);
        let hole = Vec2::new(scale_of(shape.path_scale_x) * (1.0 - skew.abs()), scale_of(shape.path_scale_y));
        // A positive taper narrows the end, a negative one the begin.
        let taper = Vec2::new(hundredths(shape.path_taper_x), hundredths(shape.path_taper_y));
        let (begin, end) = (1.0 + taper.min(Vec2::ZERO), 1.0 - taper.max(Vec2::ZERO));
        let radius = 0.5 * (1.0 - hole.y);
        let offset = hundredths(shape.path_radius_offset);
        Self {
            turns: 1.0 + f32::from(shape.path_revolutions) * REVOLUTION_STEP,
            shear: Vec2::new(hundredths(shape.path_shear_x), hundredths(shape.path_shear_y)),
            skew,
            twist: (hundredths(shape.path_twist_begin) * TAU, hundredths(shape.path_twist) * TAU),
            scale: (hole * begin, hole * end),
            radius: (radius * (1.0 + offset.min(0.0)), radius * (1.0 - offset.max(0.0))),
        }
    }

    fn station(&self, share: f32) -> Station {
        let (sin, cos) = libm::sincosf(TAU * self.turns * share);
        let radius = mix(self.radius.0, self.radius.1, share);
        let (y, z) = (cos * radius, sin * radius);
        // Without a twist the profile is upside down: the flat side of a half circle lies on the axis.
        let (twist_sin, twist_cos) = libm::sincosf(mix(self.twist.0, self.twist.1, share) - PI);
        let scale = self.scale.0 + (self.scale.1 - self.scale.0) * share;
        Station {
            origin: Vec3::new(
                self.shear.x * z + mix(-self.skew, self.skew, share) * 0.5,
                y + self.shear.y * z,
                z,
            ),
            x_axis: Vec3::new(twist_cos, twist_sin * cos, twist_sin * sin) * scale.x,
            y_axis: Vec3::new(-twist_sin, twist_cos * cos, twist_cos * sin) * scale.y,
        }
    }
}

/// Stations at equal distances; the last one only `with_end`.
fn stations(
    begin: f32,
    end: f32,
    steps: usize,
    with_end: bool,
    station: impl Fn(f32) -> Station,
) -> Vec<Station> {
    let share = |step: usize| mix(begin, end, step as f32 / steps as f32);
    (0..steps + usize::from(with_end)).map(|step| station(share(step))).collect()
}

/// Begin and end of the path that is left.
pub(super) fn share_of_path(shape: &Shape) -> (f32, f32) {
    (f32::from(shape.path_begin) / CUT_STEPS, 1.0 - f32::from(shape.path_end) / CUT_STEPS)
}

fn scale_of(code: u8) -> f32 {
    (200.0 - f32::from(code)) / 100.0
}

fn hundredths(code: i8) -> f32 {
    f32::from(code) / 100.0
}

fn mix(from: f32, to: f32, share: f32) -> f32 {
    from + (to - from) * share
}

#[cfg(test)]
mod tests {
    use super::*;
    use prim::ShapeKind;

    #[test]
    fn a_pyramid_narrows_to_its_top_and_a_negative_taper_to_its_bottom() {
        let up = Sweep::along_line(
            &Shape { path_scale_x: 200, path_scale_y: 200, ..Shape::BOX },
            Detail::of_scale(Vec3::splat(9.0)),
            true,
            100,
        );
        assert_eq!(up.stations.len(), 2);
        assert_eq!(up.stations[1].at(Vec2::splat(0.5)), Vec3::new(0.0, 0.0, 0.5));
        assert_eq!(up.stations[0].at(Vec2::splat(0.5)), Vec3::new(0.5, 0.5, -0.5));
        let down = Sweep::along_line(
            &Shape { path_scale_x: 0, path_scale_y: 0, ..Shape::BOX },
            Detail::of_scale(Vec3::splat(9.0)),
            true,
            100,
        );
        assert_eq!(down.stations[0].at(Vec2::splat(0.5)), Vec3::new(0.0, 0.0, -0.5));
        assert_eq!(down.stations[1].at(Vec2::splat(0.5)), Vec3::splat(0.5));
    }

    #[test]
    fn shear_moves_the_top_and_leaves_the_bottom() {
        let sheared = Sweep::along_line(
            &Shape { path_shear_x: 50, path_shear_y: -20, ..Shape::BOX },
            Detail::of_scale(Vec3::splat(9.0)),
            true,
            100,
        );
        assert_eq!(sheared.stations[0].origin, Vec3::new(0.0, 0.0, -0.5));
        assert!(sheared.stations[1].origin.distance(Vec3::new(0.5, -0.2, 0.5)) < 1e-6);
    }

    #[test]
    fn a_twist_adds_steps_up_to_the_limit() {
        let twisted = Shape { path_twist: 100, path_twist_begin: -100, ..Shape::BOX };
        assert_eq!(
            Sweep::along_line(&twisted, Detail::of_scale(Vec3::splat(9.0)), true, 100).stations.len(),
            26
        );
        assert_eq!(
            Sweep::along_line(&twisted, Detail::of_scale(Vec3::splat(9.0)), true, 10).stations.len(),
            11
        );
        let half = Shape { path_twist: 50, ..Shape::BOX };
        let top =
            *Sweep::along_line(&half, Detail::of_scale(Vec3::splat(9.0)), true, 100).stations.last().unwrap();
        assert!(top.at(Vec2::new(0.5, 0.0)).distance(Vec3::new(0.0, 0.5, 0.5)) < 1e-6, "{top:?}");
    }

    #[test]
    fn a_ring_is_closed_unless_a_parameter_opens_it() {
        let torus = Shape::plain(ShapeKind::Torus);
        let sweep = Sweep::along_circle(&torus, Detail::of_scale(Vec3::splat(9.0)), 100);
        assert!(sweep.is_closed && sweep.stations.len() == 24);
        // A hole of a quarter: the tube's axis is at 3/8.
        assert!(sweep.stations[6].origin.distance(Vec3::new(0.0, 0.0, 0.375)) < 1e-6);
        let open = [
            Shape { path_begin: 1, ..torus },
            Shape { path_skew: 10, ..torus },
            Shape { path_taper_y: -10, ..torus },
            Shape { path_revolutions: 1, ..torus },
            Shape { path_radius_offset: 10, ..torus },
            Shape { path_twist: 10, ..torus },
        ];
        assert!(
            open.iter()
                .all(|shape| !Sweep::along_circle(shape, Detail::of_scale(Vec3::splat(9.0)), 100).is_closed)
        );
    }

    #[test]
    fn skew_leads_along_the_axis_and_an_offset_shrinks_the_radius() {
        let torus = Shape::plain(ShapeKind::Torus);
        let skewed =
            Sweep::along_circle(&Shape { path_skew: 50, ..torus }, Detail::of_scale(Vec3::splat(9.0)), 100);
        let (first, last) = (skewed.stations[0], *skewed.stations.last().unwrap());
        assert!((first.origin.x + 0.25).abs() < 1e-6 && (last.origin.x - 0.25).abs() < 1e-6);
        assert!((first.x_axis.length() - 0.5).abs() < 1e-6, "narrower by the skew");
        let spiral = Sweep::along_circle(
            &Shape { path_radius_offset: 40, ..torus },
            Detail::of_scale(Vec3::splat(9.0)),
            100,
        );
        assert!((spiral.stations.last().unwrap().origin.y - 0.375 * 0.6).abs() < 1e-6);
        let inward = Sweep::along_circle(
            &Shape { path_radius_offset: -40, ..torus },
            Detail::of_scale(Vec3::splat(9.0)),
            100,
        );
        assert!((inward.stations[0].origin.y - 0.375 * 0.6).abs() < 1e-6);
    }
}
