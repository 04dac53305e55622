//! Shape of a prim: a profile that is swept along a path.
//!
//! All numbers are those of the protocol, integers in fixed steps, so that a shape is compared, hashed and stored exactly. Clients accept
//! any bytes in an update and correct them on their own, each in its own way; therefore [`Shape::clamped`] applies the ranges of viewers
//! (of the larger ones that they use on OpenSimulator: hollow up to 99 %, holes from 1 %) before a shape is accepted.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Steps of a cut and a hollow: 0.00002 each.
const CUT_STEPS: u16 = 50_000;
/// A path and a profile are at least a fiftieth of the whole long.
const CUT_MIN: u16 = CUT_STEPS / 50;
/// 99 %.
const HOLLOW_MAX: u16 = CUT_STEPS / 100 * 99;
/// 70 %, for a square hole in a round or triangular profile: a larger one would cut its outline.
const HOLLOW_MAX_SQUARE: u16 = CUT_STEPS / 100 * 70;
/// Code of a scale: 200 − 100 × scale, so that scales from 0 to 2 are possible.
const SCALE_ZERO: u8 = 200;
const SCALE_ONE: u8 = 100;
/// Scales of a path that is a circle are sizes of the hole: 1 to 100 % across, 1 to 50 % along.
const HOLE_MIN: u8 = SCALE_ZERO - 1;
const HOLE_MAX_Y: u8 = SCALE_ZERO - 50;
/// Hundredths.
const SHEAR_MAX: i8 = 50;
/// Hundredths of a half turn of a straight path, of a whole one of a circle.
const TWIST_MAX: i8 = 100;
const TAPER_MAX: i8 = 100;
const SKEW_MAX: i8 = 95;
/// Steps of 0.015 above one revolution: four at most.
const REVOLUTIONS_MAX: u8 = 200;
const REVOLUTION_STEP: f32 = 0.015;

/// Sweep of a profile along a path, in the units of ObjectUpdate and ObjectShape. The default is a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Shape {
    /// Code of the path, see [`Path`].
    pub path_curve: u8,
    /// Code of the profile in the low half, of the hole in the high one; see [`Profile`] and [`Hole`].
    pub profile_curve: u8,
    /// Part of the path that is left out at its begin, 1/50,000.
    pub path_begin: u16,
    /// Part of the path that is left out at its end, 1/50,000.
    pub path_end: u16,
    /// 200 − 100 × size of the top (straight path) or of the hole (circle), along x.
    pub path_scale_x: u8,
    /// The same along y.
    pub path_scale_y: u8,
    /// Shear of the top along x, 1/100.
    pub path_shear_x: i8,
    /// The same along y.
    pub path_shear_y: i8,
    /// Twist at the end of the path, 1/100.
    pub path_twist: i8,
    /// Twist at its begin, 1/100.
    pub path_twist_begin: i8,
    /// Growth of the radius along a circle, 1/100.
    pub path_radius_offset: i8,
    /// Taper of a circle along x, 1/100.
    pub path_taper_x: i8,
    /// The same along y.
    pub path_taper_y: i8,
    /// Turns of a circle above one, steps of 0.015.
    pub path_revolutions: u8,
    /// Shift of a circle along its axis, 1/100.
    pub path_skew: i8,
    /// Part of the profile that is left out at its begin, 1/50,000.
    pub profile_begin: u16,
    /// Part of the profile that is left out at its end, 1/50,000.
    pub profile_end: u16,
    /// Size of the hole, 1/50,000 of the profile.
    pub profile_hollow: u16,
}

/// Curve along which a profile is swept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Path {
    /// Straight up.
    Line = 0x10,
    /// A circle around an axis.
    Circle = 0x20,
    /// A circle with the profile of a sphere's slice, of old content.
    Circle2 = 0x30,
    /// A test curve of old viewers.
    Test = 0x40,
    /// Straight, bent by the client.
    Flexible = 0x80,
}

/// Outline that is swept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Profile {
    /// A circle.
    Circle = 0,
    /// A square.
    Square = 1,
    /// An isosceles triangle.
    IsoscelesTriangle = 2,
    /// An equilateral triangle.
    EquilateralTriangle = 3,
    /// A right triangle.
    RightTriangle = 4,
    /// Half a circle.
    HalfCircle = 5,
}

/// Outline of a hole in a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Hole {
    /// As the profile.
    Same = 0x00,
    /// A circle.
    Circle = 0x10,
    /// A square.
    Square = 0x20,
    /// A triangle.
    Triangle = 0x30,
}

/// Shapes by the names of a viewer's build menu.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShapeKind {
    /// Square along a line.
    Box,
    /// Circle along a line.
    Cylinder,
    /// Triangle along a line.
    Prism,
    /// Half circle along a circle.
    Sphere,
    /// Circle along a circle.
    Torus,
    /// Square along a circle.
    Tube,
    /// Triangle along a circle.
    Ring,
}

/// A code that stands for no curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ShapeError {
    /// Of a path.
    #[error("no path has code {0:#04x}")]
    Path(u8),
    /// Of a profile or its hole.
    #[error("no profile has code {0:#04x}")]
    Profile(u8),
}

impl Default for Shape {
    fn default() -> Self {
        Self::BOX
    }
}

impl Shape {
    /// A box without cut, hole and twist.
    pub const BOX: Self = Self {
        path_curve: Path::Line as u8,
        profile_curve: Profile::Square as u8,
        path_begin: 0,
        path_end: 0,
        path_scale_x: SCALE_ONE,
        path_scale_y: SCALE_ONE,
        path_shear_x: 0,
        path_shear_y: 0,
        path_twist: 0,
        path_twist_begin: 0,
        path_radius_offset: 0,
        path_taper_x: 0,
        path_taper_y: 0,
        path_revolutions: 0,
        path_skew: 0,
        profile_begin: 0,
        profile_end: 0,
        profile_hollow: 0,
    };

    /// The plain shape of a kind, as a viewer makes it.
    #[must_use]
    pub const fn plain(kind: ShapeKind) -> Self {
        let (path, profile, scale_y) = match kind {
            ShapeKind::Box => (Path::Line, Profile::Square, SCALE_ONE),
            ShapeKind::Cylinder => (Path::Line, Profile::Circle, SCALE_ONE),
            ShapeKind::Prism => (Path::Line, Profile::EquilateralTriangle, SCALE_ONE),
            ShapeKind::Sphere => (Path::Circle, Profile::HalfCircle, SCALE_ONE),
            // A hole of a quarter.
            ShapeKind::Torus => (Path::Circle, Profile::Circle, SCALE_ZERO - 25),
            ShapeKind::Tube => (Path::Circle, Profile::Square, SCALE_ZERO - 25),
            ShapeKind::Ring => (Path::Circle, Profile::EquilateralTriangle, SCALE_ZERO - 25),
        };
        Self { path_curve: path as u8, profile_curve: profile as u8, path_scale_y: scale_y, ..Self::BOX }
    }

    /// Its path.
    ///
    /// # Errors
    /// [`ShapeError::Path`].
    pub const fn path(&self) -> Result<Path, ShapeError> {
        match self.path_curve {
            0x10 => Ok(Path::Line),
            0x20 => Ok(Path::Circle),
            0x30 => Ok(Path::Circle2),
            0x40 => Ok(Path::Test),
            0x80 => Ok(Path::Flexible),
            other => Err(ShapeError::Path(other)),
        }
    }

    /// Its profile and the outline of its hole.
    ///
    /// # Errors
    /// [`ShapeError::Profile`].
    pub const fn profile(&self) -> Result<(Profile, Hole), ShapeError> {
        let profile = match self.profile_curve & 0x0F {
            0 => Profile::Circle,
            1 => Profile::Square,
            2 => Profile::IsoscelesTriangle,
            3 => Profile::EquilateralTriangle,
            4 => Profile::RightTriangle,
            5 => Profile::HalfCircle,
            _ => return Err(ShapeError::Profile(self.profile_curve)),
        };
        let hole = match self.profile_curve & 0xF0 {
            0x00 => Hole::Same,
            0x10 => Hole::Circle,
            0x20 => Hole::Square,
            0x30 => Hole::Triangle,
            _ => return Err(ShapeError::Profile(self.profile_curve)),
        };
        Ok((profile, hole))
    }

    /// Its kind; the nearest one for shapes that no viewer's menu makes.
    ///
    /// # Errors
    /// [`ShapeError`].
    pub const fn kind(&self) -> Result<ShapeKind, ShapeError> {
        let (path, (profile, _)) = match (self.path(), self.profile()) {
            (Ok(path), Ok(profile)) => (path, profile),
            (Err(error), _) | (_, Err(error)) => return Err(error),
        };
        let is_straight = matches!(path, Path::Line | Path::Flexible);
        Ok(match (is_straight, profile) {
            (true, Profile::Square) => ShapeKind::Box,
            (true, Profile::Circle | Profile::HalfCircle) => ShapeKind::Cylinder,
            (true, _) => ShapeKind::Prism,
            (false, Profile::HalfCircle) => ShapeKind::Sphere,
            (false, Profile::Circle) => ShapeKind::Torus,
            (false, Profile::Square) => ShapeKind::Tube,
            (false, _) => ShapeKind::Ring,
        })
    }

    /// The nearest shape whose numbers are within the ranges of viewers. Idempotent.
    ///
    /// # Errors
    /// [`ShapeError`]: there is no nearest curve to an unknown code.
    pub fn clamped(self) -> Result<Self, ShapeError> {
        let (path, (profile, hole)) = (self.path()?, self.profile()?);
        let is_circle = !matches!(path, Path::Line | Path::Flexible);
        // A circle with half a circle as profile: its radius is fixed, and its scales are those of a straight path.
        let is_sphere = is_circle && profile == Profile::HalfCircle;
        let is_ring = is_circle && !is_sphere;
        let is_round =
            matches!(profile, Profile::Circle | Profile::HalfCircle | Profile::EquilateralTriangle);
        let hollow_max = if hole == Hole::Square && is_round { HOLLOW_MAX_SQUARE } else { HOLLOW_MAX };
        let (path_begin, path_end) = clamp_cut(self.path_begin, self.path_end);
        let (profile_begin, profile_end) = clamp_cut(self.profile_begin, self.profile_end);
        let scale = |code: u8, hole_max: u8| {
            if is_ring { code.clamp(hole_max, HOLE_MIN) } else { code.min(SCALE_ZERO) }
        };
        let mut shape = Self {
            path_begin,
            path_end,
            profile_begin,
            profile_end,
            profile_hollow: self.profile_hollow.min(hollow_max),
            path_scale_x: scale(self.path_scale_x, SCALE_ONE),
            path_scale_y: scale(self.path_scale_y, HOLE_MAX_Y),
            path_shear_x: self.path_shear_x.clamp(-SHEAR_MAX, SHEAR_MAX),
            path_shear_y: self.path_shear_y.clamp(-SHEAR_MAX, SHEAR_MAX),
            path_twist: self.path_twist.clamp(-TWIST_MAX, TWIST_MAX),
            path_twist_begin: self.path_twist_begin.clamp(-TWIST_MAX, TWIST_MAX),
            path_taper_x: self.path_taper_x.clamp(-TAPER_MAX, TAPER_MAX),
            path_taper_y: self.path_taper_y.clamp(-TAPER_MAX, TAPER_MAX),
            path_revolutions: self.path_revolutions.min(REVOLUTIONS_MAX),
            path_skew: self.path_skew.clamp(-SKEW_MAX, SKEW_MAX),
            ..self
        };
        let offset_max = if is_ring { shape.radius_offset_max() } else { 0 };
        shape.path_radius_offset = shape.path_radius_offset.clamp(-offset_max, offset_max);
        let skew_min = shape.skew_min();
        if shape.path_skew.unsigned_abs() < skew_min {
            let least = skew_min.min(SKEW_MAX.unsigned_abs()) as i8;
            shape.path_skew = if shape.path_skew < 0 { -least } else { least };
        }
        Ok(shape)
    }

    /// Largest growth of the radius along a ring, 1/100: the inner side stays on its side of the axis,
    /// 1 − hole × (1 − taper) ÷ (1 − hole). A taper against the growth does not count.
    fn radius_offset_max(&self) -> i8 {
        let hole = f32::from(SCALE_ZERO - self.path_scale_y) / 100.0;
        let is_against = self.path_radius_offset.signum() == -self.path_taper_y.signum();
        let taper = if is_against { 0.0 } else { f32::from(self.path_taper_y.unsigned_abs()) / 100.0 };
        let most = 1.0 - hole * (1.0 - taper) / (1.0 - hole);
        (most.clamp(0.0, 1.0) * 100.0) as i8
    }

    /// Least skew of a path with more than one turn, 1/100: turns lie beside each other, 1 − 1 ÷ (turns × width + 1).
    fn skew_min(&self) -> u8 {
        if self.path_revolutions == 0 {
            return 0;
        }
        let turns = 1.0 + f32::from(self.path_revolutions) * REVOLUTION_STEP;
        let width = f32::from(SCALE_ZERO - self.path_scale_x) / 100.0;
        ((1.0 - 1.0 / (turns * width + 1.0)) * 100.0) as u8
    }
}

/// Begin and end with at least [`CUT_MIN`] between them; the end counts from the end.
fn clamp_cut(begin: u16, end: u16) -> (u16, u16) {
    let most = CUT_STEPS - CUT_MIN;
    let end = end.min(most);
    (begin.min(most - end), end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KINDS: [ShapeKind; 7] = [
        ShapeKind::Box,
        ShapeKind::Cylinder,
        ShapeKind::Prism,
        ShapeKind::Sphere,
        ShapeKind::Torus,
        ShapeKind::Tube,
        ShapeKind::Ring,
    ];

    #[test]
    fn plain_shapes_are_of_their_kind_and_in_range() {
        for kind in KINDS {
            let shape = Shape::plain(kind);
            assert_eq!((shape.kind(), shape.clamped()), (Ok(kind), Ok(shape)));
        }
        assert_eq!(Shape::default(), Shape::plain(ShapeKind::Box));
    }

    #[test]
    fn a_square_hole_in_a_cylinder_is_smaller_than_in_a_box() {
        let hollow = |profile: u8| {
            let shape =
                Shape { profile_curve: profile | Hole::Square as u8, profile_hollow: u16::MAX, ..Shape::BOX };
            shape.clamped().unwrap().profile_hollow
        };
        assert_eq!((hollow(Profile::Circle as u8), hollow(Profile::Square as u8)), (35_000, 49_500));
    }

    #[test]
    fn a_cut_leaves_a_fiftieth() {
        for (begin, end) in [(u16::MAX, u16::MAX), (49_000, 0), (0, 50_000), (30_000, 30_000)] {
            let cut = Shape {
                path_begin: begin,
                path_end: end,
                profile_begin: begin,
                profile_end: end,
                ..Shape::BOX
            };
            let cut = cut.clamped().unwrap();
            assert!(cut.path_begin + cut.path_end <= 49_000, "{cut:?}");
            assert!(cut.profile_begin + cut.profile_end <= 49_000, "{cut:?}");
        }
        assert_eq!(clamp_cut(12_500, 12_500), (12_500, 12_500));
    }

    #[test]
    fn holes_of_rings_are_open_and_spheres_have_no_offset() {
        let open = Shape { path_scale_x: 0, path_scale_y: 255, ..Shape::plain(ShapeKind::Torus) };
        let open = open.clamped().unwrap();
        assert_eq!((open.path_scale_x, open.path_scale_y), (SCALE_ONE, HOLE_MIN));
        let sphere = Shape { path_radius_offset: 50, ..Shape::plain(ShapeKind::Sphere) };
        assert_eq!(sphere.clamped().unwrap().path_radius_offset, 0);
    }

    #[test]
    fn turns_of_a_ring_lie_beside_each_other() {
        // Four turns of full width: 1 - 1/5.
        let coil =
            Shape { path_revolutions: REVOLUTIONS_MAX, path_skew: -1, ..Shape::plain(ShapeKind::Ring) };
        assert_eq!(coil.clamped().unwrap().path_skew, -80);
        assert_eq!(Shape { path_revolutions: 0, ..coil }.clamped().unwrap().path_skew, -1);
    }

    #[test]
    fn unknown_curves_are_refused() {
        let path = Shape { path_curve: 0x50, ..Shape::BOX };
        assert_eq!(path.clamped(), Err(ShapeError::Path(0x50)));
        for code in [0x06, 0x41, 0xFF] {
            let profile = Shape { profile_curve: code, ..Shape::BOX };
            assert_eq!(profile.clamped(), Err(ShapeError::Profile(code)));
        }
    }

    prop_compose! {
        fn any_shape()(
            path_curve in prop::sample::select(vec![0x10_u8, 0x20, 0x30, 0x40, 0x80]),
            (profile, hole) in (0_u8..6, 0_u8..4),
            (path_begin, path_end, profile_begin, profile_end, profile_hollow) in any::<(u16, u16, u16, u16, u16)>(),
            (path_scale_x, path_scale_y, path_shear_x, path_shear_y) in any::<(u8, u8, i8, i8)>(),
            (path_twist, path_twist_begin, path_radius_offset) in any::<(i8, i8, i8)>(),
            (path_taper_x, path_taper_y, path_revolutions, path_skew) in any::<(i8, i8, u8, i8)>(),
        ) -> Shape {
            Shape {
                path_curve, profile_curve: profile | hole << 4, path_begin, path_end, path_scale_x, path_scale_y, path_shear_x,
                path_shear_y, path_twist, path_twist_begin, path_radius_offset, path_taper_x, path_taper_y, path_revolutions,
                path_skew, profile_begin, profile_end, profile_hollow,
            }
        }
    }

    proptest! {
        #[test]
        fn clamping_twice_changes_nothing(shape in any_shape()) {
            let once = shape.clamped().unwrap();
            prop_assert_eq!(once.clamped(), Ok(once));
            prop_assert_eq!(once.kind(), shape.kind());
        }
    }
}
