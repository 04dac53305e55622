//! Pages of a profile, and the rights of administrators.

messages! {
    /// Picks of a user.
    AvatarPicksReply: Low 178, plain, from Server {
        agent_data: one AvatarPicksReplyAgentData {
            agent_id: Uuid, target_id: Uuid,
        }
        data: many AvatarPicksReplyData {
            pick_id: Uuid, pick_name: Variable1,
        }
    }

    /// Notes on a user.
    AvatarNotesReply: Low 176, plain, from Server {
        agent_data: one AvatarNotesReplyAgentData {
            agent_id: Uuid,
        }
        data: one AvatarNotesReplyData {
            target_id: Uuid, notes: Variable2,
        }
    }

    /// Classifieds of a user.
    AvatarClassifiedReply: Low 42, plain, from Server {
        agent_data: one AvatarClassifiedReplyAgentData {
            agent_id: Uuid, target_id: Uuid,
        }
        data: many AvatarClassifiedReplyData {
            classified_id: Uuid, name: Variable1,
        }
    }

    /// Asks for the rights of an administrator.
    RequestGodlikePowers: Low 257, plain, from Client {
        agent_data: one RequestGodlikePowersAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        request_block: one RequestGodlikePowersRequestBlock {
            godlike: bool, token: Uuid,
        }
    }

    /// Grants a level of rights, 0 being none.
    GrantGodlikePowers: Low 258, plain, from Server {
        agent_data: one GrantGodlikePowersAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        grant_data: one GrantGodlikePowersGrantData {
            god_level: u8, token: Uuid,
        }
    }
}
