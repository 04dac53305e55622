//! Groups: requests with an answer of their own.

messages! {
    /// Founds a group.
    CreateGroupRequest: Low 339, zero_coded, from Client {
        agent_data: one CreateGroupRequestAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        group_data: one CreateGroupRequestGroupData {
            name: Variable1, charter: Variable2, show_in_list: bool, insignia_id: Uuid, membership_fee: i32,
            open_enrollment: bool, allow_publish: bool, mature_publish: bool,
        }
    }

    /// Result of a CreateGroupRequest.
    CreateGroupReply: Low 340, plain, from Server {
        agent_data: one CreateGroupReplyAgentData {
            agent_id: Uuid,
        }
        reply_data: one CreateGroupReplyReplyData {
            group_id: Uuid, success: bool, message: Variable1,
        }
    }

    /// Joins a group.
    JoinGroupRequest: Low 343, zero_coded, from Client {
        agent_data: one JoinGroupRequestAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        group_data: one JoinGroupRequestGroupData {
            group_id: Uuid,
        }
    }

    /// Result of a JoinGroupRequest.
    JoinGroupReply: Low 344, plain, from Server {
        agent_data: one JoinGroupReplyAgentData {
            agent_id: Uuid,
        }
        group_data: one JoinGroupReplyGroupData {
            group_id: Uuid, success: bool,
        }
    }

    /// Leaves a group.
    LeaveGroupRequest: Low 347, plain, from Client {
        agent_data: one LeaveGroupRequestAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        group_data: one LeaveGroupRequestGroupData {
            group_id: Uuid,
        }
    }

    /// Result of a LeaveGroupRequest.
    LeaveGroupReply: Low 348, plain, from Server {
        agent_data: one LeaveGroupReplyAgentData {
            agent_id: Uuid,
        }
        group_data: one LeaveGroupReplyGroupData {
            group_id: Uuid, success: bool,
        }
    }

    /// Puts members out of a group.
    EjectGroupMemberRequest: Low 345, plain, from Client {
        agent_data: one EjectGroupMemberRequestAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        group_data: one EjectGroupMemberRequestGroupData {
            group_id: Uuid,
        }
        eject_data: many EjectGroupMemberRequestEjectData {
            ejectee_id: Uuid,
        }
    }

    /// Result of an EjectGroupMemberRequest.
    EjectGroupMemberReply: Low 346, plain, from Server {
        agent_data: one EjectGroupMemberReplyAgentData {
            agent_id: Uuid,
        }
        group_data: one EjectGroupMemberReplyGroupData {
            group_id: Uuid,
        }
        eject_data: one EjectGroupMemberReplyEjectData {
            success: bool,
        }
    }

    /// Asks for the profile of a group.
    GroupProfileRequest: Low 351, plain, from Client {
        agent_data: one GroupProfileRequestAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        group_data: one GroupProfileRequestGroupData {
            group_id: Uuid,
        }
    }

    /// The profile of a group.
    GroupProfileReply: Low 352, zero_coded, from Server {
        agent_data: one GroupProfileReplyAgentData {
            agent_id: Uuid,
        }
        group_data: one GroupProfileReplyGroupData {
            group_id: Uuid, name: Variable1, charter: Variable2, show_in_list: bool,
            member_title: Variable1, powers_mask: u64, insignia_id: Uuid, founder_id: Uuid,
            membership_fee: i32, open_enrollment: bool, money: i32, group_membership_count: i32,
            group_roles_count: i32, allow_publish: bool, mature_publish: bool, owner_role: Uuid,
        }
    }

    /// Asks for the members of a group.
    GroupMembersRequest: Low 366, plain, from Client {
        agent_data: one GroupMembersRequestAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        group_data: one GroupMembersRequestGroupData {
            group_id: Uuid, request_id: Uuid,
        }
    }

    /// Members of a group.
    GroupMembersReply: Low 367, zero_coded, from Server {
        agent_data: one GroupMembersReplyAgentData {
            agent_id: Uuid,
        }
        group_data: one GroupMembersReplyGroupData {
            group_id: Uuid, request_id: Uuid, member_count: i32,
        }
        member_data: many GroupMembersReplyMemberData {
            agent_id: Uuid, contribution: i32, online_status: Variable1, agent_powers: u64,
            title: Variable1, is_owner: bool,
        }
    }

    /// Asks for the roles of a group.
    GroupRoleDataRequest: Low 371, plain, from Client {
        agent_data: one GroupRoleDataRequestAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        group_data: one GroupRoleDataRequestGroupData {
            group_id: Uuid, request_id: Uuid,
        }
    }

    /// Roles of a group.
    GroupRoleDataReply: Low 372, plain, from Server {
        agent_data: one GroupRoleDataReplyAgentData {
            agent_id: Uuid,
        }
        group_data: one GroupRoleDataReplyGroupData {
            group_id: Uuid, request_id: Uuid, role_count: i32,
        }
        role_data: many GroupRoleDataReplyRoleData {
            role_id: Uuid, name: Variable1, title: Variable1, description: Variable1, powers: u64,
            members: u32,
        }
    }

    /// Asks which members have which roles.
    GroupRoleMembersRequest: Low 373, plain, from Client {
        agent_data: one GroupRoleMembersRequestAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        group_data: one GroupRoleMembersRequestGroupData {
            group_id: Uuid, request_id: Uuid,
        }
    }

    /// Members and roles.
    GroupRoleMembersReply: Low 374, plain, from Server {
        agent_data: one GroupRoleMembersReplyAgentData {
            agent_id: Uuid, group_id: Uuid, request_id: Uuid, total_pairs: u32,
        }
        member_data: many GroupRoleMembersReplyMemberData {
            role_id: Uuid, member_id: Uuid,
        }
    }

    /// Asks for the titles of a user in a group.
    GroupTitlesRequest: Low 375, plain, from Client {
        agent_data: one GroupTitlesRequestAgentData {
            agent_id: Uuid, session_id: Uuid, group_id: Uuid, request_id: Uuid,
        }
    }

    /// Titles.
    GroupTitlesReply: Low 376, zero_coded, from Server {
        agent_data: one GroupTitlesReplyAgentData {
            agent_id: Uuid, group_id: Uuid, request_id: Uuid,
        }
        group_data: many GroupTitlesReplyGroupData {
            title: Variable1, role_id: Uuid, selected: bool,
        }
    }

    /// Asks for the notices of a group.
    GroupNoticesListRequest: Low 58, plain, from Client {
        agent_data: one GroupNoticesListRequestAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        data: one GroupNoticesListRequestData {
            group_id: Uuid,
        }
    }

    /// Notices of a group.
    GroupNoticesListReply: Low 59, plain, from Server {
        agent_data: one GroupNoticesListReplyAgentData {
            agent_id: Uuid, group_id: Uuid,
        }
        data: many GroupNoticesListReplyData {
            notice_id: Uuid, timestamp: u32, from_name: Variable2, subject: Variable2, has_attachment: bool,
            asset_type: u8,
        }
    }

    /// Asks for the account of a group.
    GroupAccountSummaryRequest: Low 353, zero_coded, from Client {
        agent_data: one GroupAccountSummaryRequestAgentData {
            agent_id: Uuid, session_id: Uuid, group_id: Uuid,
        }
        money_data: one GroupAccountSummaryRequestMoneyData {
            request_id: Uuid, interval_days: i32, current_interval: i32,
        }
    }

    /// The account of a group.
    GroupAccountSummaryReply: Low 354, zero_coded, from Server {
        agent_data: one GroupAccountSummaryReplyAgentData {
            agent_id: Uuid, group_id: Uuid,
        }
        money_data: one GroupAccountSummaryReplyMoneyData {
            request_id: Uuid, interval_days: i32, current_interval: i32, start_date: Variable1,
            balance: i32, total_credits: i32, total_debits: i32, object_tax_current: i32,
            light_tax_current: i32, land_tax_current: i32, group_tax_current: i32,
            parcel_dir_fee_current: i32, object_tax_estimate: i32, light_tax_estimate: i32,
            land_tax_estimate: i32, group_tax_estimate: i32, parcel_dir_fee_estimate: i32,
            non_exempt_members: i32, last_tax_date: Variable1, tax_date: Variable1,
        }
    }

    /// Asks for its details.
    GroupAccountDetailsRequest: Low 355, zero_coded, from Client {
        agent_data: one GroupAccountDetailsRequestAgentData {
            agent_id: Uuid, session_id: Uuid, group_id: Uuid,
        }
        money_data: one GroupAccountDetailsRequestMoneyData {
            request_id: Uuid, interval_days: i32, current_interval: i32,
        }
    }

    /// Its details.
    GroupAccountDetailsReply: Low 356, zero_coded, from Server {
        agent_data: one GroupAccountDetailsReplyAgentData {
            agent_id: Uuid, group_id: Uuid,
        }
        money_data: one GroupAccountDetailsReplyMoneyData {
            request_id: Uuid, interval_days: i32, current_interval: i32, start_date: Variable1,
        }
        history_data: many GroupAccountDetailsReplyHistoryData {
            description: Variable1, amount: i32,
        }
    }

    /// Asks for its transactions.
    GroupAccountTransactionsRequest: Low 357, zero_coded, from Client {
        agent_data: one GroupAccountTransactionsRequestAgentData {
            agent_id: Uuid, session_id: Uuid, group_id: Uuid,
        }
        money_data: one GroupAccountTransactionsRequestMoneyData {
            request_id: Uuid, interval_days: i32, current_interval: i32,
        }
    }

    /// Its transactions.
    GroupAccountTransactionsReply: Low 358, zero_coded, from Server {
        agent_data: one GroupAccountTransactionsReplyAgentData {
            agent_id: Uuid, group_id: Uuid,
        }
        money_data: one GroupAccountTransactionsReplyMoneyData {
            request_id: Uuid, interval_days: i32, current_interval: i32, start_date: Variable1,
        }
        history_data: many GroupAccountTransactionsReplyHistoryData {
            time: Variable1, user: Variable1, r#type: i32, item: Variable1, amount: i32,
        }
    }

    /// Asks for proposals.
    GroupActiveProposalsRequest: Low 359, plain, from Client {
        agent_data: one GroupActiveProposalsRequestAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        group_data: one GroupActiveProposalsRequestGroupData {
            group_id: Uuid,
        }
        transaction_data: one GroupActiveProposalsRequestTransactionData {
            transaction_id: Uuid,
        }
    }

    /// Proposals.
    GroupActiveProposalItemReply: Low 360, zero_coded, from Server {
        agent_data: one GroupActiveProposalItemReplyAgentData {
            agent_id: Uuid, group_id: Uuid,
        }
        transaction_data: one GroupActiveProposalItemReplyTransactionData {
            transaction_id: Uuid, total_num_items: u32,
        }
        proposal_data: many GroupActiveProposalItemReplyProposalData {
            vote_id: Uuid, vote_initiator: Uuid, terse_date_id: Variable1, start_date_time: Variable1,
            end_date_time: Variable1, already_voted: bool, vote_cast: Variable1, majority: f32, quorum: i32,
            proposal_text: Variable1,
        }
    }

    /// Asks for past votes.
    GroupVoteHistoryRequest: Low 361, plain, from Client {
        agent_data: one GroupVoteHistoryRequestAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        group_data: one GroupVoteHistoryRequestGroupData {
            group_id: Uuid,
        }
        transaction_data: one GroupVoteHistoryRequestTransactionData {
            transaction_id: Uuid,
        }
    }

    /// Past votes.
    GroupVoteHistoryItemReply: Low 362, zero_coded, from Server {
        agent_data: one GroupVoteHistoryItemReplyAgentData {
            agent_id: Uuid, group_id: Uuid,
        }
        transaction_data: one GroupVoteHistoryItemReplyTransactionData {
            transaction_id: Uuid, total_num_items: u32,
        }
        history_item_data: one GroupVoteHistoryItemReplyHistoryItemData {
            vote_id: Uuid, terse_date_id: Variable1, start_date_time: Variable1, end_date_time: Variable1,
            vote_initiator: Uuid, vote_type: Variable1, vote_result: Variable1, majority: f32, quorum: i32,
            proposal_text: Variable2,
        }
        vote_item: many GroupVoteHistoryItemReplyVoteItem {
            candidate_id: Uuid, vote_cast: Variable1, num_votes: i32,
        }
    }
}
