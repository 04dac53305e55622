//! Override of a face's render material: its map, in which an absent key keeps the material's property.

use ids::Uuid;
use prim::{AlphaMode, MATERIAL_TEXTURES, MaterialOverride, TextureTransform};
use wire::llsd::Llsd;

/// Digits of the numbers in a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Digits {
    /// All that the number has.
    All,
    /// Rounded to a millionth.
    Six,
}

impl Digits {
    fn real(self, value: f32) -> Llsd {
        let value = f64::from(value);
        Llsd::Real(match self {
            Self::All => value,
            Self::Six => (value * 1e6).round() / 1e6,
        })
    }
}

/// The table of an override: keys of the map, and the properties that they stand for.
fn properties(changes: &mut MaterialOverride) -> [(&'static str, &mut dyn Property); 9] {
    let MaterialOverride {
        textures,
        transforms,
        base_color,
        emissive_color,
        metallic,
        roughness,
        alpha_mode,
        alpha_cutoff,
        is_double_sided,
    } = changes;
    [
        ("tex", textures),
        ("bc", base_color),
        ("ec", emissive_color),
        ("mf", metallic),
        ("rf", roughness),
        ("am", alpha_mode),
        ("ac", alpha_cutoff),
        ("ds", is_double_sided),
        ("ti", transforms),
    ]
}

/// The table of a texture's place.
fn transform_properties(transform: &mut TextureTransform) -> [(&'static str, &mut dyn Property); 3] {
    let TextureTransform { offset, scale, rotation } = transform;
    [("o", offset), ("s", scale), ("r", rotation)]
}

/// The map of an override.
#[must_use]
pub fn override_llsd(changes: &MaterialOverride, digits: Digits) -> Llsd {
    let mut changes = *changes;
    write(properties(&mut changes), digits)
}

/// An override from its map; `None` if it is no map, or if a number, a colour or a mode is something else.
#[must_use]
pub fn read_override(map: &Llsd) -> Option<MaterialOverride> {
    map.as_map()?;
    let mut changes = MaterialOverride::default();
    read(map, properties(&mut changes)).then_some(changes)
}

fn write<const N: usize>(properties: [(&'static str, &mut dyn Property); N], digits: Digits) -> Llsd {
    let entries = properties.map(|(key, property)| (key, property.write(digits)));
    Llsd::map(entries.into_iter().filter(|(_, value)| !value.is_undef()))
}

fn read<const N: usize>(map: &Llsd, properties: [(&'static str, &mut dyn Property); N]) -> bool {
    properties.into_iter().all(|(key, property)| {
        let value = map.get(key);
        value.is_undef() || property.read(value)
    })
}

/// A property by the kind of its value.
trait Property {
    /// Takes the value; false if it is of another kind.
    fn read(&mut self, value: &Llsd) -> bool;

    /// The value; undefined for one that is the material's.
    fn write(&self, digits: Digits) -> Llsd;
}

impl Property for Option<f32> {
    fn read(&mut self, value: &Llsd) -> bool {
        *self = value.as_f64().map(|number| number as f32);
        self.is_some()
    }

    fn write(&self, digits: Digits) -> Llsd {
        self.map_or(Llsd::Undef, |number| digits.real(number))
    }
}

impl<const N: usize> Property for Option<[f32; N]> {
    fn read(&mut self, value: &Llsd) -> bool {
        let numbers = value.as_array().iter().map(|number| number.as_f64().map(|number| number as f32));
        *self = numbers.collect::<Option<Vec<f32>>>().and_then(|numbers| numbers.try_into().ok());
        self.is_some()
    }

    fn write(&self, digits: Digits) -> Llsd {
        self.map_or(Llsd::Undef, |numbers| Llsd::array(numbers.map(|number| digits.real(number))))
    }
}

impl Property for Option<AlphaMode> {
    fn read(&mut self, value: &Llsd) -> bool {
        *self = match value.as_i32() {
            Some(0) => Some(AlphaMode::Opaque),
            Some(1) => Some(AlphaMode::Blend),
            Some(2) => Some(AlphaMode::Mask),
            _ => None,
        };
        self.is_some()
    }

    fn write(&self, _: Digits) -> Llsd {
        self.map_or(Llsd::Undef, |mode| Llsd::Integer(mode as i32))
    }
}

/// A value of another kind counts as absent.
impl Property for Option<bool> {
    fn read(&mut self, value: &Llsd) -> bool {
        *self = value.as_bool();
        true
    }

    fn write(&self, _: Digits) -> Llsd {
        self.map_or(Llsd::Undef, Llsd::Boolean)
    }
}

/// A value of another kind, or a null id, counts as absent.
impl Property for [Option<Uuid>; MATERIAL_TEXTURES] {
    fn read(&mut self, value: &Llsd) -> bool {
        for (slot, texture) in self.iter_mut().enumerate() {
            *texture = value.at(slot).as_uuid().filter(|id| !id.is_nil());
        }
        true
    }

    fn write(&self, _: Digits) -> Llsd {
        if self.iter().all(Option::is_none) {
            return Llsd::Undef;
        }
        Llsd::Array(self.iter().map(|id| id.map_or(Llsd::Undef, Llsd::Uuid)).collect())
    }
}

impl Property for [TextureTransform; MATERIAL_TEXTURES] {
    fn read(&mut self, value: &Llsd) -> bool {
        let mut slots = self.iter_mut().enumerate();
        slots.all(|(slot, transform)| read(value.at(slot), transform_properties(transform)))
    }

    fn write(&self, digits: Digits) -> Llsd {
        if self.iter().all(|transform| *transform == TextureTransform::default()) {
            return Llsd::Undef;
        }
        let transforms = self.iter().copied();
        Llsd::Array(
            transforms.map(|mut transform| write(transform_properties(&mut transform), digits)).collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BRICK: Uuid = Uuid::from_u128(0xb);

    fn full() -> MaterialOverride {
        let place = TextureTransform { offset: Some([0.1, 2.0]), scale: Some([3.0; 2]), rotation: Some(0.7) };
        let mut transforms = [TextureTransform::default(); MATERIAL_TEXTURES];
        transforms[2] = place;
        MaterialOverride {
            textures: [None, Some(BRICK), None, Some(Uuid::max())],
            transforms,
            base_color: Some([0.1, 0.2, 0.3, 0.4]),
            emissive_color: Some([0.5, 0.6, 0.7]),
            metallic: Some(0.8),
            roughness: Some(0.9),
            alpha_mode: Some(AlphaMode::Mask),
            alpha_cutoff: Some(0.25),
            is_double_sided: Some(false),
        }
    }

    #[test]
    fn all_digits_keep_an_override_and_six_round_it() {
        let exact = override_llsd(&full(), Digits::All);
        assert_eq!(read_override(&exact), Some(full()));
        assert_eq!(exact.as_map().unwrap().len(), 9);
        assert_eq!(exact.get("mf"), &Llsd::Real(f64::from(0.8_f32)));
        let rounded = override_llsd(&full(), Digits::Six);
        assert_eq!(rounded.get("mf"), &Llsd::Real(0.8));
        assert_eq!(rounded.get("bc"), &Llsd::array([0.1, 0.2, 0.3, 0.4]));
        assert_eq!(rounded.get("ti").at(2).get("o"), &Llsd::array([0.1, 2.0]));
    }

    #[test]
    fn a_property_of_the_material_has_no_key() {
        let none = override_llsd(&MaterialOverride::default(), Digits::All);
        assert_eq!(none, Llsd::map::<&str>([]));
        assert_eq!(read_override(&none), Some(MaterialOverride::default()));
        let unknown = Llsd::map([("of_another_server", Llsd::from(7)), ("tex", Llsd::array([Uuid::nil()]))]);
        assert_eq!(read_override(&unknown), Some(MaterialOverride::default()));
    }

    #[test]
    fn values_of_another_kind_are_refused() {
        let turned = |value: Llsd| Llsd::Array(vec![Llsd::map([("r", value)])]);
        for (key, value) in [
            ("bc", Llsd::array([1.0, 0.0, 0.0])),
            ("bc", 1.0.into()),
            ("ec", Llsd::Array(vec![1.0.into(), 0.0.into(), Llsd::Undef])),
            ("mf", "much".into()),
            ("am", 3.into()),
            ("ti", turned("half".into())),
        ] {
            assert_eq!(read_override(&Llsd::map([(key, value.clone())])), None, "{key}: {value:?}");
        }
        assert_eq!(read_override(&Llsd::Undef), None);
        assert_eq!(read_override(&Llsd::array([1])), None);
        assert!(read_override(&Llsd::map([("ti", turned(0.5.into()))])).is_some());
    }
}
