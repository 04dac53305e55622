//! Numbers of the protocol for inventories. Three similar but distinct lists: purpose of a folder, type of an asset, display of an
//! item.

use assets::AssetKind;

/// Purpose of a folder (`type_default`).
#[derive(Debug)]
pub struct FolderType;

impl FolderType {
    /// Textures.
    pub const TEXTURES: i8 = 0;
    /// Sounds.
    pub const SOUNDS: i8 = 1;
    /// Calling cards.
    pub const CALLING_CARDS: i8 = 2;
    /// Landmarks.
    pub const LANDMARKS: i8 = 3;
    /// Clothing.
    pub const CLOTHING: i8 = 5;
    /// Objects.
    pub const OBJECTS: i8 = 6;
    /// Notecards.
    pub const NOTECARDS: i8 = 7;
    /// The root.
    pub const ROOT: i8 = 8;
    /// Scripts.
    pub const SCRIPTS: i8 = 10;
    /// Body parts.
    pub const BODY_PARTS: i8 = 13;
    /// Trash.
    pub const TRASH: i8 = 14;
    /// Snapshots.
    pub const PHOTO_ALBUM: i8 = 15;
    /// Objects returned from the world.
    pub const LOST_AND_FOUND: i8 = 16;
    /// Animations.
    pub const ANIMATIONS: i8 = 20;
    /// Gestures.
    pub const GESTURES: i8 = 21;
    /// Landmarks shown in a bar.
    pub const FAVORITES: i8 = 23;
    /// Links to the worn items.
    pub const CURRENT_OUTFIT: i8 = 46;
    /// Folders of saved outfits; each of them is of type 47.
    pub const OUTFITS: i8 = 48;
    /// Meshes.
    pub const MESHES: i8 = 49;
    /// Environment settings.
    pub const SETTINGS: i8 = 56;
    /// Materials.
    pub const MATERIALS: i8 = 57;
}

/// Type of an asset (`type`).
#[derive(Debug)]
pub struct AssetType;

impl AssetType {
    /// A texture, as JPEG 2000.
    pub const TEXTURE: i8 = 0;
    /// A calling card.
    pub const CALLING_CARD: i8 = 2;
    /// Clothing, in the text form of wearables.
    pub const CLOTHING: i8 = 5;
    /// A notecard.
    pub const NOTECARD: i8 = 7;
    /// The source of a script.
    pub const SCRIPT: i8 = 10;
    /// A body part, in the same form.
    pub const BODY_PART: i8 = 13;
    /// A gesture.
    pub const GESTURE: i8 = 21;
    /// No asset but a pointer to an item.
    pub const LINK: i8 = 24;
    /// No asset but a pointer to a folder.
    pub const FOLDER_LINK: i8 = 25;
    /// Settings of the environment.
    pub const SETTINGS: i8 = 56;
    /// A material.
    pub const MATERIAL: i8 = 57;
}

/// Display of an item (`inv_type`).
#[derive(Debug)]
pub struct InventoryType;

impl InventoryType {
    /// A texture.
    pub const TEXTURE: i8 = 0;
    /// A sound.
    pub const SOUND: i8 = 1;
    /// A calling card.
    pub const CALLING_CARD: i8 = 2;
    /// A landmark.
    pub const LANDMARK: i8 = 3;
    /// An object.
    pub const OBJECT: i8 = 6;
    /// A notecard.
    pub const NOTECARD: i8 = 7;
    /// A link to a folder.
    pub const FOLDER: i8 = 8;
    /// A script.
    pub const SCRIPT: i8 = 10;
    /// A texture that is a picture of the world.
    pub const SNAPSHOT: i8 = 15;
    /// Something to wear.
    pub const WEARABLE: i8 = 18;
    /// An animation.
    pub const ANIMATION: i8 = 19;
    /// A gesture.
    pub const GESTURE: i8 = 20;
    /// A mesh.
    pub const MESH: i8 = 22;
    /// Settings of the environment.
    pub const SETTINGS: i8 = 25;
    /// A material.
    pub const MATERIAL: i8 = 26;

    /// Display of an item with an asset of a kind.
    pub(crate) const fn of(kind: AssetKind) -> i8 {
        match kind {
            AssetKind::Texture => Self::TEXTURE,
            AssetKind::Sound => Self::SOUND,
            AssetKind::CallingCard => Self::CALLING_CARD,
            AssetKind::Landmark => Self::LANDMARK,
            AssetKind::Clothing | AssetKind::BodyPart => Self::WEARABLE,
            AssetKind::Object => Self::OBJECT,
            AssetKind::Notecard => Self::NOTECARD,
            AssetKind::Script => Self::SCRIPT,
            AssetKind::Animation => Self::ANIMATION,
            AssetKind::Gesture => Self::GESTURE,
            AssetKind::Mesh => Self::MESH,
            AssetKind::Settings => Self::SETTINGS,
            AssetKind::Material => Self::MATERIAL,
        }
    }
}

/// Kind of a wearable: low byte of its item's flags, and `WearableType` in AgentWearablesUpdate.
#[derive(Debug)]
pub struct WearableType;

impl WearableType {
    /// Proportions of the body.
    pub const SHAPE: u8 = 0;
    /// Skin.
    pub const SKIN: u8 = 1;
    /// Hair.
    pub const HAIR: u8 = 2;
    /// Eyes.
    pub const EYES: u8 = 3;
}
