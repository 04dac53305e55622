//! Requests for loads and saves, as they come over HTTP.

use super::oar_check::OarLoadOptions;
use archiver::region::{BoundingBox, PlacingOptions};
use glam::Vec3;
use prim::Mask;
use serde::Deserialize;
use std::path::PathBuf;
use utoipa::ToSchema;
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::schema::{Object, ObjectBuilder, Type};

/// Bytes of a file's name, as in [`data_dir::path_below`].
const FILE_BYTES_MAX: usize = 200;
/// Form of a file's name: without a slash, without control characters, and neither `.` nor `..`.
const FILE_PATTERN: &str = r"^(\.{0,2}[^/.\u0000-\u001F\u007F-\u009F][^/\u0000-\u001F\u007F-\u009F]*|\.{3,}[^/\u0000-\u001F\u007F-\u009F]*)$";
/// Metres of a displacement or of a box along one axis.
const METRES_MAX: f32 = 100_000.0;
/// Degrees of a rotation.
const DEGREES_MAX: f32 = 3_600.0;

/// An archive for a region. Everything in it is checked before anything of it shows.
#[derive(Deserialize, ToSchema)]
#[schema(as = OarLoadOrder)]
#[serde(deny_unknown_fields)]
pub(super) struct OarLoadBody {
    /// Name of the archive's file.
    #[schema(schema_with = file_to_load)]
    pub(super) file: PathBuf,
    /// Name of the archive in the list of jobs; that of the file without it.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 200)]
    pub(super) title: Option<String>,
    /// Name of the region.
    #[schema(min_length = 1, max_length = 63)]
    pub(super) region: String,
    /// Name or folder of the region in an archive of several; `region` without it.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 200)]
    source: Option<String>,
    /// Add to the region, whose content is replaced without it.
    #[serde(default)]
    merge: bool,
    /// With `merge`: objects with ids of the archive take the place of those that are there.
    #[serde(default)]
    replace: bool,
    /// Store no assets: they are there already.
    #[serde(default)]
    skip_assets: bool,
    /// Load the terrain also when merging.
    #[serde(default)]
    force_terrain: bool,
    /// Load the parcels also when merging.
    #[serde(default)]
    force_parcels: bool,
    /// Load no objects; those that are there stay.
    #[serde(default)]
    no_objects: bool,
    /// Keep the ids of objects and items. Without it they get new ones.
    #[serde(default)]
    keep_ids: bool,
    /// "First Last" of the account in place of owners and creators without one; the owner of the estate without it.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 63)]
    default_user: Option<String>,
    /// Metres that everything is moved, after the rotation.
    #[serde(default)]
    #[schema(value_type = Option<Vec<f32>>, min_items = 3, max_items = 3)]
    displacement: Option<[f32; 3]>,
    /// Rotation around the middle of the archive's region, degrees, counterclockwise.
    #[serde(default)]
    rotation: Option<f32>,
    /// Corner of a box in the archive's region, metres, after the rotation: everything outside is left out, and its corner becomes that of the region.
    #[serde(default)]
    #[schema(value_type = Option<Vec<f32>>, min_items = 3, max_items = 3)]
    bounding_origin: Option<[f32; 3]>,
    /// Size of the box, metres; 0 for no end.
    #[serde(default)]
    #[schema(value_type = Option<Vec<f32>>, min_items = 3, max_items = 3)]
    bounding_size: Option<[f32; 3]>,
}

impl OarLoadBody {
    /// The options.
    ///
    /// # Errors
    /// A sentence, for numbers that have no meaning.
    pub(super) fn options(&self) -> Result<OarLoadOptions, String> {
        let rotation_deg = self.rotation.unwrap_or_default();
        if !rotation_deg.is_finite() || rotation_deg.abs() > DEGREES_MAX {
            return Err(format!("rotation: at most {DEGREES_MAX} degrees."));
        }
        let has_box = self.bounding_origin.is_some() || self.bounding_size.is_some();
        let origin = metres("bounding_origin", self.bounding_origin)?;
        let size = metres("bounding_size", self.bounding_size)?;
        let placing = PlacingOptions {
            rotation_deg,
            bounds: has_box.then_some(BoundingBox { origin, size }),
            displacement: metres("displacement", self.displacement)?,
        };
        Ok(OarLoadOptions {
            source: self.source.clone(),
            is_merged: self.merge,
            is_replacing: self.replace,
            skips_assets: self.skip_assets,
            skips_objects: self.no_objects,
            forces_terrain: self.force_terrain,
            forces_parcels: self.force_parcels,
            keeps_ids: self.keep_ids,
            default_user: self.default_user.clone(),
            placing,
        })
    }
}

fn metres(name: &str, numbers: Option<[f32; 3]>) -> Result<Vec3, String> {
    let numbers = Vec3::from_array(numbers.unwrap_or_default());
    if numbers.is_finite() && numbers.abs().max_element() <= METRES_MAX {
        Ok(numbers)
    } else {
        Err(format!("{name}: at most {METRES_MAX} m along each axis."))
    }
}

fn file_to_load() -> Object {
    file_schema(
        "Name of the file in the folder `archives` of the server's data directory: at most 200 bytes, without folders of its own and without\n\
         control characters.",
    )
}

fn file_to_make() -> Object {
    file_schema(
        "Name of the file to make in the folder `archives` of the server's data directory: at most 200 bytes, without folders of its own and without\n\
         control characters.",
    )
}

/// Schema of a file's name.
fn file_schema(description: &str) -> Object {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(description))
        .min_length(Some(1))
        .max_length(Some(FILE_BYTES_MAX))
        .pattern(Some(FILE_PATTERN))
        .extensions(Some(Extensions::from_iter([("x-max-bytes", FILE_BYTES_MAX)])))
        .build()
}

/// A region, or all of them, for an archive.
#[derive(Deserialize, ToSchema)]
#[schema(as = OarSaveOrder)]
#[serde(deny_unknown_fields)]
pub(super) struct OarSaveBody {
    /// Name of the archive's file.
    #[schema(schema_with = file_to_make)]
    pub(super) file: PathBuf,
    /// Name of the archive in the list of jobs; that of the file without it.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 200)]
    pub(super) title: Option<String>,
    /// Name of the region; all regions without it, in an archive of several.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 63)]
    pub(super) region: Option<String>,
    /// Address of this grid: with it the archive has home and name of each creator, so that other grids show them.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 255)]
    pub(super) home: Option<String>,
    /// Leave the assets out.
    #[serde(default)]
    pub(super) no_assets: bool,
    /// Leave the owners out, for an archive that is given to others.
    #[serde(default)]
    pub(super) publish: bool,
    /// Only objects that the owner of the estate may copy (`C`), give away (`T`), or both (`CT`).
    #[serde(default)]
    #[schema(min_length = 1, max_length = 2, pattern = "^[CTct]*$")]
    pub(super) perm: Option<String>,
}

/// An archive for an inventory.
#[derive(Deserialize, ToSchema)]
#[schema(as = IarLoadOrder)]
#[serde(deny_unknown_fields)]
pub(super) struct IarLoadBody {
    /// Name of the archive's file.
    #[schema(schema_with = file_to_load)]
    pub(super) file: PathBuf,
    /// Name of the archive in the list of jobs; that of the file without it.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 200)]
    pub(super) title: Option<String>,
    /// "First Last" of the account.
    #[schema(min_length = 1, max_length = 63)]
    pub(super) user: String,
    /// Path of the folder that gets the content of the archive; that of the whole inventory without it.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 2000)]
    pub(super) folder: Option<String>,
    /// Folders of the archive become those of the same name that are there.
    #[serde(default)]
    pub(super) merge: bool,
    /// Store no assets: they are there already.
    #[serde(default)]
    pub(super) skip_assets: bool,
}

/// A folder of an inventory for an archive.
#[derive(Deserialize, ToSchema)]
#[schema(as = IarSaveOrder)]
#[serde(deny_unknown_fields)]
pub(super) struct IarSaveBody {
    /// Name of the archive's file.
    #[schema(schema_with = file_to_make)]
    pub(super) file: PathBuf,
    /// Name of the archive in the list of jobs; that of the file without it.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 200)]
    pub(super) title: Option<String>,
    /// "First Last" of the account.
    #[schema(min_length = 1, max_length = 63)]
    pub(super) user: String,
    /// Path of the folder, with `/*` at its end for the content of the folder only; the whole inventory without it.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 2000)]
    pub(super) folder: Option<String>,
    /// Address of this grid: with it the archive has home and name of each creator, so that other grids show them.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 255)]
    pub(super) home: Option<String>,
    /// Leave the assets out.
    #[serde(default)]
    pub(super) no_assets: bool,
    /// Only items that their owner may copy (`C`), give away (`T`), or both (`CT`).
    #[serde(default)]
    #[schema(min_length = 1, max_length = 2, pattern = "^[CTct]*$")]
    pub(super) perm: Option<String>,
}

/// Rights by their letters.
///
/// # Errors
/// A sentence, for other letters.
pub(super) fn rights_of(letters: Option<&str>) -> Result<Mask, String> {
    let mut rights = Mask::NONE;
    for letter in letters.unwrap_or_default().chars() {
        rights = rights
            | match letter.to_ascii_uppercase() {
                'C' => Mask::COPY,
                'T' => Mask::TRANSFER,
                _ => return Err(format!("perm: C (copy) and T (transfer), not {letter:?}.")),
            };
    }
    Ok(rights)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn options(more: Value) -> Result<OarLoadOptions, String> {
        let mut body = json!({ "file": "a.oar", "region": "Harbour" });
        let (Value::Object(body_fields), Value::Object(more)) = (&mut body, more) else { panic!("objects") };
        body_fields.extend(more);
        let body: OarLoadBody = serde_json::from_value(body).expect("a body");
        body.options()
    }

    #[test]
    fn numbers_of_a_place_have_bounds() {
        let placing = |more: Value| options(more).map(|options| options.placing);
        assert_eq!(placing(json!({})), Ok(PlacingOptions::default()));
        let moved = placing(json!({ "displacement": [1, 2, 3], "bounding_size": [8, 8, 0] })).expect("good");
        assert_eq!(moved.displacement, Vec3::new(1.0, 2.0, 3.0));
        let bounds = BoundingBox { origin: Vec3::ZERO, size: Vec3::new(8.0, 8.0, 0.0) };
        assert_eq!(moved.bounds, Some(bounds));
        for wrong in [
            json!({ "rotation": 1e9 }),
            json!({ "rotation": 1e200 }),
            json!({ "displacement": [0, 0, 1e6] }),
            json!({ "bounding_origin": [1e300, 0, 0] }),
        ] {
            assert!(options(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn letters_of_rights_are_copy_and_transfer() {
        assert_eq!(rights_of(None), Ok(Mask::NONE));
        assert_eq!(rights_of(Some("Ct")), Ok(Mask::COPY | Mask::TRANSFER));
        assert!(rights_of(Some("M")).is_err());
    }
}
