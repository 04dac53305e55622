//! Requests to change objects, as users make them.
//!
//! They are decoded from messages and not judged: codes, numbers and local ids are those that the client sent. The world refuses an unknown code,
//! a number that is none and a right that is missing with an [`EditRefusal`](crate::EditRefusal), object by object.

use crate::object::{PrimFlags, PrimMotion};
use glam::{Quat, Vec3};
use ids::{AgentId, LocalId, Uuid};
use prim::{Body, ContentItem, MaterialOverride, MediaEntry, Permissions, Shape};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

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

/// Linksets to be added, as a file has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Insertion {
    /// Chosen at random. Ids of prims whose own ids other objects have are derived from it, and so are the first versions of all prims: a viewer
    /// may have cached another state of an object with the same id.
    pub ids: Uuid,
    /// Each is added whole or refused.
    pub linksets: Vec<InsertedLinkset>,
}

/// A linkset to be added.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InsertedLinkset {
    /// Prims, the root first, with their places: the root's in the region, the others' relative to it. Parents and numbers are set by the world.
    pub prims: Vec<(PrimMotion, Arc<Body>)>,
}

/// A prim to be made. Its owner is the acting user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewObject {
    /// Its id, which the gateway chooses at random: a world that goes back to a checkpoint would count the same numbers again, and an id stands
    /// for one prim on the whole grid.
    pub id: Uuid,
    /// Time of its making, microseconds since 1970: worlds know no date.
    pub created_us: u64,
    /// Code of its class.
    pub p_code: u8,
    /// Species of a tree or grass.
    pub state: u8,
    /// Code of its material.
    pub material: u8,
    /// Shape, in any numbers.
    pub shape: Shape,
    /// Metres.
    pub scale: Vec3,
    /// Its centre, metres from the region's corner: where the client's ray ended. Counts if `ray` meets nothing.
    pub position: Vec3,
    /// The new prim stands on the surface that this ray meets.
    pub ray: Option<Ray>,
    /// Rotation.
    pub rotation: Quat,
    /// Null for none.
    pub group: Uuid,
    /// Physical, temporary and phantom count.
    pub flags: PrimFlags,
    /// True if its maker's client selects it.
    pub is_selected: bool,
}

/// The way from a user's camera through the pointer to an object.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ray {
    /// Its begin, metres from the region's corner.
    pub start: Vec3,
    /// Its end, by the client's account.
    pub end: Vec3,
    /// Id of the prim that it meets there.
    pub target: Uuid,
}

/// Copies to be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Duplicates {
    /// Id of the first new prim, which the gateway chooses at random as for [`NewObject::id`]. Ids of the others are derived from it.
    pub ids: Uuid,
    /// Null for none; counts for copies of other users' objects.
    pub group: Uuid,
    /// True if the client selects the copies.
    pub is_selected: bool,
    /// Prims of the linksets to be copied, and the places of the copies.
    pub copies: Vec<(LocalId, CopyPlace)>,
}

/// Place of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum CopyPlace {
    /// Metres from the original.
    Offset(Vec3),
    /// Where a ray ended.
    At {
        /// Metres from the region's corner. Counts if `ray` meets nothing.
        position: Vec3,
        /// The copy stands on the surface that this ray meets.
        ray: Option<Ray>,
        /// Rotation; that of the original without one.
        rotation: Option<Quat>,
    },
}

/// Change of a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Placement {
    /// Metres from the region's corner for a root and a whole linkset, from the root for another part.
    pub position: Option<Vec3>,
    /// Rotation against the same.
    pub rotation: Option<Quat>,
    /// Size of the prim, of the root for a whole linkset; metres.
    pub scale: Option<Vec3>,
    /// The whole linkset moves. Else one prim does, and a root's other parts stay where they are.
    pub is_linked_set: bool,
    /// A whole linkset is scaled with its root, all prims by the same factors; without it, only the prim is.
    pub is_uniform: bool,
}

/// Textures of a prim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Textures {
    /// In the protocol's encoding.
    pub entry: Arc<[u8]>,
    /// Address of its media; empty for none.
    pub media_url: String,
}

/// Change of an extra parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExtraParamEdit {
    /// Code of its type.
    pub kind: u16,
    /// In the protocol's encoding; `None` removes it.
    pub data: Option<Vec<u8>>,
}

/// Physical properties.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlagsEdit {
    /// The linkset is moved by physics.
    pub is_physical: bool,
    /// The linkset vanishes a while later, and is not kept.
    pub is_temporary: bool,
    /// The linkset collides with nothing.
    pub is_phantom: bool,
    /// Form and matter of the named prim.
    pub physics: Option<PhysicsEdit>,
}

/// Form and matter of a prim in collisions, see [`prim::PrimPhysics`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhysicsEdit {
    /// Code of the form.
    pub shape: u8,
    /// kg/m³.
    pub density: f32,
    /// Coefficient of friction.
    pub friction: f32,
    /// Part of the speed that is left after a bounce.
    pub restitution: f32,
    /// Factor of gravity.
    pub gravity: f32,
}

/// A visit to another address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Navigation {
    /// Number of the face.
    pub face: u8,
    /// The address.
    pub address: String,
}

/// Change of render materials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RenderMaterialEdit {
    /// Number of the face; `None` for all.
    pub face: Option<u8>,
    /// The new material, null for none; `None` keeps the former one.
    pub material: Option<Uuid>,
    /// The new override, which may be one that changes nothing; `None` keeps the former one.
    pub changes: Option<Box<MaterialOverride>>,
}

/// Change of a legacy material.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaceMaterial {
    /// Number of the face; `None` for all.
    pub face: Option<u8>,
    /// Id of the material; null for none.
    pub material: Uuid,
}

/// Change of an item of a prim. Asset, kind, flags and makers stay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemEdit {
    /// The item.
    pub item: Uuid,
    /// Its new name; an empty one keeps the former. Longer names than [`prim::body::NAME_MAX`] are cut.
    pub name: String,
    /// Its new description. Longer ones than [`prim::body::DESCRIPTION_MAX`] are cut.
    pub description: String,
    /// Its new masks, of which those count that the acting user may change.
    pub masks: Permissions,
    /// Its new offer for sale.
    pub offer: Offer,
}

/// Change of a mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MaskEdit {
    /// Code of the mask.
    pub field: u8,
    /// The bits are set (`true`) or cleared.
    pub is_set: bool,
    /// Bits of rights.
    pub bits: u32,
}

/// An offer for sale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// Code of the kind of sale.
    pub kind: u8,
    /// In the grid's currency.
    pub price: i32,
}

/// Removal of linksets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Derez {
    /// Roots of the linksets.
    pub objects: Vec<LocalId>,
    /// Their destination.
    pub kind: DerezKind,
    /// Folder of an inventory; null without one. For [`DerezKind::Save`] the item.
    pub folder: Uuid,
    /// The client's number of the request; null without one.
    pub transaction: Uuid,
}

/// Destinations of linksets that are taken out of the world. Variants are appended, never moved: snapshots have their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum DerezKind {
    /// None: they are gone.
    Delete,
    /// Their owner, as rubbish.
    Trash,
    /// Their owner, by order of another user.
    Return,
    /// The acting user.
    Take,
    /// The acting user gets a copy, and the linkset stays.
    TakeCopy,
    /// An item of the acting user gets the linkset as its content, and the linkset stays.
    Save,
}

impl DerezKind {
    /// Name in lists for operators.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Delete => "delete",
            Self::Trash => "trash",
            Self::Return => "return",
            Self::Take => "take",
            Self::TakeCopy => "take_copy",
            Self::Save => "save",
        }
    }

    /// The kind with this code.
    #[must_use]
    pub const fn of_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::TakeCopy),
            4 => Some(Self::Take),
            6 => Some(Self::Trash),
            9 => Some(Self::Return),
            16 => Some(Self::Save),
            _ => None,
        }
    }

    /// Its code in rows of the store: that of DeRezObject, where another one names it. [`Self::Delete`], of which the store has none, is 0. [`Self::Save`] is a
    /// number that clients have no meaning for, since theirs is 0.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Delete => 0,
            Self::TakeCopy => 1,
            Self::Take => 4,
            Self::Trash => 6,
            Self::Return => 9,
            Self::Save => 16,
        }
    }

    /// True if the linksets stay in the world, and what leaves it is a copy.
    #[must_use]
    pub const fn is_copy(self) -> bool {
        matches!(self, Self::TakeCopy | Self::Save)
    }
}

/// Rights of a session to edit other users' objects. The gateway reports them when the avatar arrives and when they change, since it knows
/// operators and friends; sessions cannot claim them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditRights {
    /// True for an operator who has claimed an operator's rights.
    pub is_operator: bool,
    /// Users who let it edit their objects; at most [`EditRights::OWNERS_MAX`], others are left out.
    pub owners: Vec<AgentId>,
}

impl EditRights {
    /// Users who let one session edit their objects.
    pub const OWNERS_MAX: usize = 1_000;
}

/// Bounds of a region's objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectLimits {
    /// Prims in the region.
    pub objects_max: u32,
    /// Physical prims among them.
    pub physical_max: u32,
    /// Prims that a session makes per second, on average over a second and more.
    pub rez_per_s: u32,
    /// Prims that a session changes per second, likewise.
    pub edits_per_s: u32,
    /// Prims of a linkset, 256 at most.
    pub link_max: u32,
    /// World time until a temporary object vanishes, milliseconds.
    pub temporary_ms: u32,
    /// True while edits of sessions are refused, because earlier ones cannot be saved.
    pub is_closed: bool,
}

impl Default for ObjectLimits {
    fn default() -> Self {
        Self {
            objects_max: 45_000,
            physical_max: 1_000,
            rez_per_s: 200,
            edits_per_s: 5_000,
            link_max: 256,
            temporary_ms: 60_000,
            is_closed: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prim::{Carried, Ownership, Sale};
    use std::collections::BTreeSet;

    fn item() -> ContentItem {
        let user = AgentId(Uuid::from_u128(3));
        ContentItem {
            id: Uuid::from_u128(7),
            asset: Uuid::from_u128(8),
            asset_type: 7,
            inventory_type: 7,
            name: "note".into(),
            description: "".into(),
            flags: 0,
            ownership: Ownership {
                creator: user,
                owner: user,
                last_owner: user,
                group: Uuid::nil(),
                permissions: Permissions::NEW,
            },
            sale: Sale::default(),
            created_s: -1,
            carried: Carried::default(),
        }
    }

    #[test]
    fn an_insertion_has_the_bytes_of_recordings_before_archives() {
        let body =
            Arc::new(Body::new(Uuid::from_u128(7), Shape::BOX, Arc::default(), AgentId(Uuid::nil()), 0));
        let linksets = vec![InsertedLinkset { prims: vec![(PrimMotion::NONE, body)] }];
        let insertion = Insertion { ids: Uuid::from_u128(9), linksets };
        let former = postcard::to_stdvec(&(insertion.ids, &insertion.linksets)).unwrap();
        assert_eq!(postcard::to_stdvec(&insertion), Ok(former));
    }

    #[test]
    fn a_request_of_every_kind_survives_its_encoding_and_counts_its_objects() {
        let (id, uuid) = (LocalId(1 << 20), Uuid::from_u128(7));
        let new = NewObject {
            id: uuid,
            created_us: 1 << 50,
            p_code: 9,
            state: 0,
            material: 3,
            shape: Shape::BOX,
            scale: Vec3::splat(0.5),
            position: Vec3::new(1.0, 2.0, 3.0),
            ray: Some(Ray { start: Vec3::Z, end: Vec3::X, target: uuid }),
            rotation: Quat::IDENTITY,
            group: Uuid::nil(),
            flags: PrimFlags::TEMPORARY,
            is_selected: true,
        };
        let copies = vec![
            (id, CopyPlace::Offset(Vec3::X)),
            (id, CopyPlace::At { position: Vec3::Y, ray: None, rotation: Some(Quat::IDENTITY) }),
        ];
        let place = Placement { scale: Some(Vec3::ONE), is_uniform: true, ..Placement::default() };
        let matter = PhysicsEdit { shape: 2, density: 1.0, friction: 0.5, restitution: 0.5, gravity: -1.0 };
        let offer = Offer { kind: 1, price: 0 };
        let derez = Derez { objects: vec![id], kind: DerezKind::Return, folder: uuid, transaction: uuid };
        let body = Arc::new(Body::new(uuid, Shape::BOX, Arc::new([3]), AgentId(uuid), 1 << 50));
        let linkset = InsertedLinkset { prims: vec![(PrimMotion::NONE, body)] };
        let insertion = Insertion { ids: uuid, linksets: vec![linkset] };
        let shiny = RenderMaterialEdit {
            face: None,
            material: Some(uuid),
            changes: Some(Box::new(MaterialOverride { metallic: Some(1.0), ..MaterialOverride::default() })),
        };
        let edit = ItemEdit {
            item: uuid,
            name: "nöte".into(),
            description: String::new(),
            masks: Permissions::NEW,
            offer,
        };
        let requests = [
            ObjectCommand::Create(Box::new(new)),
            ObjectCommand::Duplicate(Box::new(Duplicates {
                ids: uuid,
                group: uuid,
                is_selected: false,
                copies,
            })),
            ObjectCommand::Place(vec![(id, place)]),
            ObjectCommand::Shape(vec![(id, Shape::BOX)]),
            ObjectCommand::Textures(vec![(id, Textures { entry: Arc::new([1, 2]), media_url: "é".into() })]),
            ObjectCommand::Material(vec![(id, 7)]),
            ObjectCommand::ExtraParam(vec![(id, ExtraParamEdit { kind: 0x30, data: Some(vec![1]) })]),
            ObjectCommand::Flags(id, FlagsEdit { physics: Some(matter), ..FlagsEdit::default() }),
            ObjectCommand::Name(vec![(id, "hé".into())]),
            ObjectCommand::Description(vec![(id, String::new())]),
            ObjectCommand::ClickAction(vec![(id, 9)]),
            ObjectCommand::InSearch(vec![(id, true)]),
            ObjectCommand::Permissions(vec![(id, MaskEdit { field: 8, is_set: true, bits: 1 << 15 })]),
            ObjectCommand::Group { objects: vec![id], group: uuid },
            ObjectCommand::Owner { objects: vec![id], owner: AgentId(uuid), group: uuid },
            ObjectCommand::Sale(vec![(id, offer)]),
            ObjectCommand::Buy { offers: vec![(id, offer)], group: uuid },
            ObjectCommand::Link(vec![id, id]),
            ObjectCommand::Delink(vec![id]),
            ObjectCommand::Attach(vec![(id, 5)]),
            ObjectCommand::PutDown(vec![id]),
            ObjectCommand::Derez(derez),
            ObjectCommand::Undo(vec![uuid]),
            ObjectCommand::Redo(vec![uuid]),
            ObjectCommand::Insert(Box::new(insertion.clone())),
            ObjectCommand::Media(id, vec![None, Some(MediaEntry::default())]),
            ObjectCommand::Navigate(id, Navigation { face: 1, address: "http://a/".into() }),
            ObjectCommand::RenderMaterial(vec![(id, shiny)]),
            ObjectCommand::FaceMaterial(vec![(id, FaceMaterial { face: Some(1), material: uuid })]),
            ObjectCommand::Drag { object: id, grip: Vec3::X, target: Vec3::splat(50.0) },
            ObjectCommand::Release,
            ObjectCommand::PutItem(id, Box::new(item())),
            ObjectCommand::EditItem(id, Box::new(edit)),
            ObjectCommand::RemoveItem(id, uuid),
            ObjectCommand::ReadItem(id, uuid),
            ObjectCommand::TakeItem { object: id, item: uuid, folder: uuid },
            ObjectCommand::TakeOff(vec![id]),
            ObjectCommand::Clear(vec![(id, uuid)]),
            ObjectCommand::InsertWithIds(Box::new(insertion)),
        ];
        let labels: BTreeSet<&str> = requests.iter().map(ObjectCommand::label).collect();
        assert_eq!(labels.len(), requests.len(), "{labels:?}");
        for request in requests {
            let is_named = !matches!(
                request,
                ObjectCommand::Create(_)
                    | ObjectCommand::Undo(_)
                    | ObjectCommand::Redo(_)
                    | ObjectCommand::Insert(_)
                    | ObjectCommand::InsertWithIds(_)
                    | ObjectCommand::Release
            );
            assert_eq!(request.first_object(), is_named.then_some(id), "{request:?}");
            let n = match request {
                ObjectCommand::Duplicate(_) | ObjectCommand::Link(_) => 2,
                ObjectCommand::Release => 0,
                _ => 1,
            };
            assert_eq!(request.n_objects(), n, "{request:?}");
            let is_of_node = matches!(
                request,
                ObjectCommand::Insert(_)
                    | ObjectCommand::InsertWithIds(_)
                    | ObjectCommand::PutItem(..)
                    | ObjectCommand::Clear(_)
            );
            assert_eq!(request.is_of_node(), is_of_node);
            assert_eq!(request.is_of_contents(), request.label().ends_with("_item"), "{request:?}");
            let bytes = postcard::to_stdvec(&request).unwrap();
            assert_eq!(postcard::from_bytes(&bytes), Ok(request));
        }
    }

    #[test]
    fn destinations_without_a_kind_are_unknown() {
        assert_eq!(DerezKind::of_code(4), Some(DerezKind::Take));
        assert_eq!([0, 2, 3, 5, 7, 8, 10, 255].map(DerezKind::of_code), [None; 8]);
        let of = |code| DerezKind::of_code(code).map(DerezKind::code);
        assert_eq!([1, 4, 6, 9, 16].map(of), [1, 4, 6, 9, 16].map(Some));
        assert!(DerezKind::Save.is_copy() && !DerezKind::Take.is_copy());
    }
}
