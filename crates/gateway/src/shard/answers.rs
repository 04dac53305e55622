//! Requests that a shard answers from its own data: the region, the map, an economy of zero, the outfit of the ticket. node-metaverse
//! does not connect without several of these.

use super::Shard;
use super::incoming::{Handled, Incoming};
use crate::coverage::MessageOutcome;
use crate::land::{RegionFacts, region_handshake, region_info};
use crate::mail::{Request, StoreQuery, Ticket, pages};
use crate::map_layers::map_layers;
use crate::object_items::find_notecard;
use crate::places::Place;
use grid::inventory::{InventoryTask, NotecardCopy};
use ids::{AgentId, RegionHandle, Uuid};
use std::sync::Arc;
use wire::messages::*;
use wire::text::{VARIABLE1_MAX, from_wire, to_wire};

/// Access of a map block that says "no such region".
const NO_REGION: u8 = 255;
/// MapItemRequest for agents.
const MAP_ITEM_AGENTS: u32 = 6;
/// Rows in one map reply: 18 + 27 + name bytes each.
const MAP_ROWS_PER_REPLY: usize = 12;
/// Rows in MapLayerReply: 32 bytes each.
const MAP_LAYERS_MAX: usize = 30;
/// Rows of UUIDGroupNameReply in one datagram: 25 bytes each.
const GROUP_NAMES_PER_REPLY: usize = 40;

impl Shard {
    /// Sends an answer at once.
    pub(super) fn reply(&mut self, at: &mut Incoming<'_>, answer: impl Into<Message>) {
        let mut body = std::mem::take(&mut self.body);
        body.clear();
        answer.into().encode(&mut body);
        self.send_reliable(at.now, at.index, &body, at.out);
        self.body = body;
    }

    /// Sends an answer at once, which is all that a message asks for.
    pub(super) fn answer(&mut self, at: &mut Incoming<'_>, answer: impl Into<Message>) -> Handled {
        self.reply(at, answer);
        Ok(MessageOutcome::Done)
    }

    fn ticket(&mut self, at: &Incoming<'_>) -> Arc<Ticket> {
        Arc::clone(&self.client(at.index).ticket)
    }

    fn place(&mut self, at: &Incoming<'_>) -> Arc<Place> {
        Arc::clone(&self.client(at.index).place)
    }

    pub(super) fn on_region_info(&mut self, at: &mut Incoming<'_>, _: RequestRegionInfo) -> Handled {
        let (ticket, place) = (self.ticket(at), self.place(at));
        let facts = RegionFacts::new(&place, &place.scene.feed.current(), ticket.agent);
        let info = region_info(&place, &facts, receiver_of_info(&ticket));
        self.answer(at, info)
    }

    pub(super) fn on_wearables(&mut self, at: &mut Incoming<'_>, _: AgentWearablesRequest) -> Handled {
        let wearables = wearables(&self.ticket(at));
        self.answer(at, wearables)
    }

    pub(super) fn on_agent_data(&mut self, at: &mut Incoming<'_>, _: AgentDataUpdateRequest) -> Handled {
        let data = agent_data(&self.ticket(at));
        self.answer(at, data)
    }

    pub(super) fn on_money_balance(&mut self, at: &mut Incoming<'_>, m: MoneyBalanceRequest) -> Handled {
        let money_data = MoneyBalanceReplyMoneyData {
            agent_id: self.ticket(at).agent.0,
            transaction_id: m.money_data.transaction_id,
            transaction_success: true,
            ..MoneyBalanceReplyMoneyData::default()
        };
        self.answer(at, MoneyBalanceReply { money_data, ..MoneyBalanceReply::default() })
    }

    pub(super) fn on_mute_list(&mut self, at: &mut Incoming<'_>, _: MuteListRequest) -> Handled {
        let agent_data = UseCachedMuteListAgentData { agent_id: self.ticket(at).agent.0 };
        self.answer(at, UseCachedMuteList { agent_data })
    }

    pub(super) fn on_map_name(&mut self, at: &mut Incoming<'_>, m: MapNameRequest) -> Handled {
        let rows = self.map_by_name(&m);
        self.send_map(at, m.agent_data.flags, &rows)
    }

    pub(super) fn on_map_blocks(&mut self, at: &mut Incoming<'_>, m: MapBlockRequest) -> Handled {
        let rows = self.map_by_square(&m);
        self.send_map(at, m.agent_data.flags, &rows)
    }

    fn send_map(&mut self, at: &mut Incoming<'_>, flags: u32, rows: &[MapBlockReplyData]) -> Handled {
        let ticket = self.ticket(at);
        for page in pages(rows, MAP_ROWS_PER_REPLY) {
            self.reply(at, map_reply(&ticket, flags, page.to_vec()));
        }
        Ok(MessageOutcome::Done)
    }

    pub(super) fn on_map_items(&mut self, at: &mut Incoming<'_>, m: MapItemRequest) -> Handled {
        let (ticket, place) = (self.ticket(at), self.place(at));
        let reply = self.map_items(&ticket, &place, &m);
        self.answer(at, reply)
    }

    pub(super) fn on_avatar_properties(
        &mut self,
        at: &mut Incoming<'_>,
        m: AvatarPropertiesRequest,
    ) -> Handled {
        self.request(at, Request::LookUp(StoreQuery::Profile(AgentId(m.agent_data.avatar_id))))
    }

    pub(super) fn on_fetch_items(&mut self, at: &mut Incoming<'_>, m: FetchInventory) -> Handled {
        let ids = m.inventory_data.iter().map(|row| row.item_id).collect();
        self.request(at, Request::LookUp(StoreQuery::Items(ids)))
    }

    pub(super) fn on_fetch_folder(&mut self, at: &mut Incoming<'_>, m: FetchInventoryDescendents) -> Handled {
        let FetchInventoryDescendentsInventoryData { folder_id: id, fetch_folders, fetch_items, .. } =
            m.inventory_data;
        let query = StoreQuery::Folder { id, folders: fetch_folders, items: fetch_items };
        self.request(at, Request::LookUp(query))
    }

    /// A change of the inventory. Its reply comes by way of the hub.
    pub(super) fn on_inventory_change(
        &mut self,
        at: &mut Incoming<'_>,
        m: impl Into<InventoryTask>,
    ) -> Handled {
        self.request(at, Request::Inventory(Box::new(m.into())))
    }

    /// Copies of items that are embedded in a notecard, also in one that lies in an object of the region.
    pub(super) fn on_copy_from_notecard(
        &mut self,
        at: &mut Incoming<'_>,
        m: CopyInventoryFromNotecard,
    ) -> Handled {
        let client = self.client(at.index);
        let mut copy = NotecardCopy::from(m);
        copy.notecard = find_notecard(&client.place, client.ticket.agent, copy.notecard);
        self.on_inventory_change(at, InventoryTask::FromNotecard(copy))
    }

    pub(super) fn on_group_names(&mut self, at: &mut Incoming<'_>, m: UUIDGroupNameRequest) -> Handled {
        let row = |block: &UUIDGroupNameRequestUUIDNameBlock| UUIDGroupNameReplyUUIDNameBlock {
            id: block.id,
            group_name: to_wire("Unknown", VARIABLE1_MAX),
        };
        for page in pages(&m.uuid_name_block, GROUP_NAMES_PER_REPLY) {
            self.reply(at, UUIDGroupNameReply { uuid_name_block: page.iter().map(row).collect() });
        }
        Ok(MessageOutcome::Done)
    }

    pub(super) fn on_economy_data(&mut self, at: &mut Incoming<'_>, _: EconomyDataRequest) -> Handled {
        let place = self.place(at);
        let n_built = place.scene.feed.current().objects().len() as u32;
        let info = EconomyDataInfo {
            object_capacity: place.scene.object_capacity().cast_signed(),
            object_count: (place.ground().n_objects() + n_built).cast_signed(),
            ..EconomyDataInfo::default()
        };
        self.answer(at, EconomyData { info })
    }

    pub(super) fn on_region_handle(&mut self, at: &mut Incoming<'_>, m: RegionHandleRequest) -> Handled {
        let region_id = m.request_block.region_id;
        let place = self.places.by_region_id(region_id);
        let region_handle = place.map_or(0, |place| place.handle.0);
        let reply_block = RegionIDAndHandleReplyReplyBlock { region_id, region_handle };
        self.reply(at, RegionIDAndHandleReply { reply_block });
        Ok(if region_handle == 0 { MessageOutcome::Refused } else { MessageOutcome::Done })
    }

    pub(super) fn on_map_layer(&mut self, at: &mut Incoming<'_>, m: MapLayerRequest) -> Handled {
        let agent_id = self.ticket(at).agent.0;
        let layer_data = map_layers(&self.places).take(MAP_LAYERS_MAX).collect();
        let agent_data = MapLayerReplyAgentData { agent_id, flags: m.agent_data.flags };
        self.answer(at, MapLayerReply { agent_data, layer_data })
    }

    fn map_by_name(&self, m: &MapNameRequest) -> Vec<MapBlockReplyData> {
        // Clients echo the name with or without its NUL, and search by beginnings.
        let wanted = from_wire(&m.name_data.name).trim().to_lowercase();
        let found = self.places.iter().filter(|place| place.name().to_lowercase().starts_with(&wanted));
        let mut rows: Vec<MapBlockReplyData> = found.map(|place| map_row(place)).collect();
        if rows.is_empty() {
            rows.push(MapBlockReplyData {
                name: to_wire(&wanted, VARIABLE1_MAX),
                access: NO_REGION,
                ..MapBlockReplyData::default()
            });
        }
        rows
    }

    fn map_by_square(&self, m: &MapBlockRequest) -> Vec<MapBlockReplyData> {
        let p = &m.position_data;
        let inside = |place: &&Arc<Place>| {
            let (x, y) = place.handle.grid();
            (u32::from(p.min_x)..=u32::from(p.max_x)).contains(&x)
                && (u32::from(p.min_y)..=u32::from(p.max_y)).contains(&y)
        };
        let places = self.places.iter().filter(inside);
        let mut rows: Vec<MapBlockReplyData> = places.map(|place| map_row(place)).collect();
        // Clients that ask about one square wait for a row about it.
        if rows.is_empty() && (p.min_x, p.min_y) == (p.max_x, p.max_y) {
            let name = to_wire("", VARIABLE1_MAX);
            let (x, y) = (p.min_x, p.min_y);
            rows.push(MapBlockReplyData { x, y, name, access: NO_REGION, ..MapBlockReplyData::default() });
        }
        rows
    }

    fn map_items(&self, ticket: &Ticket, here: &Place, m: &MapItemRequest) -> MapItemReply {
        let request = &m.request_data;
        // 0 stands for the region that the client is in.
        let handle =
            if request.region_handle == 0 { here.handle } else { RegionHandle(request.region_handle) };
        let row = |x: u32, y: u32, extra: i32| MapItemReplyData {
            x: handle.x_m() + x,
            y: handle.y_m() + y,
            extra,
            name: to_wire("", VARIABLE1_MAX),
            ..MapItemReplyData::default()
        };
        let mut data = Vec::new();
        if request.item_type == MAP_ITEM_AGENTS {
            if let Some(place) = self.places.by_handle(handle) {
                let replica = place.scene.feed.current();
                let avatars = replica.entities().take(MAP_ROWS_PER_REPLY);
                data.extend(avatars.map(|(_, hot, _)| row(hot.position.x as u32, hot.position.y as u32, 1)));
            }
            // Clients wait for a row in the region; the count says that it stands for no avatar.
            if data.is_empty() {
                data.push(row(1, 1, 0));
            }
        }
        MapItemReply {
            agent_data: MapItemReplyAgentData { agent_id: ticket.agent.0, flags: m.agent_data.flags },
            request_data: MapItemReplyRequestData { item_type: request.item_type },
            data,
        }
    }

    pub(super) fn send_handshake(&mut self, at: &mut Incoming<'_>) {
        let (ticket, place) = (self.ticket(at), self.place(at));
        let replica = place.scene.feed.current();
        let facts = RegionFacts::new(&place, &replica, ticket.agent);
        self.client(at.index).land.record_estate(&replica);
        self.reply(at, region_handshake(&place, &facts));
    }
}

/// Receiver of a RegionInfo.
pub(super) fn receiver_of_info(ticket: &Ticket) -> RegionInfoAgentData {
    RegionInfoAgentData { agent_id: ticket.agent.0, session_id: ticket.session_id.0 }
}

fn wearables(ticket: &Ticket) -> AgentWearablesUpdate {
    AgentWearablesUpdate {
        agent_data: AgentWearablesUpdateAgentData {
            agent_id: ticket.agent.0,
            session_id: ticket.session_id.0,
            serial_num: 1,
        },
        wearable_data: ticket
            .wearables
            .iter()
            .map(|worn| AgentWearablesUpdateWearableData {
                item_id: worn.item,
                asset_id: worn.asset,
                wearable_type: worn.kind,
            })
            .collect(),
    }
}

fn agent_data(ticket: &Ticket) -> AgentDataUpdate {
    AgentDataUpdate {
        agent_data: AgentDataUpdateAgentData {
            agent_id: ticket.agent.0,
            first_name: to_wire(&ticket.first_name, VARIABLE1_MAX),
            last_name: to_wire(&ticket.last_name, VARIABLE1_MAX),
            group_title: to_wire("", VARIABLE1_MAX),
            group_name: to_wire("", VARIABLE1_MAX),
            ..AgentDataUpdateAgentData::default()
        },
    }
}

fn map_row(place: &Place) -> MapBlockReplyData {
    let (x, y) = place.handle.grid();
    let facts = RegionFacts::new(place, &place.scene.feed.current(), AgentId(Uuid::nil()));
    MapBlockReplyData {
        x: x as u16,
        y: y as u16,
        name: to_wire(place.name(), 64),
        access: facts.access,
        region_flags: facts.flags,
        water_height: facts.water_m.clamp(0.0, 255.0) as u8,
        map_image_id: place.scene.map_image(),
        ..MapBlockReplyData::default()
    }
}

/// Without OpenSimulator's block of sizes: node-metaverse takes it for a broken message (measured with 0.8.16).
fn map_reply(ticket: &Ticket, flags: u32, data: Vec<MapBlockReplyData>) -> MapBlockReply {
    MapBlockReply {
        agent_data: MapBlockReplyAgentData { agent_id: ticket.agent.0, flags },
        data,
        size: Vec::new(),
    }
}
