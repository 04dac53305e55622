//! Search for people, places, groups, events and classifieds.

messages! {
    /// Searches users by name.
    AvatarPickerRequest: Low 26, plain, from Client {
        agent_data: one AvatarPickerRequestAgentData {
            agent_id: Uuid, session_id: Uuid, query_id: Uuid,
        }
        data: one AvatarPickerRequestData {
            name: Variable1,
        }
    }

    /// Users found.
    AvatarPickerReply: Low 28, plain, from Server {
        agent_data: one AvatarPickerReplyAgentData {
            agent_id: Uuid, query_id: Uuid,
        }
        data: many AvatarPickerReplyData {
            avatar_id: Uuid, first_name: Variable1, last_name: Variable1,
        }
    }

    /// Searches users, groups or events.
    DirFindQuery: Low 31, zero_coded, from Client {
        agent_data: one DirFindQueryAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        query_data: one DirFindQueryQueryData {
            query_id: Uuid, query_text: Variable1, query_flags: u32, query_start: i32,
        }
    }

    /// Users found.
    DirPeopleReply: Low 36, zero_coded, from Server {
        agent_data: one DirPeopleReplyAgentData {
            agent_id: Uuid,
        }
        query_data: one DirPeopleReplyQueryData {
            query_id: Uuid,
        }
        query_replies: many DirPeopleReplyQueryReplies {
            agent_id: Uuid, first_name: Variable1, last_name: Variable1, group: Variable1, online: bool,
            reputation: i32,
        }
    }

    /// Events found.
    DirEventsReply: Low 37, zero_coded, from Server {
        agent_data: one DirEventsReplyAgentData {
            agent_id: Uuid,
        }
        query_data: one DirEventsReplyQueryData {
            query_id: Uuid,
        }
        query_replies: many DirEventsReplyQueryReplies {
            owner_id: Uuid, name: Variable1, event_id: u32, date: Variable1, unix_time: u32,
            event_flags: u32,
        }
        status_data: many DirEventsReplyStatusData {
            status: u32,
        }
    }

    /// Groups found.
    DirGroupsReply: Low 38, zero_coded, from Server {
        agent_data: one DirGroupsReplyAgentData {
            agent_id: Uuid,
        }
        query_data: one DirGroupsReplyQueryData {
            query_id: Uuid,
        }
        query_replies: many DirGroupsReplyQueryReplies {
            group_id: Uuid, group_name: Variable1, members: i32, search_order: f32,
        }
    }

    /// Searches places.
    DirPlacesQuery: Low 33, zero_coded, from Client {
        agent_data: one DirPlacesQueryAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        query_data: one DirPlacesQueryQueryData {
            query_id: Uuid, query_text: Variable1, query_flags: u32, category: i8, sim_name: Variable1,
            query_start: i32,
        }
    }

    /// Places found.
    DirPlacesReply: Low 35, zero_coded, from Server {
        agent_data: one DirPlacesReplyAgentData {
            agent_id: Uuid,
        }
        query_data: many DirPlacesReplyQueryData {
            query_id: Uuid,
        }
        query_replies: many DirPlacesReplyQueryReplies {
            parcel_id: Uuid, name: Variable1, for_sale: bool, auction: bool, dwell: f32,
        }
        status_data: many DirPlacesReplyStatusData {
            status: u32,
        }
    }

    /// Searches classifieds.
    DirClassifiedQuery: Low 39, zero_coded, from Client {
        agent_data: one DirClassifiedQueryAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        query_data: one DirClassifiedQueryQueryData {
            query_id: Uuid, query_text: Variable1, query_flags: u32, category: u32, query_start: i32,
        }
    }

    /// Classifieds found.
    DirClassifiedReply: Low 41, zero_coded, from Server {
        agent_data: one DirClassifiedReplyAgentData {
            agent_id: Uuid,
        }
        query_data: one DirClassifiedReplyQueryData {
            query_id: Uuid,
        }
        query_replies: many DirClassifiedReplyQueryReplies {
            classified_id: Uuid, name: Variable1, classified_flags: u8, creation_date: u32,
            expiration_date: u32, price_for_listing: i32,
        }
        status_data: many DirClassifiedReplyStatusData {
            status: u32,
        }
    }

    /// Searches land for sale. The answer goes through the event queue.
    DirLandQuery: Low 48, zero_coded, from Client {
        agent_data: one DirLandQueryAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        query_data: one DirLandQueryQueryData {
            query_id: Uuid, query_flags: u32, search_type: u32, price: i32, area: i32, query_start: i32,
        }
    }

    /// Asks for popular places.
    DirPopularQuery: Low 51, zero_coded, from Client {
        agent_data: one DirPopularQueryAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        query_data: one DirPopularQueryQueryData {
            query_id: Uuid, query_flags: u32,
        }
    }

    /// Popular places.
    DirPopularReply: Low 53, zero_coded, from Server {
        agent_data: one DirPopularReplyAgentData {
            agent_id: Uuid,
        }
        query_data: one DirPopularReplyQueryData {
            query_id: Uuid,
        }
        query_replies: many DirPopularReplyQueryReplies {
            parcel_id: Uuid, name: Variable1, dwell: f32,
        }
    }

    /// Asks for the land of a user or group. The answer goes through the event queue.
    PlacesQuery: Low 29, zero_coded, from Client {
        agent_data: one PlacesQueryAgentData {
            agent_id: Uuid, session_id: Uuid, query_id: Uuid,
        }
        transaction_data: one PlacesQueryTransactionData {
            transaction_id: Uuid,
        }
        query_data: one PlacesQueryQueryData {
            query_text: Variable1, query_flags: u32, category: i8, sim_name: Variable1,
        }
    }
}
