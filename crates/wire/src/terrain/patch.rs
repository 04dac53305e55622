//! Patches that are compressed once and written into the messages of many receivers.

use super::bits::BitWriter;
use super::dct::SIDE;
use super::{Compressed, DATA_BYTES_MIN, END_OF_PATCHES, LAND_PATCHES_MAX, Layer, PATCH_SAMPLES, STRIDE};

/// A compressed patch with its place: the bits of a field between header and end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodedPatch {
    layer: Layer,
    bits: Box<[u8]>,
    /// Bits in use.
    len: usize,
}

impl EncodedPatch {
    /// Compresses heights in metres, row-major from the south-west. `x` and `y` count patches from the region's corner. Costs some microseconds;
    /// keep it while the ground rests.
    ///
    /// Heights should be finite and spread less than 65,535 m; what lies beyond is cut.
    ///
    /// # Panics
    /// If a patch of [`Layer::Land`] lies beyond 32.
    #[must_use]
    pub fn new(layer: Layer, x: u16, y: u16, heights: &[f32; PATCH_SAMPLES]) -> Self {
        assert!(
            layer == Layer::LandExtended || x.max(y) < LAND_PATCHES_MAX,
            "patch {x},{y} does not fit a land layer"
        );
        let patch = Compressed::new(heights);
        let len = patch.bits(layer);
        let mut out = BitWriter::with_capacity(len.div_ceil(8));
        patch.write(layer, x, y, &mut out);
        Self { layer, bits: out.into_bytes().into(), len }
    }
}

/// Fills a `LayerData.Data` field with patches.
pub struct FieldWriter {
    layer: Layer,
    bytes_max: usize,
    out: BitWriter,
    n_patches: usize,
}

impl FieldWriter {
    /// A field of at most `bytes_max` bytes.
    ///
    /// # Panics
    /// If `bytes_max` is below [`DATA_BYTES_MIN`].
    #[must_use]
    pub fn new(layer: Layer, bytes_max: usize) -> Self {
        assert!(bytes_max >= DATA_BYTES_MIN, "{bytes_max} bytes may not hold one patch");
        let mut out = BitWriter::with_capacity(bytes_max);
        out.write(STRIDE, 16);
        out.write(SIDE as u32, 8);
        out.write(u32::from(layer.code()), 8);
        Self { layer, bytes_max, out, n_patches: 0 }
    }

    /// Adds a patch; false if there is no room for it, which never happens with the first one.
    ///
    /// # Panics
    /// If the patch was compressed for another layer.
    pub fn push(&mut self, patch: &EncodedPatch) -> bool {
        assert_eq!(self.layer, patch.layer, "a patch of another kind of region");
        let has_room = self.out.bit_len() + patch.len + 8 <= self.bytes_max * 8;
        if has_room {
            self.out.append(&patch.bits, patch.len);
            self.n_patches += 1;
        }
        has_room
    }

    /// Patches added.
    #[must_use]
    pub const fn n_patches(&self) -> usize {
        self.n_patches
    }

    /// The field.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        self.out.write(END_OF_PATCHES, 8);
        self.out.into_bytes()
    }
}

impl std::fmt::Debug for FieldWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FieldWriter({:?}, {} patches)", self.layer, self.n_patches)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_is_the_same_bits_in_every_field() {
        let hill = std::array::from_fn(|sample| 20.0 + ((sample * 3) % 37) as f32 * 0.3);
        let patch = EncodedPatch::new(Layer::Land, 3, 5, &hill);
        let alone = |n: usize| {
            let mut field = FieldWriter::new(Layer::Land, 4_096);
            assert!((0..n).all(|_| field.push(&patch)));
            assert_eq!(field.n_patches(), n);
            super::super::decode_patches(&field.finish()).expect("a whole field").1
        };
        let [one]: [super::super::Patch; 1] = alone(1).try_into().expect("one patch");
        assert_eq!((one.x, one.y), (3, 5));
        assert_eq!(alone(5), vec![one; 5]);
    }

    #[test]
    #[should_panic(expected = "a patch of another kind of region")]
    fn a_patch_for_another_layer_is_refused() {
        let patch = EncodedPatch::new(Layer::Land, 0, 0, &[21.0; PATCH_SAMPLES]);
        FieldWriter::new(Layer::LandExtended, 1_150).push(&patch);
    }
}
