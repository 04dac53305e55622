//! Identities: names, profiles, and the roles of an agent in its groups.

messages! {
    /// Asks for the names of agents.
    UUIDNameRequest: Low 235, plain, from Client {
        uuid_name_block: many UUIDNameRequestUUIDNameBlock { id: Uuid }
    }

    /// Names of agents.
    UUIDNameReply: Low 236, plain, from Server {
        uuid_name_block: many UUIDNameReplyUUIDNameBlock {
            id: Uuid, first_name: Variable1, last_name: Variable1,
        }
    }

    /// Asks for the names of groups.
    UUIDGroupNameRequest: Low 237, plain, from Client {
        uuid_name_block: many UUIDGroupNameRequestUUIDNameBlock { id: Uuid }
    }

    /// Names of groups.
    UUIDGroupNameReply: Low 238, plain, from Server {
        uuid_name_block: many UUIDGroupNameReplyUUIDNameBlock { id: Uuid, group_name: Variable1 }
    }

    /// Asks for [`AgentDataUpdate`].
    AgentDataUpdateRequest: Low 386, plain, from Client {
        agent_data: one AgentDataUpdateRequestAgentData { agent_id: Uuid, session_id: Uuid }
    }

    /// Own name, active group and title.
    AgentDataUpdate: Low 387, zero_coded, from Server {
        agent_data: one AgentDataUpdateAgentData {
            agent_id: Uuid, first_name: Variable1, last_name: Variable1, group_title: Variable1,
            active_group_id: Uuid, group_powers: u64, group_name: Variable1,
        }
    }

    /// Opens a profile.
    AvatarPropertiesRequest: Low 169, plain, from Client {
        agent_data: one AvatarPropertiesRequestAgentData { agent_id: Uuid, session_id: Uuid, avatar_id: Uuid }
    }

    /// A profile.
    AvatarPropertiesReply: Low 171, zero_coded, from Server {
        agent_data: one AvatarPropertiesReplyAgentData { agent_id: Uuid, avatar_id: Uuid }
        properties_data: one AvatarPropertiesReplyPropertiesData {
            image_id: Uuid, fl_image_id: Uuid, partner_id: Uuid, about_text: Variable2,
            fl_about_text: Variable1, born_on: Variable1, profile_url: Variable1, charter_member: Variable1,
            flags: u32,
        }
    }

    /// A user's interests and skills; it comes with a profile.
    AvatarInterestsReply: Low 172, zero_coded, from Server {
        agent_data: one AvatarInterestsReplyAgentData { agent_id: Uuid, avatar_id: Uuid }
        properties_data: one AvatarInterestsReplyPropertiesData {
            want_to_mask: u32, want_to_text: Variable1, skills_mask: u32, skills_text: Variable1,
            languages_text: Variable1,
        }
    }

    /// Groups of a user; it comes with a profile.
    AvatarGroupsReply: Low 173, zero_coded, from Server {
        agent_data: one AvatarGroupsReplyAgentData { agent_id: Uuid, avatar_id: Uuid }
        group_data: many AvatarGroupsReplyGroupData {
            group_powers: u64, accept_notices: bool, group_title: Variable1, group_id: Uuid,
            group_name: Variable1, group_insignia_id: Uuid,
        }
        new_group_data: one AvatarGroupsReplyNewGroupData { list_in_profile: bool }
    }

    /// Asks for the contact settings of the own account.
    UserInfoRequest: Low 399, plain, from Client {
        agent_data: one UserInfoRequestAgentData { agent_id: Uuid, session_id: Uuid }
    }

    /// Contact settings of the own account.
    UserInfoReply: Low 400, plain, from Server {
        agent_data: one UserInfoReplyAgentData { agent_id: Uuid }
        user_data: one UserInfoReplyUserData {
            im_via_e_mail: bool, directory_visibility: Variable1, e_mail: Variable2,
        }
    }
}
