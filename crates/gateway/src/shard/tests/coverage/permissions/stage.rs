//! A server that saves the harbour, with clients of the four actors, and things with masks of any kind.

use super::rules::{Actor, Masks, Places, Prim, Way};
use crate::testing::{DiskRows, FOLDER, HARBOUR, Node, OFFLINE_BORN_S, Setup, agent};
use glam::{Quat, Vec3};
use ids::{AgentId, LocalId, Uuid};
use keeper::content_of;
use link::{
    Action, EditRights, InsertedLinkset, Insertion, Motion, ObjectCommand, PrimFlags, PrimMotion,
    plain_texture,
};
use prim::{Body, Contents, Mask, Permissions, Sale, SaleKind, Shape, item_flags};
use std::sync::Arc;
use store::{Folder, InventoryChange, InventoryLimits, Item, NewAccount, PasswordHash};
use wire::messages::*;

/// The group of all objects.
const GROUP: Uuid = Uuid::from_u128(0x6000);
/// A receiver of gifts without a session.
const RECEIVER: &str = "Eve";
const USERS: [&str; 5] = ["Ada", "Bea", "Cid", "Dan", RECEIVER];
/// Types of assets and items.
const TEXTURE: i8 = 0;
const OBJECT: i8 = 6;
const TAKE_COPY: u8 = 1;
const TAKE: u8 = 4;
/// Dialog of a gift of an item.
const GIVE: u8 = 4;
/// Until new objects are in the replica.
const SHOWN_MS: u64 = 200;
/// Until an outcome is on the disk, and the clients have heard of it: four times the time that a keeper waits before a save.
const SETTLED_MS: u64 = 1_000;

/// A thing that a request is about.
#[derive(Debug)]
pub(super) struct Thing {
    /// No other thing has this name.
    pub(super) name: String,
    way: Way,
    actor: Actor,
    /// The item, if it is one.
    item: Uuid,
    /// The object, or the prim that the item goes into or comes out of.
    object: Option<Uuid>,
}

pub(super) struct Stage {
    node: Node,
    clients: [usize; 4],
    n_made: u128,
    /// Content of items of objects.
    asset: Uuid,
}

impl Stage {
    /// The masks of the object that items of objects name.
    pub(super) fn asset_masks() -> Masks {
        Masks::of(["vmcte", "vmcte", "", "", "vt"])
    }

    pub(super) fn new() -> Self {
        let setup = Setup { keeps_assets: true, ..Setup::default() };
        let mut node = Node::on_disk(setup, DiskRows::default());
        // Ada has an account.
        for name in &USERS[1..] {
            node.store().create_account(&account(name)).expect("an account");
        }
        let clients = Actor::ALL.map(|actor| node.enter(actor.name()));
        let session = node.hub.session_named("Dan Resident").expect("it has logged in");
        let rights = EditRights { owners: vec![agent("Ada")], ..EditRights::default() };
        node.order_for(HARBOUR, session, Action::EditRights(Box::new(rights)));
        node.run_ms(1_000);
        let mut stage = Self { node, clients, n_made: 0, asset: Uuid::nil() };
        let model = stage.prepare(Way::Take, Self::asset_masks(), Actor::Owner);
        stage.wait_until_shown();
        stage.ask(&model);
        stage.settle();
        let items = stage.node.store().items_in(agent("Ada"), FOLDER, 10).expect("a database in memory");
        stage.asset = items.iter().find(|item| item.name == model.name).expect("it was taken").asset;
        stage
    }

    fn next_id(&mut self) -> Uuid {
        self.n_made += 1;
        Uuid::from_u128(0xBEEF << 64 | self.n_made)
    }

    pub(super) fn wait_until_shown(&mut self) {
        self.node.run_ms(SHOWN_MS);
    }

    pub(super) fn settle(&mut self) {
        self.node.run_ms(SETTLED_MS);
    }

    /// Makes a thing with these masks, in the place from where the actor asks for it.
    pub(super) fn prepare(&mut self, way: Way, masks: Masks, actor: Actor) -> Thing {
        let name = format!("Row {}", self.n_made);
        let mut thing = Thing { name, way, actor, item: self.next_id(), object: None };
        let body = Body::new(self.next_id(), Shape::BOX, plain_texture(9).into(), agent("Ada"), 1 << 50);
        match way {
            Way::Take | Way::TakeCopy | Way::BuyOriginal | Way::BuyCopy => {
                let kind = match way {
                    Way::BuyOriginal => SaleKind::Original,
                    Way::BuyCopy => SaleKind::Copy,
                    _ => SaleKind::No,
                };
                let body = Body { sale: Sale { kind, price: 0 }, ..body };
                thing.object = Some(self.insert(body, &thing.name, masks, PrimFlags::default()));
            }
            Way::Rez { is_slammed } => {
                let flags = if is_slammed { item_flags::SLAM_PERMISSIONS } else { 0 };
                let item = Item { flags, asset: self.asset, ..item(&thing, OBJECT, masks) };
                self.add_item("Ada", item);
            }
            Way::Give { is_object } => {
                let kind = if is_object { OBJECT } else { TEXTURE };
                self.add_item("Ada", item(&thing, kind, masks));
            }
            Way::Drop(prim) => {
                self.add_item(actor.name(), item(&thing, TEXTURE, masks));
                thing.object = Some(self.insert_prim(prim, body));
            }
            Way::TakeOut(prim) => {
                let inside = content_of(agent("Ada"), &item(&thing, TEXTURE, masks), thing.item);
                let contents = Contents { serial: 1, items: vec![Arc::new(inside)] };
                let body = Body { contents: Some(Arc::new(contents)), ..body };
                thing.object = Some(self.insert_prim(prim, body));
            }
        }
        thing
    }

    fn insert_prim(&mut self, prim: Prim, body: Body) -> Uuid {
        let owner = if prim == Prim::Locked { "mcte" } else { "vmcte" };
        let masks = Masks::of(["vmcte", owner, "", "", "vt"]);
        let flags = if prim == Prim::Open { PrimFlags::ALLOW_DROP } else { PrimFlags::default() };
        self.insert(body, "Prim", masks, flags)
    }

    fn insert(&mut self, mut body: Body, name: &str, masks: Masks, flags: PrimFlags) -> Uuid {
        body.names.name = name.into();
        let ownership = Arc::make_mut(&mut body.ownership);
        ownership.group = GROUP;
        ownership.permissions = Permissions {
            base: Mask::of_bits(masks.base),
            owner: Mask::of_bits(masks.owner),
            group: Mask::of_bits(masks.group),
            everyone: Mask::of_bits(masks.everyone),
            next_owner: Mask::of_bits(masks.next_owner),
        };
        let (id, n) = (body.id, self.n_made % 400);
        let position = Vec3::new(110.0 + (n % 20) as f32, 110.0 + (n / 20) as f32, 30.0);
        let motion = Motion { position, rotation: Quat::IDENTITY, ..Motion::default() };
        let prims = vec![(PrimMotion { motion, flags, ..PrimMotion::NONE }, Arc::new(body))];
        let insertion = Insertion { ids: self.next_id(), linksets: vec![InsertedLinkset { prims }] };
        let request = ObjectCommand::Insert(Box::new(insertion));
        self.node.order(HARBOUR, Action::Object(Box::new(request)));
        id
    }

    fn add_item(&mut self, owner: &str, item: Item) {
        let item = Item { folder: folder_of(owner), ..item };
        let changes = [InventoryChange::CreateItem(item)];
        let limits = InventoryLimits::default();
        let made = self.node.store().change_inventory(agent(owner), &changes, &limits);
        assert!(made.expect("a database in memory")[0].is_ok());
    }

    fn local_id(&self, object: Uuid) -> u32 {
        let replica = self.node.places.get(HARBOUR).scene.feed.current();
        let found = replica.objects().entries().find(|(_, entry)| entry.body.id == object);
        let (LocalId(id), _) = found.expect("it was made");
        id
    }

    /// The actor's client asks for the thing.
    pub(super) fn ask(&mut self, thing: &Thing) {
        let object = thing.object.map(|object| self.local_id(object));
        let at = Actor::ALL.iter().position(|actor| *actor == thing.actor).expect("one of all");
        let client = &mut self.node.clients[self.clients[at]];
        let (agent_id, session_id) = (client.agent.0, client.session_id.0);
        let group_id = if thing.actor == Actor::Member { GROUP } else { Uuid::nil() };
        let message: Message = match (thing.way, object) {
            (Way::Take | Way::TakeCopy, Some(object_local_id)) => DeRezObject {
                agent_data: DeRezObjectAgentData { agent_id, session_id },
                agent_block: DeRezObjectAgentBlock {
                    group_id,
                    destination: if thing.way == Way::Take { TAKE } else { TAKE_COPY },
                    destination_id: folder_of(thing.actor.name()),
                    transaction_id: thing.item,
                    packet_count: 1,
                    packet_number: 0,
                },
                object_data: vec![DeRezObjectObjectData { object_local_id }],
            }
            .into(),
            (Way::BuyOriginal | Way::BuyCopy, Some(object_local_id)) => {
                let kind = if thing.way == Way::BuyOriginal { SaleKind::Original } else { SaleKind::Copy };
                let category_id = Uuid::nil();
                let row = ObjectBuyObjectData { object_local_id, sale_type: kind as u8, sale_price: 0 };
                let agent_data = ObjectBuyAgentData { agent_id, session_id, group_id, category_id };
                ObjectBuy { agent_data, object_data: vec![row] }.into()
            }
            (Way::Rez { .. }, None) => {
                let agent_data = RezObjectAgentData { agent_id, session_id, group_id };
                let mut rez = RezObject { agent_data, ..RezObject::default() };
                rez.rez_data.bypass_raycast = 1;
                rez.rez_data.ray_start = Vec3::new(140.0, 128.0, 26.0);
                rez.rez_data.ray_end = Vec3::new(140.0, 128.0, 21.0);
                rez.inventory_data.item_id = thing.item;
                rez.into()
            }
            (Way::Give { is_object }, None) => {
                let kind = if is_object { OBJECT } else { TEXTURE };
                let agent_data = ImprovedInstantMessageAgentData { agent_id, session_id };
                let mut gift = ImprovedInstantMessage { agent_data, ..ImprovedInstantMessage::default() };
                gift.message_block.to_agent_id = agent(RECEIVER).0;
                gift.message_block.dialog = GIVE;
                // Its receiver's item follows from this number and both users.
                gift.message_block.id = thing.item;
                gift.message_block.binary_bucket =
                    [&[kind.cast_unsigned()], &thing.item.as_bytes()[..]].concat();
                gift.into()
            }
            (Way::Drop(_), Some(local_id)) => {
                let agent_data = UpdateTaskInventoryAgentData { agent_id, session_id };
                let mut put = UpdateTaskInventory { agent_data, ..UpdateTaskInventory::default() };
                put.update_data.local_id = local_id;
                put.inventory_data.item_id = thing.item;
                put.into()
            }
            (Way::TakeOut(_), Some(local_id)) => {
                let folder_id = folder_of(thing.actor.name());
                MoveTaskInventory {
                    agent_data: MoveTaskInventoryAgentData { agent_id, session_id, folder_id },
                    inventory_data: MoveTaskInventoryInventoryData { local_id, item_id: thing.item },
                }
                .into()
            }
            (way, object) => panic!("{way:?} of {object:?}"),
        };
        client.send(&message);
    }

    /// Places of these things and their copies, in this order.
    pub(super) fn places(&mut self, things: &[Thing]) -> Vec<Places> {
        let mut places = vec![Places::default(); things.len()];
        let place_of = |name: &str| things.iter().position(|thing| thing.name == name);
        let scene = Arc::clone(&self.node.places.get(HARBOUR).scene);
        let replica = scene.feed.current();
        for (_, entry) in replica.objects().entries() {
            let body = &entry.body;
            if let Some(at) = place_of(&body.names.name) {
                let masks = masks_of(&body.ownership.permissions);
                places[at].in_region.push((name_of(body.ownership.owner), masks));
            }
            for item in body.contents.iter().flat_map(|contents| &contents.items) {
                if let Some(at) = place_of(&item.name) {
                    places[at].in_prims.push(masks_of(&item.ownership.permissions));
                }
            }
        }
        for name in USERS {
            let (owner, store) = (agent(name), self.node.store());
            for folder in store.folders(owner).expect("a database in memory") {
                for item in store.items_in(owner, folder.id, 10_000).expect("likewise") {
                    let Some(at) = place_of(&item.name) else { continue };
                    let of = item.permissions;
                    let masks = Masks {
                        base: of.base,
                        owner: of.owner,
                        group: of.group_mask,
                        everyone: of.everyone,
                        next_owner: of.next_owner,
                    };
                    places[at].owned.push((name, masks));
                }
            }
        }
        places
    }
}

fn account(name: &str) -> NewAccount {
    let root = Folder {
        id: folder_of(name),
        parent: Uuid::nil(),
        name: "My Inventory".into(),
        type_default: 8,
        version: 1,
    };
    NewAccount {
        agent: agent(name),
        first: name.into(),
        last: "Resident".into(),
        password_hash: PasswordHash(String::new()),
        created_s: OFFLINE_BORN_S,
        folders: vec![root],
        items: Vec::new(),
    }
}

/// The folder that a user's things come into: the only one of its inventory.
fn folder_of(name: &str) -> Uuid {
    let number = USERS.iter().position(|user| *user == name).expect("a user of this test");
    if number == 0 { FOLDER } else { Uuid::from_u128(0xF0_00 + number as u128) }
}

fn name_of(owner: AgentId) -> &'static str {
    USERS.into_iter().find(|name| agent(name) == owner).expect("a user of this test")
}

const fn masks_of(permissions: &Permissions) -> Masks {
    Masks {
        base: permissions.base.bits(),
        owner: permissions.owner.bits(),
        group: permissions.group.bits(),
        everyone: permissions.everyone.bits(),
        next_owner: permissions.next_owner.bits(),
    }
}

/// A thing as an item, in no folder yet.
fn item(thing: &Thing, kind: i8, masks: Masks) -> Item {
    Item {
        id: thing.item,
        folder: Uuid::nil(),
        asset: ids::PLYWOOD_TEXTURE,
        asset_type: kind,
        inventory_type: kind,
        name: thing.name.clone(),
        description: String::new(),
        flags: 0,
        created_s: OFFLINE_BORN_S,
        permissions: store::Permissions {
            creator: agent("Ada").0,
            last_owner: agent("Ada").0,
            group: GROUP,
            group_owned: false,
            base: masks.base,
            owner: masks.owner,
            group_mask: masks.group,
            everyone: masks.everyone,
            next_owner: masks.next_owner,
        },
        sale: store::Sale::default(),
    }
}
