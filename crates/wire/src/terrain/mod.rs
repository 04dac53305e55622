//! Ground heights in LayerData messages: patches of 16×16 samples, compressed much as JPEG does with pixels.
//!
//! An [`EncodedPatch`] is compressed once for many receivers, and a [`FieldWriter`] fills `LayerData.Data` fields with
//! them; [`decode_patches`] is the client's side, for bots and tests. Which patches a client needs and when is no matter of this module. One field
//! holds
//!
//! ```text
//! stride 264 (16 bits) | patch side 16 (8) | layer type (8) | patches … | 97 (8)
//! patch: (prequant−2)<<4 | word bits−2 (8) | lowest height F32 (32) | range in metres (16)
//!        | patch x<<5 | y (10), in large regions x<<16 | y (32)
//!        | 256 coefficients: 0, or 110 + word (positive), or 111 + word (negative), or 10 (the rest is zero)
//! ```
//!
//! Heights become numbers of `prequant` bits within the range, are transformed (`dct`), divided by a table
//! that grows with frequency, rounded and listed in zig-zag order, so that the zeros of smooth ground gather
//! at the end.

mod bits;
mod dct;
mod patch;

pub use patch::{EncodedPatch, FieldWriter};

use crate::Malformed;
use bits::{BitReader, BitWriter};
use dct::{Matrix, SIDE};

/// Samples along a patch's side, one a metre.
pub const PATCH_SIDE: usize = SIDE;

/// Samples of a patch.
pub const PATCH_SAMPLES: usize = SIDE * SIDE;

/// Patches along a side of a region whose ids have five bits each (512 m).
const LAND_PATCHES_MAX: u16 = 32;

/// Patches that one field may hold when it is read. A flat one takes 68 bits, so an honest datagram has at
/// most 140.
const PATCHES_MAX: usize = 256;

/// The fewest bytes that hold any patch: field header, patch header of 11 bytes, coefficients of 20 bits,
/// end.
pub const DATA_BYTES_MIN: usize = 4 + 11 + PATCH_SAMPLES * 20 / 8 + 1;

const STRIDE: u32 = 264;
const END_OF_PATCHES: u32 = 97;

/// Ground with a smaller spread is sent as its mean only: 9 bytes instead of some 40.
const FLAT_SPREAD_M: f32 = 0.01;

/// The coarsest step of heights before the transform, in metres. Measured on region-sized grounds, worst
/// error and mean bytes a patch: gentle hills 0.06 m, 43 bytes; ±30 m hills 0.10 m, 96 bytes; with 0.15 m of
/// roughness 0.11 m, 127 bytes. Half the step costs a third more bytes. OpenSim's fixed 10 bits give 0.03 m
/// and 73 bytes, 0.20 m and 70, 0.23 m and 88: they are too fine on a lawn and too coarse on a slope.
const STEP_M: f32 = 1.0 / 128.0;

/// At 13 bits the largest possible coefficient fits the 17 bits that a word may have.
const PREQUANT: std::ops::RangeInclusive<u32> = 2..=13;
const WORD_BITS: std::ops::RangeInclusive<u32> = 2..=17;

/// Position of the `n`-th coefficient of the list as (vertical, horizontal) frequency.
const ZIG_ZAG: [(usize, usize); PATCH_SAMPLES] = zig_zag();

/// Kind of the heights and width of patch ids: the LayerID.Type of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// Ground of a region of at most 256 m a side. (Ids reach 512 m, but clients refuse more than 256 m
    /// here.)
    Land,
    /// Ground of a larger region.
    LandExtended,
}

impl Layer {
    /// The layer that a region of this size needs.
    #[must_use]
    pub const fn for_region(size_m: u32) -> Self {
        if size_m > 256 { Self::LandExtended } else { Self::Land }
    }

    /// The LayerID.Type on the wire.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Land => b'L',
            Self::LandExtended => b'M',
        }
    }

    const fn from_code(code: u32) -> Option<Self> {
        match code {
            0x4C => Some(Self::Land),
            0x4D => Some(Self::LandExtended),
            _ => None,
        }
    }

    /// Bits of a patch id, and of its y.
    const fn id_bits(self) -> (u32, u32) {
        match self {
            Self::Land => (10, 5),
            Self::LandExtended => (32, 16),
        }
    }
}

/// A patch as it was decoded.
#[derive(Clone, Debug, PartialEq)]
pub struct Patch {
    /// West-east position in patches from the region's corner.
    pub x: u16,
    /// South-north position in patches.
    pub y: u16,
    /// Heights in metres, row-major from the south-west, x fastest.
    pub heights: [f32; PATCH_SAMPLES],
}

/// A patch before it is written, so that its length is known.
struct Compressed {
    prequant: u32,
    word_bits: u32,
    lowest_m: f32,
    range_m: u16,
    /// Quantised, in zig-zag order.
    coefficients: [i32; PATCH_SAMPLES],
    /// Coefficients up to the last non-zero one.
    length: usize,
}

impl Compressed {
    fn new(heights: &[f32; PATCH_SAMPLES]) -> Self {
        let lowest_m = heights.iter().copied().fold(f32::INFINITY, f32::min);
        let highest_m = heights.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let spread_m = highest_m - lowest_m;
        if spread_m <= FLAT_SPREAD_M {
            return Self::flat(lowest_m + spread_m / 2.0);
        }
        let range_m = (spread_m.floor() + 1.0).min(f32::from(u16::MAX));
        let steps = (range_m / STEP_M).min((1_u32 << PREQUANT.end()) as f32) as u32;
        let prequant = steps.next_power_of_two().ilog2().clamp(*PREQUANT.start(), *PREQUANT.end());

        let middle_m = lowest_m + range_m / 2.0;
        let scale = (1_u32 << prequant) as f32 / range_m;
        let (rows, _) = heights.as_chunks::<SIDE>();
        let samples: Matrix = std::array::from_fn(|y| rows[y].map(|height| (height - middle_m) * scale));
        let transformed = dct::forward(&samples);

        let limit = (1 << WORD_BITS.end()) - 1;
        let coefficients =
            ZIG_ZAG.map(|(v, u)| ((transformed[v][u] / divisor(v, u)).round() as i32).clamp(-limit, limit));
        let length = coefficients.iter().rposition(|&value| value != 0).map_or(0, |last| last + 1);
        let largest = coefficients.iter().map(|value| value.unsigned_abs()).max().unwrap_or(0);
        let word_bits = word_bits(prequant, largest);
        Self { prequant, word_bits, lowest_m, range_m: range_m as u16, coefficients, length }
    }

    /// A constant: with a range of one metre the middle lies half a metre above the "lowest" height.
    const fn flat(height_m: f32) -> Self {
        Self {
            prequant: *PREQUANT.start(),
            word_bits: *WORD_BITS.start(),
            lowest_m: height_m - 0.5,
            range_m: 1,
            coefficients: [0; PATCH_SAMPLES],
            length: 0,
        }
    }

    /// Bits that [`Compressed::write`] writes.
    fn bits(&self, layer: Layer) -> usize {
        let (zeros, words) =
            self.coefficients[..self.length].iter().fold((0, 0), |(zeros, words), &value| {
                if value == 0 { (zeros + 1, words) } else { (zeros, words + 1) }
            });
        let end = if self.length < PATCH_SAMPLES { 2 } else { 0 };
        8 + 32 + 16 + layer.id_bits().0 as usize + zeros + words * (3 + self.word_bits as usize) + end
    }

    fn write(&self, layer: Layer, x: u16, y: u16, out: &mut BitWriter) {
        let (id_bits, y_bits) = layer.id_bits();
        out.write(quantisation(self.prequant, self.word_bits), 8);
        out.write(self.lowest_m.to_bits(), 32);
        out.write(u32::from(self.range_m), 16);
        out.write(u32::from(x) << y_bits | u32::from(y), id_bits);
        for &value in &self.coefficients[..self.length] {
            match value.signum() {
                0 => out.write_high_first(0, 1),
                sign => {
                    out.write_high_first(if sign > 0 { 0b110 } else { 0b111 }, 3);
                    out.write(value.unsigned_abs(), self.word_bits);
                }
            }
        }
        if self.length < PATCH_SAMPLES {
            out.write_high_first(0b10, 2);
        }
    }
}

/// Reads one `LayerData.Data` field.
///
/// # Errors
/// [`Malformed::Truncated`] without the end mark, [`Malformed::Value`] for another layer or patch size or a height
/// that is no number, [`Malformed::Oversized`] beyond 256 patches.
pub fn decode_patches(data: &[u8]) -> Result<(Layer, Vec<Patch>), Malformed> {
    let mut bits = BitReader::new(data);
    // The stride adds no information to the side, and clients ignore it.
    bits.read(16)?;
    if bits.read(8)? != SIDE as u32 {
        return Err(Malformed::Value);
    }
    let layer = Layer::from_code(bits.read(8)?).ok_or(Malformed::Value)?;
    let mut patches = Vec::new();
    loop {
        let quantisation = bits.read(8)?;
        if quantisation == END_OF_PATCHES {
            return Ok((layer, patches));
        }
        if patches.len() == PATCHES_MAX {
            return Err(Malformed::Oversized);
        }
        patches.push(read_patch(&mut bits, layer, quantisation)?);
    }
}

fn read_patch(bits: &mut BitReader<'_>, layer: Layer, quantisation: u32) -> Result<Patch, Malformed> {
    let (prequant, word_bits) = ((quantisation >> 4) + 2, (quantisation & 0xF) + 2);
    let lowest_m = f32::from_bits(bits.read(32)?);
    if !lowest_m.is_finite() {
        return Err(Malformed::Value);
    }
    let range_m = bits.read(16)? as f32;
    let (id_bits, y_bits) = layer.id_bits();
    let id = bits.read(id_bits)?;

    let mut coefficients: Matrix = [[0.0; SIDE]; SIDE];
    for (v, u) in ZIG_ZAG {
        if !bits.bit()? {
            continue;
        }
        if !bits.bit()? {
            break;
        }
        let sign = if bits.bit()? { -1.0 } else { 1.0 };
        coefficients[v][u] = sign * bits.read(word_bits)? as f32 * divisor(v, u);
    }

    let scale = range_m / (1_u32 << prequant) as f32;
    let middle_m = lowest_m + range_m / 2.0;
    let mut heights = [0.0; PATCH_SAMPLES];
    for (height, sample) in heights.iter_mut().zip(dct::inverse(&coefficients).as_flattened()) {
        *height = sample * scale + middle_m;
    }
    // Both halves of an id have at most 16 bits.
    Ok(Patch { x: (id >> y_bits) as u16, y: (id & ((1 << y_bits) - 1)) as u16, heights })
}

/// Bits of a word that holds this coefficient.
fn word_bits(prequant: u32, largest: u32) -> u32 {
    let bits = (u32::BITS - largest.leading_zeros()).max(*WORD_BITS.start());
    // One pair of sizes would read as the end of the list.
    if quantisation(prequant, bits) == END_OF_PATCHES { bits + 1 } else { bits }
}

/// The byte that begins a patch.
const fn quantisation(prequant: u32, word_bits: u32) -> u32 {
    (prequant - 2) << 4 | (word_bits - 2)
}

/// Divisor of a coefficient: finer detail is kept less exactly.
const fn divisor(v: usize, u: usize) -> f32 {
    (1 + 2 * (v + u)) as f32
}

/// Anti-diagonals from the constant to the finest detail, the first step to the right, each diagonal the
/// other way.
const fn zig_zag() -> [(usize, usize); PATCH_SAMPLES] {
    let mut order = [(0, 0); PATCH_SAMPLES];
    let mut n = 0;
    let mut diagonal = 0;
    while diagonal < 2 * SIDE - 1 {
        let first = if diagonal < SIDE { 0 } else { diagonal - (SIDE - 1) };
        let last = diagonal - first;
        let mut step = first;
        while step <= last {
            // On odd diagonals the vertical frequency rises, on even ones the horizontal does.
            order[n] = if diagonal % 2 == 1 { (step, diagonal - step) } else { (diagonal - step, step) };
            n += 1;
            step += 1;
        }
        diagonal += 1;
    }
    order
}

#[cfg(test)]
mod tests;
