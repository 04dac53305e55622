//! Pictures of a region from above, for the maps of viewers: ground, water and objects ([`crate::map_boxes`]).
//!
//! Drawn when the ground is made, and again after the region has changed. One picture of the whole region is a texture (JPEG 2000), whose id is in MapBlockReply and
//! MapLayerReply; one picture of each grid square is a JPEG, for viewers that read the map over HTTP (`map-1-X-Y-objects.jpg`).
//! Start with [`RegionMap::draw`].

use crate::map_boxes::{
    BarePrim, MapBox, MapFrame, MapPixel, Outline, boxes, built_prims, outlines, static_prims,
};
use glam::{Vec2, Vec3};
use ids::{RegionHandle, Uuid};
use link::{GroundSpec, Terrain};
use md5::{Digest, Md5};
use openjp2::{
    Codec, OPJ_CLRSPC_SRGB, OPJ_CODEC_J2K, Stream, opj_cparameters_t, opj_image, opj_image_comptparm,
};
use replicate::Replica;
use std::io;
use std::sync::Arc;

/// Pixels along a side of each picture.
pub const SIDE: usize = 256;
/// Quality of the JPEGs, of 100.
const JPEG_QUALITY: u8 = 85;
/// Levels of detail of the texture below the whole: viewers ask for the smaller ones first.
const LEVELS: i32 = 5;
/// Buffer of the encoder's output, bytes.
const WRITE_BYTES: usize = 65_536;

/// Colours from the water upwards, those of the ground's textures, and the height above the water at which each is pure, in metres.
const GROUND: [(f32, Vec3); 4] = [
    (0.0, Vec3::new(205.0, 187.0, 142.0)),
    (7.5, Vec3::new(111.0, 143.0, 75.0)),
    (18.0, Vec3::new(124.0, 106.0, 76.0)),
    (30.0, Vec3::new(138.0, 136.0, 132.0)),
];
/// Water at its shore and where it is at least [`DEEP_M`] deep.
const SHALLOW: Vec3 = Vec3::new(96.0, 142.0, 168.0);
const DEEP: Vec3 = Vec3::new(38.0, 76.0, 116.0);
const DEEP_M: f32 = 12.0;
/// Light comes from the north-west, and this much of it from everywhere.
const LIGHT: Vec3 = Vec3::new(-0.5, 0.5, 0.707);
const AMBIENT: f32 = 0.45;

/// The pictures of a region.
#[derive(Debug)]
pub struct RegionMap {
    /// Id of the texture; another picture has another one.
    pub id: Uuid,
    /// The whole region as a JPEG 2000 codestream.
    pub codestream: Vec<u8>,
    /// Each grid square as a JPEG, row by row from the south-west.
    squares: Vec<Vec<u8>>,
    /// Grid squares along a side.
    squares_per_side: u32,
    /// Prims in it.
    pub n_prims: usize,
    /// Their outlines, at most [`OUTLINES_MAX`](crate::map_boxes::OUTLINES_MAX).
    pub outlines: Vec<Outline>,
}

/// Ground and objects of a region, to be drawn.
#[derive(Debug)]
pub struct MapScene {
    terrain: Arc<Terrain>,
    water_m: f32,
    prims: Vec<BarePrim>,
}

impl MapScene {
    /// A region as it is described, with static objects only.
    #[must_use]
    pub fn described(ground: &GroundSpec) -> Self {
        let terrain = Arc::clone(&ground.terrain);
        Self { terrain, water_m: ground.water_m, prims: static_prims(&ground.scenery) }
    }

    /// The same with edited ground, users' objects, and the estate's water.
    pub(crate) fn with(self, replica: &Replica, water_m: f32) -> Self {
        let Self { mut terrain, mut prims, .. } = self;
        let edited = replica.land().into_iter().flat_map(|land| land.patches());
        edited.for_each(|patch| Arc::make_mut(&mut terrain).set_patch(&patch.patch));
        prims.extend(built_prims(replica.objects()));
        Self { terrain, water_m, prims }
    }
}

impl RegionMap {
    /// Draws a region. 100,000 prims take about a second.
    ///
    /// # Errors
    ///
    /// The encoder of the texture writes into a temporary file; no such file can be written.
    pub fn draw(scene: &MapScene) -> io::Result<Self> {
        let MapScene { terrain, water_m, prims } = scene;
        let size_m = terrain.size_m() as f32;
        let drawn = DrawnRegion { terrain, boxes: boxes(prims), water_m: *water_m };
        let squares_per_side = terrain.size_m() / RegionHandle::GRID_M;
        let square_m = RegionHandle::GRID_M as f32;
        let corners = (0..squares_per_side.pow(2))
            .map(|n| Vec2::new((n % squares_per_side) as f32, (n / squares_per_side) as f32) * square_m);
        let squares = corners.map(|corner| jpeg(&drawn.pixels(corner, square_m))).collect();
        let codestream = codestream(&drawn.pixels(Vec2::ZERO, size_m))?;
        let id = uuid::Builder::from_md5_bytes(Md5::digest(&codestream).into()).into_uuid();
        let (n_prims, outlines) = (prims.len(), outlines(prims));
        Ok(Self { id, codestream, squares, squares_per_side, n_prims, outlines })
    }

    /// The JPEG of a grid square, counted from the region's corner.
    #[must_use]
    pub fn square(&self, x: u32, y: u32) -> Option<&[u8]> {
        let is_inside = x < self.squares_per_side && y < self.squares_per_side;
        is_inside.then(|| &*self.squares[(y * self.squares_per_side + x) as usize])
    }
}

/// A region while it is drawn.
struct DrawnRegion<'a> {
    terrain: &'a Terrain,
    boxes: Vec<MapBox>,
    water_m: f32,
}

impl DrawnRegion<'_> {
    /// Red, green and blue of each pixel of a square piece, from its north-west corner.
    fn pixels(&self, corner: Vec2, length_m: f32) -> Vec<u8> {
        let pixel_m = length_m / SIDE as f32;
        let frame = MapFrame { corner, pixel_m, side: SIDE };
        let mut pixels = Vec::with_capacity(SIDE * SIDE);
        for row in 0..SIDE {
            for column in 0..SIDE {
                let at = corner + Vec2::new(column as f32 + 0.5, (SIDE - row) as f32 - 0.5) * pixel_m;
                let height_m = self.terrain.height(at.x, at.y);
                pixels.push(MapPixel { colour: self.ground(at), top_m: height_m.max(self.water_m) });
            }
        }
        self.boxes.iter().for_each(|one| one.draw(&frame, &mut pixels));
        pixels
            .iter()
            .flat_map(|pixel| pixel.colour.clamp(Vec3::ZERO, Vec3::splat(255.0)).to_array())
            .map(|part| part as u8)
            .collect()
    }

    fn ground(&self, at: Vec2) -> Vec3 {
        let above_m = self.terrain.height(at.x, at.y) - self.water_m;
        if above_m < 0.0 {
            return SHALLOW.lerp(DEEP, (-above_m / DEEP_M).min(1.0));
        }
        let behind = GROUND.iter().position(|(height_m, _)| *height_m > above_m).unwrap_or(GROUND.len() - 1);
        let ((low_m, low), (high_m, high)) = (GROUND[behind - 1], GROUND[behind]);
        let colour = low.lerp(high, ((above_m - low_m) / (high_m - low_m)).min(1.0));
        let light = self.terrain.normal(at.x, at.y).dot(LIGHT).max(0.0);
        colour * (AMBIENT + (1.0 - AMBIENT) * light / LIGHT.z)
    }
}

fn jpeg(pixels: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let side = SIDE as u16;
    let encoded = jpeg_encoder::Encoder::new(&mut out, JPEG_QUALITY).encode(
        pixels,
        side,
        side,
        jpeg_encoder::ColorType::Rgb,
    );
    encoded.expect("a vector takes everything, and the size is right");
    out
}

/// JPEG 2000 without loss. The encoder's safe interface knows files only, so that it writes a temporary one.
fn codestream(pixels: &[u8]) -> io::Result<Vec<u8>> {
    let file = tempfile::NamedTempFile::new()?;
    let mut stream = Stream::new_file(file.path(), WRITE_BYTES, false)?;
    encode(pixels, &mut stream).ok_or_else(|| io::Error::other("the JPEG 2000 encoder failed"))?;
    drop(stream);
    std::fs::read(file.path())
}

fn encode(pixels: &[u8], stream: &mut Stream) -> Option<()> {
    let side = SIDE as u32;
    let component =
        opj_image_comptparm { dx: 1, dy: 1, w: side, h: side, prec: 8, bpp: 8, ..Default::default() };
    let mut image = opj_image::create(&[component; 3], OPJ_CLRSPC_SRGB)?;
    (image.x1, image.y1) = (side, side);
    for (part, component) in image.comps_mut()?.iter_mut().enumerate() {
        let samples: Vec<i32> = pixels.iter().skip(part).step_by(3).copied().map(i32::from).collect();
        component.set_data(&samples).then_some(())?;
    }
    // Red, green and blue become one brightness and two differences; one layer without a limit of bytes.
    let mut parameters = opj_cparameters_t {
        numresolution: LEVELS + 1,
        tcp_mct: 1,
        tcp_numlayers: 1,
        cp_disto_alloc: 1,
        ..Default::default()
    };
    let mut codec = Codec::new_encoder(OPJ_CODEC_J2K)?;
    let is_done = codec.setup_encoder(&mut parameters, &mut image) != 0
        && codec.start_compress(&mut image, stream) != 0
        && codec.encode(stream) != 0
        && codec.end_compress(stream) != 0;
    is_done.then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::Quat;
    use hayro_jpeg2000::{DecodeSettings, DecoderContext, Image};
    use link::{Scenery, StaticObject};

    /// The pixel of a picture at metres from the corner of a region of 256 m.
    fn at(pixels: &[u8], x: usize, y: usize) -> [u8; 3] {
        let from = ((SIDE - 1 - y) * SIDE + x) * 3;
        [pixels[from], pixels[from + 1], pixels[from + 2]]
    }

    fn scene(terrain: Terrain, scenery: Scenery) -> MapScene {
        MapScene::described(&GroundSpec::new(Arc::new(terrain), Arc::new(scenery), 20.0))
    }

    fn decoded(map: &RegionMap) -> Vec<u8> {
        let image = Image::new(&map.codestream, &DecodeSettings::default()).expect("a codestream");
        assert_eq!((image.width(), image.height()), (256, 256));
        image.decode(&mut DecoderContext::default()).expect("a whole image").data_u8()
    }

    #[test]
    fn the_texture_is_the_picture_to_another_decoder() {
        let terrain = Terrain::hills(256, 1);
        let scenery = Scenery::boxes(200, &terrain, 1);
        let boxes = boxes(&static_prims(&scenery));
        let drawn = DrawnRegion { terrain: &terrain, boxes, water_m: 20.0 }.pixels(Vec2::ZERO, 256.0);
        let map = RegionMap::draw(&scene(terrain, scenery)).expect("a picture");
        assert_eq!(decoded(&map), drawn, "lossless");
        assert!(map.square(0, 0).is_some_and(|jpeg| jpeg.starts_with(&[0xFF, 0xD8, 0xFF])));
        assert!(map.square(1, 0).is_none() && map.square(0, 1).is_none());
    }

    #[test]
    fn water_ground_and_boxes_are_where_they_are() {
        // A slope from 0 m in the west to 51 m in the east; water up to 20 m.
        let heights = (0..256 * 256).map(|n| (n % 256) as f32 / 5.0).collect();
        let terrain = Terrain::from_heights(256, heights).expect("heights");
        let prim = |position, scale| {
            let like = &Scenery::boxes(1, &terrain, 1).prims()[0].clone();
            let prim = link::Prim { scale, ..like.prim.clone() };
            StaticObject { position, rotation: Quat::from_rotation_z(0.0), prim }
        };
        let scenery = Scenery::new(vec![
            prim(Vec3::new(200.5, 40.5, 42.0), Vec3::new(9.0, 3.0, 2.0)),
            prim(Vec3::new(150.5, 90.5, 32.0), Vec3::splat(0.1)),
        ])
        .expect("boxes");
        let pixels = decoded(&RegionMap::draw(&scene(terrain, scenery)).expect("a picture"));
        let brown = [178, 146, 98];
        assert_eq!(at(&pixels, 2, 128), [38, 76, 116], "deep water");
        for (x, y, is_box) in [
            (200, 40, true),
            (203, 40, true),
            (200, 43, false),
            (206, 40, false),
            (150, 90, true),
            (152, 90, false),
        ] {
            assert_eq!(at(&pixels, x, y) == brown, is_box, "{x} {y}");
        }
        let [red, green, _] = at(&pixels, 137, 128);
        assert!(green > red, "grass above the shore");
    }

    #[test]
    fn another_picture_has_another_id_and_a_large_region_has_a_picture_of_each_square() {
        let map =
            |seed| RegionMap::draw(&scene(Terrain::hills(512, seed), Scenery::default())).expect("a picture");
        let (one, other) = (map(1), map(2));
        assert_eq!(one.id, map(1).id);
        assert_ne!(one.id, other.id);
        assert!((0..4).all(|n| one.square(n % 2, n / 2).is_some()));
        assert_ne!(one.square(0, 0), one.square(1, 0));
    }
}
