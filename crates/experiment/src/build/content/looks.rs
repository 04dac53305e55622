//! Shapes, textures and extra parameters of generated prims.

use bots::rng::Rng;
use ids::Uuid;
use prim::{ExtraParam, ExtraParams, HoverText, Shape, ShapeKind};
use std::sync::Arc;

/// Shapes: the share of prims, and the kind. The rest are sculpts and meshes.
pub(super) const KINDS: [(f64, ShapeKind); 7] = [
    (0.62, ShapeKind::Box),
    (0.15, ShapeKind::Cylinder),
    (0.07, ShapeKind::Sphere),
    (0.05, ShapeKind::Torus),
    (0.04, ShapeKind::Prism),
    (0.02, ShapeKind::Tube),
    (0.01, ShapeKind::Ring),
];
/// Share of meshes among sculpts and meshes.
const MESHES: f64 = 0.4;
/// Kinds of sculpted forms: a sphere by its texture, a mesh by its asset.
const SCULPT_SPHERE: u8 = 1;
const SCULPT_MESH: u8 = 5;

/// Shares of prims that are cut, hollow, twisted or tapered.
const CUT: f64 = 0.12;
const HOLLOW: f64 = 0.10;
const TWISTED: f64 = 0.05;
const TAPERED: f64 = 0.10;
/// Shares of prims with a light, that bend, and with hover text.
const LIGHT: f64 = 0.02;
const FLEXIBLE: f64 = 0.01;
const TEXT: f64 = 0.03;

/// Share of texture entries with faces that differ, and the most of these.
const FACES_DIFFER: f64 = 0.45;
const FACES_MOST: u32 = 3;
/// Share of texture entries with a colour, and with repeats other than 1.
const TINTED: f64 = 0.30;
const REPEATED: f64 = 0.30;

/// Bytes of a light: colour, radius, cutoff, falloff.
const LIGHT_LEN: usize = 16;

/// Appearance of a prim.
pub(super) struct Look {
    pub(super) shape: Shape,
    pub(super) texture_entry: Arc<[u8]>,
    pub(super) extra_params: ExtraParams,
    pub(super) hover_text: HoverText,
}

/// The texture entries of a region, of which prims have one each.
pub(super) struct Looks {
    entries: Vec<Arc<[u8]>>,
}

impl Looks {
    pub(super) fn new(seed: u64, n_entries: u32) -> Self {
        let mut rng = Rng::new(seed, 1);
        let textures: Vec<Uuid> = (0..n_entries.div_ceil(3)).map(|_| random_id(&mut rng)).collect();
        Self { entries: (0..n_entries).map(|_| texture_entry(&mut rng, &textures)).collect() }
    }

    /// The appearance of one more prim.
    pub(super) fn choose(&self, rng: &mut Rng) -> Look {
        let texture_entry = Arc::clone(choose(rng, &self.entries));
        let (mut shape, mut extra_params) = kind(rng);
        modify(rng, &mut shape);
        if rng.unit() < LIGHT {
            extra_params = with(&extra_params, ExtraParam::Light, &light(rng));
        }
        if rng.unit() < FLEXIBLE {
            extra_params = with(&extra_params, ExtraParam::Flexible, &[0x82, 0x14, 0x00, 0x8A]);
        }
        let text = if rng.unit() < TEXT { format!("Sign {}", rng.next() % 1_000) } else { String::new() };
        let hover_text = HoverText { text: text.into(), color: [0; 4] };
        let shape = shape.clamped().expect("a kind of the build menu");
        Look { shape, texture_entry, extra_params, hover_text }
    }
}

/// A plain shape, and the parameters of a sculpted one.
fn kind(rng: &mut Rng) -> (Shape, ExtraParams) {
    let mut share = rng.unit();
    for (of_all, kind) in KINDS {
        share -= of_all;
        if share < 0.0 {
            return (Shape::plain(kind), ExtraParams::default());
        }
    }
    let form = if rng.unit() < MESHES { SCULPT_MESH } else { SCULPT_SPHERE };
    let mut data = random_id(rng).into_bytes().to_vec();
    data.push(form);
    (Shape::plain(ShapeKind::Sphere), with(&ExtraParams::default(), ExtraParam::Sculpt, &data))
}

fn modify(rng: &mut Rng, shape: &mut Shape) {
    let steps = |rng: &mut Rng| 2_500 * (1 + (rng.unit() * 8.0) as u16);
    if rng.unit() < CUT {
        shape.profile_begin = steps(rng);
    }
    if rng.unit() < HOLLOW {
        shape.profile_hollow = 2 * steps(rng);
    }
    if rng.unit() < TWISTED {
        shape.path_twist = (rng.within(1.0) * 50.0) as i8;
    }
    if rng.unit() < TAPERED {
        shape.path_scale_x = 100 + (rng.unit() * 100.0) as u8;
    }
}

/// A texture entry without the field of render materials, as clients send that have none.
fn texture_entry(rng: &mut Rng, textures: &[Uuid]) -> Arc<[u8]> {
    let mut out = Vec::with_capacity(100);
    out.extend_from_slice(choose(rng, textures).as_bytes());
    if rng.unit() < FACES_DIFFER {
        let n_faces = 1 + (rng.unit() * f64::from(FACES_MOST)) as u32;
        for face in 0..n_faces {
            out.push(1 << face);
            out.extend_from_slice(choose(rng, textures).as_bytes());
        }
    }
    out.push(0);
    // Colours are inverted on the wire: white is 0.
    let color = if rng.unit() < TINTED { (rng.next() as u32).to_le_bytes() } else { [0; 4] };
    out.extend_from_slice(&color);
    out.push(0);
    let repeats = if rng.unit() < REPEATED { rng.between(0.5, 8.0) } else { 1.0 };
    for _ in 0..2 {
        out.extend_from_slice(&repeats.to_le_bytes());
        out.push(0);
    }
    // Offsets, rotation, material, media, glow: each with its end.
    out.extend_from_slice(&[0; 3 + 3 + 3 + 2 + 2 + 2]);
    out.into()
}

fn light(rng: &mut Rng) -> [u8; LIGHT_LEN] {
    let mut data = [0; LIGHT_LEN];
    data[..4].copy_from_slice(&[255, 240, 200, 255]);
    data[4..8].copy_from_slice(&rng.between(2.0, 20.0).to_le_bytes());
    data[12..].copy_from_slice(&0.75_f32.to_le_bytes());
    data
}

fn with(params: &ExtraParams, kind: ExtraParam, data: &[u8]) -> ExtraParams {
    params.with(kind, Some(data)).expect("of the length of its kind")
}

fn choose<'a, T>(rng: &mut Rng, from: &'a [T]) -> &'a T {
    &from[(rng.unit() * from.len() as f64) as usize]
}

fn random_id(rng: &mut Rng) -> Uuid {
    Uuid::from_u64_pair(rng.next(), rng.next())
}
