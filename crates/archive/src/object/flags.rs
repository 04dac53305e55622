//! Flags of a part by the names of OpenSimulator, and those that parts of an archive have here.

use super::error::Flaw;
use crate::xml::XmlElement;

/// Moved by physics.
pub const PHYSICS: u32 = 1;
/// Collides with nothing.
pub const PHANTOM: u32 = 1 << 10;
/// Reports collisions and collides with nothing.
pub const VOLUME_DETECT: u32 = 1 << 14;
/// Found by searches.
pub const IN_SEARCH: u32 = 1 << 15;
/// All users may put items into it.
pub const ALLOW_DROP: u32 = 1 << 16;
/// Vanishes a minute after it was made.
pub const TEMPORARY: u32 = 1 << 29;

/// All flags of a part. The others of the protocol depend on the receiver of a message, on scripts or on contents.
pub const PART_FLAGS: u32 = PHYSICS | PHANTOM | VOLUME_DETECT | IN_SEARCH | ALLOW_DROP | TEMPORARY;

/// Names by their bits. Some are of meanings that the bits had before.
const NAMES: [&str; 32] = [
    "Physics",
    "CreateSelected",
    "ObjectModify",
    "ObjectCopy",
    "ObjectAnyOwner",
    "ObjectYouOwner",
    "Scripted",
    "Touch",
    "ObjectMove",
    "Money",
    "Phantom",
    "InventoryEmpty",
    "JointHinge",
    "JointP2P",
    "JointLP2P",
    "JointWheel",
    "AllowInventoryDrop",
    "ObjectTransfer",
    "ObjectGroupOwned",
    "ObjectYouOfficer",
    "CameraDecoupled",
    "AnimSource",
    "CameraSource",
    "CastShadows",
    "DieAtEdge",
    "ReturnAtEdge",
    "Sandbox",
    "Flying",
    "ObjectOwnerModify",
    "TemporaryOnRez",
    "Temporary",
    "ZlibCompressed",
];

/// Reads names with blanks or commas between them, or a number. No text stands for no flag.
pub(super) fn read(element: &XmlElement<'_>) -> Result<u32, Flaw> {
    let text = super::values::text(element)?;
    if let Ok(bits) = text.trim().parse() {
        return Ok(bits);
    }
    let names = text.split([' ', ',', '\t', '\r', '\n']).filter(|name| !name.is_empty());
    names.filter(|name| *name != "None").try_fold(0, |flags, name| {
        let bit = NAMES.iter().position(|other| *other == name).ok_or_else(|| Flaw::name(name))?;
        Ok(flags | 1 << bit)
    })
}

/// The names of flags, in the order of their bits.
pub(super) fn names(flags: u32) -> String {
    let set = NAMES.iter().enumerate().filter(|(bit, _)| flags >> bit & 1 == 1).map(|(_, name)| *name);
    let names: Vec<&str> = set.collect();
    if names.is_empty() { "None".to_owned() } else { names.join(" ") }
}
