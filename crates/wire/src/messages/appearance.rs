//! Appearance and outfit of avatars.

messages! {
    /// Asks for [`AgentWearablesUpdate`].
    AgentWearablesRequest: Low 381, plain, from Client {
        agent_data: one AgentWearablesRequestAgentData { agent_id: Uuid, session_id: Uuid }
    }

    /// Outfit of the own avatar. node-metaverse does not connect without it (30 s).
    AgentWearablesUpdate: Low 382, zero_coded, from Server {
        agent_data: one AgentWearablesUpdateAgentData {
            agent_id: Uuid, session_id: Uuid,
            /// Rises with every change of outfit.
            serial_num: u32,
        }
        wearable_data: many AgentWearablesUpdateWearableData {
            item_id: Uuid, asset_id: Uuid, wearable_type: u8,
        }
    }

    /// The user's new outfit.
    AgentIsNowWearing: Low 383, zero_coded, from Client {
        agent_data: one AgentIsNowWearingAgentData { agent_id: Uuid, session_id: Uuid }
        wearable_data: many AgentIsNowWearingWearableData { item_id: Uuid, wearable_type: u8 }
    }

    /// Appearance of the own avatar: textures and visual parameters, to be shown to all others.
    AgentSetAppearance: Low 84, zero_coded, from Client {
        agent_data: one AgentSetAppearanceAgentData {
            agent_id: Uuid, session_id: Uuid,
            /// Rises with every change; an older one is late.
            serial_num: u32,
            /// Width, depth and height of the avatar's box in metres.
            size: Vec3,
        }
        wearable_data: many AgentSetAppearanceWearableData { cache_id: Uuid, texture_index: u8 }
        object_data: one AgentSetAppearanceObjectData {
            /// See [`crate::texture_entry`].
            texture_entry: Variable2,
        }
        visual_param: many AgentSetAppearanceVisualParam { param_value: u8 }
    }

    /// Appearance of an avatar.
    AvatarAppearance: Low 158, zero_coded, from Server {
        sender: one AvatarAppearanceSender { id: Uuid, is_trial: bool }
        object_data: one AvatarAppearanceObjectData {
            /// See [`crate::texture_entry`].
            texture_entry: Variable2,
        }
        visual_param: many AvatarAppearanceVisualParam { param_value: u8 }
        appearance_data: many AvatarAppearanceAppearanceData {
            appearance_version: u8,
            /// Version of the Current Outfit folder that this look belongs to.
            cof_version: i32,
            flags: u32,
        }
        appearance_hover: many AvatarAppearanceAppearanceHover {
            /// Metres; only z counts.
            hover_height: Vec3,
        }
        attachment_block: extra AvatarAppearanceAttachmentBlock { id: Uuid, attachment_point: u8 }
    }

    /// Asks which of its baked textures the grid still has.
    AgentCachedTexture: Low 384, plain, from Client {
        agent_data: one AgentCachedTextureAgentData { agent_id: Uuid, session_id: Uuid, serial_num: i32 }
        wearable_data: many AgentCachedTextureWearableData { id: Uuid, texture_index: u8 }
    }

    /// Answer to [`AgentCachedTexture`]; null means "bake it yourself".
    AgentCachedTextureResponse: Low 385, plain, from Server {
        agent_data: one AgentCachedTextureResponseAgentData {
            agent_id: Uuid, session_id: Uuid, serial_num: i32,
        }
        wearable_data: many AgentCachedTextureResponseWearableData {
            texture_id: Uuid, texture_index: u8, host_name: Variable1,
        }
    }

    /// A baked texture is lost: the client should make it again.
    RebakeAvatarTextures: Low 87, plain, from Server {
        texture_data: one RebakeAvatarTexturesTextureData { texture_id: Uuid }
    }

    /// Wear an object from the inventory.
    RezSingleAttachmentFromInv: Low 395, zero_coded, from Client {
        agent_data: one RezSingleAttachmentFromInvAgentData { agent_id: Uuid, session_id: Uuid }
        object_data: one RezSingleAttachmentFromInvObjectData {
            item_id: Uuid, owner_id: Uuid,
            /// Bit 0x80: wear it in addition to the present ones.
            attachment_pt: u8,
            item_flags: u32, group_mask: u32, everyone_mask: u32, next_owner_mask: u32, name: Variable1,
            description: Variable1,
        }
    }

    /// Wear objects from the inventory: an outfit, in one message or several.
    RezMultipleAttachmentsFromInv: Low 396, zero_coded, from Client {
        agent_data: one RezMultipleAttachmentsFromInvAgentData { agent_id: Uuid, session_id: Uuid }
        header_data: one RezMultipleAttachmentsFromInvHeaderData {
            /// The same in all messages of one outfit.
            compound_msg_id: Uuid,
            /// Objects of the outfit.
            total_objects: u8,
            /// Everything else is taken off.
            first_detach_all: bool,
        }
        object_data: many RezMultipleAttachmentsFromInvObjectData {
            item_id: Uuid, owner_id: Uuid,
            /// Bit 0x80: wear it in addition to the present ones.
            attachment_pt: u8,
            item_flags: u32, group_mask: u32, everyone_mask: u32, next_owner_mask: u32, name: Variable1,
            description: Variable1,
        }
    }

    /// Takes an attachment off, by its item.
    DetachAttachmentIntoInv: Low 397, plain, from Client {
        object_data: one DetachAttachmentIntoInvObjectData { agent_id: Uuid, item_id: Uuid }
    }

    /// Takes an attachment off, by its item.
    RemoveAttachment: Low 332, plain, from Client {
        agent_data: one RemoveAttachmentAgentData { agent_id: Uuid, session_id: Uuid }
        attachment_block: one RemoveAttachmentAttachmentBlock { attachment_point: u8, item_id: Uuid }
    }

    /// Wear an object that lies in the world.
    ObjectAttach: Low 112, zero_coded, from Client {
        agent_data: one ObjectAttachAgentData { agent_id: Uuid, session_id: Uuid, attachment_point: u8 }
        object_data: many ObjectAttachObjectData { object_local_id: u32, rotation: Quat }
    }

    /// Puts worn objects on the ground.
    ObjectDrop: Low 114, plain, from Client {
        agent_data: one ObjectDropAgentData { agent_id: Uuid, session_id: Uuid }
        object_data: many ObjectDropObjectData { object_local_id: u32 }
    }

    /// Takes attachments off, back into the inventory.
    ObjectDetach: Low 113, plain, from Client {
        agent_data: one ObjectDetachAgentData { agent_id: Uuid, session_id: Uuid }
        object_data: many ObjectDetachObjectData { object_local_id: u32 }
    }

    /// Gestures that the user switches on; every viewer sends its list after login.
    ActivateGestures: Low 316, plain, from Client {
        agent_data: one ActivateGesturesAgentData { agent_id: Uuid, session_id: Uuid, flags: u32 }
        data: many ActivateGesturesData { item_id: Uuid, asset_id: Uuid, gesture_flags: u32 }
    }

    /// Gestures that the user switches off.
    DeactivateGestures: Low 317, plain, from Client {
        agent_data: one DeactivateGesturesAgentData { agent_id: Uuid, session_id: Uuid, flags: u32 }
        data: many DeactivateGesturesData { item_id: Uuid, gesture_flags: u32 }
    }
}
