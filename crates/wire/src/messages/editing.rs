//! Changes that clients ask for on objects, and what becomes of objects that are taken.

messages! {
    /// Makes a prim where a ray ends.
    ObjectAdd: Medium 1, zero_coded, from Client {
        agent_data: one ObjectAddAgentData { agent_id: Uuid, session_id: Uuid, group_id: Uuid }
        object_data: one ObjectAddObjectData {
            p_code: u8, material: u8, add_flags: u32, path_curve: u8, profile_curve: u8, path_begin: u16,
            path_end: u16, path_scale_x: u8, path_scale_y: u8, path_shear_x: u8, path_shear_y: u8,
            path_twist: i8, path_twist_begin: i8, path_radius_offset: i8, path_taper_x: i8,
            path_taper_y: i8, path_revolutions: u8, path_skew: i8, profile_begin: u16, profile_end: u16,
            profile_hollow: u16, bypass_raycast: u8, ray_start: Vec3, ray_end: Vec3, ray_target_id: Uuid,
            ray_end_is_intersection: u8, scale: Vec3, rotation: Quat, state: u8,
        }
    }

    /// Takes the last change of each object back.
    Undo: Low 75, plain, from Client {
        agent_data: one UndoAgentData { agent_id: Uuid, session_id: Uuid, group_id: Uuid }
        object_data: many UndoObjectData { object_id: Uuid }
    }

    /// Repeats the change of each object that was taken back last.
    Redo: Low 76, plain, from Client {
        agent_data: one RedoAgentData { agent_id: Uuid, session_id: Uuid, group_id: Uuid }
        object_data: many RedoObjectData { object_id: Uuid }
    }

    /// Deletes objects.
    ObjectDelete: Low 89, zero_coded, from Client {
        agent_data: one ObjectDeleteAgentData {
            agent_id: Uuid, session_id: Uuid, force: bool,
        }
        object_data: many ObjectDeleteObjectData {
            object_local_id: u32,
        }
    }

    /// Copies objects.
    ObjectDuplicate: Low 90, zero_coded, from Client {
        agent_data: one ObjectDuplicateAgentData {
            agent_id: Uuid, session_id: Uuid, group_id: Uuid,
        }
        shared_data: one ObjectDuplicateSharedData {
            offset: Vec3, duplicate_flags: u32,
        }
        object_data: many ObjectDuplicateObjectData {
            object_local_id: u32,
        }
    }

    /// Copies objects to where the pointer is.
    ObjectDuplicateOnRay: Low 91, zero_coded, from Client {
        agent_data: one ObjectDuplicateOnRayAgentData {
            agent_id: Uuid, session_id: Uuid, group_id: Uuid, ray_start: Vec3, ray_end: Vec3,
            bypass_raycast: bool, ray_end_is_intersection: bool, copy_centers: bool, copy_rotates: bool,
            ray_target_id: Uuid, duplicate_flags: u32,
        }
        object_data: many ObjectDuplicateOnRayObjectData {
            object_local_id: u32,
        }
    }

    /// Moves, turns and scales objects.
    MultipleObjectUpdate: Medium 2, zero_coded, from Client {
        agent_data: one MultipleObjectUpdateAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        object_data: many MultipleObjectUpdateObjectData {
            object_local_id: u32, r#type: u8, data: Variable1,
        }
    }

    /// Moves objects, in old clients.
    ObjectPosition: Medium 4, zero_coded, from Client {
        agent_data: one ObjectPositionAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        object_data: many ObjectPositionObjectData {
            object_local_id: u32, position: Vec3,
        }
    }

    /// Scales objects, in old clients.
    ObjectScale: Low 92, zero_coded, from Client {
        agent_data: one ObjectScaleAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        object_data: many ObjectScaleObjectData {
            object_local_id: u32, scale: Vec3,
        }
    }

    /// Turns objects, in old clients.
    ObjectRotation: Low 93, zero_coded, from Client {
        agent_data: one ObjectRotationAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        object_data: many ObjectRotationObjectData {
            object_local_id: u32, rotation: Quat,
        }
    }

    /// Makes an object physical, temporary or phantom.
    ObjectFlagUpdate: Low 94, zero_coded, from Client {
        agent_data: one ObjectFlagUpdateAgentData {
            agent_id: Uuid, session_id: Uuid, object_local_id: u32, use_physics: bool, is_temporary: bool,
            is_phantom: bool, casts_shadows: bool,
        }
        extra_physics: many ObjectFlagUpdateExtraPhysics {
            physics_shape_type: u8, density: f32, friction: f32, restitution: f32, gravity_multiplier: f32,
        }
    }

    /// Changes what a click does.
    ObjectClickAction: Low 95, zero_coded, from Client {
        agent_data: one ObjectClickActionAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        object_data: many ObjectClickActionObjectData {
            object_local_id: u32, click_action: u8,
        }
    }

    /// Changes textures.
    ObjectImage: Low 96, zero_coded, from Client {
        agent_data: one ObjectImageAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        object_data: many ObjectImageObjectData {
            object_local_id: u32, media_url: Variable1, texture_entry: Variable2,
        }
    }

    /// Changes the material.
    ObjectMaterial: Low 97, zero_coded, from Client {
        agent_data: one ObjectMaterialAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        object_data: many ObjectMaterialObjectData {
            object_local_id: u32, material: u8,
        }
    }

    /// Changes the shape of prims.
    ObjectShape: Low 98, zero_coded, from Client {
        agent_data: one ObjectShapeAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        object_data: many ObjectShapeObjectData {
            object_local_id: u32, path_curve: u8, profile_curve: u8, path_begin: u16, path_end: u16,
            path_scale_x: u8, path_scale_y: u8, path_shear_x: u8, path_shear_y: u8, path_twist: i8,
            path_twist_begin: i8, path_radius_offset: i8, path_taper_x: i8, path_taper_y: i8,
            path_revolutions: u8, path_skew: i8, profile_begin: u16, profile_end: u16, profile_hollow: u16,
        }
    }

    /// Changes light, flexibility and sculpting.
    ObjectExtraParams: Low 99, zero_coded, from Client {
        agent_data: one ObjectExtraParamsAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        object_data: many ObjectExtraParamsObjectData {
            object_local_id: u32, param_type: u16, param_in_use: bool, param_size: u32,
            param_data: Variable1,
        }
    }

    /// Gives objects to another owner.
    ObjectOwner: Low 100, zero_coded, from Client {
        agent_data: one ObjectOwnerAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        header_data: one ObjectOwnerHeaderData {
            r#override: bool, owner_id: Uuid, group_id: Uuid,
        }
        object_data: many ObjectOwnerObjectData {
            object_local_id: u32,
        }
    }

    /// Gives objects to a group.
    ObjectGroup: Low 101, zero_coded, from Client {
        agent_data: one ObjectGroupAgentData {
            agent_id: Uuid, session_id: Uuid, group_id: Uuid,
        }
        object_data: many ObjectGroupObjectData {
            object_local_id: u32,
        }
    }

    /// Buys objects.
    ObjectBuy: Low 102, zero_coded, from Client {
        agent_data: one ObjectBuyAgentData {
            agent_id: Uuid, session_id: Uuid, group_id: Uuid, category_id: Uuid,
        }
        object_data: many ObjectBuyObjectData {
            object_local_id: u32, sale_type: u8, sale_price: i32,
        }
    }

    /// Changes permissions.
    ObjectPermissions: Low 105, zero_coded, from Client {
        agent_data: one ObjectPermissionsAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        header_data: one ObjectPermissionsHeaderData {
            r#override: bool,
        }
        object_data: many ObjectPermissionsObjectData {
            object_local_id: u32, field: u8, set: u8, mask: u32,
        }
    }

    /// Changes the price.
    ObjectSaleInfo: Low 106, zero_coded, from Client {
        agent_data: one ObjectSaleInfoAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        object_data: many ObjectSaleInfoObjectData {
            local_id: u32, sale_type: u8, sale_price: i32,
        }
    }

    /// Renames objects.
    ObjectName: Low 107, zero_coded, from Client {
        agent_data: one ObjectNameAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        object_data: many ObjectNameObjectData {
            local_id: u32, name: Variable1,
        }
    }

    /// Describes objects.
    ObjectDescription: Low 108, zero_coded, from Client {
        agent_data: one ObjectDescriptionAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        object_data: many ObjectDescriptionObjectData {
            local_id: u32, description: Variable1,
        }
    }

    /// Changes the category.
    ObjectCategory: Low 109, zero_coded, from Client {
        agent_data: one ObjectCategoryAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        object_data: many ObjectCategoryObjectData {
            local_id: u32, category: u32,
        }
    }

    /// Links objects into one.
    ObjectLink: Low 115, plain, from Client {
        agent_data: one ObjectLinkAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        object_data: many ObjectLinkObjectData {
            object_local_id: u32,
        }
    }

    /// Parts linked objects.
    ObjectDelink: Low 116, plain, from Client {
        agent_data: one ObjectDelinkAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        object_data: many ObjectDelinkObjectData {
            object_local_id: u32,
        }
    }

    /// Lists objects in the directory.
    ObjectIncludeInSearch: Low 424, plain, from Client {
        agent_data: one ObjectIncludeInSearchAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        object_data: many ObjectIncludeInSearchObjectData {
            object_local_id: u32, include_in_search: bool,
        }
    }

    /// Takes objects out of the world.
    DeRezObject: Low 291, zero_coded, from Client {
        agent_data: one DeRezObjectAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        agent_block: one DeRezObjectAgentBlock {
            group_id: Uuid, destination: u8, destination_id: Uuid, transaction_id: Uuid, packet_count: u8,
            packet_number: u8,
        }
        object_data: many DeRezObjectObjectData {
            object_local_id: u32,
        }
    }

    /// Result of a DeRezObject: taken or not.
    DeRezAck: Low 292, plain, from Server {
        transaction_data: one DeRezAckTransactionData {
            transaction_id: Uuid, success: bool,
        }
    }
}
