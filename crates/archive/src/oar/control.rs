//! The control file of a region's archive: its version, and the regions in it.
//!
//! ```text
//! version  adds                                  version  adds
//! 0.1      the control file, among other entries  0.6      materials of faces
//! 0.2      settings of the region                 0.7      assets_included
//! 0.3      parcels                                0.8      telehub; later region_info with the size
//! 0.4      the control file is the first entry    1.0      several regions, in rows from south to north
//! ```
//!
//! A reader needs none of them: absent values have their defaults. Versions from 2 on are refused, as OpenSimulator does.

use crate::fields::{
    self, DocumentError, DocumentField, DocumentLayout, DocumentSource, FieldContent, Plain, ReadDocument,
    field,
};
use crate::xml::{XmlElement, push_escaped};
use ids::Uuid;
use std::fmt::Write as _;

/// Path of the control file.
pub(crate) const CONTROL: &str = "archive.xml";

/// The newest major version that is read.
const MAJOR_MAX: u32 = 1;

/// Rows, and regions of a row.
const ROWS_MAX: usize = 256;

const ROOT: &str = "archive";

/// A control file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OarControl {
    /// Major and minor version.
    pub version: (u32, u32),
    /// Time of its making, seconds since 1970.
    pub created_s: Option<i64>,
    /// Id of the region, if there is one only.
    pub region: Option<Uuid>,
    /// False if assets were left out.
    pub assets_included: Option<bool>,
    /// Size of the region, if there is one only.
    pub size_m: Option<RegionSize>,
    /// The region is one of several that are simulated as one, in archives of old versions.
    pub is_megaregion: Option<bool>,
    /// Regions of an archive of several, in rows from south to north, each from west to east, with gaps; empty in archives of one region.
    pub rows: Vec<Vec<Option<OarRegion>>>,
    /// The document that it was read from.
    pub source: DocumentSource,
}

/// A region of an archive of several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OarRegion {
    /// Its id.
    pub id: Uuid,
    /// Folder of its entries, within `regions`.
    pub directory: Box<str>,
    /// Its size.
    pub size_m: Option<RegionSize>,
    /// Elements that are not known here, as they stand in the document.
    pub unknown: Box<str>,
}

/// Size of a region, metres.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionSize {
    /// From west to east.
    pub width_m: u32,
    /// From south to north.
    pub depth_m: u32,
}

/// `256,256`, both as floats.
impl Plain for RegionSize {
    fn read(text: &str) -> Option<Self> {
        let (width, depth) = text.split_once(',')?;
        let side = |text: &str| {
            let side = f32::read(text)?;
            // A cast from float saturates, and a whole number below 2^24 is exact.
            (side.fract() == 0.0 && (1.0..=65_536.0).contains(&side)).then_some(side as u32)
        };
        Some(Self { width_m: side(width)?, depth_m: side(depth)? })
    }

    fn write(&self) -> FieldContent {
        FieldContent::Text(format!("{},{}", self.width_m, self.depth_m))
    }
}

const FIELDS: [DocumentField<OarControl>; 6] = [
    field!("creation_info", "datetime", created_s),
    field!("creation_info", "id", region),
    field!("assets_included", assets_included),
    field!("region_info", "is_megaregion", is_megaregion),
    field!("region_info", "size_in_meters", size_m),
    DocumentField { group: "", name: "regions", read: read_rows, write: write_rows },
];

impl OarControl {
    /// The control file of an archive of one region in OpenSimulator's present version.
    #[must_use]
    pub fn single(region: Uuid, size_m: RegionSize, created_s: i64) -> Self {
        Self {
            version: (0, 8),
            created_s: Some(created_s),
            region: Some(region),
            assets_included: Some(true),
            size_m: Some(size_m),
            ..Self::default()
        }
    }

    /// The control file of an archive of several regions in OpenSimulator's present version.
    #[must_use]
    pub fn multiple(rows: Vec<Vec<Option<OarRegion>>>, created_s: i64) -> Self {
        Self {
            version: (1, 0),
            created_s: Some(created_s),
            assets_included: Some(true),
            rows,
            ..Self::default()
        }
    }

    /// Reads a document.
    ///
    /// # Errors
    /// [`DocumentError`], also for a version that is too new.
    pub fn read(bytes: &[u8]) -> Result<ReadDocument<Self>, DocumentError> {
        let version = read_version(bytes)?;
        let (mut read, source) = fields::read(ROOT, &FIELDS, bytes)?;
        (read.value.version, read.value.source) = (version, source);
        Ok(read)
    }

    /// Writes its document: as it was read, but for values that have changed.
    #[must_use]
    pub fn write(&self) -> String {
        write_with_version(self.version, &FIELDS, self, &self.source)
    }

    /// All regions of an archive of several.
    pub fn regions(&self) -> impl Iterator<Item = &OarRegion> {
        self.rows.iter().flatten().flatten()
    }

    /// True for an archive of several regions.
    #[must_use]
    pub fn is_multiple(&self) -> bool {
        !self.rows.is_empty()
    }

    /// The stated size of a region: that of the folder, or of the one region for none.
    #[must_use]
    pub fn size_of(&self, directory: Option<&str>) -> Option<RegionSize> {
        match directory {
            None => self.size_m,
            Some(directory) => self.regions().find(|region| &*region.directory == directory)?.size_m,
        }
    }
}

/// Version of an archive of either sort.
pub(crate) fn read_version(bytes: &[u8]) -> Result<(u32, u32), DocumentError> {
    let document = fields::parse(ROOT, bytes)?;
    let number = |name: &'static str| -> Result<u32, DocumentError> {
        let text = document.root().attribute(name);
        text.and_then(|text| text.trim().parse().ok()).ok_or(DocumentError::Attribute(name))
    };
    let version = (number("major_version")?, number("minor_version")?);
    if version.0 > MAJOR_MAX { Err(DocumentError::Version(version.0, version.1)) } else { Ok(version) }
}

/// A control file of either sort, anew if the version has changed, which attributes state.
pub(crate) fn write_with_version<T: Default>(
    version: (u32, u32),
    fields: &[DocumentField<T>],
    value: &T,
    source: &DocumentSource,
) -> String {
    if read_version(source.as_str().as_bytes()) == Ok(version) {
        return fields::write(ROOT, fields, DocumentLayout::Lines, value, source);
    }
    let attributes = format!(" major_version=\"{}\" minor_version=\"{}\"", version.0, version.1);
    fields::fresh(ROOT, &attributes, fields, DocumentLayout::Lines, value)
}

fn read_rows(control: &mut OarControl, element: &XmlElement<'_>) -> Option<()> {
    let mut rows = Vec::new();
    for row in element.children() {
        if row.name() != "row" || rows.len() == ROWS_MAX {
            return None;
        }
        let mut regions = Vec::new();
        for region in row.children() {
            if region.name() != "region" || regions.len() == ROWS_MAX {
                return None;
            }
            regions.push(if region.has_children() { Some(read_region(&region)?) } else { None });
        }
        rows.push(regions);
    }
    control.rows = rows;
    Some(())
}

fn read_region(element: &XmlElement<'_>) -> Option<OarRegion> {
    let mut region = OarRegion::default();
    let mut unknown = String::new();
    for child in element.children() {
        match child.name() {
            "id" => region.id = Plain::read(&child.text()?)?,
            "dir" => region.directory = child.text()?.into(),
            "size_in_meters" => region.size_m = Plain::read(&child.text()?)?,
            _ => unknown.push_str(child.outer()),
        }
    }
    region.unknown = unknown.into();
    (!region.directory.is_empty() && !region.directory.contains('/')).then_some(region)
}

/// On lines of their own, which OpenSimulator's reader needs.
fn write_rows(control: &OarControl) -> FieldContent {
    if control.rows.is_empty() {
        return FieldContent::Absent;
    }
    let mut markup = String::new();
    for row in &control.rows {
        markup.push_str("\n    <row>");
        for region in row {
            let Some(OarRegion { id, directory, size_m, unknown }) = region else {
                markup.push_str("\n      <region />");
                continue;
            };
            write!(markup, "\n      <region>\n        <id>{id}</id>\n        <dir>")
                .expect("a text takes all characters");
            push_escaped(directory, &mut markup);
            markup.push_str("</dir>");
            if let Some(RegionSize { width_m, depth_m }) = size_m {
                write!(markup, "\n        <size_in_meters>{width_m},{depth_m}</size_in_meters>")
                    .expect("a text takes all characters");
            }
            markup.push_str(unknown);
            markup.push_str("\n      </region>");
        }
        markup.push_str("\n    </row>");
    }
    markup.push_str("\n  ");
    FieldContent::Markup(markup)
}

#[cfg(test)]
mod tests;
