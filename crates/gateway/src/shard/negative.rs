//! The protocol's own negative and empty replies: groups, search, payments, profiles, files of the estate.
//!
//! A client that waits for one of these gets it at once, instead of an AlertMessage that it would not connect with its request.

use super::Shard;
use super::incoming::{Handled, Incoming};
use crate::coverage::{Feature, MessageOutcome};
use crate::mail::{Request, StoreQuery, dialog};
use ids::Uuid;
use wire::llsd::Llsd;
use wire::messages::*;
use wire::text::{VARIABLE1_MAX, from_wire, to_wire};

/// Bits of DirFindQuery: the searched directories.
const FIND_PEOPLE: u32 = 1;
const FIND_EVENTS: u32 = 1 << 3 | 1 << 5;

/// Answers a request about a group with an empty reply of its own kind.
macro_rules! empty_group_reply {
    ($function:ident, $Request:ident => $Reply:ident { $agent_data:ident, $($block:ident: $Block:ident { $($field:ident),* }),* }) => {
        pub(super) fn $function(&mut self, at: &mut Incoming<'_>, m: $Request) -> Handled {
            let mut reply = $Reply::default();
            reply.$agent_data.agent_id = self.client(at.index).ticket.agent.0;
            $( $( reply.$block.$field = m.$Block.$field; )* )*
            self.refuse(at, reply)
        }
    };
}

impl Shard {
    /// Sends a negative reply at once, which is all that becomes of a message.
    pub(super) fn refuse(&mut self, at: &mut Incoming<'_>, reply: impl Into<Message>) -> Handled {
        self.reply(at, reply);
        Ok(MessageOutcome::Refused)
    }

    /// Puts an event into the client's queue: replies that clients do not take over UDP.
    fn push_event(&mut self, at: &Incoming<'_>, name: &'static str, body: Llsd) -> Handled {
        self.request(at, Request::Event { name, body })
    }

    /// The same for a negative answer.
    fn refuse_by_event(&mut self, at: &Incoming<'_>, name: &'static str, body: Llsd) -> Handled {
        self.push_event(at, name, body)?;
        Ok(MessageOutcome::Refused)
    }

    fn own_id(&mut self, at: &Incoming<'_>) -> Uuid {
        self.client(at.index).ticket.agent.0
    }

    empty_group_reply!(on_join_group, JoinGroupRequest => JoinGroupReply { agent_data, group_data: group_data { group_id } });
    empty_group_reply!(on_leave_group, LeaveGroupRequest => LeaveGroupReply { agent_data, group_data: group_data { group_id } });
    empty_group_reply!(on_eject_member, EjectGroupMemberRequest => EjectGroupMemberReply { agent_data, group_data: group_data { group_id } });
    empty_group_reply!(on_group_profile, GroupProfileRequest => GroupProfileReply { agent_data, group_data: group_data { group_id } });
    empty_group_reply!(on_group_members, GroupMembersRequest => GroupMembersReply { agent_data, group_data: group_data { group_id, request_id } });
    empty_group_reply!(on_group_roles, GroupRoleDataRequest => GroupRoleDataReply { agent_data, group_data: group_data { group_id, request_id } });
    empty_group_reply!(on_group_role_members, GroupRoleMembersRequest => GroupRoleMembersReply { agent_data, agent_data: group_data { group_id, request_id } });
    empty_group_reply!(on_group_titles, GroupTitlesRequest => GroupTitlesReply { agent_data, agent_data: agent_data { group_id, request_id } });
    empty_group_reply!(on_group_notices, GroupNoticesListRequest => GroupNoticesListReply { agent_data, agent_data: data { group_id } });
    empty_group_reply!(on_group_summary, GroupAccountSummaryRequest => GroupAccountSummaryReply { agent_data, agent_data: agent_data { group_id }, money_data: money_data { request_id, interval_days, current_interval } });
    empty_group_reply!(on_group_details, GroupAccountDetailsRequest => GroupAccountDetailsReply { agent_data, agent_data: agent_data { group_id }, money_data: money_data { request_id, interval_days, current_interval } });
    empty_group_reply!(on_group_transactions, GroupAccountTransactionsRequest => GroupAccountTransactionsReply { agent_data, agent_data: agent_data { group_id }, money_data: money_data { request_id, interval_days, current_interval } });
    empty_group_reply!(on_group_proposals, GroupActiveProposalsRequest => GroupActiveProposalItemReply { agent_data, agent_data: group_data { group_id }, transaction_data: transaction_data { transaction_id } });
    empty_group_reply!(on_group_votes, GroupVoteHistoryRequest => GroupVoteHistoryItemReply { agent_data, agent_data: group_data { group_id }, transaction_data: transaction_data { transaction_id } });

    pub(super) fn on_create_group(&mut self, at: &mut Incoming<'_>, _: CreateGroupRequest) -> Handled {
        let mut reply = CreateGroupReply::default();
        reply.agent_data.agent_id = self.own_id(at);
        reply.reply_data.message = to_wire(&Feature::Groups.to_string(), VARIABLE1_MAX);
        self.refuse(at, reply)
    }

    /// Dialogs that are not passed on: those that ask for something that does not exist are refused, and no client waits for an answer to
    /// the others. `None` for the dialogs that the hub takes.
    pub(super) fn refuse_dialog(
        &mut self,
        at: &mut Incoming<'_>,
        block: &ImprovedInstantMessageMessageBlock,
    ) -> Option<Handled> {
        let feature = match block.dialog {
            dialog::SESSION_CONFERENCE_START => {
                let body = Llsd::map([
                    ("temp_session_id", Llsd::from(block.id)),
                    ("session_id", block.id.into()),
                    ("success", false.into()),
                    ("error", Feature::Groups.to_string().into()),
                ]);
                return Some(self.refuse_by_event(at, "ChatterBoxSessionStartReply", body));
            }
            // node-metaverse 0.8.16 ends its process at a ChatterBoxSessionStartReply without success.
            dialog::SESSION_GROUP_START
            | dialog::GROUP_INVITATION
            | dialog::SESSION_SEND
            | dialog::GROUP_NOTICE => Feature::Groups,
            dialog::FRIENDSHIP_OFFERED => Feature::Friends,
            taken if dialog::is_passed_on(taken) || dialog::is_of_gift(taken) => return None,
            _ => return Some(Ok(MessageOutcome::Ignored)),
        };
        Some(Ok(self.refuse_feature(at, feature)))
    }

    pub(super) fn on_money_transfer(&mut self, at: &mut Incoming<'_>, m: MoneyTransferRequest) -> Handled {
        let asked = m.money_data;
        let money_data = MoneyBalanceReplyMoneyData {
            agent_id: self.own_id(at),
            description: to_wire(&Feature::Money.to_string(), VARIABLE1_MAX),
            ..MoneyBalanceReplyMoneyData::default()
        };
        let transaction_info = MoneyBalanceReplyTransactionInfo {
            transaction_type: asked.transaction_type,
            source_id: asked.source_id,
            dest_id: asked.dest_id,
            amount: asked.amount,
            item_description: asked.description,
            ..MoneyBalanceReplyTransactionInfo::default()
        };
        self.refuse(at, MoneyBalanceReply { money_data, transaction_info })
    }

    /// Level 0 is that of a user without rights.
    pub(super) fn on_godlike_powers(&mut self, at: &mut Incoming<'_>, m: RequestGodlikePowers) -> Handled {
        let RequestGodlikePowersAgentData { agent_id, session_id } = m.agent_data;
        let agent_data = GrantGodlikePowersAgentData { agent_id, session_id };
        self.refuse(at, GrantGodlikePowers { agent_data, ..GrantGodlikePowers::default() })
    }

    /// Only friends see each other on the map: the reply names no place.
    pub(super) fn on_find_agent(&mut self, at: &mut Incoming<'_>, m: FindAgent) -> Handled {
        self.refuse(at, FindAgent { agent_block: m.agent_block, location_block: Vec::new() })
    }

    pub(super) fn on_user_info(&mut self, at: &mut Incoming<'_>, _: UserInfoRequest) -> Handled {
        let agent_data = UserInfoReplyAgentData { agent_id: self.own_id(at) };
        let user_data = UserInfoReplyUserData {
            im_via_e_mail: false,
            directory_visibility: to_wire("default", VARIABLE1_MAX),
            e_mail: to_wire("", VARIABLE1_MAX),
        };
        self.answer(at, UserInfoReply { agent_data, user_data })
    }

    /// Pages of profiles are asked for by methods. There are no others.
    pub(super) fn on_generic(&mut self, at: &mut Incoming<'_>, m: GenericMessage) -> Handled {
        let agent_id = self.own_id(at);
        let target = m.param_list.first().and_then(|row| Uuid::parse_str(&from_wire(&row.parameter)).ok());
        let target_id = target.unwrap_or_default();
        match from_wire(&m.method_data.method).as_str() {
            "avatarpicksrequest" => {
                let agent_data = AvatarPicksReplyAgentData { agent_id, target_id };
                self.answer(at, AvatarPicksReply { agent_data, data: Vec::new() })
            }
            "avatarclassifiedsrequest" => {
                let agent_data = AvatarClassifiedReplyAgentData { agent_id, target_id };
                self.answer(at, AvatarClassifiedReply { agent_data, data: Vec::new() })
            }
            "avatarnotesrequest" => {
                let agent_data = AvatarNotesReplyAgentData { agent_id };
                let data = AvatarNotesReplyData { target_id, notes: to_wire("", VARIABLE1_MAX) };
                self.answer(at, AvatarNotesReply { agent_data, data })
            }
            _ => Ok(self.refuse_feature(at, Feature::Method)),
        }
    }

    pub(super) fn on_find(&mut self, at: &mut Incoming<'_>, m: DirFindQuery) -> Handled {
        let DirFindQueryQueryData { query_id, query_flags, .. } = m.query_data;
        let agent_id = self.own_id(at);
        if query_flags & FIND_EVENTS != 0 {
            let mut reply = DirEventsReply::default();
            (reply.agent_data.agent_id, reply.query_data.query_id) = (agent_id, query_id);
            return self.refuse(at, reply);
        }
        if query_flags & FIND_PEOPLE != 0 {
            let text = from_wire(&m.query_data.query_text);
            let skip = u32::try_from(m.query_data.query_start).unwrap_or(0);
            return self.request(at, Request::LookUp(StoreQuery::People { query_id, text, skip }));
        }
        let mut reply = DirGroupsReply::default();
        (reply.agent_data.agent_id, reply.query_data.query_id) = (agent_id, query_id);
        self.refuse(at, reply)
    }

    pub(super) fn on_picker(&mut self, at: &mut Incoming<'_>, m: AvatarPickerRequest) -> Handled {
        let text = from_wire(&m.data.name);
        self.request(at, Request::LookUp(StoreQuery::Picker { query_id: m.agent_data.query_id, text }))
    }

    pub(super) fn on_find_places(&mut self, at: &mut Incoming<'_>, m: DirPlacesQuery) -> Handled {
        let mut reply = DirPlacesReply::default();
        reply.agent_data.agent_id = self.own_id(at);
        reply.query_data = vec![DirPlacesReplyQueryData { query_id: m.query_data.query_id }];
        self.refuse(at, reply)
    }

    pub(super) fn on_find_classifieds(&mut self, at: &mut Incoming<'_>, m: DirClassifiedQuery) -> Handled {
        let mut reply = DirClassifiedReply::default();
        reply.agent_data.agent_id = self.own_id(at);
        reply.query_data.query_id = m.query_data.query_id;
        self.refuse(at, reply)
    }

    pub(super) fn on_find_popular(&mut self, at: &mut Incoming<'_>, m: DirPopularQuery) -> Handled {
        let mut reply = DirPopularReply::default();
        reply.agent_data.agent_id = self.own_id(at);
        reply.query_data.query_id = m.query_data.query_id;
        self.refuse(at, reply)
    }

    pub(super) fn on_find_land(&mut self, at: &mut Incoming<'_>, m: DirLandQuery) -> Handled {
        let body = Llsd::map([
            ("AgentData", block([("AgentID", self.own_id(at).into())])),
            ("QueryData", block([("QueryID", m.query_data.query_id.into())])),
            ("QueryReplies", Llsd::Array(Vec::new())),
        ]);
        self.refuse_by_event(at, "DirLandReply", body)
    }

    pub(super) fn on_places(&mut self, at: &mut Incoming<'_>, m: PlacesQuery) -> Handled {
        let ids = [("AgentID", self.own_id(at).into()), ("QueryID", m.agent_data.query_id.into())];
        let transaction = m.transaction_data.transaction_id.into();
        let body = Llsd::map([
            ("AgentData", block(ids)),
            ("TransactionData", block([("TransactionID", transaction)])),
            ("QueryData", Llsd::Array(Vec::new())),
        ]);
        self.refuse_by_event(at, "PlacesReply", body)
    }

    /// Nothing in a region runs scripts or collides: the list is empty.
    pub(super) fn on_land_stat(&mut self, at: &mut Incoming<'_>, m: LandStatRequest) -> Handled {
        let number = |value: u32| Llsd::Binary(value.to_be_bytes().to_vec());
        let request = [
            ("ReportType", number(m.request_data.report_type)),
            ("RequestFlags", number(m.request_data.request_flags)),
            ("TotalObjectCount", number(0)),
        ];
        let body = Llsd::map([
            ("RequestData", block(request)),
            ("ReportData", Llsd::Array(Vec::new())),
            ("DataExtended", Llsd::Array(Vec::new())),
        ]);
        self.push_event(at, "LandStatReply", body)
    }

    pub(super) fn on_script_running(&mut self, at: &mut Incoming<'_>, m: GetScriptRunning) -> Handled {
        let script = [
            ("ObjectID", Llsd::from(m.script.object_id)),
            ("ItemID", m.script.item_id.into()),
            ("Running", false.into()),
            ("Mono", false.into()),
        ];
        self.refuse_by_event(at, "ScriptRunningReply", Llsd::map([("Script", block(script))]))
    }
}

/// A block that stands once, as events have it.
fn block<'a>(fields: impl IntoIterator<Item = (&'a str, Llsd)>) -> Llsd {
    Llsd::Array(vec![Llsd::map(fields)])
}
