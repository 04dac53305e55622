//! Requests to change objects, as users make them.
//!
//! They are decoded from messages and not judged: codes, numbers and local ids are those that the client sent. The world refuses an unknown code,
//! a number that is none and a right that is missing with an [`EditRefusal`](crate::EditRefusal), object by object.

mod bounds;
mod creation;
mod derez;
mod edits;
#[cfg(test)]
mod tests;

pub use bounds::{EditRights, ObjectLimits};
pub use creation::{CopyPlace, Duplicates, InsertedLinkset, Insertion, NewObject, Ray};
pub use derez::{Derez, DerezKind};
pub use edits::{
    ExtraParamEdit, FaceMaterial, FlagsEdit, ItemEdit, MaskEdit, Navigation, Offer, PhysicsEdit, Placement,
    RenderMaterialEdit, Textures,
};

use glam::Vec3;
use ids::{AgentId, LocalId, Uuid};
use prim::{ContentItem, MediaEntry, Shape};
use serde::{Deserialize, Serialize};

/// Objects that one request names, as many as a message has blocks.
pub const EDIT_OBJECTS_MAX: usize = 255;

/// Linksets that one [`ObjectCommand::Derez`] names: a client sends a longer list in several messages, and an object in an inventory has no more prims.
pub const DEREZ_OBJECTS_MAX: usize = 2_048;

/// Prims that one [`ObjectCommand::Insert`] or [`ObjectCommand::InsertWithIds`] adds: those of the largest linkset.
pub const INSERT_PRIMS_MAX: usize = 256;

/// One request to change objects. The avatar of the command's session acts, the node for [`ids::SessionKey::NODE`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ObjectCommand {
    /// Make a prim.
    Create(Box<NewObject>),
    /// Make copies of linksets.
    Duplicate(Box<Duplicates>),
    /// Move, turn and scale.
    Place(Vec<(LocalId, Placement)>),
    /// Give prims another shape.
    Shape(Vec<(LocalId, Shape)>),
    /// Paint prims.
    Textures(Vec<(LocalId, Textures)>),
    /// Give prims another material, by its code.
    Material(Vec<(LocalId, u8)>),
    /// Set and remove extra parameters.
    ExtraParam(Vec<(LocalId, ExtraParamEdit)>),
    /// Change the physical properties of a linkset, and of the named prim of it.
    Flags(LocalId, FlagsEdit),
    /// Rename prims. Longer names than [`prim::body::NAME_MAX`] are cut.
    Name(Vec<(LocalId, String)>),
    /// Describe prims. Longer descriptions than [`prim::body::DESCRIPTION_MAX`] are cut.
    Description(Vec<(LocalId, String)>),
    /// Choose the effect of a click, by its code.
    ClickAction(Vec<(LocalId, u8)>),
    /// Show linksets in searches, or not.
    InSearch(Vec<(LocalId, bool)>),
    /// Change masks of linksets.
    Permissions(Vec<(LocalId, MaskEdit)>),
    /// Set the group of linksets.
    Group {
        /// Prims of the linksets.
        objects: Vec<LocalId>,
        /// Null for none.
        group: Uuid,
    },
    /// Give linksets to another owner, as an operator does.
    Owner {
        /// Prims of the linksets.
        objects: Vec<LocalId>,
        /// The new owner.
        owner: AgentId,
        /// Their group then; null for none.
        group: Uuid,
    },
    /// Offer linksets for sale.
    Sale(Vec<(LocalId, Offer)>),
    /// Accept offers. An offer that differs from the object's is refused: it has changed meanwhile.
    Buy {
        /// Prims of the linksets, each with the offer that the client shows.
        offers: Vec<(LocalId, Offer)>,
        /// Group of the objects then; null for none.
        group: Uuid,
    },
    /// Make one linkset of several. The first one's root is the root.
    Link(Vec<LocalId>),
    /// Take prims out of their linksets.
    Delink(Vec<LocalId>),
    /// Wear linksets on the ground, at points of the body by their numbers; 0 for the right hand.
    Attach(Vec<(LocalId, u8)>),
    /// Put worn linksets on the ground.
    PutDown(Vec<LocalId>),
    /// Take linksets out of the world.
    Derez(Derez),
    /// Take back the newest change of place of each object, by the ids of the named prims.
    Undo(Vec<Uuid>),
    /// Repeat the change of place that was taken back last, of each object.
    Redo(Vec<Uuid>),
    /// Add linksets as they are, with their ids, owners and masks; for the node only.
    Insert(Box<Insertion>),
    /// Change the media of all faces of a prim. Faces beyond the list lose theirs.
    Media(LocalId, Vec<Option<MediaEntry>>),
    /// Visit another address with the media of a face.
    Navigate(LocalId, Navigation),
    /// Change render materials of faces, and their overrides.
    RenderMaterial(Vec<(LocalId, RenderMaterialEdit)>),
    /// Give faces another legacy material.
    FaceMaterial(Vec<(LocalId, FaceMaterial)>),
    /// Pull a linkset that physics moves, the acting user's own, towards a point, until [`ObjectCommand::Release`]. Without effect on any other of the user's. A user pulls one
    /// linkset at a time.
    Drag {
        /// The prim that was gripped.
        object: LocalId,
        /// The gripped point as of the begin of the pull, metres from the prim's position along the region's axes. Later requests of the pull may have any.
        grip: Vec3,
        /// Its destination, metres from the region's corner.
        target: Vec3,
    },
    /// Let go of the linkset that the acting user pulls.
    Release,
    /// Put an item into a prim; for the node only, which has taken it out of an inventory. Owner, masks and id are judged there. With the session of a user,
    /// the world judges the prim as for that user.
    PutItem(LocalId, Box<ContentItem>),
    /// Change an item of a prim.
    EditItem(LocalId, Box<ItemEdit>),
    /// Take an item out of a prim, by its id.
    RemoveItem(LocalId, Uuid),
    /// Ask for an item of a prim, by its id, to put it elsewhere. It stays.
    ReadItem(LocalId, Uuid),
    /// Give an item of a prim to the acting user's inventory ([`crate::Transfer::HeldItem`]). It stays in the prim if its owner may copy it.
    TakeItem {
        /// The prim.
        object: LocalId,
        /// Id of the item.
        item: Uuid,
        /// Folder of the inventory; null for that of the item's kind.
        folder: Uuid,
    },
    /// Take worn linksets off, back into the inventory.
    TakeOff(Vec<LocalId>),
    /// Delete linksets for good, by their roots and the ids of these: all of them, or none if one is not there as it is named. For the node only.
    Clear(Vec<(LocalId, Uuid)>),
    /// As [`Self::Insert`], with the ids that the prims have: a linkset with an id that another object has is refused, in place of getting another id. For the
    /// node only.
    InsertWithIds(Box<Insertion>),
}

impl ObjectCommand {
    /// True if no session may ask for it.
    #[must_use]
    pub const fn is_of_node(&self) -> bool {
        matches!(self, Self::Insert(_) | Self::InsertWithIds(_) | Self::PutItem(..) | Self::Clear(_))
    }

    /// True if it concerns items of a prim. [`crate::Event::Contents`] is its outcome.
    #[must_use]
    pub const fn is_of_contents(&self) -> bool {
        matches!(
            self,
            Self::PutItem(..)
                | Self::EditItem(..)
                | Self::RemoveItem(..)
                | Self::ReadItem(..)
                | Self::TakeItem { .. }
        )
    }

    /// Name in lists for operators.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Create(_) => "create",
            Self::Duplicate(_) => "duplicate",
            Self::Place(_) => "place",
            Self::Shape(_) => "shape",
            Self::Textures(_) => "textures",
            Self::Material(_) => "material",
            Self::ExtraParam(_) => "extra_param",
            Self::Flags(..) => "flags",
            Self::Name(_) => "name",
            Self::Description(_) => "description",
            Self::ClickAction(_) => "click_action",
            Self::InSearch(_) => "in_search",
            Self::Permissions(_) => "permissions",
            Self::Group { .. } => "group",
            Self::Owner { .. } => "owner",
            Self::Sale(_) => "sale",
            Self::Buy { .. } => "buy",
            Self::Link(_) => "link",
            Self::Delink(_) => "delink",
            Self::Attach(_) => "attach",
            Self::PutDown(_) => "put_down",
            Self::Derez(derez) => derez.kind.label(),
            Self::Undo(_) => "undo",
            Self::Redo(_) => "redo",
            Self::Insert(_) => "import",
            Self::Media(..) => "media",
            Self::Navigate(..) => "navigate",
            Self::RenderMaterial(_) => "render_material",
            Self::FaceMaterial(_) => "face_material",
            Self::Drag { .. } => "drag",
            Self::Release => "release",
            Self::PutItem(..) => "put_item",
            Self::EditItem(..) => "edit_item",
            Self::RemoveItem(..) => "remove_item",
            Self::ReadItem(..) => "read_item",
            Self::TakeItem { .. } => "take_item",
            Self::TakeOff(_) => "take_off",
            Self::Clear(_) => "clear",
            Self::InsertWithIds(_) => "insert_with_ids",
        }
    }

    /// The first object that it names by a local id.
    #[must_use]
    pub fn first_object(&self) -> Option<LocalId> {
        match self {
            Self::Duplicate(duplicates) => duplicates.copies.first().map(|(id, _)| *id),
            Self::Place(objects) => objects.first().map(|(id, _)| *id),
            Self::Shape(objects) => objects.first().map(|(id, _)| *id),
            Self::Textures(objects) => objects.first().map(|(id, _)| *id),
            Self::Material(objects) | Self::ClickAction(objects) => objects.first().map(|(id, _)| *id),
            Self::ExtraParam(objects) => objects.first().map(|(id, _)| *id),
            Self::Flags(id, _) => Some(*id),
            Self::Name(objects) | Self::Description(objects) => objects.first().map(|(id, _)| *id),
            Self::InSearch(objects) => objects.first().map(|(id, _)| *id),
            Self::Permissions(objects) => objects.first().map(|(id, _)| *id),
            Self::Sale(offers) | Self::Buy { offers, .. } => offers.first().map(|(id, _)| *id),
            Self::Group { objects, .. } | Self::Owner { objects, .. } => objects.first().copied(),
            Self::Attach(objects) => objects.first().map(|(id, _)| *id),
            Self::Link(objects) | Self::Delink(objects) => objects.first().copied(),
            Self::PutDown(objects) | Self::TakeOff(objects) => objects.first().copied(),
            Self::Clear(objects) => objects.first().map(|(id, _)| *id),
            Self::Derez(derez) => derez.objects.first().copied(),
            Self::Media(id, _) | Self::Navigate(id, _) => Some(*id),
            Self::RenderMaterial(faces) => faces.first().map(|(id, _)| *id),
            Self::FaceMaterial(faces) => faces.first().map(|(id, _)| *id),
            Self::Drag { object, .. } | Self::TakeItem { object, .. } => Some(*object),
            Self::PutItem(id, _) | Self::EditItem(id, _) => Some(*id),
            Self::RemoveItem(id, _) | Self::ReadItem(id, _) => Some(*id),
            Self::Create(_) | Self::Undo(_) | Self::Redo(_) | Self::Release => None,
            Self::Insert(_) | Self::InsertWithIds(_) => None,
        }
    }

    /// Objects that it may name.
    #[must_use]
    pub const fn n_objects_max(&self) -> usize {
        match self {
            Self::Insert(_) | Self::InsertWithIds(_) => INSERT_PRIMS_MAX,
            Self::Derez(_) => DEREZ_OBJECTS_MAX,
            _ => EDIT_OBJECTS_MAX,
        }
    }

    /// Objects that it names, prims that it adds.
    #[must_use]
    pub fn n_objects(&self) -> usize {
        match self {
            Self::Create(_) | Self::Flags(..) | Self::Media(..) | Self::Navigate(..) | Self::Drag { .. } => 1,
            Self::PutItem(..) | Self::EditItem(..) | Self::RemoveItem(..) | Self::ReadItem(..) => 1,
            Self::TakeItem { .. } => 1,
            Self::Release => 0,
            Self::Duplicate(duplicates) => duplicates.copies.len(),
            Self::Place(objects) => objects.len(),
            Self::Shape(objects) => objects.len(),
            Self::Textures(objects) => objects.len(),
            Self::Material(objects) | Self::ClickAction(objects) => objects.len(),
            Self::ExtraParam(objects) => objects.len(),
            Self::Name(objects) | Self::Description(objects) => objects.len(),
            Self::InSearch(objects) => objects.len(),
            Self::Permissions(objects) => objects.len(),
            Self::Group { objects, .. } | Self::Owner { objects, .. } => objects.len(),
            Self::Sale(offers) | Self::Buy { offers, .. } => offers.len(),
            Self::Attach(objects) => objects.len(),
            Self::Link(objects) | Self::Delink(objects) => objects.len(),
            Self::PutDown(objects) | Self::TakeOff(objects) => objects.len(),
            Self::Clear(objects) => objects.len(),
            Self::Derez(derez) => derez.objects.len(),
            Self::Undo(objects) | Self::Redo(objects) => objects.len(),
            Self::Insert(insertion) | Self::InsertWithIds(insertion) => {
                insertion.linksets.iter().map(|linkset| linkset.prims.len()).sum()
            }
            Self::RenderMaterial(faces) => faces.len(),
            Self::FaceMaterial(faces) => faces.len(),
        }
    }
}
