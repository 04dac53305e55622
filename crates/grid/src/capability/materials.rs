//! RenderMaterials: the legacy materials of a region's faces, with normals and highlights.
//!
//! A face's texture entry has the id of its material; what that is, a client asks here. Bodies are `{Zipped: deflated binary LLSD}`:
//!
//! ```text
//! GET   ─► [{ID, Material}] of the region
//! POST  [ID] ─► [{ID, Material}] of those that are known
//! PUT   {FullMaterialsPerFace: [{ID: local id, Face?, Material?}]} ─► [{ID, Material}] that the faces have from now on
//! ```
//!
//! Without a face all faces are meant, without a material none. Ids are hashes of materials in their normal form, so that equal materials are stored once.
//! Materials of archives keep the ids that they have there, and the document that they are: LLSD in XML.

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use ids::LocalId;
use prim::FACES_MAX;
use std::io::{Read, Write};
use thiserror::Error;
use uuid::Uuid;
use wire::llsd::{Limits, Llsd, binary, xml};

/// Legacy materials of a region.
pub const MATERIALS_MAX: u32 = 4_096;
/// Ids, and faces, in one call.
pub const MATERIALS_PER_CALL_MAX: usize = 255;
/// Bytes of a call's body when it is inflated.
const INFLATED_MAX: usize = 256 << 10;
/// Bytes of a material's document in an archive: some 1,200 with all fields.
const DOCUMENT_BYTES_MAX: usize = 8 << 10;
/// The first byte of the value of a material of an archive; that of binary LLSD is `{`. A checksum and the document follow.
const ARCHIVED: u8 = b'A';
const CHECKSUM_BYTES: usize = 16;

/// Fields with numbers, each with the least and the most of it.
const NUMBERS: [(&str, i32, i32); 14] = [
    ("AlphaMaskCutoff", 0, 255),
    ("DiffuseAlphaMode", 0, 3),
    ("EnvIntensity", 0, 255),
    ("NormOffsetX", i32::MIN, i32::MAX),
    ("NormOffsetY", i32::MIN, i32::MAX),
    ("NormRepeatX", i32::MIN, i32::MAX),
    ("NormRepeatY", i32::MIN, i32::MAX),
    ("NormRotation", i32::MIN, i32::MAX),
    ("SpecExp", 0, 255),
    ("SpecOffsetX", i32::MIN, i32::MAX),
    ("SpecOffsetY", i32::MIN, i32::MAX),
    ("SpecRepeatX", i32::MIN, i32::MAX),
    ("SpecRepeatY", i32::MIN, i32::MAX),
    ("SpecRotation", i32::MIN, i32::MAX),
];
/// Fields with textures.
const TEXTURES: [&str; 2] = ["NormMap", "SpecMap"];
const COLOR: &str = "SpecColor";

/// A legacy material in its normal form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LegacyMaterial {
    /// Hash of the value.
    pub id: Uuid,
    /// Binary LLSD.
    pub value: Vec<u8>,
}

/// The material that a face is to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaceChange {
    /// The object.
    pub object: LocalId,
    /// Number of the face; `None` for all.
    pub face: Option<u8>,
    /// `None` for none.
    pub material: Option<LegacyMaterial>,
}

/// Reasons to refuse a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BadMaterials {
    /// No field `Zipped`, or content that is not deflated LLSD.
    #[error("the field Zipped is absent or is no deflated LLSD")]
    Zipped,
    /// Content that is larger than it may be.
    #[error("the field Zipped inflates to more than {max} bytes", max = INFLATED_MAX)]
    Oversized,
    /// Another content than the method takes.
    #[error("the request has another form than this method takes")]
    Form,
    /// More ids or faces than [`MATERIALS_PER_CALL_MAX`].
    #[error("{0} rows in one request, at most {max}", max = MATERIALS_PER_CALL_MAX)]
    TooMany(usize),
    /// A field that is absent, or of another kind.
    #[error("the field {0} is absent or has no such value")]
    Field(&'static str),
}

/// Reads the ids of a POST.
///
/// # Errors
/// [`BadMaterials`].
pub fn read_material_ids(request: &Llsd) -> Result<Vec<Uuid>, BadMaterials> {
    let Llsd::Array(ids) = unzip(request)? else { return Err(BadMaterials::Form) };
    if ids.len() > MATERIALS_PER_CALL_MAX {
        return Err(BadMaterials::TooMany(ids.len()));
    }
    let id_of = |id: &Llsd| match id {
        Llsd::Binary(bytes) => Uuid::from_slice(bytes).ok(),
        id => id.as_uuid(),
    };
    ids.iter().map(|id| id_of(id).ok_or(BadMaterials::Field("ID"))).collect()
}

/// Reads the faces of a PUT.
///
/// # Errors
/// [`BadMaterials`] with the first damaged face; none is changed then.
pub fn read_face_materials(request: &Llsd) -> Result<Vec<FaceChange>, BadMaterials> {
    let content = unzip(request)?;
    let Llsd::Array(faces) = content.get("FullMaterialsPerFace") else { return Err(BadMaterials::Form) };
    if faces.len() > MATERIALS_PER_CALL_MAX {
        return Err(BadMaterials::TooMany(faces.len()));
    }
    faces.iter().map(read_face).collect()
}

fn read_face(row: &Llsd) -> Result<FaceChange, BadMaterials> {
    let object = LocalId(row.get("ID").as_u32().ok_or(BadMaterials::Field("ID"))?);
    let face = match row.get("Face") {
        Llsd::Undef => None,
        face => {
            let number = face.as_i32().and_then(|number| u32::try_from(number).ok());
            let number = number.filter(|&number| number < FACES_MAX).ok_or(BadMaterials::Field("Face"))?;
            Some(number as u8)
        }
    };
    let material = match row.get("Material") {
        Llsd::Undef => None,
        material => Some(LegacyMaterial::read(material)?),
    };
    Ok(FaceChange { object, face, material })
}

impl LegacyMaterial {
    /// Reads a material. Numbers out of range become the nearest ones in range.
    fn read(material: &Llsd) -> Result<Self, BadMaterials> {
        if material.as_map().is_none() {
            return Err(BadMaterials::Field("Material"));
        }
        let mut fields = Vec::with_capacity(NUMBERS.len() + TEXTURES.len() + 1);
        for (key, least, most) in NUMBERS {
            let number = material.get(key).as_i32().ok_or(BadMaterials::Field(key))?;
            fields.push((key, Llsd::from(number.clamp(least, most))));
        }
        for key in TEXTURES {
            fields.push((key, material.get(key).as_uuid().ok_or(BadMaterials::Field(key))?.into()));
        }
        let parts = material.get(COLOR).as_array();
        let color: Option<Vec<i32>> = parts.iter().map(Llsd::as_i32).collect();
        let color = color.filter(|color| color.len() == 4).ok_or(BadMaterials::Field(COLOR))?;
        fields.push((COLOR, Llsd::array(color.into_iter().map(|part| part.clamp(0, 255)))));
        let value = binary::encode(&Llsd::map(fields));
        Ok(Self { id: id_of(&value), value })
    }
}

fn id_of(value: &[u8]) -> Uuid {
    let hash = blake3::hash(value);
    let first = hash.as_bytes().first_chunk().expect("a hash is longer than an id");
    Uuid::from_bytes(*first)
}

/// The value of a material of an archive, under whose id it is kept; `None` for a document that is no material.
#[must_use]
pub fn archived_material(document: &[u8]) -> Option<Vec<u8>> {
    read_document(document)?;
    let mut value = Vec::with_capacity(1 + CHECKSUM_BYTES + document.len());
    value.push(ARCHIVED);
    value.extend_from_slice(id_of(document).as_bytes());
    value.extend_from_slice(document);
    Some(value)
}

/// The document of a material for an archive; `None` if the value is damaged.
#[must_use]
pub fn material_document(id: Uuid, value: &[u8]) -> Option<Vec<u8>> {
    match document_in(value) {
        Some(document) => Some(document?.to_vec()),
        None => Some(xml::encode(&read_value(id, value)?).into_bytes()),
    }
}

/// The document in the value of a material of an archive, `Some(None)` if it is damaged; `None` for other values.
fn document_in(value: &[u8]) -> Option<Option<&[u8]>> {
    let rest = value.strip_prefix(&[ARCHIVED])?;
    let sound = rest.split_at_checked(CHECKSUM_BYTES);
    let sound = sound.filter(|(checksum, document)| id_of(document).as_bytes() == *checksum);
    Some(sound.map(|(_, document)| document))
}

fn read_document(document: &[u8]) -> Option<LegacyMaterial> {
    if document.len() > DOCUMENT_BYTES_MAX {
        return None;
    }
    LegacyMaterial::read(&xml::decode(document, Limits::REQUEST).ok()?).ok()
}

/// A material of a region; `None` if it is damaged.
fn read_value(id: Uuid, value: &[u8]) -> Option<Llsd> {
    match document_in(value) {
        Some(document) => binary::decode(&read_document(document?)?.value, Limits::REQUEST).ok(),
        None => binary::decode(value, Limits::REQUEST).ok().filter(|_| id_of(value) == id),
    }
}

/// Answers a call with these materials. Damaged ones are left out: a client draws their faces plain.
#[must_use]
pub fn materials_answer<'a>(materials: impl IntoIterator<Item = (Uuid, &'a [u8])>) -> Llsd {
    let rows = materials.into_iter().filter_map(|(id, value)| {
        let material = read_value(id, value)?;
        Some(Llsd::map([("ID", Llsd::from(id.as_bytes().to_vec())), ("Material", material)]))
    });
    zip(&Llsd::Array(rows.collect()))
}

fn zip(content: &Llsd) -> Llsd {
    let mut zip = ZlibEncoder::new(Vec::new(), Compression::fast());
    let zipped = zip.write_all(&binary::encode(content)).and_then(|()| zip.finish());
    Llsd::map([("Zipped", zipped.expect("a vector takes all bytes").into())])
}

fn unzip(request: &Llsd) -> Result<Llsd, BadMaterials> {
    let zipped = request.get("Zipped").as_binary().ok_or(BadMaterials::Zipped)?;
    let mut bytes = Vec::new();
    let inflated = ZlibDecoder::new(zipped).take(INFLATED_MAX as u64 + 1).read_to_end(&mut bytes);
    inflated.map_err(|_| BadMaterials::Zipped)?;
    if bytes.len() > INFLATED_MAX {
        return Err(BadMaterials::Oversized);
    }
    binary::decode(&bytes, Limits::REQUEST).map_err(|_| BadMaterials::Zipped)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn material(shine: i32) -> Llsd {
        let numbers = NUMBERS.iter().map(|&(key, ..)| (key, Llsd::from(1)));
        let textures = TEXTURES.iter().map(|&key| (key, Llsd::from(Uuid::from_u128(7))));
        let mut fields: Vec<_> = numbers.chain(textures).collect();
        fields.push((COLOR, Llsd::array([255, 0, 9, shine])));
        Llsd::map(fields)
    }

    fn put(rows: Vec<Llsd>) -> Result<Vec<FaceChange>, BadMaterials> {
        read_face_materials(&zip(&Llsd::map([("FullMaterialsPerFace", Llsd::Array(rows))])))
    }

    fn row(face: Llsd, material: Llsd) -> Llsd {
        Llsd::map([("ID", Llsd::from(77)), ("Face", face), ("Material", material)])
    }

    #[test]
    fn no_materials_are_an_empty_array() {
        let none = materials_answer([]);
        // Binary LLSD: '[', a count of zero in four bytes, ']'. No bytes at all make one client stumble.
        assert_eq!(unzip(&none), Ok(Llsd::Array(Vec::new())));
    }

    #[test]
    fn materials_come_back_as_they_were_put_under_ids_of_their_content() {
        let faces =
            put(vec![row(3.into(), material(1)), row(Llsd::Undef, material(1)), row(2.into(), material(2))]);
        let faces = faces.unwrap();
        assert_eq!(faces.iter().map(|face| face.face).collect::<Vec<_>>(), [Some(3), None, Some(2)]);
        let materials: Vec<_> = faces.iter().map(|face| face.material.clone().unwrap()).collect();
        assert!(materials[0] == materials[1] && materials[0].id != materials[2].id);
        let answer = materials_answer([(materials[2].id, &materials[2].value[..])]);
        let rows = unzip(&answer).unwrap();
        assert_eq!(rows.at(0).get("ID").as_binary(), Some(&materials[2].id.as_bytes()[..]));
        assert_eq!(rows.at(0).get("Material"), &material(2));
        let damaged = materials_answer([(materials[0].id, &materials[2].value[..])]);
        assert_eq!(unzip(&damaged), Ok(Llsd::Array(Vec::new())));
    }

    #[test]
    fn a_material_of_an_archive_keeps_its_id_and_its_document() {
        let document = xml::encode(&material(3)).into_bytes();
        let value = archived_material(&document).expect("a material");
        let foreign = Uuid::from_u128(99);
        assert_eq!(material_document(foreign, &value).as_ref(), Some(&document));
        let rows = unzip(&materials_answer([(foreign, &value[..])])).unwrap();
        assert_eq!(rows.at(0).get("ID").as_binary(), Some(&foreign.as_bytes()[..]));
        assert_eq!(rows.at(0).get("Material"), &material(3));
        let mut damaged = value;
        *damaged.last_mut().expect("a byte") ^= 1;
        assert_eq!(material_document(foreign, &damaged), None);
        assert_eq!(unzip(&materials_answer([(foreign, &damaged[..])])), Ok(Llsd::Array(Vec::new())));
        for none in [&b"<llsd><map/></llsd>"[..], b"", b"no material", &[b' '; DOCUMENT_BYTES_MAX + 1]] {
            assert_eq!(archived_material(none), None);
        }
        let own = LegacyMaterial::read(&material(3)).expect("a material");
        assert_eq!(material_document(own.id, &own.value), Some(document));
        assert_eq!(material_document(foreign, &own.value), None);
    }

    #[test]
    fn a_face_without_a_material_loses_its_own() {
        let faces = put(vec![Llsd::map([("ID", Llsd::from(77)), ("Face", 1.into())])]).unwrap();
        assert_eq!(faces, [FaceChange { object: LocalId(77), face: Some(1), material: None }]);
    }

    #[test]
    fn ids_are_read_as_bytes_and_as_ids() {
        let id = Uuid::from_u128(5);
        let asked = zip(&Llsd::Array(vec![id.as_bytes().to_vec().into(), id.into()]));
        assert_eq!(read_material_ids(&asked), Ok(vec![id, id]));
        let short = zip(&Llsd::Array(vec![vec![1, 2].into()]));
        assert_eq!(read_material_ids(&short), Err(BadMaterials::Field("ID")));
    }

    #[test]
    fn damage_is_refused_with_its_reason() {
        assert_eq!(put(vec![row(45.into(), material(1))]), Err(BadMaterials::Field("Face")));
        assert_eq!(put(vec![row((-1).into(), material(1))]), Err(BadMaterials::Field("Face")));
        assert_eq!(put(vec![row(1.into(), 7.into())]), Err(BadMaterials::Field("Material")));
        assert_eq!(put(vec![Llsd::Undef]), Err(BadMaterials::Field("ID")));
        let Llsd::Map(mut fields) = material(1) else { panic!("a map") };
        fields.remove("NormMap");
        assert_eq!(put(vec![row(1.into(), Llsd::Map(fields))]), Err(BadMaterials::Field("NormMap")));
        assert_eq!(put(vec![Llsd::Undef; 256]), Err(BadMaterials::TooMany(256)));
        assert_eq!(read_face_materials(&zip(&Llsd::Array(Vec::new()))), Err(BadMaterials::Form));
        assert_eq!(read_material_ids(&zip(&Llsd::Undef)), Err(BadMaterials::Form));
        let no_zip = Llsd::map([("Zipped", Llsd::from(vec![1, 2, 3]))]);
        assert_eq!(read_material_ids(&no_zip), Err(BadMaterials::Zipped));
        let bomb = zip(&Llsd::from(vec![0; INFLATED_MAX]));
        assert_eq!(read_material_ids(&bomb), Err(BadMaterials::Oversized));
    }
}
