//! Extra parameters in archives: all of them as bytes, and those of flexible prims, lights and sculpts again as elements.
//!
//! OpenSimulator reads the bytes and then the elements, so that elements count where both differ. They are in other units than the bytes, and older
//! files have seven digits of a float; their values are compared with the bytes in the bytes' own steps.

use prim::{ExtraParam, ExtraParams};

/// Entries in the order in which OpenSimulator writes them.
const WRITTEN: [ExtraParam; 8] = [
    ExtraParam::Flexible,
    ExtraParam::Light,
    ExtraParam::Sculpt,
    ExtraParam::LightImage,
    ExtraParam::Mesh,
    ExtraParam::MeshFlags,
    ExtraParam::ReflectionProbe,
    ExtraParam::RenderMaterial,
];

/// A step of a byte that stands for 0 to 1.
const BYTE_STEP: f32 = 1.0 / 255.0;

/// Tenths, with a margin for rounding of floats: as OpenSimulator multiplies before it cuts.
const TENTHS: f32 = 10.01;

/// Bytes of all entries, in the order of OpenSimulator.
pub(super) fn encode(params: &ExtraParams) -> Vec<u8> {
    let mut bytes = vec![0];
    for kind in WRITTEN {
        let Some(data) = params.get(kind) else { continue };
        bytes[0] += 1;
        bytes.extend_from_slice(&(kind as u16).to_le_bytes());
        bytes.extend_from_slice(&(data.len() as u32).to_le_bytes());
        bytes.extend_from_slice(data);
    }
    bytes
}

/// Parameters of a flexible prim, in the units of elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Flexi {
    /// 0–3.
    pub(super) softness: u8,
    pub(super) tension: f32,
    pub(super) drag: f32,
    pub(super) gravity: f32,
    pub(super) wind: f32,
    pub(super) force: [f32; 3],
}

impl Flexi {
    /// Those of a prim that is not flexible.
    pub(super) const NONE: Self =
        Self { softness: 0, tension: 0.0, drag: 0.0, gravity: 0.0, wind: 0.0, force: [0.0; 3] };

    /// From the data of an entry; 0 for a force that is left out.
    pub(super) fn of(data: &[u8]) -> Self {
        let byte = |at: usize| data.get(at).copied().unwrap_or_default();
        let tenths = |value: u8| f32::from(value) / 10.0;
        Self {
            softness: (byte(0) & 0x80) >> 6 | (byte(1) & 0x80) >> 7,
            tension: tenths(byte(0) & 0x7F),
            drag: tenths(byte(1) & 0x7F),
            gravity: tenths(byte(2)) - 10.0,
            wind: tenths(byte(3)),
            force: [4, 8, 12].map(|at| float_at(data, at)),
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let tenths = |value: f32| (value * TENTHS) as u8;
        let mut data = vec![
            (self.softness & 2) << 6 | tenths(self.tension) & 0x7F,
            (self.softness & 1) << 7 | tenths(self.drag) & 0x7F,
            tenths(self.gravity + 10.0),
            tenths(self.wind),
        ];
        data.extend(self.force.iter().flat_map(|force| force.to_le_bytes()));
        data
    }
}

/// Parameters of a light, in the units of elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Light {
    /// Red, green, blue, 0–1.
    pub(super) color: [f32; 3],
    /// 0–1.
    pub(super) intensity: f32,
    pub(super) radius: f32,
    pub(super) cutoff: f32,
    pub(super) falloff: f32,
}

impl Light {
    /// Those of a prim that is no light.
    pub(super) const NONE: Self =
        Self { color: [0.0; 3], intensity: 1.0, radius: 0.0, cutoff: 0.0, falloff: 0.0 };

    /// From the data of an entry.
    pub(super) fn of(data: &[u8]) -> Self {
        let unit = |at: usize| f32::from(data.get(at).copied().unwrap_or_default()) * BYTE_STEP;
        Self {
            color: [0, 1, 2].map(unit),
            intensity: unit(3),
            radius: float_at(data, 4),
            cutoff: float_at(data, 8),
            falloff: float_at(data, 12),
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let byte = |value: f32| (value.clamp(0.0, 1.0) * 255.0).round() as u8;
        let [red, green, blue] = self.color.map(byte);
        let mut data = vec![red, green, blue, byte(self.intensity)];
        let floats = [self.radius, self.cutoff, self.falloff];
        data.extend(floats.iter().flat_map(|float| float.to_le_bytes()));
        data
    }
}

/// True if data says the same as former data of the kind: the same bytes, and floats that differ in what older files have lost of them.
pub(super) fn is_same(kind: ExtraParam, former: &[u8], data: &[u8]) -> bool {
    match kind {
        ExtraParam::Flexible | ExtraParam::Light => {
            former.get(..4) == data.get(..4)
                && [4, 8, 12].into_iter().all(|at| {
                    let (a, b) = (float_at(former, at), float_at(data, at));
                    (a - b).abs() <= 1e-6 + 1e-5 * a.abs().max(b.abs())
                })
        }
        _ => former == data,
    }
}

fn float_at(data: &[u8], at: usize) -> f32 {
    let bytes = data.get(at..).and_then(|rest| rest.first_chunk());
    bytes.map_or(0.0, |bytes| f32::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_in_the_order_of_opensimulator() {
        let probe = [&[0; 8][..], &[1]].concat();
        let materials = [&[1, 3][..], &[7; 16]].concat();
        let params = ExtraParams::default();
        assert_eq!(encode(&params), [0]);
        let params = params.with(ExtraParam::ReflectionProbe, Some(&probe)).unwrap();
        let params = params.with(ExtraParam::RenderMaterial, Some(&materials)).unwrap();
        let bytes = encode(&params);
        assert_eq!(bytes[..7], [2, 0x90, 0, 9, 0, 0, 0]);
        assert_eq!(bytes[16..22], [0x80, 0, 18, 0, 0, 0]);
        assert_eq!(ExtraParams::parse(&bytes), Ok(params));
    }

    #[test]
    fn all_bytes_are_read_from_the_floats_that_they_make() {
        for byte in 0..=u8::MAX {
            let mut data = vec![byte, byte.rotate_left(3), byte, byte];
            data.extend([1.5_f32, -2.25, 0.1].iter().flat_map(|float| float.to_le_bytes()));
            assert_eq!(Flexi::of(&data).encode(), data);
            assert_eq!(Light::of(&data).encode(), data);
        }
    }

    #[test]
    fn floats_of_seven_digits_say_the_same() {
        let light = Light { radius: 10.123_457, ..Light::NONE };
        let seven = Light { radius: 10.12346, ..light };
        let other = Light { radius: 10.13, ..light };
        assert!(is_same(ExtraParam::Light, &light.encode(), &seven.encode()));
        assert!(!is_same(ExtraParam::Light, &light.encode(), &other.encode()));
        let short = &Flexi::NONE.encode()[..4];
        assert!(is_same(ExtraParam::Flexible, short, &Flexi::NONE.encode()));
    }
}
