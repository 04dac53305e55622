//! Things of two users through random requests, with datagrams that get lost, requests that come twice, panics of the world, logins, and servers that are killed.
//! The law, whenever nothing is under way: a thing that may not be copied is in one place, and an item that a client has been shown is in its inventory.

mod sabotage;

use super::viewer_cache::Dice;
use crate::testing::{DiskRows, FOLDER, HARBOUR, Node, OFFLINE_BORN_S, Setup, agent};
use glam::{Quat, Vec3};
use ids::{AgentId, LocalId, Uuid};
use link::{Action, InsertedLinkset, Insertion, Motion, ObjectCommand, PrimFlags, PrimMotion, plain_texture};
use prim::{Body, Mask, Permissions, Shape};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use store::{Folder, InventoryChange, InventoryLimits, Item, NewAccount, PasswordHash};
use wire::messages::*;
use wire::text::{VARIABLE1_MAX, from_wire, to_wire};

/// Servers one after the other.
const LIVES: u32 = 3;
const DEEDS_PER_LIFE: u32 = 40;
/// Deeds whose outcomes a server has no time to save before it is killed.
const LAST_DEEDS: u32 = 8;
/// Time after the last fault within which nothing is under way any more: what was lost is sent again several times.
const CALM_MS: u64 = 8_000;
const USERS: [&str; 2] = ["Ada", "Bea"];
/// Bea's only folder; Ada's is [`FOLDER`].
const FOLDER_OF_BEA: Uuid = Uuid::from_u128(0xF02);
/// Things of each user that may not be copied, of each kind: objects of the region, and textures of the inventory.
const THINGS: usize = 3;
/// Masks of owner and next owner: to move, change and give it away, but not to copy it.
const SINGLE: Mask = Mask::of_bits(Mask::MOVE.bits() | Mask::MODIFY.bits() | Mask::TRANSFER.bits());
const TEXTURE: i8 = 0;
const OBJECT: i8 = 6;
const NOTECARD: i8 = 7;
/// Destinations of DeRezObject.
const TAKE: u8 = 4;
const TRASH: u8 = 6;
/// Dialog of a gift of an item.
const GIVE: u8 = 4;

/// A linkset of the region, which is one prim.
struct Root {
    id: u32,
    name: String,
    is_worn: bool,
    /// Ids and names of its items.
    contents: Vec<(Uuid, String)>,
}

/// A server, its users, and the record of their things.
struct Run {
    seed: u64,
    dice: Dice,
    node: Node,
    /// Clients of the users that are logged in.
    clients: [Option<usize>; 2],
    /// The last request of each.
    last: [Option<Message>; 2],
    n_made: u128,
    /// All things that may not be copied.
    things: Vec<String>,
    /// Copyable items that clients have been shown, with their owners.
    shown: BTreeMap<Uuid, AgentId>,
    /// Items whose removal a client has asked for, and things among them.
    removed: BTreeSet<Uuid>,
    removed_things: BTreeSet<String>,
    /// Kinds of places where things were.
    seen: BTreeSet<&'static str>,
}

fn server(rows: DiskRows) -> Node {
    Node::on_disk(Setup { keeps_assets: true, ..Setup::default() }, rows)
}

const fn folder_of(who: usize) -> Uuid {
    if who == 0 { FOLDER } else { FOLDER_OF_BEA }
}

impl Run {
    fn new(seed: u64) -> Self {
        let node = server(DiskRows::default());
        let mut run = Self {
            seed,
            dice: Dice(seed.wrapping_mul(0xD6E8_FEB8_6659_FD93)),
            node,
            clients: [None; 2],
            last: [None, None],
            n_made: 0,
            things: Vec::new(),
            shown: BTreeMap::new(),
            removed: BTreeSet::new(),
            removed_things: BTreeSet::new(),
            seen: BTreeSet::new(),
        };
        run.furnish();
        run
    }

    fn next_id(&mut self) -> Uuid {
        self.n_made += 1;
        Uuid::from_u128(u128::from(self.seed) << 64 | 0xB << 60 | self.n_made)
    }

    /// Accounts, and things that may not be copied. Each user has a chest in the region that takes items of both.
    fn furnish(&mut self) {
        let root = Folder {
            id: FOLDER_OF_BEA,
            parent: Uuid::nil(),
            name: "My Inventory".into(),
            type_default: 8,
            version: 1,
        };
        let bea = NewAccount {
            agent: agent("Bea"),
            first: "Bea".into(),
            last: "Resident".into(),
            password_hash: PasswordHash(String::new()),
            created_s: OFFLINE_BORN_S,
            folders: vec![root],
            items: Vec::new(),
        };
        self.node.store().create_account(&bea).expect("an account");
        for (who, user) in USERS.into_iter().enumerate() {
            self.insert(user, &format!("Chest of {user}"), Permissions::NEW);
            let single = Permissions { base: SINGLE, owner: SINGLE, next_owner: SINGLE, ..Permissions::NEW };
            for n in 0..THINGS {
                let (object, texture) = (format!("Thing {user} {n}"), format!("Thing texture {user} {n}"));
                self.insert(user, &object, single);
                self.add_texture(who, &texture);
                self.things.extend([object, texture]);
            }
        }
        self.node.run_ms(1_000);
    }

    fn insert(&mut self, owner: &str, name: &str, permissions: Permissions) {
        let place = Vec3::new(120.0 + (self.n_made % 20) as f32, 120.0, 25.0);
        let mut body = Body::new(self.next_id(), Shape::BOX, plain_texture(9).into(), agent(owner), 1 << 50);
        body.names.name = name.into();
        Arc::make_mut(&mut body.ownership).permissions = permissions;
        let motion = Motion { position: place, rotation: Quat::IDENTITY, ..Motion::default() };
        let motion = PrimMotion { motion, flags: PrimFlags::ALLOW_DROP, ..PrimMotion::NONE };
        let linksets = vec![InsertedLinkset { prims: vec![(motion, Arc::new(body))] }];
        let insertion = Insertion { ids: self.next_id(), linksets };
        let request = ObjectCommand::Insert(Box::new(insertion));
        self.node.order(HARBOUR, Action::Object(Box::new(request)));
    }

    fn add_texture(&mut self, who: usize, name: &str) {
        let owner = agent(USERS[who]);
        let item = Item {
            id: self.next_id(),
            folder: folder_of(who),
            asset: ids::PLYWOOD_TEXTURE,
            asset_type: TEXTURE,
            inventory_type: TEXTURE,
            name: name.into(),
            description: String::new(),
            flags: 0,
            created_s: OFFLINE_BORN_S,
            permissions: store::Permissions {
                creator: owner.0,
                last_owner: owner.0,
                group: Uuid::nil(),
                group_owned: false,
                base: SINGLE.bits(),
                owner: SINGLE.bits(),
                group_mask: 0,
                everyone: 0,
                next_owner: SINGLE.bits(),
            },
            sale: store::Sale::default(),
        };
        let changes = [InventoryChange::CreateItem(item)];
        let made = self.node.store().change_inventory(owner, &changes, &InventoryLimits::default());
        assert!(made.expect("a database in memory")[0].is_ok());
    }

    fn items(&mut self, who: usize) -> Vec<Item> {
        let (owner, store) = (agent(USERS[who]), self.node.store());
        let folders = store.folders(owner).expect("a database in memory");
        let items = folders.iter().map(|folder| store.items_in(owner, folder.id, 10_000).expect("likewise"));
        items.collect::<Vec<_>>().concat()
    }

    /// All linksets of the region as its replica has them.
    fn roots(&self) -> Vec<Root> {
        let scene = Arc::clone(&self.node.places.get(HARBOUR).scene);
        let replica = scene.feed.current();
        let roots = replica.objects().entries().map(|(LocalId(id), entry)| {
            let items = entry.body.contents.iter().flat_map(|contents| &contents.items);
            Root {
                id,
                name: entry.body.names.name.to_string(),
                is_worn: entry.body.worn_item.is_some(),
                contents: items.map(|item| (item.id, item.name.to_string())).collect(),
            }
        });
        roots.collect()
    }

    fn one_of<T>(&mut self, mut all: Vec<T>) -> Option<T> {
        let at = self.dice.below(all.len().max(1) as u64) as usize;
        (at < all.len()).then(|| all.swap_remove(at))
    }

    fn an_item(&mut self, who: usize, is_wanted: impl Fn(&Item) -> bool) -> Option<Item> {
        let items: Vec<Item> = self.items(who).into_iter().filter(is_wanted).collect();
        self.one_of(items)
    }

    /// An object of the region that is a thing, of either user.
    fn a_thing(&mut self) -> Option<u32> {
        let roots = self.roots().into_iter().filter(|root| !root.is_worn && root.name.starts_with("Thing"));
        let ids: Vec<u32> = roots.map(|root| root.id).collect();
        self.one_of(ids)
    }

    fn deed(&mut self) {
        let who = self.dice.below(2) as usize;
        match self.dice.below(100) {
            0..8 => self.log_in_or_out(who),
            8..12 => self.node.loss.percent = [0, 10, 30][self.dice.below(3) as usize],
            12..14 => self.node.panic(HARBOUR),
            14..22 => {
                let ms = 100 * (1 + self.dice.below(10));
                self.node.run_ms(ms);
            }
            _ => {
                let Some(client) = self.clients[who] else { return };
                let client = &self.node.clients[client];
                let ids = (client.agent.0, client.session_id.0);
                let Some(message) = self.request(who, ids) else { return };
                let client = self.clients[who].expect("it is still there");
                self.node.clients[client].send(&message);
                self.last[who] = Some(message);
                let ms = 50 * self.dice.below(8);
                self.node.run_ms(ms);
            }
        }
    }

    /// A random request of a client.
    fn request(&mut self, who: usize, (agent_id, session_id): (Uuid, Uuid)) -> Option<Message> {
        Some(match self.dice.below(100) {
            0..8 => self.new_note(who, (agent_id, session_id)),
            8..12 => {
                let item = self.an_item(who, |item| item.asset_type == NOTECARD)?;
                let row = CopyInventoryItemInventoryData {
                    callback_id: self.next_id().as_u128() as u32,
                    old_agent_id: agent_id,
                    old_item_id: item.id,
                    new_folder_id: folder_of(who),
                    ..CopyInventoryItemInventoryData::default()
                };
                let agent_data = CopyInventoryItemAgentData { agent_id, session_id };
                CopyInventoryItem { agent_data, inventory_data: vec![row] }.into()
            }
            12..28 => {
                let item = self.an_item(who, |_| true)?;
                let agent_data = ImprovedInstantMessageAgentData { agent_id, session_id };
                let mut gift = ImprovedInstantMessage { agent_data, ..ImprovedInstantMessage::default() };
                let block = &mut gift.message_block;
                (block.to_agent_id, block.dialog) = (agent(USERS[1 - who]).0, GIVE);
                block.id = self.next_id();
                block.binary_bucket = [&[item.asset_type.cast_unsigned()], &item.id.as_bytes()[..]].concat();
                gift.into()
            }
            28..46 => self.derez((agent_id, session_id), TAKE, folder_of(who))?,
            46..50 => self.derez((agent_id, session_id), TRASH, Uuid::nil())?,
            50..66 => {
                let item = self.an_item(who, |item| item.asset_type == OBJECT)?;
                let agent_data = RezObjectAgentData { agent_id, session_id, group_id: Uuid::nil() };
                let mut rez = RezObject { agent_data, ..RezObject::default() };
                rez.rez_data.bypass_raycast = 1;
                rez.rez_data.ray_start = Vec3::new(130.0, 128.0, 26.0);
                rez.rez_data.ray_end = Vec3::new(130.0, 128.0, 21.0);
                (rez.inventory_data.item_id, rez.inventory_data.transaction_id) = (item.id, self.next_id());
                rez.into()
            }
            66..72 => {
                let item = self.an_item(who, |item| item.asset_type == OBJECT)?;
                let agent_data = RezSingleAttachmentFromInvAgentData { agent_id, session_id };
                let mut wear =
                    RezSingleAttachmentFromInv { agent_data, ..RezSingleAttachmentFromInv::default() };
                (wear.object_data.item_id, wear.object_data.attachment_pt) = (item.id, 0x80 | 5);
                wear.into()
            }
            72..77 => {
                let item = self.an_item(who, |item| item.asset_type == OBJECT)?;
                let object_data = DetachAttachmentIntoInvObjectData { agent_id, item_id: item.id };
                DetachAttachmentIntoInv { object_data }.into()
            }
            77..86 => {
                let chests = self.roots().into_iter().filter(|root| root.name.starts_with("Chest"));
                let chests: Vec<u32> = chests.map(|root| root.id).collect();
                let (local_id, item) = self.one_of(chests).zip(self.an_item(who, |_| true))?;
                let agent_data = UpdateTaskInventoryAgentData { agent_id, session_id };
                let mut put = UpdateTaskInventory { agent_data, ..UpdateTaskInventory::default() };
                put.update_data.local_id = local_id;
                (put.inventory_data.item_id, put.inventory_data.transaction_id) = (item.id, self.next_id());
                put.into()
            }
            86..94 => {
                let all = self.roots().into_iter();
                let inside = all.flat_map(|root| root.contents.into_iter().map(move |(id, _)| (root.id, id)));
                let inside: Vec<(u32, Uuid)> = inside.collect();
                let (local_id, item_id) = self.one_of(inside)?;
                let folder_id = folder_of(who);
                let agent_data = MoveTaskInventoryAgentData { agent_id, session_id, folder_id };
                let inventory_data = MoveTaskInventoryInventoryData { local_id, item_id };
                MoveTaskInventory { agent_data, inventory_data }.into()
            }
            94..96 => {
                let item = self.an_item(who, |_| true)?;
                self.removed.insert(item.id);
                if item.name.starts_with("Thing") {
                    self.removed_things.insert(item.name);
                }
                let agent_data = RemoveInventoryItemAgentData { agent_id, session_id };
                let inventory_data = vec![RemoveInventoryItemInventoryData { item_id: item.id }];
                RemoveInventoryItem { agent_data, inventory_data }.into()
            }
            // The request comes again, as that of a client that has lost its reply.
            _ => self.last[who].clone()?,
        })
    }

    fn new_note(&mut self, who: usize, (agent_id, session_id): (Uuid, Uuid)) -> Message {
        let number = self.next_id().as_u128() as u32;
        let name = to_wire(&format!("Note {number}"), VARIABLE1_MAX);
        let inventory_block = CreateInventoryItemInventoryBlock {
            callback_id: number,
            folder_id: folder_of(who),
            next_owner_mask: 0x0008_E000,
            r#type: NOTECARD,
            inv_type: NOTECARD,
            name,
            ..CreateInventoryItemInventoryBlock::default()
        };
        let agent_data = CreateInventoryItemAgentData { agent_id, session_id };
        CreateInventoryItem { agent_data, inventory_block }.into()
    }

    fn derez(
        &mut self,
        (agent_id, session_id): (Uuid, Uuid),
        destination: u8,
        destination_id: Uuid,
    ) -> Option<Message> {
        let object_local_id = self.a_thing()?;
        let message = DeRezObject {
            agent_data: DeRezObjectAgentData { agent_id, session_id },
            agent_block: DeRezObjectAgentBlock {
                group_id: Uuid::nil(),
                destination,
                destination_id,
                transaction_id: self.next_id(),
                packet_count: 1,
                packet_number: 0,
            },
            object_data: vec![DeRezObjectObjectData { object_local_id }],
        };
        Some(message.into())
    }

    fn log_in_or_out(&mut self, who: usize) {
        match self.clients[who].take() {
            Some(client) => {
                self.node.clients[client].log_out();
                let name = format!("{} Resident", USERS[who]);
                self.node.run_until(|node| node.hub.session_named(&name).is_none());
            }
            None => self.log_in(who),
        }
    }

    fn log_in(&mut self, who: usize) {
        let spot = self.node.spot(HARBOUR, 126.0 + 4.0 * who as f32, 128.0);
        self.clients[who] = Some(self.node.enter_at(USERS[who], spot));
        self.last[who] = None;
    }

    /// Notes the copyable items that clients have been shown.
    fn listen(&mut self) {
        for client in &self.node.clients {
            for message in &client.inbox {
                let rows: Vec<(Uuid, &[u8])> = match message {
                    Message::UpdateCreateInventoryItem(m) => {
                        m.inventory_data.iter().map(|row| (row.item_id, &row.name[..])).collect()
                    }
                    Message::BulkUpdateInventory(m) => {
                        m.item_data.iter().map(|row| (row.item_id, &row.name[..])).collect()
                    }
                    _ => continue,
                };
                let notes = rows.into_iter().filter(|(_, name)| from_wire(name).starts_with("Note"));
                self.shown.extend(notes.map(|(id, _)| (id, client.agent)));
            }
        }
    }

    /// Waits until nothing is under way any more, and compares.
    fn check(&mut self) {
        self.node.loss.percent = 0;
        self.node.run_ms(CALM_MS);
        self.listen();
        let mut places: BTreeMap<String, Vec<&'static str>> = BTreeMap::new();
        for (who, user) in USERS.into_iter().enumerate() {
            for item in self.items(who) {
                places.entry(item.name).or_default().push(user);
            }
        }
        for root in self.roots() {
            if root.is_worn {
                // Its item is in the inventory.
                self.seen.insert("worn");
            } else {
                places.entry(root.name).or_default().push("region");
            }
            for (_, name) in root.contents {
                places.entry(name).or_default().push("prim");
            }
        }
        let about = format!("seed {}", self.seed);
        for thing in &self.things {
            let found = places.get(thing).map_or(&[][..], Vec::as_slice);
            let is_gone = found.is_empty() && self.removed_things.contains(thing);
            assert!(found.len() == 1 || is_gone, "{about}: {thing} is in {found:?}");
            self.seen.extend(found);
        }
        let shown: Vec<(Uuid, AgentId)> = self.shown.iter().map(|(id, owner)| (*id, *owner)).collect();
        for (id, owner) in shown.into_iter().filter(|(id, _)| !self.removed.contains(id)) {
            let item = self.node.store().item(owner, id).expect("a database in memory");
            assert!(item.is_some(), "{about}: item {id} is gone");
        }
    }

    /// SIGKILL, and another server on what it has left.
    fn restart(&mut self) {
        self.listen();
        self.clients = [None; 2];
        let rows = std::mem::replace(&mut self.node, Node::new()).kill();
        self.node = server(rows);
    }
}

/// Kinds of places where things were.
fn play(seed: u64) -> BTreeSet<&'static str> {
    let mut run = Run::new(seed);
    for life in 0..LIVES {
        if life > 0 {
            run.restart();
            run.check();
        }
        (0..2).for_each(|who| run.log_in(who));
        (0..DEEDS_PER_LIFE).for_each(|_| run.deed());
        run.check();
        // Some of it is under way when the server is killed.
        (0..LAST_DEEDS).for_each(|_| run.deed());
    }
    run.seen
}

#[test]
fn each_thing_is_in_one_place() {
    let seen: BTreeSet<&str> = (1..=12).flat_map(play).collect();
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), ["Ada", "Bea", "prim", "region", "worn"]);
}

#[test]
#[ignore = "takes minutes: make test STEPS=long"]
fn each_thing_is_in_one_place_a_thousand_times() {
    (1..=1_000).for_each(|seed| drop(play(seed)));
}
