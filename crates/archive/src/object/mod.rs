//! Objects as XML: linksets with the contents of their prims, in the forms of OpenSimulator.
//!
//! [`read_object`] reads each of three documents, [`write_object`] and [`write_group`] write them:
//!
//! ```text
//! archives of regions   <SceneObjectGroup> <SceneObjectPart/> <OtherParts> <SceneObjectPart/>… </OtherParts> …
//! inventories           <SceneObjectGroup> <RootPart> <SceneObjectPart/> </RootPart> <OtherParts> <Part> <SceneObjectPart/> </Part>… </OtherParts> …
//! several objects       <CoalescedObject x y z> <SceneObjectGroup offsetx offsety offsetz> (as in inventories) </SceneObjectGroup>…
//! ```
//!
//! An element that the model has a field for becomes that field of [`prim::Body`], clamped into its range. Everything else stays with the part or item that it
//! belongs to, as [`prim::Carried`] data: unknown elements and attributes, elements that OpenSimulator knows and this server does not use, states of scripts,
//! and the spelling of fields, which is written again while the field has the same value. Data about a linkset as a whole is carried by its root.
//! Comments, blanks between elements, and the order of parts that are not in the order of their links are not kept.
//!
//! Four elements are this server's own, for values that OpenSimulator's form has no room for: the microseconds of a time of creation, a sit target in the middle
//! of its prim, and the sale of an item. They are written only if they are needed; OpenSimulator skips them.
//!
//! Losses and replaced values are listed in an [`ObjectReport`].

mod error;
mod extra;
mod fields;
pub mod flags;
mod group_read;
mod group_write;
mod items;
mod kept;
mod media;
mod overrides;
mod part_read;
mod part_write;
mod references;
mod scope;
mod shape_read;
mod shape_write;
mod table;
#[cfg(test)]
mod tests;
mod values;

pub use error::{
    Flaw, ObjectError, ObjectLoss, ObjectLossReason, ObjectProblem, ObjectReport, PARTS_MAX, REPORT_MAX,
};
pub use references::{AssetReference, ReferenceRole};

use crate::xml::{XmlDocument, XmlLimits, XmlWriter};
use error::ReadContext;
use glam::{Quat, Vec3};
use ids::AgentId;
use kept::{KeptData, KeptScopeKind};
use prim::{Body, ContentItem};
use std::fmt;
use std::sync::Arc;

/// Place and movement of a part.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PartPlace {
    /// Centre in metres: from the region's corner for a root, from the root along its axes for others.
    pub position: Vec3,
    /// Unit quaternion; against the root's for other parts.
    pub rotation: Quat,
    /// Metres per second.
    pub velocity: Vec3,
    /// Radians per second about each axis.
    pub angular_velocity: Vec3,
    /// Metres per second squared.
    pub acceleration: Vec3,
    /// Place of a root on the avatar that has worn it, metres from the attachment point. `None` writes the place that the part carries, or none.
    pub attached_position: Option<Vec3>,
}

/// A part of a linkset.
#[derive(Clone, Debug, PartialEq)]
pub struct ScenePart {
    /// Place and movement.
    pub place: PartPlace,
    /// Of [`flags::PART_FLAGS`], in the bits of the protocol's `UpdateFlags`.
    pub flags: u32,
    /// Everything else.
    pub body: Arc<Body>,
}

impl ScenePart {
    /// Home and name of its creator, as an archive has them of users of other grids: `http://grid.example:8002/;Ada Lovelace`.
    #[must_use]
    pub fn creator_data(&self) -> Option<String> {
        let carried = self.body.carried.as_deref()?;
        references::creator_data(carried.as_bytes(), KeptScopeKind::Part)
    }
}

/// Home and name of the creator of an item, as [`ScenePart::creator_data`].
#[must_use]
pub fn item_creator_data(item: &ContentItem) -> Option<String> {
    references::creator_data(item.carried.as_bytes(), KeptScopeKind::Item)
}

/// State of an item's script, the markup between the tags of `SavedScriptState`.
#[must_use]
pub fn script_state(item: &ContentItem) -> Option<Box<str>> {
    KeptData::of(item.carried.as_bytes()).script_state
}

/// A linkset.
#[derive(Clone, Debug, PartialEq)]
pub struct SceneGroup {
    /// The root.
    pub root: ScenePart,
    /// The other parts, in the order of their links.
    pub others: Vec<ScenePart>,
}

impl SceneGroup {
    /// The root and the other parts.
    pub fn parts(&self) -> impl Iterator<Item = &ScenePart> {
        std::iter::once(&self.root).chain(&self.others)
    }

    /// All assets that its parts name, each with the place that names it. An asset is listed as often as it is named.
    #[must_use]
    pub fn references(&self) -> Vec<AssetReference> {
        references::of_group(self)
    }
}

/// A linkset among several in one document.
#[derive(Clone, Debug, PartialEq)]
pub struct CoalescedGroup {
    /// Metres from the corner of the box around all linksets.
    pub offset: Vec3,
    /// The linkset.
    pub group: SceneGroup,
}

/// Several linksets that were taken together.
#[derive(Clone, Debug, PartialEq)]
pub struct Coalesced {
    /// Size of the box around them, metres.
    pub size: Vec3,
    /// The linksets.
    pub groups: Vec<CoalescedGroup>,
}

/// Content of a document.
#[derive(Clone, Debug, PartialEq)]
pub enum SceneObject {
    /// A linkset.
    Group(SceneGroup),
    /// Several ones.
    Coalesced(Coalesced),
}

impl SceneObject {
    /// Its linksets.
    pub fn groups(&self) -> impl Iterator<Item = &SceneGroup> {
        let (one, several) = match self {
            Self::Group(group) => (Some(group), None),
            Self::Coalesced(coalesced) => (None, Some(&coalesced.groups)),
        };
        one.into_iter().chain(several.into_iter().flatten().map(|member| &member.group))
    }

    /// Its linksets, each with its offset; zero for a single one.
    #[must_use]
    pub fn into_groups(self) -> Vec<CoalescedGroup> {
        match self {
            Self::Group(group) => vec![CoalescedGroup { offset: Vec3::ZERO, group }],
            Self::Coalesced(coalesced) => coalesced.groups,
        }
    }
}

/// A document that was read, and the findings about it.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadObject {
    /// The content.
    pub object: SceneObject,
    /// Values that were replaced, and data that is not kept.
    pub report: ObjectReport,
}

/// Reads an object in any of the forms. A document of one part alone is a linkset of one part.
///
/// # Errors
/// [`ObjectError`], with the path of the element; nothing of the document is used then.
pub fn read_object(bytes: &[u8], limits: &XmlLimits) -> Result<ReadObject, ObjectError> {
    let document = XmlDocument::parse(bytes, limits)?;
    let mut context = ReadContext::default();
    let object = group_read::read_root(&document.root(), &mut context)?;
    Ok(ReadObject { object, report: context.into_report() })
}

/// Form of a linkset in a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum XmlForm {
    /// That of archives of regions.
    #[default]
    Xml2,
    /// That of inventories.
    Original,
}

/// Options of a writer.
#[derive(Clone, Copy, Default)]
pub struct WriteOptions<'a> {
    /// Form of a single linkset. Several ones are always in the original form.
    pub form: XmlForm,
    /// Home and name of creators for `CreatorData`, where a part or item carries none. `None` leaves it out.
    pub creators: Option<&'a dyn Fn(AgentId) -> Option<String>>,
}

impl fmt::Debug for WriteOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { form, creators } = self;
        f.debug_struct("WriteOptions").field("form", form).field("creators", &creators.is_some()).finish()
    }
}

/// Writes a linkset.
#[must_use]
pub fn write_group(group: &SceneGroup, options: &WriteOptions<'_>) -> String {
    let mut writer = XmlWriter::new();
    group_write::write_group(group, options, &mut writer);
    writer.into_text()
}

/// Writes one linkset or several.
#[must_use]
pub fn write_object(object: &SceneObject, options: &WriteOptions<'_>) -> String {
    let mut writer = XmlWriter::new();
    match object {
        SceneObject::Group(group) => group_write::write_group(group, options, &mut writer),
        SceneObject::Coalesced(coalesced) => group_write::write_coalesced(coalesced, options, &mut writer),
    }
    writer.into_text()
}
