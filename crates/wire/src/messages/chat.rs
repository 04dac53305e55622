//! Chat and friends: local chat, instant messages, online status, mutes.

messages! {
    /// Something is said, or the user starts or stops typing.
    ChatFromViewer: Low 80, zero_coded, from Client {
        agent_data: one ChatFromViewerAgentData { agent_id: Uuid, session_id: Uuid }
        chat_data: one ChatFromViewerChatData {
            /// UTF-8, NUL-terminated, at most 1,023 bytes of text.
            message: Variable2,
            /// 0 whisper, 1 say, 2 shout, 4 and 5 start and stop of typing.
            r#type: u8,
            /// 0 is public; may be negative.
            channel: i32,
        }
    }

    /// Something is heard.
    ChatFromSimulator: Low 139, plain, from Server {
        chat_data: one ChatFromSimulatorChatData {
            from_name: Variable1, source_id: Uuid, owner_id: Uuid,
            /// 0 system, 1 agent, 2 object.
            source_type: u8,
            /// As sent; also 6 debug, 8 owner say.
            chat_type: u8,
            /// 1: fully heard.
            audible: u8,
            /// Metres from the region's corner.
            position: Vec3,
            message: Variable2,
        }
    }

    /// Instant messages and everything else that goes from one user to another, distinguished by `dialog`: offers, lures, group
    /// sessions, friendship, typing.
    ImprovedInstantMessage: Low 254, zero_coded, from Either {
        agent_data: one ImprovedInstantMessageAgentData { agent_id: Uuid, session_id: Uuid }
        message_block: one ImprovedInstantMessageMessageBlock {
            from_group: bool, to_agent_id: Uuid, parent_estate_id: u32, region_id: Uuid, position: Vec3,
            /// 1: was stored while the user was away.
            offline: u8,
            dialog: u8,
            /// Session or transaction, depending on `dialog`.
            id: Uuid,
            /// Unix time in seconds, 0 for now.
            timestamp: u32,
            from_agent_name: Variable1, message: Variable2,
            /// Depends on `dialog`.
            binary_bucket: Variable2,
        }
        estate_block: one ImprovedInstantMessageEstateBlock { estate_id: u32 }
        meta_data: extra ImprovedInstantMessageMetaData { data: Variable2 }
    }

    /// Asks for messages that came while the user was away.
    RetrieveInstantMessages: Low 255, plain, from Client {
        agent_data: one RetrieveInstantMessagesAgentData { agent_id: Uuid, session_id: Uuid }
    }

    /// Friends that came in.
    OnlineNotification: Low 322, plain, from Server {
        agent_block: many OnlineNotificationAgentBlock { agent_id: Uuid }
    }

    /// Friends that left.
    OfflineNotification: Low 323, plain, from Server {
        agent_block: many OfflineNotificationAgentBlock { agent_id: Uuid }
    }

    /// Changes what a friend may do.
    GrantUserRights: Low 320, plain, from Client {
        agent_data: one GrantUserRightsAgentData { agent_id: Uuid, session_id: Uuid }
        rights: many GrantUserRightsRights { agent_related: Uuid, related_rights: i32 }
    }

    /// A change of a friend's rights.
    ChangeUserRights: Low 321, plain, from Server {
        agent_data: one ChangeUserRightsAgentData { agent_id: Uuid }
        rights: many ChangeUserRightsRights { agent_related: Uuid, related_rights: i32 }
    }

    /// Accepts an offer of friendship; its transaction names the offer.
    AcceptFriendship: Low 297, plain, from Client {
        agent_data: one AcceptFriendshipAgentData { agent_id: Uuid, session_id: Uuid }
        transaction_block: one AcceptFriendshipTransactionBlock { transaction_id: Uuid }
        folder_data: many AcceptFriendshipFolderData { folder_id: Uuid }
    }

    /// Declines an offer of friendship.
    DeclineFriendship: Low 298, plain, from Client {
        agent_data: one DeclineFriendshipAgentData { agent_id: Uuid, session_id: Uuid }
        transaction_block: one DeclineFriendshipTransactionBlock { transaction_id: Uuid }
    }

    /// Ends a friendship.
    TerminateFriendship: Low 300, plain, from Client {
        agent_data: one TerminateFriendshipAgentData { agent_id: Uuid, session_id: Uuid }
        ex_block: one TerminateFriendshipExBlock { other_id: Uuid }
    }

    /// Offers a calling card; to the receiver's client the transaction is the id of the card.
    OfferCallingCard: Low 301, plain, from Either {
        agent_data: one OfferCallingCardAgentData { agent_id: Uuid, session_id: Uuid }
        agent_block: one OfferCallingCardAgentBlock { dest_id: Uuid, transaction_id: Uuid }
    }

    /// Accepts an offer of a calling card.
    AcceptCallingCard: Low 302, plain, from Either {
        agent_data: one AcceptCallingCardAgentData { agent_id: Uuid, session_id: Uuid }
        transaction_block: one AcceptCallingCardTransactionBlock { transaction_id: Uuid }
        folder_data: many AcceptCallingCardFolderData { folder_id: Uuid }
    }

    /// Declines an offer of a calling card.
    DeclineCallingCard: Low 303, plain, from Either {
        agent_data: one DeclineCallingCardAgentData { agent_id: Uuid, session_id: Uuid }
        transaction_block: one DeclineCallingCardTransactionBlock { transaction_id: Uuid }
    }

    /// Requests the location of a friend that allows it; answered with the same message, locations filled in.
    FindAgent: Low 256, plain, from Either {
        agent_block: one FindAgentAgentBlock { hunter: Uuid, prey: Uuid, space_ip: Ip }
        location_block: many FindAgentLocationBlock { global_x: f64, global_y: f64 }
    }

    /// Asks for the mute list, once after login, with the checksum of the copy it has.
    MuteListRequest: Low 262, plain, from Client {
        agent_data: one MuteListRequestAgentData { agent_id: Uuid, session_id: Uuid }
        mute_data: one MuteListRequestMuteData {
            /// Checksum of the client's copy, 0 without one.
            mute_crc: u32,
        }
    }

    /// The client's copy of its mute list is good.
    UseCachedMuteList: Low 319, plain, from Server {
        agent_data: one UseCachedMuteListAgentData { agent_id: Uuid }
    }

    /// The mute list lies ready as a file for an Xfer.
    MuteListUpdate: Low 318, plain, from Server {
        mute_data: one MuteListUpdateMuteData { agent_id: Uuid, filename: Variable1 }
    }

    /// Adds or changes a mute.
    UpdateMuteListEntry: Low 263, plain, from Client {
        agent_data: one UpdateMuteListEntryAgentData { agent_id: Uuid, session_id: Uuid }
        mute_data: one UpdateMuteListEntryMuteData {
            mute_id: Uuid, mute_name: Variable1, mute_type: i32, mute_flags: u32,
        }
    }

    /// Ends a mute.
    RemoveMuteListEntry: Low 264, plain, from Client {
        agent_data: one RemoveMuteListEntryAgentData { agent_id: Uuid, session_id: Uuid }
        mute_data: one RemoveMuteListEntryMuteData { mute_id: Uuid, mute_name: Variable1 }
    }
}
