//! Changes of single properties of a face's render material.
//!
//! A render material is an asset that a face refers to by the extra parameter [`ExtraParam::RenderMaterial`](crate::ExtraParam::RenderMaterial). An
//! override replaces some of its properties on one face. Viewers get overrides in a message of their own, all those of a prim at once.

use ids::Uuid;
use serde::{Deserialize, Serialize};
use state_hash::StateHasher;
use thiserror::Error;

/// Textures of a render material: base colour, normals, metal with roughness, emission.
pub const MATERIAL_TEXTURES: usize = 4;
/// Faces that can have overrides: a box with a cut and a hole has nine, a mesh has eight. A message holds the overrides of all of them.
pub const OVERRIDE_FACES: u8 = 9;
/// Most and least of an offset, a repeat and a rotation of a texture.
const TRANSFORM_MAX: f32 = 10_000.0;

/// Treatment of the alpha of a base colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum AlphaMode {
    /// It is ignored.
    Opaque = 0,
    /// Transparency.
    Blend = 1,
    /// All or nothing, see [`MaterialOverride::alpha_cutoff`].
    Mask = 2,
}

/// Place of a texture on a face; `None` keeps the material's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TextureTransform {
    /// Offset along both axes.
    pub offset: Option<[f32; 2]>,
    /// Repeats along both axes.
    pub scale: Option<[f32; 2]>,
    /// Rotation, radians.
    pub rotation: Option<f32>,
}

/// Properties that a face has in place of its material's; `None` keeps the material's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MaterialOverride {
    /// Textures by their numbers. All bits set stand for no texture.
    pub textures: [Option<Uuid>; MATERIAL_TEXTURES],
    /// Places of the textures.
    pub transforms: [TextureTransform; MATERIAL_TEXTURES],
    /// Red, green, blue, alpha, 0–1.
    pub base_color: Option<[f32; 4]>,
    /// Red, green, blue, 0–1.
    pub emissive_color: Option<[f32; 3]>,
    /// 0–1.
    pub metallic: Option<f32>,
    /// 0–1.
    pub roughness: Option<f32>,
    /// Treatment of alpha.
    pub alpha_mode: Option<AlphaMode>,
    /// Least alpha that is visible with [`AlphaMode::Mask`], 0–1.
    pub alpha_cutoff: Option<f32>,
    /// The back is drawn, too.
    pub is_double_sided: Option<bool>,
}

/// Reasons to refuse overrides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum OverrideError {
    /// A number that is infinite or none.
    #[error("a property of a material that is not a number")]
    NotANumber,
    /// A number out of its range.
    #[error("a property of a material that is out of range")]
    Range,
    /// A face that no prim has, or one twice.
    #[error("overrides of faces that no prim has")]
    Faces,
}

impl MaterialOverride {
    /// With the nearest numbers in range.
    ///
    /// # Errors
    /// [`OverrideError::NotANumber`].
    pub fn clamped(mut self) -> Result<Self, OverrideError> {
        let is_number = self.numbers().all(|(&mut value, _)| value.is_finite());
        if !is_number {
            return Err(OverrideError::NotANumber);
        }
        self.numbers().for_each(|(value, (least, most))| *value = value.clamp(least, most));
        Ok(self)
    }

    /// True if it changes nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// All numbers with their ranges.
    fn numbers(&mut self) -> impl Iterator<Item = (&mut f32, (f32, f32))> {
        const UNIT: (f32, f32) = (0.0, 1.0);
        let Self {
            textures: _,
            transforms,
            base_color,
            emissive_color,
            metallic,
            roughness,
            alpha_mode: _,
            alpha_cutoff,
            is_double_sided: _,
        } = self;
        let of_textures = transforms.iter_mut().flat_map(|transform| {
            let pairs = [&mut transform.offset, &mut transform.scale].into_iter().flatten().flatten();
            pairs.chain(&mut transform.rotation)
        });
        let colors = base_color.iter_mut().flatten().chain(emissive_color.iter_mut().flatten());
        let factors = metallic.iter_mut().chain(roughness).chain(alpha_cutoff);
        let in_unit = colors.chain(factors).map(|value| (value, UNIT));
        in_unit.chain(of_textures.map(|value| (value, (-TRANSFORM_MAX, TRANSFORM_MAX))))
    }

    fn fold_into(&self, hasher: &mut StateHasher) {
        let Self {
            textures,
            transforms,
            base_color,
            emissive_color,
            metallic,
            roughness,
            alpha_mode,
            alpha_cutoff,
            is_double_sided,
        } = self;
        let mut fold = |values: Option<&[f32]>| {
            hasher.u32(u32::from(values.is_some()));
            values.into_iter().flatten().for_each(|value| hasher.f32(*value));
        };
        for TextureTransform { offset, scale, rotation } in transforms {
            fold(offset.as_ref().map(|pair| &pair[..]));
            fold(scale.as_ref().map(|pair| &pair[..]));
            fold(rotation.as_ref().map(std::slice::from_ref));
        }
        fold(base_color.as_ref().map(|color| &color[..]));
        fold(emissive_color.as_ref().map(|color| &color[..]));
        for factor in [metallic, roughness, alpha_cutoff] {
            fold(factor.as_ref().map(std::slice::from_ref));
        }
        for texture in textures {
            hasher.u32(u32::from(texture.is_some()));
            hasher.bytes(texture.unwrap_or_default().as_bytes());
        }
        hasher.u32(alpha_mode.map_or(0, |mode| mode as u32 + 1));
        hasher.u32(is_double_sided.map_or(0, |is| u32::from(is) + 1));
    }
}

/// Overrides of a prim's faces. Once a prim has had one it keeps this, if need be empty, so that clients learn of the end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MaterialOverrides(Vec<(u8, MaterialOverride)>);

impl MaterialOverrides {
    /// Faces with overrides, in ascending order.
    pub fn faces(&self) -> impl ExactSizeIterator<Item = (u8, &MaterialOverride)> {
        self.0.iter().map(|(face, material)| (*face, material))
    }

    /// Override of a face.
    #[must_use]
    pub fn get(&self, face: u8) -> Option<&MaterialOverride> {
        let at = self.0.binary_search_by_key(&face, |(face, _)| *face).ok()?;
        Some(&self.0[at].1)
    }

    /// Sets the override of a face; one that changes nothing is removed. Numbers out of range become the nearest ones in range.
    ///
    /// # Errors
    /// [`OverrideError`]; nothing changes then.
    pub fn set(&mut self, face: u8, material: MaterialOverride) -> Result<(), OverrideError> {
        if face >= OVERRIDE_FACES {
            return Err(OverrideError::Faces);
        }
        let material = material.clamped()?;
        match (self.0.binary_search_by_key(&face, |(face, _)| *face), material.is_empty()) {
            (Ok(at), true) => {
                self.0.remove(at);
            }
            (Ok(at), false) => self.0[at].1 = material,
            (Err(_), true) => {}
            (Err(at), false) => self.0.insert(at, (face, material)),
        }
        Ok(())
    }

    /// Keeps the overrides of some faces.
    pub fn retain(&mut self, mut is_kept: impl FnMut(u8) -> bool) {
        self.0.retain(|(face, _)| is_kept(*face));
    }

    /// Checks faces and numbers.
    ///
    /// # Errors
    /// [`OverrideError`].
    pub fn check(&self) -> Result<(), OverrideError> {
        let is_ordered = self.0.is_sorted_by(|(a, _), (b, _)| a < b);
        if !is_ordered || self.0.last().is_some_and(|(face, _)| *face >= OVERRIDE_FACES) {
            return Err(OverrideError::Faces);
        }
        self.0.iter().try_for_each(|(_, material)| match material.clamped() {
            Ok(clamped) if clamped == *material => Ok(()),
            Ok(_) => Err(OverrideError::Range),
            Err(why) => Err(why),
        })
    }

    /// Folds all of it into a hash of state.
    pub fn fold_into(&self, hasher: &mut StateHasher) {
        hasher.u32(self.0.len() as u32);
        for (face, material) in &self.0 {
            hasher.u32(u32::from(*face));
            material.fold_into(hasher);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn red() -> MaterialOverride {
        MaterialOverride { base_color: Some([1.0, 0.0, 0.0, 1.0]), ..MaterialOverride::default() }
    }

    #[test]
    fn faces_are_in_order_and_have_one_override_each() {
        let mut overrides = MaterialOverrides::default();
        for face in [3, 0, 3] {
            overrides.set(face, red()).unwrap();
        }
        assert_eq!(overrides.faces().map(|(face, _)| face).collect::<Vec<_>>(), [0, 3]);
        assert_eq!(overrides.get(3), Some(&red()));
        overrides.set(0, MaterialOverride::default()).unwrap();
        assert_eq!(overrides.faces().len(), 1);
        assert_eq!(overrides.set(9, red()), Err(OverrideError::Faces));
        overrides.retain(|face| face != 3);
        assert_eq!(overrides, MaterialOverrides::default());
    }

    #[test]
    fn numbers_are_cut_to_their_ranges_or_refused() {
        let wild = MaterialOverride {
            base_color: Some([2.0, -1.0, 0.5, 1.0]),
            alpha_cutoff: Some(7.0),
            ..MaterialOverride::default()
        };
        let cut = wild.clamped().unwrap();
        assert_eq!((cut.base_color, cut.alpha_cutoff), (Some([1.0, 0.0, 0.5, 1.0]), Some(1.0)));
        let mut lost = red();
        lost.transforms[2].scale = Some([1.0, f32::NAN]);
        assert_eq!(lost.clamped(), Err(OverrideError::NotANumber));
        lost.transforms[2] =
            TextureTransform { rotation: Some(f32::INFINITY), ..TextureTransform::default() };
        assert_eq!(lost.clamped(), Err(OverrideError::NotANumber));
    }

    #[test]
    fn each_property_is_in_the_hash() {
        let mut transformed = red();
        transformed.transforms[1].offset = Some([0.0, 0.0]);
        let mut textured = red();
        textured.textures[3] = Some(Uuid::max());
        let all = [
            MaterialOverride::default(),
            red(),
            transformed,
            textured,
            MaterialOverride { metallic: Some(0.5), ..red() },
            MaterialOverride { roughness: Some(0.5), ..red() },
            MaterialOverride { alpha_cutoff: Some(0.5), ..red() },
            MaterialOverride { emissive_color: Some([0.5; 3]), ..red() },
            MaterialOverride { alpha_mode: Some(AlphaMode::Opaque), ..red() },
            MaterialOverride { is_double_sided: Some(false), ..red() },
        ];
        let hashes: std::collections::BTreeSet<u64> = all
            .iter()
            .map(|material| {
                let mut hasher = StateHasher::new();
                material.fold_into(&mut hasher);
                hasher.finish()
            })
            .collect();
        assert_eq!(hashes.len(), all.len());
    }

    #[test]
    fn stored_overrides_out_of_range_are_refused() {
        let wild = MaterialOverride { metallic: Some(7.0), ..red() };
        assert_eq!(MaterialOverrides(vec![(0, wild)]).check(), Err(OverrideError::Range));
        assert_eq!(MaterialOverrides(vec![(1, red()), (1, red())]).check(), Err(OverrideError::Faces));
        assert_eq!(MaterialOverrides(vec![(9, red())]).check(), Err(OverrideError::Faces));
        assert_eq!(MaterialOverrides(vec![(8, red())]).check(), Ok(()));
    }
}
