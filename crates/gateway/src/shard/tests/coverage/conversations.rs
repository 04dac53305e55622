//! Requests with the answer that ends the wait for each.

use super::{furnished, image, outcomes, seen_object};
use crate::coverage::{MESSAGES, MessageOutcome};
use crate::hub::tests::events;
use crate::testing::{Client, FOLDER, GROUND_M, ITEM};
use ids::Uuid;
use link::{Scenery, Terrain};
use std::collections::BTreeSet;
use wire::messages::*;

/// Expected answer of a client.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Answer {
    /// A message.
    Message(MessageName),
    /// An event in the queue.
    Event(&'static str),
}

/// A message as a client sends it that waits for an answer.
type Request = fn(&Client) -> Message;

/// Sets the ids of agent and session, which most messages begin with.
macro_rules! request {
    ($Message:ident) => {
        request!($Message, |_, _| {})
    };
    ($Message:ident, $fill:expr) => {
        (
            MessageName::$Message,
            (|client: &Client| {
                let mut message = $Message::default();
                message.agent_data.agent_id = client.agent.0;
                message.agent_data.session_id = client.session_id.0;
                let fill: fn(&mut $Message, &Client) = $fill;
                fill(&mut message, client);
                message.into()
            }) as Request,
        )
    };
}

/// The same for messages without such ids.
macro_rules! bare_request {
    ($Message:ident, $fill:expr) => {
        (
            MessageName::$Message,
            (|client: &Client| {
                let mut message = $Message::default();
                let fill: fn(&mut $Message, &Client) = $fill;
                fill(&mut message, client);
                message.into()
            }) as Request,
        )
    };
}

/// The same for messages that have these ids in their only block.
macro_rules! request_by_info {
    ($Message:ident, $fill:expr) => {
        (
            MessageName::$Message,
            (|client: &Client| {
                let mut message = $Message::default();
                message.info.agent_id = client.agent.0;
                message.info.session_id = client.session_id.0;
                let fill: fn(&mut $Message) = $fill;
                fill(&mut message);
                message.into()
            }) as Request,
        )
    };
}

fn generic(client: &Client, method: &str) -> Message {
    let row = |text: String| GenericMessageParamList { parameter: text.into_bytes() };
    GenericMessage {
        agent_data: GenericMessageAgentData {
            agent_id: client.agent.0,
            session_id: client.session_id.0,
            transaction_id: Uuid::nil(),
        },
        method_data: GenericMessageMethodData { method: method.into(), invoice: Uuid::nil() },
        param_list: vec![row(client.agent.0.to_string())],
    }
    .into()
}

fn item(item_id: Uuid) -> FetchInventoryInventoryData {
    FetchInventoryInventoryData { item_id, ..FetchInventoryInventoryData::default() }
}

/// The id of an object of [`furnished`] nodes.
fn first_box() -> Uuid {
    Scenery::boxes(1, &Terrain::flat(256, GROUND_M), 1).prims()[0].prim.id
}

/// Requests with the answer that ends the wait for each.
fn conversations() -> Vec<((MessageName, Request), Answer)> {
    use Answer::{Event, Message as Reply};
    use MessageName as Name;
    vec![
        (request!(RequestRegionInfo), Reply(Name::RegionInfo)),
        (request!(AgentWearablesRequest), Reply(Name::AgentWearablesUpdate)),
        (request!(AgentDataUpdateRequest), Reply(Name::AgentDataUpdate)),
        (request!(AgentCachedTexture), Reply(Name::AgentCachedTextureResponse)),
        (bare_request!(EconomyDataRequest, |_, _| {}), Reply(Name::EconomyData)),
        (request!(MoneyBalanceRequest), Reply(Name::MoneyBalanceReply)),
        (request!(MoneyTransferRequest), Reply(Name::MoneyBalanceReply)),
        (bare_request!(RequestPayPrice, |_, _| {}), Reply(Name::PayPriceReply)),
        (request!(MuteListRequest), Reply(Name::UseCachedMuteList)),
        (request!(ParcelDwellRequest), Reply(Name::ParcelDwellReply)),
        (request!(ParcelAccessListRequest), Reply(Name::ParcelAccessListReply)),
        (request!(ParcelInfoRequest), Reply(Name::AlertMessage)),
        (request!(ParcelObjectOwnersRequest), Reply(Name::ParcelObjectOwnersReply)),
        // Sequence number 0 is that of the description which every arrival brings.
        (request!(ParcelPropertiesRequest, |m, _| m.parcel_data.sequence_id = 7), Event("ParcelProperties")),
        (
            request!(ParcelPropertiesRequestByID, |m, _| m.parcel_data.sequence_id = 7),
            Event("ParcelProperties"),
        ),
        // These clients own no land: the tests of land have one that does.
        (request!(ParcelAccessListUpdate), Reply(Name::AlertMessage)),
        (request!(ParcelPropertiesUpdate), Reply(Name::AlertMessage)),
        (request!(ParcelReturnObjects), Reply(Name::AlertMessage)),
        (request!(ParcelSetOtherCleanTime), Reply(Name::AlertMessage)),
        (request!(ParcelSelectObjects), Reply(Name::AlertMessage)),
        (request!(ParcelBuy), Reply(Name::AlertMessage)),
        (request!(ParcelReclaim), Reply(Name::AlertMessage)),
        (request!(ParcelRelease), Reply(Name::AlertMessage)),
        (request!(ParcelJoin), Reply(Name::AlertMessage)),
        (request!(ParcelDivide), Reply(Name::AlertMessage)),
        (request!(ParcelGodForceOwner), Reply(Name::AlertMessage)),
        (request!(ModifyLand, |m, _| m.parcel_data.push(Default::default())), Reply(Name::AlertMessage)),
        (request!(UndoLand), Reply(Name::AlertMessage)),
        (request!(GodUpdateRegionInfo), Reply(Name::AlertMessage)),
        (request!(LandStatRequest), Event("LandStatReply")),
        (request!(EstateCovenantRequest), Reply(Name::EstateCovenantReply)),
        (request!(EstateOwnerMessage), Reply(Name::AlertMessage)),
        (
            request!(EstateOwnerMessage, |m, _| m.method_data.method = b"getinfo\0".to_vec()),
            Reply(Name::EstateOwnerMessage),
        ),
        (request!(TeleportLocationRequest), Event("TeleportFailed")),
        (request!(TeleportRequest), Event("TeleportFailed")),
        (request_by_info!(TeleportLandmarkRequest, |m| m.info.landmark_id = ITEM), Event("TeleportFailed")),
        (request_by_info!(TeleportLureRequest, |m| m.info.lure_id = ITEM), Event("TeleportFailed")),
        (request_by_info!(TeleportCancel, |_| {}), Reply(Name::AlertMessage)),
        (request!(SetStartLocationRequest), Reply(Name::AlertMessage)),
        (request!(LogoutRequest), Reply(Name::LogoutReply)),
        (bare_request!(StartPingCheck, |_, _| {}), Reply(Name::CompletePingCheck)),
        (request!(MapLayerRequest), Reply(Name::MapLayerReply)),
        (request!(MapBlockRequest), Reply(Name::MapBlockReply)),
        (request!(MapNameRequest), Reply(Name::MapBlockReply)),
        (request!(MapItemRequest), Reply(Name::MapItemReply)),
        (bare_request!(RegionHandleRequest, |_, _| {}), Reply(Name::RegionIDAndHandleReply)),
        (request!(AvatarPropertiesRequest), Reply(Name::AvatarPropertiesReply)),
        (request!(UserInfoRequest), Reply(Name::UserInfoReply)),
        (bare_request!(FindAgent, |_, _| {}), Reply(Name::FindAgent)),
        (
            (Name::GenericMessage, |client| generic(client, "avatarpicksrequest")),
            Reply(Name::AvatarPicksReply),
        ),
        (
            (Name::GenericMessage, |client| generic(client, "avatarnotesrequest")),
            Reply(Name::AvatarNotesReply),
        ),
        (
            (Name::GenericMessage, |client| generic(client, "avatarclassifiedsrequest")),
            Reply(Name::AvatarClassifiedReply),
        ),
        ((Name::GenericMessage, |client| generic(client, "autopilot")), Reply(Name::AlertMessage)),
        (
            bare_request!(UUIDGroupNameRequest, |m, _| m.uuid_name_block.push(Default::default())),
            Reply(Name::UUIDGroupNameReply),
        ),
        (
            bare_request!(UUIDNameRequest, |m, _| m.uuid_name_block.push(Default::default())),
            Reply(Name::UUIDNameReply),
        ),
        (request!(RequestGodlikePowers), Reply(Name::GrantGodlikePowers)),
        (request!(AvatarPickerRequest), Reply(Name::AvatarPickerReply)),
        (request!(DirFindQuery), Reply(Name::DirGroupsReply)),
        (request!(DirFindQuery, |m, _| m.query_data.query_flags = 1), Reply(Name::DirPeopleReply)),
        (request!(DirFindQuery, |m, _| m.query_data.query_flags = 1 << 5), Reply(Name::DirEventsReply)),
        (request!(DirPlacesQuery), Reply(Name::DirPlacesReply)),
        (request!(DirClassifiedQuery), Reply(Name::DirClassifiedReply)),
        (request!(DirPopularQuery), Reply(Name::DirPopularReply)),
        (request!(DirLandQuery), Event("DirLandReply")),
        (request!(PlacesQuery), Event("PlacesReply")),
        (
            request!(RequestMultipleObjects, |m, _| m.object_data.push(Default::default())),
            Reply(Name::KillObject),
        ),
        (
            request!(ObjectSelect, |m, client| {
                m.object_data.push(ObjectSelectObjectData { object_local_id: seen_object(client) });
            }),
            Reply(Name::ObjectProperties),
        ),
        (request!(RequestObjectPropertiesFamily), Reply(Name::AlertMessage)),
        (request!(AgentRequestSit), Reply(Name::AlertMessage)),
        (
            request!(RequestTaskInventory, |m, client| m.inventory_data.local_id = seen_object(client)),
            Reply(Name::ReplyTaskInventory),
        ),
        (request!(RequestTaskInventory), Reply(Name::AlertMessage)),
        (request!(UpdateTaskInventory), Reply(Name::AlertMessage)),
        (
            request!(RemoveTaskInventory, |m, client| m.inventory_data.local_id = seen_object(client)),
            Reply(Name::ObjectProperties),
        ),
        // About nothing that exists; `transfers` has what does.
        (request!(MoveTaskInventory), Reply(Name::AlertMessage)),
        (request!(RezScript), Reply(Name::AlertMessage)),
        (request!(RezObject), Reply(Name::AlertMessage)),
        (
            request!(RezObjectFromNotecard, |m, _| m.inventory_data.push(Default::default())),
            Reply(Name::AlertMessage),
        ),
        (request!(RezRestoreToWorld), Reply(Name::AlertMessage)),
        (bare_request!(GetScriptRunning, |_, _| {}), Event("ScriptRunningReply")),
        (request!(ObjectSelect, |m, _| m.object_data.push(Default::default())), Reply(Name::KillObject)),
        (
            request!(RequestObjectPropertiesFamily, |m, _| m.object_data.object_id = first_box()),
            Reply(Name::ObjectPropertiesFamily),
        ),
        (request!(ObjectFlagUpdate), Reply(Name::KillObject)),
        (request!(DeRezObject), Reply(Name::DeRezAck)),
        (bare_request!(TransferRequest, |_, _| {}), Reply(Name::TransferInfo)),
        (bare_request!(RequestXfer, |_, _| {}), Reply(Name::AbortXfer)),
        (bare_request!(AssetUploadRequest, |_, _| {}), Reply(Name::RequestXfer)),
        (
            bare_request!(AssetUploadRequest, |m, _| m.asset_block.asset_data = vec![7; 3]),
            Reply(Name::AssetUploadComplete),
        ),
        (
            bare_request!(AssetUploadRequest, |m, _| m.asset_block.r#type = -1),
            Reply(Name::AssetUploadComplete),
        ),
        (bare_request!(SendXferPacket, |_, _| {}), Reply(Name::AbortXfer)),
        (request!(CreateInventoryItem), Reply(Name::UpdateCreateInventoryItem)),
        (request!(LinkInventoryItem), Reply(Name::UpdateCreateInventoryItem)),
        (
            request!(CopyInventoryItem, |m, _| m.inventory_data.push(Default::default())),
            Reply(Name::BulkUpdateInventory),
        ),
        // All of these are about nothing that exists; the tests of the inventory have what does.
        (request!(CreateInventoryFolder), Reply(Name::AlertMessage)),
        (
            request!(UpdateInventoryFolder, |m, _| m.folder_data.push(Default::default())),
            Reply(Name::AlertMessage),
        ),
        (
            request!(MoveInventoryFolder, |m, _| m.inventory_data.push(Default::default())),
            Reply(Name::AlertMessage),
        ),
        (
            request!(RemoveInventoryFolder, |m, _| m.folder_data.push(Default::default())),
            Reply(Name::AlertMessage),
        ),
        (request!(PurgeInventoryDescendents), Reply(Name::AlertMessage)),
        (
            request!(RemoveInventoryObjects, |m, _| m.item_data.push(Default::default())),
            Reply(Name::AlertMessage),
        ),
        (
            request!(UpdateInventoryItem, |m, _| m.inventory_data.push(Default::default())),
            Reply(Name::AlertMessage),
        ),
        (
            request!(MoveInventoryItem, |m, _| m.inventory_data.push(Default::default())),
            Reply(Name::AlertMessage),
        ),
        (
            request!(RemoveInventoryItem, |m, _| m.inventory_data.push(Default::default())),
            Reply(Name::AlertMessage),
        ),
        (
            request!(ChangeInventoryItemFlags, |m, _| m.inventory_data.push(Default::default())),
            Reply(Name::AlertMessage),
        ),
        (
            request!(CopyInventoryFromNotecard, |m, _| m.inventory_data.push(Default::default())),
            Reply(Name::AlertMessage),
        ),
        (request!(OfferCallingCard), Reply(Name::AlertMessage)),
        (request!(AcceptCallingCard), Reply(Name::AlertMessage)),
        (request!(DeclineCallingCard), Reply(Name::AlertMessage)),
        (
            request!(DeRezObject, |m, client| {
                m.agent_block.destination = 4;
                m.object_data.push(DeRezObjectObjectData { object_local_id: seen_object(client) });
            }),
            Reply(Name::UpdateCreateInventoryItem),
        ),
        (
            request!(RequestImage, |m, _| m.request_image.push(Default::default())),
            Reply(Name::ImageNotInDatabase),
        ),
        (
            request!(RequestImage, |m, _| m.request_image.push(image(ids::PLYWOOD_TEXTURE, 0))),
            Reply(Name::ImageData),
        ),
        (
            request!(RequestImage, |m, _| m.request_image.push(image(ids::PLYWOOD_TEXTURE, 2))),
            Reply(Name::ImagePacket),
        ),
        (
            request!(FetchInventory, |m, _| m.inventory_data = vec![item(ITEM)]),
            Reply(Name::FetchInventoryReply),
        ),
        (request!(FetchInventory, |m, _| m.inventory_data = vec![item(FOLDER)]), Reply(Name::AlertMessage)),
        (
            request!(FetchInventoryDescendents, |m, _| m.inventory_data.folder_id = FOLDER),
            Reply(Name::InventoryDescendents),
        ),
        (
            request!(FetchInventoryDescendents, |m, _| m.inventory_data.folder_id = ITEM),
            Reply(Name::AlertMessage),
        ),
        (request!(CreateGroupRequest), Reply(Name::CreateGroupReply)),
        (request!(JoinGroupRequest), Reply(Name::JoinGroupReply)),
        (request!(LeaveGroupRequest), Reply(Name::LeaveGroupReply)),
        (request!(EjectGroupMemberRequest), Reply(Name::EjectGroupMemberReply)),
        (request!(GroupProfileRequest), Reply(Name::GroupProfileReply)),
        (request!(GroupMembersRequest), Reply(Name::GroupMembersReply)),
        (request!(GroupRoleDataRequest), Reply(Name::GroupRoleDataReply)),
        (request!(GroupRoleMembersRequest), Reply(Name::GroupRoleMembersReply)),
        (request!(GroupTitlesRequest), Reply(Name::GroupTitlesReply)),
        (request!(GroupNoticesListRequest), Reply(Name::GroupNoticesListReply)),
        (request!(GroupAccountSummaryRequest), Reply(Name::GroupAccountSummaryReply)),
        (request!(GroupAccountDetailsRequest), Reply(Name::GroupAccountDetailsReply)),
        (request!(GroupAccountTransactionsRequest), Reply(Name::GroupAccountTransactionsReply)),
        (request!(GroupActiveProposalsRequest), Reply(Name::GroupActiveProposalItemReply)),
        (request!(GroupVoteHistoryRequest), Reply(Name::GroupVoteHistoryItemReply)),
        (
            request!(ImprovedInstantMessage, |m, _| m.message_block.dialog = 16),
            Event("ChatterBoxSessionStartReply"),
        ),
        (request!(ImprovedInstantMessage, |m, _| m.message_block.dialog = 4), Reply(Name::AlertMessage)),
        (request!(ImprovedInstantMessage, |m, _| m.message_block.dialog = 5), Reply(Name::AlertMessage)),
        (request!(ImprovedInstantMessage, |m, _| m.message_block.dialog = 6), Reply(Name::AlertMessage)),
        (request!(ImprovedInstantMessage, |m, _| m.message_block.dialog = 15), Reply(Name::AlertMessage)),
        (request!(ImprovedInstantMessage, |m, _| m.message_block.dialog = 38), Reply(Name::AlertMessage)),
    ]
}

/// Messages with the test that shows their effect, which is something else than an answer to the sender: file below `gateway/src`, name of the test.
/// `throng/tests/architecture/shown_elsewhere.rs` reads this list, and checks that the tests exist and send the messages.
const SHOWN_ELSEWHERE: &[(&str, &str, &[MessageName])] = &[
    (
        "shard/tests/coverage.rs",
        "acks_and_pings_are_counted_though_they_come_no_further_than_the_circuit",
        &[MessageName::PacketAck, MessageName::CompletePingCheck],
    ),
    (
        "shard/tests/coverage.rs",
        "a_client_that_pauses_is_waited_for_longer_until_it_resumes",
        &[MessageName::AgentPause, MessageName::AgentResume],
    ),
    (
        "shard/tests/coverage.rs",
        "running_and_animations_reach_the_world",
        &[MessageName::SetAlwaysRun, MessageName::AgentAnimation],
    ),
    ("shard/tests/leaving.rs", "a_client_that_closes_its_circuit_is_gone", &[MessageName::CloseCircuit]),
    (
        "shard/tests/arrival.rs",
        "loss_of_any_message_of_an_arrival_heals",
        &[MessageName::CompleteAgentMovement, MessageName::RegionHandshakeReply],
    ),
    ("shard/tests/arrival.rs", "an_older_agent_update_changes_nothing", &[MessageName::AgentUpdate]),
    ("shard/tests/egress.rs", "a_line_that_is_too_narrow_is_shared_fairly", &[MessageName::AgentThrottle]),
    (
        "shard/tests/avatars.rs",
        "an_appearance_reaches_others_once_they_have_been_together_for_a_second",
        &[MessageName::AgentSetAppearance],
    ),
    ("shard/tests/chat.rs", "chat_is_heard_within_its_reach", &[MessageName::ChatFromViewer]),
    (
        "hub/tests/messages.rs",
        "of_several_invited_users_the_absent_are_named_and_the_present_invited",
        &[MessageName::StartLure],
    ),
    (
        "shard/tests/coverage/inventory.rs",
        "a_gesture_is_switched_on_and_off_without_an_answer",
        &[MessageName::ActivateGestures, MessageName::DeactivateGestures],
    ),
    (
        "shard/tests/coverage/wearing.rs",
        "an_outfit_of_clothing_is_kept_with_the_account",
        &[MessageName::AgentIsNowWearing],
    ),
    (
        "shard/tests/coverage/wearing.rs",
        "an_item_is_worn_edited_and_taken_off_with_its_last_state",
        &[MessageName::RezSingleAttachmentFromInv, MessageName::ObjectDetach],
    ),
    (
        "shard/tests/coverage/wearing.rs",
        "an_object_of_the_ground_becomes_an_item_until_it_is_dropped",
        &[MessageName::ObjectAttach, MessageName::ObjectDrop],
    ),
    (
        "shard/tests/coverage/wearing.rs",
        "an_outfit_comes_in_several_messages_and_items_are_taken_off_by_name",
        &[
            MessageName::RezMultipleAttachmentsFromInv,
            MessageName::DetachAttachmentIntoInv,
            MessageName::RemoveAttachment,
        ],
    ),
    (
        "shard/tests/capabilities.rs",
        "matter_of_a_selected_prim_is_an_event_when_it_is_selected_and_when_it_changes",
        &[MessageName::ObjectDeselect],
    ),
    (
        "shard/tests/editing.rs",
        "a_made_prim_is_seen_by_all_and_selected_by_its_maker",
        &[MessageName::ObjectAdd],
    ),
    (
        "shard/tests/edits.rs",
        "every_message_reaches_the_world_as_one_request_with_its_content",
        &[
            MessageName::ObjectDelete,
            MessageName::ObjectDuplicate,
            MessageName::ObjectDuplicateOnRay,
            MessageName::MultipleObjectUpdate,
            MessageName::ObjectPosition,
            MessageName::ObjectScale,
            MessageName::ObjectRotation,
            MessageName::ObjectFlagUpdate,
            MessageName::ObjectClickAction,
            MessageName::ObjectImage,
            MessageName::ObjectMaterial,
            MessageName::ObjectShape,
            MessageName::ObjectExtraParams,
            MessageName::ObjectOwner,
            MessageName::ObjectGroup,
            MessageName::ObjectPermissions,
            MessageName::ObjectName,
            MessageName::ObjectDescription,
            MessageName::ObjectSaleInfo,
            MessageName::ObjectIncludeInSearch,
            MessageName::ObjectLink,
            MessageName::ObjectDelink,
            MessageName::Undo,
            MessageName::Redo,
            MessageName::ObjectBuy,
        ],
    ),
    (
        "shard/tests/coverage/transfers.rs",
        "a_repeated_request_is_acknowledged_and_has_no_second_effect",
        &[MessageName::DeRezObject],
    ),
    (
        "shard/tests/coverage/contents.rs",
        "a_list_arrives_over_losses_and_has_assets_for_a_user_with_the_right_to_change_the_object",
        &[MessageName::ConfirmXferPacket],
    ),
    (
        "shard/tests/coverage/contents.rs",
        "a_client_ends_a_file_that_it_does_not_want",
        &[MessageName::AbortXfer],
    ),
    (
        "shard/tests/effects.rs",
        "effects_are_shown_to_clients_near_by_and_not_to_their_sender",
        &[MessageName::ViewerEffect, MessageName::SoundTrigger],
    ),
    (
        "shard/tests/effects.rs",
        "touches_of_a_prim_reach_the_world_and_those_of_nothing_are_answered_by_a_kill",
        &[MessageName::ObjectGrab, MessageName::ObjectGrabUpdate, MessageName::ObjectDeGrab],
    ),
];

#[test]
fn every_request_is_answered_within_a_second() {
    for ((name, request), answer) in conversations() {
        let (mut node, ada) = furnished();
        events(&mut node, ada);
        node.clients[ada].arrivals.clear();
        let message = request(&node.clients[ada]);
        node.clients[ada].send(&message);
        node.run_ms(1_000);
        let is_answered = match answer {
            Answer::Message(reply) => node.clients[ada].got(reply.number()),
            Answer::Event(reply) => events(&mut node, ada).iter().any(|(name, _)| name == reply),
        };
        assert!(is_answered, "{} brought no {answer:?}", name.as_str());
        let occurred = outcomes(&node);
        assert!(
            !occurred.contains_key(&(name.as_str(), MessageOutcome::Dropped)),
            "{} was dropped",
            name.as_str()
        );
    }
}

#[test]
fn every_row_that_is_done_or_refused_has_a_conversation_or_is_shown_elsewhere() {
    let tested: BTreeSet<MessageName> = conversations().iter().map(|((name, _), _)| *name).collect();
    for row in MESSAGES {
        let is_stated =
            matches!(row.outcome, MessageOutcome::Done | MessageOutcome::Refused) && row.feature.is_none();
        let is_shown = SHOWN_ELSEWHERE.iter().any(|(.., messages)| messages.contains(&row.name));
        assert!(!is_stated || tested.contains(&row.name) || is_shown, "nothing tests {}", row.name.as_str());
        assert!(is_stated || !is_shown, "{} has no effect to be shown", row.name.as_str());
    }
}
