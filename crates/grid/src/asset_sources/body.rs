//! The body parts that every account begins with.

use crate::kinds::WearableType;
use uuid::{Uuid, uuid};

/// A body part that every account begins with.
#[derive(Debug)]
pub struct BodyPart {
    /// Id of the asset.
    pub asset: Uuid,
    /// Name of the item.
    pub name: &'static str,
    /// Kind: [`WearableType`].
    pub wearable: u8,
    /// The asset itself.
    pub text: &'static str,
}

/// Shape, skin, hair and eyes: without all four a viewer shows a cloud.
pub const BODY_PARTS: [BodyPart; 4] = [
    BodyPart {
        asset: uuid!("3b3f4d58-6c6c-4c1e-9f0e-7a3b5a1d0010"),
        name: "Throng Shape",
        wearable: WearableType::SHAPE,
        text: include_str!("body/shape.txt"),
    },
    BodyPart {
        asset: uuid!("3b3f4d58-6c6c-4c1e-9f0e-7a3b5a1d0011"),
        name: "Throng Skin",
        wearable: WearableType::SKIN,
        text: include_str!("body/skin.txt"),
    },
    BodyPart {
        asset: uuid!("3b3f4d58-6c6c-4c1e-9f0e-7a3b5a1d0012"),
        name: "Throng Hair",
        wearable: WearableType::HAIR,
        text: include_str!("body/hair.txt"),
    },
    BodyPart {
        asset: uuid!("3b3f4d58-6c6c-4c1e-9f0e-7a3b5a1d0013"),
        name: "Throng Eyes",
        wearable: WearableType::EYES,
        text: include_str!("body/eyes.txt"),
    },
];
