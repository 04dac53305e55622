//! Objects on the map: each prim as the box around it, in the mean colour of that box's faces.
//!
//! Images of textures are not looked at: a face shows its own colour on wood, on white or on grey. Worn objects and transparent prims are left out.
//! Start with `MapBox`.

use glam::{Quat, Vec2, Vec3};
use ids::{PLYWOOD_TEXTURE, Uuid};
use link::Scenery;
use replicate::objects::ObjectReplica;
use std::collections::BTreeMap;
use std::sync::Arc;
use uuid::uuid;
use wire::texture_entry::TextureEntry;

/// White, the image that viewers offer for plain colours.
const BLANK_TEXTURE: Uuid = uuid!("5748decc-f629-461c-9a36-a35a221fe21f");
/// Colours of images under a white face.
const WOOD: Vec3 = Vec3::new(178.0, 146.0, 98.0);
const WHITE: Vec3 = Vec3::splat(255.0);
const OTHER: Vec3 = Vec3::splat(180.0);
/// Faces of a box.
const FACES: u8 = 6;
/// Component of a direction from which it counts as parallel to an axis.
const PARALLEL: f32 = 1e-6;

/// A pixel of a picture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MapPixel {
    /// Red, green and blue, 0 to 255.
    pub(crate) colour: Vec3,
    /// Height of what it shows, metres.
    pub(crate) top_m: f32,
}

/// Square piece of a region, as a picture of `side` × `side` pixels from the north-west corner.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MapFrame {
    /// Its south-west corner, metres.
    pub(crate) corner: Vec2,
    /// Width of a pixel, metres.
    pub(crate) pixel_m: f32,
    /// Pixels along an edge.
    pub(crate) side: usize,
}

/// A prim from above.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MapBox {
    centre: Vec3,
    rotation: Quat,
    /// Half of its size along its own axes.
    half: Vec3,
    colour: Vec3,
}

/// A prim before its colour is known.
#[derive(Clone, Debug)]
pub(crate) struct BarePrim {
    centre: Vec3,
    rotation: Quat,
    scale: Vec3,
    texture_entry: Arc<[u8]>,
}

/// Static objects.
pub(crate) fn static_prims(scenery: &Scenery) -> Vec<BarePrim> {
    let bare = |object: &link::StaticObject| BarePrim {
        centre: object.position,
        rotation: object.rotation,
        scale: object.prim.scale,
        texture_entry: Arc::clone(&object.prim.texture_entry),
    };
    scenery.prims().iter().map(bare).collect()
}

/// Objects of users. 100,000 take some ten milliseconds, a fraction of the time for their colours.
pub(crate) fn built_prims(objects: &ObjectReplica) -> Vec<BarePrim> {
    let standing = objects.entries().filter(|(_, entry)| entry.wearer.is_none());
    let bare = |(_, entry): (_, &replicate::objects::ObjectEntry)| {
        let at = objects.motion_in_region(entry);
        BarePrim {
            centre: at.position,
            rotation: at.rotation,
            scale: entry.body.scale,
            texture_entry: Arc::clone(&entry.body.texture_entry),
        }
    };
    standing.map(bare).collect()
}

/// Outlines on a map. With more of them a picture of some hundred pixels shows no more, and the answer stays below 300 kB.
pub const OUTLINES_MAX: usize = 10_000;

/// A prim from above: x and y of its centre, width and depth, all in decimetres, and its turn about the upright axis in degrees (0 to 359,
/// counter-clockwise from east).
pub type Outline = [i32; 5];

/// Outlines of prims, of the largest of them if there are more than [`OUTLINES_MAX`].
pub(crate) fn outlines(prims: &[BarePrim]) -> Vec<Outline> {
    let mut chosen: Vec<&BarePrim> = prims.iter().collect();
    if chosen.len() > OUTLINES_MAX {
        let area = |prim: &BarePrim| prim.scale.x * prim.scale.y;
        chosen.select_nth_unstable_by(OUTLINES_MAX, |a, b| area(b).total_cmp(&area(a)));
        chosen.truncate(OUTLINES_MAX);
    }
    let decimetres = |metres: f32| (metres * 10.0).round() as i32;
    let outline = |prim: &BarePrim| {
        let facing = prim.rotation * Vec3::X;
        let turn = facing.y.atan2(facing.x).to_degrees().round() as i32;
        let (at, scale) = (prim.centre, prim.scale);
        let [x, y, width, depth] = [at.x, at.y, scale.x, scale.y].map(decimetres);
        [x, y, width, depth, turn.rem_euclid(360)]
    };
    chosen.into_iter().map(outline).collect()
}

/// Boxes of prims, without the transparent ones.
pub(crate) fn boxes(prims: &[BarePrim]) -> Vec<MapBox> {
    // Many prims share an entry.
    let mut colours: BTreeMap<&[u8], Option<Vec3>> = BTreeMap::new();
    let mut all = Vec::with_capacity(prims.len());
    for BarePrim { centre, rotation, scale, texture_entry } in prims {
        let colour = colours.entry(texture_entry).or_insert_with(|| mean_colour(texture_entry));
        let visible =
            colour.map(|colour| MapBox { centre: *centre, rotation: *rotation, half: *scale / 2.0, colour });
        all.extend(visible);
    }
    all
}

/// Mean of the faces by their opacity; none if all are transparent.
fn mean_colour(texture_entry: &[u8]) -> Option<Vec3> {
    let Ok(entry) = TextureEntry::decode(texture_entry) else { return Some(OTHER) };
    let mut sum = Vec3::ZERO;
    let mut weight = 0.0;
    for face in (0..FACES).map(|index| entry.face(index)) {
        let image = match face.texture_id {
            PLYWOOD_TEXTURE => WOOD,
            BLANK_TEXTURE => WHITE,
            _ => OTHER,
        };
        let [red, green, blue, opacity] = face.color.map(|part| f32::from(part) / 255.0);
        sum += image * Vec3::new(red, green, blue) * opacity;
        weight += opacity;
    }
    (weight > 0.0).then(|| sum / weight)
}

impl MapBox {
    /// Draws it where it is higher than the picture so far. It takes one pixel at least.
    pub(crate) fn draw(&self, frame: &MapFrame, pixels: &mut [MapPixel]) {
        let MapFrame { corner, pixel_m, side } = *frame;
        let half = self.half.max(Vec3::splat(pixel_m / 2.0));
        let into = self.rotation.inverse();
        let reach = Vec2::new((into * Vec3::X).abs().dot(half), (into * Vec3::Y).abs().dot(half));
        let centre = self.centre.truncate() - corner;
        let (low, high) = ((centre - reach) / pixel_m, (centre + reach) / pixel_m);
        let end = side as f32;
        if high.x < 0.0 || high.y < 0.0 || low.x >= end || low.y >= end {
            return;
        }
        let clamp = |pixel: f32| pixel.clamp(0.0, end - 1.0) as usize;
        for y in clamp(low.y)..=clamp(high.y) {
            for x in clamp(low.x)..=clamp(high.x) {
                let beside = Vec2::new(x as f32 + 0.5, y as f32 + 0.5) * pixel_m - centre;
                let pixel = &mut pixels[(side - 1 - y) * side + x];
                if let Some(above_m) = top_above_centre(into, half, beside) {
                    let top_m = self.centre.z + above_m;
                    if top_m > pixel.top_m {
                        *pixel = MapPixel { colour: self.colour, top_m };
                    }
                }
            }
        }
    }
}

/// Height above its centre at which a vertical line leaves a box; none if it passes by. `into` turns the region's axes into those of the box, `beside` is
/// the line's place beside the centre.
fn top_above_centre(into: Quat, half: Vec3, beside: Vec2) -> Option<f32> {
    let (from, up) = ((into * beside.extend(0.0)).to_array(), (into * Vec3::Z).to_array());
    let (mut enters, mut leaves) = (f32::NEG_INFINITY, f32::INFINITY);
    for ((from, up), half) in from.into_iter().zip(up).zip(half.to_array()) {
        if up.abs() < PARALLEL {
            if from.abs() > half {
                return None;
            }
            continue;
        }
        let (one, other) = ((-half - from) / up, (half - from) / up);
        (enters, leaves) = (enters.max(one.min(other)), leaves.min(one.max(other)));
    }
    (enters <= leaves).then_some(leaves)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f32::consts::{FRAC_PI_2, FRAC_PI_4};
    use wire::texture_entry::Face;

    const HALF: Vec3 = Vec3::new(2.0, 1.0, 0.5);

    #[test]
    fn a_vertical_line_leaves_a_box_at_its_top_however_it_is_turned() {
        for (rotation, beside, top) in [
            (Quat::IDENTITY, Vec2::ZERO, Some(0.5)),
            (Quat::IDENTITY, Vec2::new(1.9, 0.9), Some(0.5)),
            (Quat::IDENTITY, Vec2::new(2.1, 0.0), None),
            (Quat::IDENTITY, Vec2::new(0.0, 1.1), None),
            (Quat::from_rotation_z(FRAC_PI_2), Vec2::new(0.9, 1.9), Some(0.5)),
            (Quat::from_rotation_z(FRAC_PI_2), Vec2::new(1.9, 0.0), None),
            // On its end.
            (Quat::from_rotation_y(FRAC_PI_2), Vec2::new(0.4, 0.9), Some(2.0)),
            (Quat::from_rotation_y(FRAC_PI_2), Vec2::new(0.6, 0.0), None),
            // On an edge: a corner of a square of 1 m × 2 m is above the centre.
            (Quat::from_rotation_x(FRAC_PI_4), Vec2::ZERO, Some(0.5 * 2.0_f32.sqrt())),
        ] {
            let found = top_above_centre(rotation.inverse(), HALF, beside);
            let is_equal = match (found, top) {
                (Some(found), Some(top)) => (found - top).abs() < 1e-4,
                (found, top) => found == top,
            };
            assert!(is_equal, "{rotation} {beside}: {found:?}, not {top:?}");
        }
    }

    #[test]
    fn the_higher_of_two_boxes_is_seen_whichever_is_drawn_first() {
        let frame = MapFrame { corner: Vec2::splat(10.0), pixel_m: 1.0, side: 4 };
        let at = |z: f32, colour: f32| MapBox {
            centre: Vec3::new(12.0, 12.0, z),
            rotation: Quat::IDENTITY,
            half: Vec3::new(1.0, 1.0, z / 10.0),
            colour: Vec3::splat(colour),
        };
        let ground = MapPixel { colour: Vec3::ZERO, top_m: 5.0 };
        let buried = at(4.0, 9.0);
        for order in [[at(20.0, 1.0), at(30.0, 2.0)], [at(30.0, 2.0), at(20.0, 1.0)]] {
            let mut pixels = [ground; 16];
            order.iter().chain([&buried]).for_each(|one| one.draw(&frame, &mut pixels));
            let shown = pixels.map(|pixel| pixel.colour.x);
            assert_eq!(
                shown,
                [0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 2.0, 0.0, 0.0, 2.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0]
            );
            assert!((pixels[5].top_m - 33.0).abs() < 1e-4);
        }
    }

    #[test]
    fn of_too_many_prims_the_largest_have_outlines() {
        let prim = |n: usize, scale: f32| BarePrim {
            centre: Vec3::new(n as f32 / 10.0, 2.0, 0.0),
            rotation: Quat::from_rotation_z(-FRAC_PI_2),
            scale: Vec3::new(scale, 1.0, 9.0),
            texture_entry: Arc::default(),
        };
        let few = [prim(3, 2.0), prim(1, 4.0)];
        assert_eq!(outlines(&few), [[3, 20, 20, 10, 270], [1, 20, 40, 10, 270]], "in their order");
        let many: Vec<BarePrim> =
            (0..OUTLINES_MAX + 5).map(|n| prim(n, if n < 5 { 1.0 } else { 2.0 })).collect();
        let shown = outlines(&many);
        assert!(shown.len() == OUTLINES_MAX && shown.iter().all(|outline| outline[2] == 20));
    }

    #[test]
    fn the_colour_is_the_mean_of_the_faces_that_can_be_seen() {
        let entry = |faces: &[(u8, [u8; 4])]| {
            let mut entry = TextureEntry::plain(BLANK_TEXTURE);
            entry.faces =
                faces.iter().map(|&(face, color)| (face, Face { color, ..entry.default })).collect();
            entry.encode()
        };
        assert_eq!(mean_colour(&entry(&[])), Some(WHITE));
        assert_eq!(mean_colour(&link::plain_texture(PLYWOOD_TEXTURE.as_u128())), Some(WOOD));
        assert_eq!(mean_colour(&link::plain_texture(7)), Some(OTHER));
        let mean =
            mean_colour(&entry(&[(0, [255, 0, 0, 255]), (1, [255, 0, 0, 255]), (2, [255, 0, 0, 255])]));
        assert_eq!(mean, Some(Vec3::new(255.0, 127.5, 127.5)));
        let glass = (0..FACES).map(|face| (face, [1, 2, 3, u8::from(face == 4)]));
        let mean = mean_colour(&entry(&glass.collect::<Vec<_>>())).expect("one face is seen");
        assert!((mean - Vec3::new(1.0, 2.0, 3.0)).length() < 1e-3, "{mean}");
        let unseen = (0..FACES).map(|face| (face, [255, 255, 255, 0]));
        assert_eq!(mean_colour(&entry(&unseen.collect::<Vec<_>>())), None);
        assert_eq!(mean_colour(b"no entry"), Some(OTHER));
    }
}
