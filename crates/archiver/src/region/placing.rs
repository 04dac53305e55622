//! Places of an archive's content in a region: rotation, a box, displacement, in this order as in OpenSimulator.

use glam::{Quat, Vec2, Vec3};
use link::{CEILING_M, Motion};

/// Metres below zero at which objects end, as in OpenSimulator.
const FLOOR_M: f32 = -100.0;

/// A box in an archive's region. Everything outside after the rotation is left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundingBox {
    /// Its corner in the south-west and below, metres from the region's corner.
    pub origin: Vec3,
    /// Its size, metres. A size that is not positive has no end, as in OpenSimulator.
    pub size: Vec3,
}

/// Difference to 1 of the squared length of a rotation that is left as it is. The reader of objects leaves lengths within 1e-5 of 1.
const UNIT_TOLERANCE: f32 = 2.5e-5;

/// Options for the place of an archive's content.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PlacingOptions {
    /// Rotation around the vertical axis in the middle of the archive's region, degrees, counterclockwise.
    pub rotation_deg: f32,
    /// Only the content of this box. Its corner becomes the corner of the region, before the displacement.
    pub bounds: Option<BoundingBox>,
    /// Metres that everything is moved, last.
    pub displacement: Vec3,
}

impl PlacingOptions {
    /// True if everything stays at its place.
    #[must_use]
    pub fn is_identity(&self) -> bool {
        self.rotation_deg == 0.0 && self.bounds.is_none() && self.displacement == Vec3::ZERO
    }
}

/// The way from places of an archive's region to places of a region.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placing {
    options: PlacingOptions,
    /// Size of the archive's region.
    archive_m: Vec2,
    /// Width of the region.
    region_m: f32,
    /// Cosine and sine of the rotation.
    turn: Vec2,
}

/// The place of an object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Placed {
    /// In the region.
    At {
        /// Metres from its corner.
        position: Vec3,
        /// Rotation.
        rotation: Quat,
        /// It has been outside, and is at the nearest place inside. Of archives that the region has room for, and whose content is not moved otherwise.
        is_moved_inside: bool,
    },
    /// Outside of the box.
    OutsideBox,
    /// Outside of the region, by the options or since the archive's region is larger.
    OutsideRegion,
    /// It is nowhere: a number is none.
    Nowhere,
}

impl Placing {
    /// From an archive of a region of this width and depth into a region of this width, all in metres.
    #[must_use]
    pub fn new(options: PlacingOptions, archive_m: (u32, u32), region_m: u32) -> Self {
        Self {
            archive_m: Vec2::new(archive_m.0 as f32, archive_m.1 as f32),
            region_m: region_m as f32,
            turn: turn_of(options.rotation_deg),
            options,
        }
    }

    /// The options.
    #[must_use]
    pub const fn options(&self) -> &PlacingOptions {
        &self.options
    }

    /// Width and depth of the archive's region, metres.
    #[must_use]
    pub const fn archive_m(&self) -> (u32, u32) {
        (self.archive_m.x as u32, self.archive_m.y as u32)
    }

    /// The nearest place in the region.
    #[must_use]
    pub fn inside(&self, position: Vec3) -> Vec3 {
        let (low, high) = self.borders();
        position.clamp(low, high)
    }

    /// The place of a root.
    #[must_use]
    pub fn place(&self, position: Vec3, rotation: Quat) -> Placed {
        let has_direction = rotation.is_finite() && rotation.length_squared() > 1e-6;
        if !position.is_finite() || !has_direction {
            return Placed::Nowhere;
        }
        let rotation = self.turned(unit(rotation));
        if self.options.is_identity() && self.archive_m.max_element() <= self.region_m {
            let inside = self.inside(position);
            return Placed::At { position: inside, rotation, is_moved_inside: inside != position };
        }
        let mut position = self.turned_in_place(position);
        if let Some(bounds) = self.options.bounds {
            if !is_within(position, bounds) {
                return Placed::OutsideBox;
            }
            position -= bounds.origin.truncate().extend(0.0);
        }
        position += self.options.displacement;
        let (low, high) = self.borders();
        let is_inside = position.cmpge(low).all()
            && position.cmple(high).all()
            && position.x < self.region_m
            && position.y < self.region_m;
        if is_inside {
            Placed::At { position, rotation, is_moved_inside: false }
        } else {
            Placed::OutsideRegion
        }
    }

    /// A place on the ground, without regard to the box and the borders.
    #[must_use]
    pub fn point(&self, place: Vec3) -> Vec3 {
        let origin = self.options.bounds.map_or(Vec3::ZERO, |bounds| bounds.origin);
        self.turned_in_place(place) - origin.truncate().extend(0.0) + self.options.displacement
    }

    /// A direction.
    #[must_use]
    pub fn direction(&self, direction: Vec3) -> Vec3 {
        self.turned_point(direction)
    }

    /// The place in the archive's region of a place in the region; `None` where nothing of the archive comes to.
    #[must_use]
    pub fn source_of(&self, place: Vec2) -> Option<Vec2> {
        let origin = self.options.bounds.map_or(Vec2::ZERO, |bounds| bounds.origin.truncate());
        let turned = place - self.options.displacement.truncate() + origin;
        let is_in_box = self.options.bounds.is_none_or(|bounds| {
            // The ground has no height that would be outside.
            let height = bounds.origin.z;
            is_within(turned.extend(height), bounds)
        });
        let from_centre = turned - self.centre();
        let back = Vec2::new(self.turn.x, -self.turn.y);
        let source = back.rotate(from_centre) + self.centre();
        let is_there = source.cmpge(Vec2::ZERO).all() && source.cmplt(self.archive_m).all();
        (is_in_box && is_there).then_some(source)
    }

    fn borders(&self) -> (Vec3, Vec3) {
        (Vec3::new(0.0, 0.0, FLOOR_M), Vec3::new(self.region_m, self.region_m, CEILING_M))
    }

    fn centre(&self) -> Vec2 {
        self.archive_m / 2.0
    }

    /// Turned around the middle of the archive's region, without rounding if it is not turned.
    fn turned_in_place(&self, place: Vec3) -> Vec3 {
        if self.options.rotation_deg == 0.0 {
            return place;
        }
        let centre = self.centre().extend(0.0);
        self.turned_point(place - centre) + centre
    }

    fn turned_point(&self, point: Vec3) -> Vec3 {
        self.turn.rotate(point.truncate()).extend(point.z)
    }

    fn turned(&self, rotation: Quat) -> Quat {
        if self.options.rotation_deg == 0.0 {
            return rotation;
        }
        (Quat::from_rotation_z(self.options.rotation_deg.to_radians()) * rotation).normalize()
    }
}

/// The rotation with length 1. One that has it stays as it is, to the last digit: an object that is loaded and saved again is the same.
pub(crate) fn unit(rotation: Quat) -> Quat {
    if (rotation.length_squared() - 1.0).abs() <= UNIT_TOLERANCE { rotation } else { rotation.normalize() }
}

/// A linkset at rest.
pub(crate) fn at_rest(position: Vec3, rotation: Quat) -> Motion {
    Motion { position, rotation, ..Motion::default() }
}

/// The corner below belongs to the box, the opposite one does not.
fn is_within(place: Vec3, BoundingBox { origin, size }: BoundingBox) -> bool {
    let is_within =
        |place: f32, origin: f32, size: f32| place >= origin && (size <= 0.0 || place < origin + size);
    let [place, origin, size] = [place, origin, size].map(|at| at.to_array());
    (0..3).all(|axis| is_within(place[axis], origin[axis], size[axis]))
}

/// Cosine and sine, exact for right angles: a region that is turned by one lies on the same squares.
fn turn_of(degrees: f32) -> Vec2 {
    match degrees.rem_euclid(360.0) {
        0.0 => Vec2::new(1.0, 0.0),
        90.0 => Vec2::new(0.0, 1.0),
        180.0 => Vec2::new(-1.0, 0.0),
        270.0 => Vec2::new(0.0, -1.0),
        degrees => Vec2::from_angle(degrees.to_radians()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn options(rotation_deg: f32) -> PlacingOptions {
        PlacingOptions { rotation_deg, ..PlacingOptions::default() }
    }

    fn position(placing: &Placing, at: Vec3) -> Option<Vec3> {
        match placing.place(at, Quat::IDENTITY) {
            Placed::At { position, .. } => Some(position),
            Placed::OutsideBox | Placed::OutsideRegion | Placed::Nowhere => None,
        }
    }

    #[test]
    fn content_that_is_not_moved_stays_and_comes_inside() {
        let placing = Placing::new(PlacingOptions::default(), (256, 256), 256);
        let at = Vec3::new(10.0, 256.0, -3.0);
        let placed = placing.place(at, Quat::from_rotation_x(1.0));
        let rotation = Quat::from_rotation_x(1.0).normalize();
        assert_eq!(placed, Placed::At { position: at, rotation, is_moved_inside: false });
        let outside = placing.place(Vec3::new(-2.0, 300.0, -200.0), Quat::IDENTITY);
        let inside = Vec3::new(0.0, 256.0, -100.0);
        assert_eq!(outside, Placed::At { position: inside, rotation: Quat::IDENTITY, is_moved_inside: true });
        let larger = Placing::new(PlacingOptions::default(), (512, 256), 256);
        assert_eq!(position(&larger, at - Vec3::Y), Some(at - Vec3::Y));
        assert_eq!(larger.place(Vec3::new(300.0, 10.0, 20.0), Quat::IDENTITY), Placed::OutsideRegion);
        let none = Quat::from_xyzw(0.0, 0.0, 0.0, 0.0);
        for (at, rotation) in [(Vec3::NAN, Quat::IDENTITY), (Vec3::ONE, none)] {
            assert_eq!(placing.place(at, rotation), Placed::Nowhere);
        }
    }

    #[test]
    fn a_quarter_turn_is_around_the_middle_of_the_archive() {
        let placing = Placing::new(options(90.0), (256, 256), 512);
        assert_eq!(position(&placing, Vec3::new(138.0, 128.0, 30.0)), Some(Vec3::new(128.0, 138.0, 30.0)));
        let Placed::At { rotation, .. } = placing.place(Vec3::splat(128.0), Quat::IDENTITY) else {
            panic!("inside")
        };
        assert!(rotation.abs_diff_eq(Quat::from_rotation_z(std::f32::consts::FRAC_PI_2), 1e-6));
        assert!(placing.direction(Vec3::X).abs_diff_eq(Vec3::Y, 1e-6));
        assert_eq!(turn_of(-90.0), turn_of(270.0));
    }

    #[test]
    fn a_box_is_cut_out_and_comes_to_the_corner_before_the_displacement() {
        let bounds = BoundingBox { origin: Vec3::new(100.0, 100.0, 20.0), size: Vec3::new(50.0, 50.0, 0.0) };
        let displacement = Vec3::new(10.0, 0.0, 5.0);
        let options = PlacingOptions { bounds: Some(bounds), displacement, ..PlacingOptions::default() };
        let placing = Placing::new(options, (256, 256), 256);
        assert_eq!(position(&placing, Vec3::new(100.0, 149.0, 21.0)), Some(Vec3::new(10.0, 49.0, 26.0)));
        assert_eq!(placing.place(Vec3::new(150.0, 149.0, 21.0), Quat::IDENTITY), Placed::OutsideBox);
        assert_eq!(placing.place(Vec3::new(101.0, 149.0, 19.0), Quat::IDENTITY), Placed::OutsideBox);
        let high = position(&placing, Vec3::new(100.0, 100.0, 900.0));
        assert_eq!(high.map(|at| at.z), Some(905.0), "it has no end");
        assert_eq!(placing.source_of(Vec2::new(10.5, 0.5)), Some(Vec2::new(100.5, 100.5)));
        assert_eq!(placing.source_of(Vec2::new(60.0, 0.5)), None);
        let far = PlacingOptions { displacement: Vec3::new(200.0, 0.0, 0.0), ..PlacingOptions::default() };
        let far = Placing::new(far, (256, 256), 256);
        assert_eq!(far.place(Vec3::splat(60.0), Quat::IDENTITY), Placed::OutsideRegion);
        assert_eq!(far.point(Vec3::splat(60.0)), Vec3::new(260.0, 60.0, 60.0));
    }

    proptest! {
        /// The ground under an object moves with it.
        #[test]
        fn sources_are_the_places_that_points_came_from(
            x in 0.0..255.0_f32,
            y in 0.0..255.0_f32,
            rotation_deg in prop_oneof![Just(0.0), Just(90.0), Just(180.0), -720.0..720.0_f32],
            dx in -100.0..100.0_f32,
            dy in -100.0..100.0_f32,
        ) {
            let displacement = Vec3::new(dx, dy, 0.0);
            let options = PlacingOptions { rotation_deg, bounds: None, displacement };
            let placing = Placing::new(options, (256, 256), 512);
            let there = placing.point(Vec3::new(x, y, 25.0));
            if let Some(source) = placing.source_of(there.truncate()) {
                prop_assert!(source.abs_diff_eq(Vec2::new(x, y), 1e-2), "{source}");
            }
        }
    }
}
