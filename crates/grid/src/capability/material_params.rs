//! ModifyMaterialParams: render materials of faces and their overrides, as clients write them, and the message by which viewers learn of overrides.
//!
//! ```text
//! [{object_id, side, asset_id?, gltf_json?}] ─► {success, message}
//! ```
//!
//! A side of -1 stands for all faces. An absent `asset_id` keeps the material, an absent `gltf_json` the override, and an empty one removes it. The text is a glTF
//! document with one material, in which a texture's address is an asset id. Of a null id viewers make a texture that stays as it is, of one with all bits set
//! none at all.
//!
//! In a GenericStreamingMessage the overrides of an object are LLSD in notation: `{id: local id, te: [face], od: [override]}`.

use archive::face_llsd::{Digits, override_llsd};
use ids::LocalId;
use prim::{AlphaMode, FACES_MAX, MATERIAL_TEXTURES, MaterialOverride, MaterialOverrides, TextureTransform};
use serde_json::Value;
use thiserror::Error;
use uuid::Uuid;
use wire::llsd::{Llsd, notation};

/// Changes in one call.
pub const MATERIAL_CHANGES_MAX: usize = 1_024;
/// Bytes of a glTF document: those of viewers are below 2,048.
const DOCUMENT_MAX: usize = 8_192;
/// Method number of overrides in a GenericStreamingMessage.
pub const OVERRIDES_METHOD: u16 = 0x4175;

/// Change of a face's render material.
#[derive(Clone, Debug, PartialEq)]
pub struct MaterialChange {
    /// The object.
    pub object: Uuid,
    /// Number of the face; `None` for all.
    pub face: Option<u8>,
    /// The new material, null for none; `None` keeps the former one.
    pub material: Option<Uuid>,
    /// The new override; `None` keeps the former one.
    pub changes: Option<MaterialOverride>,
}

/// Reasons to refuse a call.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BadMaterialCall {
    /// It is no array.
    #[error("the request is no array of changes")]
    NoArray,
    /// More changes than [`MATERIAL_CHANGES_MAX`].
    #[error("{0} changes in one request, at most {max}", max = MATERIAL_CHANGES_MAX)]
    TooMany(usize),
    /// A field that is absent, or of another kind.
    #[error("the field {0} is absent or has no such value")]
    Field(&'static str),
    /// A document that is too long, and its bytes.
    #[error("a material of {0} bytes")]
    Length(usize),
    /// A document that is no JSON.
    #[error("a material that is no JSON")]
    Json,
}

/// Reads a call.
///
/// # Errors
/// [`BadMaterialCall`] with the first damaged change; none is carried out then.
pub fn read_material_changes(request: &Llsd) -> Result<Vec<MaterialChange>, BadMaterialCall> {
    let Llsd::Array(changes) = request else { return Err(BadMaterialCall::NoArray) };
    if changes.len() > MATERIAL_CHANGES_MAX {
        return Err(BadMaterialCall::TooMany(changes.len()));
    }
    changes.iter().map(read_change).collect()
}

fn read_change(change: &Llsd) -> Result<MaterialChange, BadMaterialCall> {
    let object = change.get("object_id").as_uuid().ok_or(BadMaterialCall::Field("object_id"))?;
    let side = change.get("side").as_i32().ok_or(BadMaterialCall::Field("side"))?;
    let face = match u32::try_from(side) {
        Err(_) if side == -1 => None,
        Ok(face) if face < FACES_MAX => Some(face as u8),
        _ => return Err(BadMaterialCall::Field("side")),
    };
    let material = match change.get("asset_id") {
        Llsd::Undef => None,
        id => Some(id.as_uuid().ok_or(BadMaterialCall::Field("asset_id"))?),
    };
    let changes = match change.get("gltf_json") {
        Llsd::Undef => None,
        document => {
            let text = document.as_str().ok_or(BadMaterialCall::Field("gltf_json"))?;
            Some(read_override(text)?)
        }
    };
    Ok(MaterialChange { object, face, material, changes })
}

/// Reads the overrides of a glTF document; an empty one has none.
///
/// # Errors
/// [`BadMaterialCall::Length`], [`BadMaterialCall::Json`], [`BadMaterialCall::Field`].
pub fn read_override(document: &str) -> Result<MaterialOverride, BadMaterialCall> {
    if document.is_empty() {
        return Ok(MaterialOverride::default());
    }
    if document.len() > DOCUMENT_MAX {
        return Err(BadMaterialCall::Length(document.len()));
    }
    let document: Value = serde_json::from_str(document).map_err(|_| BadMaterialCall::Json)?;
    let material = &document["materials"][0];
    let surface = &material["pbrMetallicRoughness"];
    let infos = [
        &surface["baseColorTexture"],
        &material["normalTexture"],
        &surface["metallicRoughnessTexture"],
        &material["emissiveTexture"],
    ];
    let mut textures = [None; MATERIAL_TEXTURES];
    let mut transforms = [TextureTransform::default(); MATERIAL_TEXTURES];
    for (slot, info) in infos.into_iter().enumerate() {
        textures[slot] = texture(&document, info)?;
        let transform = &info["extensions"]["KHR_texture_transform"];
        transforms[slot] = TextureTransform {
            offset: field(&transform["offset"], "offset", numbers)?,
            scale: field(&transform["scale"], "scale", numbers)?,
            rotation: field(&transform["rotation"], "rotation", number)?,
        };
    }
    // Viewers leave a value out that is the format's default, and mark it there.
    let is_marked = |mark: &str| material["extras"][mark] == true;
    let alpha_mode = field(&material["alphaMode"], "alphaMode", alpha_mode)?;
    let is_double_sided = field(&material["doubleSided"], "doubleSided", Value::as_bool)?;
    Ok(MaterialOverride {
        textures,
        transforms,
        base_color: field(&surface["baseColorFactor"], "baseColorFactor", numbers)?,
        emissive_color: field(&material["emissiveFactor"], "emissiveFactor", numbers)?,
        metallic: field(&surface["metallicFactor"], "metallicFactor", number)?,
        roughness: field(&surface["roughnessFactor"], "roughnessFactor", number)?,
        alpha_mode: alpha_mode.or_else(|| is_marked("override_alpha_mode").then_some(AlphaMode::Opaque)),
        alpha_cutoff: field(&material["alphaCutoff"], "alphaCutoff", number)?,
        is_double_sided: is_double_sided.or_else(|| is_marked("override_double_sided").then_some(false)),
    })
}

/// The id of a texture, by way of the tables of textures and images.
fn texture(document: &Value, info: &Value) -> Result<Option<Uuid>, BadMaterialCall> {
    let entry = |table: &'static str, number: &Value| {
        let number = number.as_u64().and_then(|number| usize::try_from(number).ok());
        number.map(|number| &document[table][number]).ok_or(BadMaterialCall::Field(table))
    };
    if info["index"].is_null() {
        return Ok(None);
    }
    let image = entry("images", &entry("textures", &info["index"])?["source"])?;
    let id = image["uri"].as_str().and_then(|id| Uuid::try_parse(id).ok());
    let id = id.ok_or(BadMaterialCall::Field("uri"))?;
    Ok((!id.is_nil()).then_some(id))
}

/// A value that may be absent.
fn field<T>(
    value: &Value,
    name: &'static str,
    read: impl FnOnce(&Value) -> Option<T>,
) -> Result<Option<T>, BadMaterialCall> {
    if value.is_null() { Ok(None) } else { read(value).map(Some).ok_or(BadMaterialCall::Field(name)) }
}

fn number(value: &Value) -> Option<f32> {
    value.as_f64().map(|number| number as f32).filter(|number| number.is_finite())
}

fn numbers<const N: usize>(value: &Value) -> Option<[f32; N]> {
    let numbers: Option<Vec<f32>> = value.as_array()?.iter().map(number).collect();
    numbers?.try_into().ok()
}

fn alpha_mode(value: &Value) -> Option<AlphaMode> {
    match value.as_str()? {
        "OPAQUE" => Some(AlphaMode::Opaque),
        "MASK" => Some(AlphaMode::Mask),
        "BLEND" => Some(AlphaMode::Blend),
        _ => None,
    }
}

/// Answers a call.
#[must_use]
pub fn material_answer(result: Result<(), &str>) -> Llsd {
    Llsd::map([("success", Llsd::from(result.is_ok())), ("message", result.err().unwrap_or_default().into())])
}

/// The overrides of an object, all of them, for a GenericStreamingMessage.
#[must_use]
pub fn overrides_text(LocalId(id): LocalId, overrides: &MaterialOverrides) -> String {
    let faces = overrides.faces().map(|(face, _)| i32::from(face));
    // Rounded: a message holds all overrides of an object.
    let changes = overrides.faces().map(|(_, changes)| override_llsd(changes, Digits::Six));
    let message = Llsd::map([
        ("id", Llsd::Integer(id.cast_signed())),
        ("te", Llsd::array(faces)),
        ("od", Llsd::Array(changes.collect())),
    ]);
    notation::encode(&message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wire::llsd::Limits;

    const OBJECT: Uuid = Uuid::from_u128(7);
    const BRICK: Uuid = Uuid::from_u128(0xb);

    /// A document as viewers write it.
    fn document(material: &str) -> String {
        format!(
            r#"{{"asset":{{"version":"2.0"}},"images":[{{"uri":"{BRICK}"}},{{"uri":"{nil}"}}],"materials":[{material}],"textures":[{{"source":0}},{{"source":1}}]}}"#,
            nil = Uuid::nil(),
        )
    }

    #[test]
    fn a_document_of_a_viewer_is_read() {
        let text = document(
            r#"{"alphaCutoff":0.25,"alphaMode":"MASK","doubleSided":true,"emissiveFactor":[0.5,0,1],
               "emissiveTexture":{"index":1,"extensions":{"KHR_texture_transform":{"rotation":1.5,"offset":[0.5,1]}}},
               "pbrMetallicRoughness":{"baseColorFactor":[1,0,0,0.5],"baseColorTexture":{"index":0},"metallicFactor":0,
               "roughnessFactor":0.75}}"#,
        );
        let mut transforms = [TextureTransform::default(); MATERIAL_TEXTURES];
        transforms[3] = TextureTransform { offset: Some([0.5, 1.0]), scale: None, rotation: Some(1.5) };
        let expected = MaterialOverride {
            textures: [Some(BRICK), None, None, None],
            transforms,
            base_color: Some([1.0, 0.0, 0.0, 0.5]),
            emissive_color: Some([0.5, 0.0, 1.0]),
            metallic: Some(0.0),
            roughness: Some(0.75),
            alpha_mode: Some(AlphaMode::Mask),
            alpha_cutoff: Some(0.25),
            is_double_sided: Some(true),
        };
        assert_eq!(read_override(&text), Ok(expected));
    }

    #[test]
    fn marks_stand_for_values_that_are_defaults_of_the_format() {
        let text = document(r#"{"extras":{"override_alpha_mode":true,"override_double_sided":true}}"#);
        let read = read_override(&text).unwrap();
        assert_eq!((read.alpha_mode, read.is_double_sided), (Some(AlphaMode::Opaque), Some(false)));
        assert_eq!(read_override(""), Ok(MaterialOverride::default()));
        assert_eq!(read_override("{}"), Ok(MaterialOverride::default()));
    }

    #[test]
    fn damaged_documents_are_refused_with_their_reason() {
        for (material, name) in [
            (r#"{"alphaMode":"GLASS"}"#, "alphaMode"),
            (r#"{"emissiveFactor":[1,2]}"#, "emissiveFactor"),
            (r#"{"pbrMetallicRoughness":{"metallicFactor":"much"}}"#, "metallicFactor"),
            (r#"{"pbrMetallicRoughness":{"metallicFactor":1e300}}"#, "metallicFactor"),
            (r#"{"normalTexture":{"index":9}}"#, "images"),
            (r#"{"normalTexture":{"index":-1}}"#, "textures"),
            (r#"{"doubleSided":1}"#, "doubleSided"),
        ] {
            assert_eq!(read_override(&document(material)), Err(BadMaterialCall::Field(name)), "{material}");
        }
        assert_eq!(read_override("{"), Err(BadMaterialCall::Json));
        assert_eq!(read_override(&"[".repeat(8_000)), Err(BadMaterialCall::Json), "nested too deep");
        assert_eq!(read_override(&" ".repeat(8_193)), Err(BadMaterialCall::Length(8_193)));
    }

    #[test]
    fn changes_name_their_objects_and_faces() {
        let change = |side: i32, more: Vec<(&'static str, Llsd)>| {
            let fields = [("object_id", Llsd::from(OBJECT)), ("side", side.into())];
            Llsd::map(fields.into_iter().chain(more))
        };
        let request = Llsd::Array(vec![
            change(-1, vec![("asset_id", BRICK.into()), ("gltf_json", "".into())]),
            change(3, vec![("gltf_json", r#"{"materials":[{"doubleSided":true}]}"#.into())]),
        ]);
        let two_sided = MaterialOverride { is_double_sided: Some(true), ..MaterialOverride::default() };
        let expected = [
            MaterialChange {
                object: OBJECT,
                face: None,
                material: Some(BRICK),
                changes: Some(MaterialOverride::default()),
            },
            MaterialChange { object: OBJECT, face: Some(3), material: None, changes: Some(two_sided) },
        ];
        assert_eq!(read_material_changes(&request).unwrap(), expected);
        for side in [-2, 45, i32::MAX] {
            let request = Llsd::Array(vec![change(side, Vec::new())]);
            assert_eq!(read_material_changes(&request), Err(BadMaterialCall::Field("side")), "{side}");
        }
        let many = Llsd::Array(vec![Llsd::Undef; 1_025]);
        assert_eq!(read_material_changes(&many), Err(BadMaterialCall::TooMany(1_025)));
        assert_eq!(read_material_changes(&Llsd::Undef), Err(BadMaterialCall::NoArray));
    }

    #[test]
    fn overrides_are_one_message_for_all_faces() {
        let mut overrides = MaterialOverrides::default();
        let red = MaterialOverride { base_color: Some([1.0, 0.0, 0.0, 0.5]), ..MaterialOverride::default() };
        let mut turned =
            MaterialOverride { alpha_mode: Some(AlphaMode::Blend), ..MaterialOverride::default() };
        turned.textures[1] = Some(BRICK);
        turned.transforms[2].scale = Some([2.0, 2.0]);
        overrides.set(2, red).unwrap();
        overrides.set(3, turned).unwrap();
        let text = overrides_text(LocalId(77), &overrides);
        let read = notation::decode(text.as_bytes(), Limits::REQUEST).unwrap();
        assert_eq!(read.get("id").as_i32(), Some(77));
        assert_eq!(read.get("te"), &Llsd::array([2, 3]));
        let [first, second] = read.get("od").as_array() else { panic!("{text}") };
        assert_eq!(first, &Llsd::map([("bc", Llsd::array([1.0, 0.0, 0.0, 0.5]))]));
        assert_eq!(second.get("am"), &Llsd::Integer(1));
        assert_eq!(second.get("tex").at(1).as_uuid(), Some(BRICK));
        assert!(second.get("tex").at(0).is_undef());
        assert_eq!(second.get("ti").at(2).get("s"), &Llsd::array([2.0, 2.0]));
        assert_eq!(
            overrides_text(LocalId(77), &MaterialOverrides::default()),
            "{'id':i77, 'od':[], 'te':[]}"
        );
    }

    #[test]
    fn overrides_of_all_faces_fit_a_message() {
        let place = TextureTransform {
            offset: Some([-9_999.1; 2]),
            scale: Some([0.123_456; 2]),
            rotation: Some(1.1),
        };
        let full = MaterialOverride {
            textures: [Some(BRICK); MATERIAL_TEXTURES],
            transforms: [place; MATERIAL_TEXTURES],
            base_color: Some([0.123_456; 4]),
            emissive_color: Some([0.123_456; 3]),
            metallic: Some(0.1),
            roughness: Some(0.1),
            alpha_mode: Some(AlphaMode::Mask),
            alpha_cutoff: Some(0.1),
            is_double_sided: Some(false),
        };
        let mut overrides = MaterialOverrides::default();
        (0..prim::OVERRIDE_FACES).for_each(|face| overrides.set(face, full).unwrap());
        let len = overrides_text(LocalId(u32::MAX >> 1), &overrides).len();
        assert!(len <= 7_168, "{len} bytes: clients take 7 KiB");
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in ".{0,200}") {
            let _ = read_override(&text);
        }
    }
}
