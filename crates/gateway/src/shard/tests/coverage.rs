//! Every message that a client may send ends in the outcome that the table states.

use crate::coverage::{Feature, MESSAGES, Outcome};
use crate::hub::tests::events;
use crate::testing::{Client, FOLDER, GROUND_M, HARBOUR, ITEM, MEADOW, Node, OFFLINE_AGENT, Setup, agent};
use glam::Vec3;
use grid::capability::{BODY_PARTS, HeldTextures, stored_asset};
use grid::inventory::{AssetType, LIBRARY_OWNER};
use ids::Uuid;
use link::{Action, Scenery, Terrain};
use md5::{Digest, Md5};
use std::collections::{BTreeMap, BTreeSet};
use wire::llsd::Llsd;
use wire::messages::*;
use wire::text::from_wire;

/// Texts that a client was shown, in order.
fn alerts(client: &Client) -> Vec<String> {
    let text = |message: &Message| match message {
        Message::AlertMessage(alert) => Some(from_wire(&alert.alert_data.message)),
        _ => None,
    };
    client.inbox.iter().filter_map(text).collect()
}

/// Counts of messages by outcome.
fn outcomes(node: &Node) -> BTreeMap<(&'static str, Outcome), u64> {
    let occurred = node.shards.iter().flat_map(|shard| shard.outcomes().occurred());
    occurred.map(|(name, outcome, n)| ((name, outcome), n)).collect()
}

#[test]
fn a_request_for_a_missing_feature_is_refused_by_name_within_a_second() {
    for row in MESSAGES {
        let Some(feature) = row.feature else { continue };
        let mut node = Node::new();
        let ada = node.enter("Ada");
        node.clients[ada].send_bare(row.name);
        node.run_ms(1_000);
        assert_eq!(alerts(&node.clients[ada]), [feature.to_string()], "{}", row.name.as_str());
        assert_eq!(outcomes(&node).get(&(row.name.as_str(), Outcome::Refused)), Some(&1));
    }
}

#[test]
fn each_request_for_a_missing_feature_is_in_a_notice_within_a_second() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    for name in [MessageName::ActivateGroup, MessageName::UpdateGroupInfo, MessageName::ActivateGroup] {
        node.clients[ada].send_bare(name);
        node.run_ms(100);
    }
    let groups = Feature::Groups.to_string();
    assert_eq!(alerts(&node.clients[ada]), [groups.clone(), groups.clone()], "one for each message");
    node.clients[ada].send_bare(MessageName::ActivateGroup);
    node.run_ms(1_000);
    assert_eq!(alerts(&node.clients[ada])[2..], [format!("{groups} Requests refused: 2.")]);
    assert_eq!(outcomes(&node)[&("ActivateGroup", Outcome::Refused)], 3);
}

#[test]
fn what_is_ignored_or_comes_from_simulators_only_changes_nothing_and_is_counted() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    node.run_ms(5_000);
    let inbox = node.clients[ada].inbox.len();
    let reserved = MessageName::ALL.iter().filter(|name| name.is_trusted());
    let rows = MESSAGES.iter().map(|row| (row.name, row.outcome));
    let silent = rows.filter(|(_, outcome)| matches!(outcome, Outcome::Ignored | Outcome::Dropped));
    let silent: Vec<_> = silent.chain(reserved.map(|name| (*name, Outcome::Dropped))).collect();
    let before = node.drops("not_for_clients");
    for (name, _) in &silent {
        node.clients[ada].send_bare(*name);
        node.run_ms(5);
    }
    node.run_ms(500);
    let occurred = outcomes(&node);
    for (name, outcome) in &silent {
        assert!(occurred.contains_key(&(name.as_str(), *outcome)), "{} is not {outcome:?}", name.as_str());
    }
    let dropped = silent.iter().filter(|(_, outcome)| *outcome == Outcome::Dropped).count() as u64;
    assert_eq!(node.drops("not_for_clients") - before, dropped);
    let periodic = |message: &&Message| {
        matches!(
            message,
            Message::CoarseLocationUpdate(_) | Message::SimStats(_) | Message::SimulatorViewerTimeMessage(_)
        )
    };
    let answers: Vec<_> = node.clients[ada].inbox[inbox..].iter().filter(|m| !periodic(m)).collect();
    assert!(answers.is_empty(), "{answers:?}");
}

#[test]
fn a_number_that_the_protocol_does_not_have_is_counted_as_unknown() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    node.clients[ada].send_body(&[0xFF, 0xFF, 0x7F, 0x01, 1, 2, 3]);
    node.run_ms(100);
    assert_eq!(outcomes(&node)[&("unknown", Outcome::Dropped)], 1);
    assert_eq!(node.drops("unknown_message"), 1);
}

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

/// The local id of an object that the client sees.
fn seen_object(client: &Client) -> u32 {
    *client.things.keys().next().expect("it sees objects")
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

/// A request for a texture, from a part of it on.
fn image(image: Uuid, packet: u32) -> RequestImageRequestImage {
    RequestImageRequestImage { image, packet, ..RequestImageRequestImage::default() }
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
            bare_request!(AssetUploadRequest, |m, _| m.asset_block.asset_data = vec![7]),
            Reply(Name::AssetUploadComplete),
        ),
        (bare_request!(SendXferPacket, |_, _| {}), Reply(Name::AbortXfer)),
        (request!(CreateInventoryItem), Reply(Name::UpdateCreateInventoryItem)),
        (request!(LinkInventoryItem), Reply(Name::UpdateCreateInventoryItem)),
        (
            request!(CopyInventoryItem, |m, _| m.inventory_data.push(Default::default())),
            Reply(Name::BulkUpdateInventory),
        ),
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
        (request!(ImprovedInstantMessage, |m, _| m.message_block.dialog = 15), Reply(Name::AlertMessage)),
        (request!(ImprovedInstantMessage, |m, _| m.message_block.dialog = 38), Reply(Name::AlertMessage)),
    ]
}

/// Rows whose effect is something else than an answer to the sender: it has a test below, in the modules beside this one, in those
/// of the hub, or in crate `circuit`.
const SHOWN_ELSEWHERE: &[MessageName] = &[
    MessageName::PacketAck,
    MessageName::CompletePingCheck,
    MessageName::CloseCircuit,
    MessageName::CompleteAgentMovement,
    MessageName::RegionHandshakeReply,
    MessageName::AgentThrottle,
    MessageName::AgentPause,
    MessageName::AgentResume,
    MessageName::AgentUpdate,
    MessageName::SetAlwaysRun,
    MessageName::AgentAnimation,
    MessageName::AgentSetAppearance,
    MessageName::ChatFromViewer,
    MessageName::TeleportCancel,
    MessageName::StartLure,
];

/// A node with objects, and a client that sees some.
fn furnished() -> (Node, usize) {
    let mut node = Node::with(Setup { boxes: 60, ..Setup::default() });
    let ada = node.enter("Ada");
    node.run_until(|node| !node.clients[ada].things.is_empty());
    node.run_ms(1_000);
    (node, ada)
}

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
        assert!(!occurred.contains_key(&(name.as_str(), Outcome::Dropped)), "{} was dropped", name.as_str());
    }
}

#[test]
fn every_row_that_is_done_or_refused_has_a_conversation_or_is_shown_elsewhere() {
    let tested: BTreeSet<MessageName> = conversations().iter().map(|((name, _), _)| *name).collect();
    for row in MESSAGES {
        let is_stated = matches!(row.outcome, Outcome::Done | Outcome::Refused) && row.feature.is_none();
        let is_tested = tested.contains(&row.name) || SHOWN_ELSEWHERE.contains(&row.name);
        assert!(!is_stated || is_tested, "nothing tests {}", row.name.as_str());
    }
}

fn last<T>(client: &Client, pick: impl Fn(&Message) -> Option<T>) -> T {
    client.inbox.iter().rev().find_map(pick).expect("an answer")
}

#[test]
fn an_edited_object_is_sent_again_as_it_is_with_its_properties() {
    let (mut node, ada) = furnished();
    let client = &mut node.clients[ada];
    let (id, unknown) = (seen_object(client), 4_242_424);
    let (position, times) = client.things[&id];
    let row =
        |object_local_id| MultipleObjectUpdateObjectData { object_local_id, r#type: 1, data: vec![0; 12] };
    let message = MultipleObjectUpdate {
        agent_data: MultipleObjectUpdateAgentData {
            agent_id: client.agent.0,
            session_id: client.session_id.0,
        },
        object_data: vec![row(id), row(unknown)],
    };
    client.things.insert(id, (Vec3::ZERO, times));
    client.things.insert(unknown, (Vec3::ZERO, 1));
    client.send(&message.into());
    node.run_ms(1_000);
    let client = &node.clients[ada];
    assert_eq!(client.things[&id], (position, times + 1));
    assert!(!client.things.contains_key(&unknown), "an object that does not exist is killed");
    let properties = last(client, |message| match message {
        Message::ObjectProperties(m) => Some(m.object_data.clone()),
        _ => None,
    });
    assert_eq!(properties.len(), 1);
    let row = &properties[0];
    let owners = (row.owner_id, row.creator_id, row.last_owner_id);
    assert_eq!(
        (from_wire(&row.name).as_str(), owners),
        ("Box", (LIBRARY_OWNER, LIBRARY_OWNER, LIBRARY_OWNER))
    );
    assert_eq!(alerts(client), [Feature::Building.to_string()]);
}

#[test]
fn properties_come_for_many_objects_in_datagrams_that_fit() {
    let (mut node, ada) = furnished();
    let client = &mut node.clients[ada];
    let ids: Vec<u32> = client.things.keys().copied().collect();
    let object_data = ids.iter().map(|&object_local_id| ObjectSelectObjectData { object_local_id }).collect();
    let agent_data = ObjectSelectAgentData { agent_id: client.agent.0, session_id: client.session_id.0 };
    client.send(&ObjectSelect { agent_data, object_data }.into());
    node.run_ms(2_000);
    let mut objects = BTreeSet::new();
    for message in &node.clients[ada].inbox {
        if let Message::ObjectProperties(m) = message {
            objects.extend(m.object_data.iter().map(|row| row.object_id));
        }
    }
    assert_eq!(objects.len(), ids.len());
}

#[test]
fn a_body_part_arrives_by_transfer_and_an_unknown_asset_is_refused() {
    let (mut node, ada) = furnished();
    let part = &BODY_PARTS[0];
    let mut params = part.asset.as_bytes().to_vec();
    params.extend_from_slice(&13_i32.to_le_bytes());
    let request = |params| TransferRequest {
        transfer_info: TransferRequestTransferInfo {
            transfer_id: Uuid::from_u128(7),
            channel_type: 2,
            source_type: 2,
            priority: 1.0,
            params,
        },
    };
    node.clients[ada].send(&request(params.clone()).into());
    node.run_ms(500);
    let mut content = Vec::new();
    for message in &node.clients[ada].inbox {
        if let Message::TransferPacket(m) = message {
            content.extend_from_slice(&m.transfer_data.data);
        }
    }
    assert_eq!(content, part.text.as_bytes());
    let info = |client: &Client| {
        last(client, |message| match message {
            Message::TransferInfo(m) => Some((m.transfer_info.status, m.transfer_info.size)),
            _ => None,
        })
    };
    assert_eq!(info(&node.clients[ada]), (0, part.text.len() as i32));
    params[0] ^= 1;
    node.clients[ada].send(&request(params).into());
    node.run_ms(500);
    assert_eq!(info(&node.clients[ada]), (-2, 0));
}

#[test]
fn a_texture_arrives_over_udp_in_parts_that_make_it_whole() {
    let (mut node, ada) = furnished();
    let mut request = RequestImage::default();
    request.agent_data.agent_id = node.clients[ada].agent.0;
    request.agent_data.session_id = node.clients[ada].session_id.0;
    request.request_image.push(image(ids::PLYWOOD_TEXTURE, 0));
    node.clients[ada].send(&request.into());
    node.run_ms(2_000);
    let (mut parts, mut stated) = (BTreeMap::new(), (0, 0));
    for message in &node.clients[ada].inbox {
        match message {
            Message::ImageData(m) => {
                stated = (m.image_id.size as usize, usize::from(m.image_id.packets));
                parts.insert(0, m.image_data.data.clone());
            }
            Message::ImagePacket(m) => {
                parts.insert(m.image_id.packet, m.image_data.data.clone());
            }
            _ => {}
        }
    }
    let texture = stored_asset(&HeldTextures::default(), ids::PLYWOOD_TEXTURE, AssetType::TEXTURE);
    let texture = texture.expect("the server has it");
    assert_eq!(stated, (texture.len(), parts.len()));
    assert_eq!(parts.into_values().collect::<Vec<_>>().concat(), *texture);
}

#[test]
fn people_are_found_by_the_beginnings_of_their_names() {
    let (mut node, ada) = furnished();
    let ids = (node.clients[ada].agent.0, node.clients[ada].session_id.0);
    let mut find = DirFindQuery::default();
    (find.agent_data.agent_id, find.agent_data.session_id) = ids;
    find.query_data.query_flags = 1;
    find.query_data.query_text = b"grace\0".to_vec();
    node.clients[ada].send(&find.into());
    let mut pick = AvatarPickerRequest::default();
    (pick.agent_data.agent_id, pick.agent_data.session_id) = ids;
    pick.data.name = b"ada res\0".to_vec();
    node.clients[ada].send(&pick.into());
    node.run_ms(500);
    let found = last(&node.clients[ada], |message| match message {
        Message::DirPeopleReply(m) => Some(m.query_replies.clone()),
        _ => None,
    });
    assert_eq!((found.len(), found[0].agent_id, found[0].online), (1, OFFLINE_AGENT.0, false));
    let picked = last(&node.clients[ada], |message| match message {
        Message::AvatarPickerReply(m) => Some(m.data.clone()),
        _ => None,
    });
    assert_eq!((picked.len(), picked[0].avatar_id), (1, agent("Ada").0));
}

#[test]
fn a_profile_says_when_its_account_was_made() {
    let (mut node, ada) = furnished();
    for (avatar_id, born_on) in [(OFFLINE_AGENT.0, "11/14/2023"), (Uuid::from_u128(0xBAD), "")] {
        let mut request = AvatarPropertiesRequest::default();
        request.agent_data.agent_id = node.clients[ada].agent.0;
        request.agent_data.session_id = node.clients[ada].session_id.0;
        request.agent_data.avatar_id = avatar_id;
        node.clients[ada].send(&request.into());
        node.run_ms(500);
        let born = last(&node.clients[ada], |message| match message {
            Message::AvatarPropertiesReply(m) if m.agent_data.avatar_id == avatar_id => {
                Some(from_wire(&m.properties_data.born_on))
            }
            _ => None,
        });
        assert_eq!(born, born_on);
        assert!(node.clients[ada].got(AvatarGroupsReply::NUMBER));
        assert!(node.clients[ada].got(AvatarInterestsReply::NUMBER));
    }
}

#[test]
fn one_object_capacity_is_stated_everywhere() {
    let (mut node, ada) = furnished();
    events(&mut node, ada);
    let ids = (node.clients[ada].agent.0, node.clients[ada].session_id.0);
    node.clients[ada].send(&EconomyDataRequest {}.into());
    let agent_data = RequestRegionInfoAgentData { agent_id: ids.0, session_id: ids.1 };
    node.clients[ada].send(&RequestRegionInfo { agent_data }.into());
    let mut parcel = ParcelPropertiesRequest::default();
    (parcel.agent_data.agent_id, parcel.agent_data.session_id) = ids;
    parcel.parcel_data.sequence_id = 7;
    node.clients[ada].send(&parcel.into());
    node.run_until(|node| node.clients[ada].got(SimStats::NUMBER));
    node.run_ms(500);
    let client = &node.clients[ada];
    let economy = last(client, |message| match message {
        Message::EconomyData(m) => Some((m.info.object_capacity, m.info.object_count)),
        _ => None,
    });
    let region = last(client, |message| match message {
        Message::RegionInfo(m) => Some(m.region_info2.hard_max_objects),
        _ => None,
    });
    let stats = last(client, |message| match message {
        Message::SimStats(m) => Some(m.region.object_capacity),
        _ => None,
    });
    let told = events(&mut node, ada);
    let (_, parcel) = told.iter().find(|(name, _)| name == "ParcelProperties").expect("a parcel");
    let parcel = parcel.get("ParcelData").at(0);
    let stated = |key| parcel.get(key).as_i32();
    let capacity = node.places.get(HARBOUR).land().object_capacity();
    assert_eq!(economy, (capacity as i32, 60));
    assert_eq!((region, stats), (capacity, capacity));
    assert_eq!((stated("MaxPrims"), stated("SimWideMaxPrims")), (Some(economy.0), Some(economy.0)));
    assert_eq!((stated("TotalPrims"), stated("SimWideTotalPrims")), (Some(60), Some(60)));
}

#[test]
fn an_edit_of_one_client_is_shown_to_no_other() {
    let (mut node, ada) = furnished();
    let bob = node.enter("Bob");
    node.run_until(|node| !node.clients[bob].things.is_empty());
    node.run_ms(2_000);
    let before = node.clients[bob].things.clone();
    let id = *before.keys().find(|id| node.clients[ada].things.contains_key(id)).expect("both see it");
    let client = &mut node.clients[ada];
    let position = client.things[&id];
    client.things.insert(id, (Vec3::ZERO, position.1));
    let message = MultipleObjectUpdate {
        agent_data: MultipleObjectUpdateAgentData {
            agent_id: client.agent.0,
            session_id: client.session_id.0,
        },
        object_data: vec![MultipleObjectUpdateObjectData {
            object_local_id: id,
            r#type: 1,
            data: vec![0; 12],
        }],
    };
    client.send(&message.into());
    node.run_ms(1_000);
    assert_eq!(node.clients[ada].things[&id].0, position.0, "its author sees it as it is again");
    assert_eq!(node.clients[bob].things, before, "no other client was sent anything of it");
}

#[test]
fn an_item_that_is_not_made_is_answered_with_a_null_item_for_the_callback() {
    let (mut node, ada) = furnished();
    let mut create = CreateInventoryItem::default();
    create.agent_data.agent_id = node.clients[ada].agent.0;
    create.agent_data.session_id = node.clients[ada].session_id.0;
    create.inventory_block.callback_id = 77;
    node.clients[ada].send(&create.into());
    node.run_ms(300);
    let client = &node.clients[ada];
    let (approved, rows) = last(client, |message| match message {
        Message::UpdateCreateInventoryItem(m) => Some((m.agent_data.sim_approved, m.inventory_data.clone())),
        _ => None,
    });
    assert_eq!((approved, rows.len(), rows[0].callback_id), (false, 1, 77));
    assert!(rows[0].item_id.is_nil(), "viewers skip it");
    assert_eq!(alerts(client), [Feature::Inventory.to_string()]);
}

#[test]
fn a_refused_change_of_contents_raises_their_version() {
    let (mut node, ada) = furnished();
    let version = |node: &mut Node| {
        let client = &mut node.clients[ada];
        let object_data = vec![ObjectSelectObjectData { object_local_id: seen_object(client) }];
        let agent_data = ObjectSelectAgentData { agent_id: client.agent.0, session_id: client.session_id.0 };
        client.send(&ObjectSelect { agent_data, object_data }.into());
        node.run_ms(300);
        last(&node.clients[ada], |message| match message {
            Message::ObjectProperties(m) => Some(m.object_data[0].inventory_serial),
            _ => None,
        })
    };
    let before = version(&mut node);
    node.clients[ada].send_bare(MessageName::UpdateTaskInventory);
    assert_eq!((before, version(&mut node)), (0, 1));
    assert_eq!(alerts(&node.clients[ada]), [Feature::Scripts.to_string()]);
}

#[test]
fn dialogs_that_are_neither_passed_on_nor_refused_count_as_ignored() {
    let mut node = Node::new();
    let (ada, bob) = (node.enter("Ada"), node.enter("Bob"));
    let dialogs = [1, 5, 6, 9, 18, 19, 22, 25, 31, 33, 39, 40, 255];
    for dialog in dialogs {
        let client = &node.clients[ada];
        let mut message = ImprovedInstantMessage::default();
        message.agent_data.agent_id = client.agent.0;
        message.agent_data.session_id = client.session_id.0;
        message.message_block.to_agent_id = agent("Bob").0;
        message.message_block.dialog = dialog;
        node.clients[ada].send(&message.into());
    }
    node.run_ms(300);
    assert!(!node.clients[bob].got(ImprovedInstantMessage::NUMBER));
    let occurred = outcomes(&node);
    assert_eq!(occurred[&("ImprovedInstantMessage", Outcome::Ignored)], dialogs.len() as u64);
    assert!(!occurred.contains_key(&("ImprovedInstantMessage", Outcome::Done)));
}

#[test]
fn the_map_has_a_row_for_an_empty_square_and_for_a_region_without_avatars() {
    let (mut node, ada) = furnished();
    let ids = (node.clients[ada].agent.0, node.clients[ada].session_id.0);
    let mut blocks = MapBlockRequest::default();
    (blocks.agent_data.agent_id, blocks.agent_data.session_id) = ids;
    blocks.agent_data.flags = 0x1_0000;
    let p = &mut blocks.position_data;
    (p.min_x, p.max_x, p.min_y, p.max_y) = (7, 7, 9, 9);
    node.clients[ada].send(&blocks.into());
    let meadow = node.places.get(MEADOW).handle;
    let mut items = MapItemRequest::default();
    (items.agent_data.agent_id, items.agent_data.session_id) = ids;
    items.request_data = MapItemRequestRequestData { item_type: 6, region_handle: meadow.0 };
    node.clients[ada].send(&items.into());
    node.run_ms(500);
    let block = last(&node.clients[ada], |message| match message {
        Message::MapBlockReply(m) => Some(m.data.clone()),
        _ => None,
    });
    assert_eq!((block.len(), block[0].x, block[0].y, block[0].access), (1, 7, 9, 255));
    let rows = last(&node.clients[ada], |message| match message {
        Message::MapItemReply(m) => Some(m.data.clone()),
        _ => None,
    });
    assert_eq!((rows.len(), rows[0].extra), (1, 0));
    assert_eq!((rows[0].x, rows[0].y), (meadow.x_m() + 1, meadow.y_m() + 1));
}

#[test]
fn regions_and_parcels_are_found_by_their_ids() {
    let (mut node, ada) = furnished();
    let harbour = node.places.get(HARBOUR);
    let (region_id, parcel_id, handle) = (harbour.region_id, harbour.parcel_id, harbour.handle);
    let request_block = RegionHandleRequestRequestBlock { region_id };
    node.clients[ada].send(&RegionHandleRequest { request_block }.into());
    let mut parcel = ParcelInfoRequest::default();
    parcel.agent_data.session_id = node.clients[ada].session_id.0;
    parcel.agent_data.agent_id = node.clients[ada].agent.0;
    parcel.data.parcel_id = parcel_id;
    node.clients[ada].send(&parcel.into());
    node.run_ms(500);
    let found = last(&node.clients[ada], |message| match message {
        Message::RegionIDAndHandleReply(m) => Some(m.reply_block.clone()),
        _ => None,
    });
    assert_eq!((found.region_id, found.region_handle), (region_id, handle.0));
    let parcel = last(&node.clients[ada], |message| match message {
        Message::ParcelInfoReply(m) => Some(m.data.clone()),
        _ => None,
    });
    assert_eq!((from_wire(&parcel.name).as_str(), parcel.actual_area), ("Harbour", 256 * 256));
}

#[test]
fn a_teleport_to_a_landmark_other_than_home_fails_and_says_so() {
    let (mut node, ada) = furnished();
    let client = &mut node.clients[ada];
    let info = TeleportLandmarkRequestInfo {
        agent_id: client.agent.0,
        session_id: client.session_id.0,
        landmark_id: Uuid::from_u128(99),
    };
    client.send(&TeleportLandmarkRequest { info }.into());
    node.run_ms(500);
    let told = events(&mut node, ada).iter().any(|(name, _)| name == "TeleportFailed");
    assert!(told || node.clients[ada].got(TeleportFailed::NUMBER));
}

#[test]
fn a_land_report_has_the_form_that_clients_parse() {
    let (mut node, ada) = furnished();
    events(&mut node, ada);
    let mut request = LandStatRequest::default();
    request.agent_data.agent_id = node.clients[ada].agent.0;
    request.agent_data.session_id = node.clients[ada].session_id.0;
    request.request_data.report_type = 1;
    node.clients[ada].send(&request.into());
    node.run_ms(500);
    let (_, body) =
        events(&mut node, ada).into_iter().find(|(name, _)| name == "LandStatReply").expect("a reply");
    let asked = body.get("RequestData").at(0).clone();
    assert_eq!(asked.get("ReportType"), &Llsd::Binary(vec![0, 0, 0, 1]));
    assert_eq!(asked.get("TotalObjectCount"), &Llsd::Binary(vec![0; 4]));
    assert!(body.get("ReportData").as_array().is_empty());
}

#[test]
fn running_and_animations_reach_the_world() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    let ids = (node.clients[ada].agent.0, node.clients[ada].session_id.0);
    let agent_data = SetAlwaysRunAgentData { agent_id: ids.0, session_id: ids.1, always_run: true };
    node.clients[ada].send(&SetAlwaysRun { agent_data }.into());
    let wave = Uuid::from_u128(0x77);
    let animation = AgentAnimation {
        agent_data: AgentAnimationAgentData { agent_id: ids.0, session_id: ids.1 },
        animation_list: vec![AgentAnimationAnimationList { anim_id: wave, start_anim: true }],
        ..AgentAnimation::default()
    };
    node.clients[ada].send(&animation.into());
    node.run_ms(300);
    let has = |is_it: fn(&Action) -> bool| node.commands.iter().any(|(_, command)| is_it(&command.action));
    assert!(has(|action| matches!(action, Action::AlwaysRun(true))));
    assert!(has(
        |action| matches!(action, Action::Animate(list) if list[..] == [(Uuid::from_u128(0x77), true)])
    ));
}

#[test]
fn a_region_named_by_its_id_is_a_destination() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    let region_id = node.places.get(MEADOW).region_id;
    let client = &mut node.clients[ada];
    let message = TeleportRequest {
        agent_data: TeleportRequestAgentData { agent_id: client.agent.0, session_id: client.session_id.0 },
        info: TeleportRequestInfo { region_id, position: Vec3::new(100.0, 100.0, 30.0), look_at: Vec3::X },
    };
    client.send(&message.into());
    node.run_ms(300);
    assert!(events(&mut node, ada).iter().any(|(name, _)| name == "TeleportFinish"));
}

#[test]
fn a_client_that_pauses_is_waited_for_longer_until_it_resumes() {
    for (pauses, resumes, is_there) in [(false, false, false), (true, false, true), (true, true, false)] {
        let mut node = Node::new();
        let ada = node.enter("Ada");
        let client = &mut node.clients[ada];
        let ids = (client.agent.0, client.session_id.0);
        if pauses {
            let agent_data = AgentPauseAgentData { agent_id: ids.0, session_id: ids.1, serial_num: 1 };
            client.send(&AgentPause { agent_data }.into());
        }
        node.run_ms(200);
        if resumes {
            let agent_data = AgentResumeAgentData { agent_id: ids.0, session_id: ids.1, serial_num: 2 };
            node.clients[ada].send(&AgentResume { agent_data }.into());
        }
        node.run_ms(200);
        node.loss.percent = 100;
        node.run_ms(100_000);
        assert_eq!(node.shards[0].n_clients() == 1, is_there, "paused {pauses}, resumed {resumes}");
    }
}

#[test]
fn a_refused_upload_names_the_asset_that_the_client_waits_for() {
    let mut node = Node::new();
    let spot = node.spot(HARBOUR, 128.0, 128.0);
    let admission = node.admit("Ada", spot).expect("there is room");
    node.relay();
    let ada = node.add_client("Ada", &admission);
    node.clients[ada].open();
    node.run_until(|node| node.clients[ada].sees_itself());
    let transaction_id = Uuid::from_u128(0x55);
    let mut upload = AssetUploadRequest::default();
    upload.asset_block.transaction_id = transaction_id;
    node.clients[ada].send(&upload.into());
    node.run_ms(300);
    let asked = last(&node.clients[ada], |message| match message {
        Message::RequestXfer(m) => Some(m.xfer_id.clone()),
        _ => None,
    });
    for packet in [0, 1, 2 | 1 << 31] {
        assert!(!node.clients[ada].got(AssetUploadComplete::NUMBER));
        assert!(!node.clients[ada].got(AbortXfer::NUMBER));
        let xfer_id = SendXferPacketXferID { id: asked.id, packet };
        let data_packet = SendXferPacketDataPacket { data: vec![7; 1_000] };
        node.clients[ada].send(&SendXferPacket { xfer_id, data_packet }.into());
        node.run_ms(300);
        let confirmed = last(&node.clients[ada], |message| match message {
            Message::ConfirmXferPacket(m) => Some((m.xfer_id.id, m.xfer_id.packet)),
            _ => None,
        });
        assert_eq!(confirmed, (asked.id, packet & 3));
    }
    let complete = last(&node.clients[ada], |message| match message {
        Message::AssetUploadComplete(m) => Some(m.asset_block.clone()),
        _ => None,
    });
    let both = [transaction_id.into_bytes(), admission.secure_session_id.into_bytes()].concat();
    assert_eq!(complete.uuid, Uuid::from_bytes(Md5::digest(both).into()));
    assert_eq!(asked.v_file_id, complete.uuid);
    assert!(!complete.success);
    let aborted = last(&node.clients[ada], |message| match message {
        Message::AbortXfer(m) => Some(m.xfer_id.id),
        _ => None,
    });
    assert_eq!(aborted, asked.id);
}
