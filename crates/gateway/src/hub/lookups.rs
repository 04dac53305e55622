//! Questions of clients that only the store can answer: names, people, profiles, inventories and assets over UDP.
//!
//! The hub does not read the store under its lock. [`Hub::look_up`] queues a [`StoreLookup`], another thread reads the store with
//! [`StoreLookup::read`], and [`Hub::handle_answer`] sends the replies.

use super::messages::{alert_message, encoded};
use super::{Address, Hub};
use crate::coverage::Feature;
use crate::mail::{AssetRequest, NAMES_PER_REPLY, StoreQuery, ToShard, pages};
use assets::{Asset, ReadAssetError};
use grid::asset_sources::AssetSources;
use grid::capability::{AccountName, born_s, names_of, people};
use grid::inventory::{folder_messages, item_messages};
use ids::{AgentId, Uuid};
use link::CircuitKey;
use store::Store;
use wire::llsd::profile_date;
use wire::messages::*;
use wire::text::{VARIABLE1_MAX, to_wire};

/// Ids looked up for one UUIDNameRequest; a datagram holds 74, more are a mistake.
const NAMES_MAX: usize = 255;
/// Accounts in one answer to a search. Viewers ask for the next hundred with the button of their window.
const PEOPLE_MAX: u32 = 100;
/// Rows of DirPeopleReply or AvatarPickerReply in one datagram: 27 bytes and the names each.
const PEOPLE_PER_REPLY: usize = 12;
/// Bit of a profile's flags: the user is online.
const PROFILE_ONLINE: u32 = 1 << 4;
/// Questions held while the thread that reads the store has no room; more are refused. Each client has a budget of requests.
pub(crate) const LOOKUPS_HELD_MAX: usize = 4_096;
/// Text of the alert when a question is not passed on.
const BUSY: &str = "The server has too much to look up just now. Please try again.";

/// A question for the store. It is answered elsewhere, since that may take a while.
#[derive(Clone, Debug, PartialEq)]
pub struct StoreLookup {
    /// The client's circuit.
    pub circuit: CircuitKey,
    /// The client's account.
    pub agent: AgentId,
    /// The question.
    pub query: StoreQuery,
}

/// The store's answer to a [`StoreLookup`], in the variant of its question.
#[derive(Clone, Debug)]
pub enum StoreAnswer {
    /// Names in the order of the ids.
    Names(Vec<Option<AccountName>>),
    /// Accounts found, by name.
    People(Vec<(AgentId, AccountName)>),
    /// Creation time of the account, in seconds since 1970; none for an unknown one.
    Profile(Option<i64>),
    /// Replies about the inventory.
    Inventory {
        /// Messages in the order of sending.
        messages: Vec<Message>,
        /// Everything asked for exists.
        is_complete: bool,
    },
    /// None if there is no such asset, or its bytes are damaged.
    Asset(Option<Asset>),
}

impl StoreLookup {
    /// Reads the store, or the assets.
    ///
    /// # Errors
    /// [`ReadAssetError`].
    pub fn read(&self, store: &Store, assets: &AssetSources) -> Result<StoreAnswer, ReadAssetError> {
        Ok(match &self.query {
            StoreQuery::Names(ids) => StoreAnswer::Names(names_of(store, ids)?),
            StoreQuery::People { text, skip, .. } => {
                StoreAnswer::People(people(store, text, *skip, PEOPLE_MAX)?)
            }
            StoreQuery::Picker { text, .. } => StoreAnswer::People(people(store, text, 0, PEOPLE_MAX)?),
            StoreQuery::Profile(agent) => StoreAnswer::Profile(born_s(store, *agent)?),
            StoreQuery::Items(ids) => {
                let (messages, is_complete) = item_messages(store, self.agent, ids)?;
                StoreAnswer::Inventory { messages, is_complete }
            }
            StoreQuery::Folder { id, folders, items } => {
                let messages = folder_messages(store, self.agent, *id, *folders, *items)?;
                let is_complete = messages.is_some();
                StoreAnswer::Inventory { messages: messages.unwrap_or_default(), is_complete }
            }
            StoreQuery::Asset(request) => {
                let (id, kind) = request.asset();
                StoreAnswer::Asset(assets.read(id)?.filter(|asset| asset.kind == kind))
            }
        })
    }

    /// The answer of a store without accounts.
    #[must_use]
    pub fn answer_of_empty_store(&self) -> StoreAnswer {
        match &self.query {
            StoreQuery::Names(ids) => StoreAnswer::Names(vec![None; ids.len()]),
            StoreQuery::People { .. } | StoreQuery::Picker { .. } => StoreAnswer::People(Vec::new()),
            StoreQuery::Profile(_) => StoreAnswer::Profile(None),
            StoreQuery::Items(_) | StoreQuery::Folder { .. } => {
                StoreAnswer::Inventory { messages: Vec::new(), is_complete: false }
            }
            StoreQuery::Asset(_) => StoreAnswer::Asset(None),
        }
    }
}

impl Hub {
    /// Answers names of accounts: at once when all are logged in, else when they have been looked up.
    pub(super) fn answer_names(&mut self, circuit: CircuitKey, ids: &[Uuid]) {
        for chunk in ids[..ids.len().min(NAMES_MAX)].chunks(NAMES_PER_REPLY) {
            let ids: Vec<AgentId> = chunk.iter().copied().map(AgentId).collect();
            if ids.iter().all(|id| self.by_agent.contains_key(id)) {
                self.send_names(circuit, &ids, &[]);
            } else {
                self.look_up(circuit, StoreQuery::Names(ids));
            }
        }
    }

    /// Queues a question for the store. Beyond [`LOOKUPS_HELD_MAX`] it is refused.
    pub(super) fn look_up(&mut self, circuit: CircuitKey, query: StoreQuery) {
        let Some(session) = self.sessions.get(&circuit.session) else { return };
        let lookup = StoreLookup { circuit, agent: session.agent, query };
        if self.lookups.len() < LOOKUPS_HELD_MAX {
            self.lookups.push_back(lookup);
        } else {
            self.refuse_lookup(&lookup);
        }
    }

    /// Sends the store's answer.
    ///
    /// # Panics
    /// If the answer is to another question.
    pub fn handle_answer(&mut self, lookup: &StoreLookup, answer: StoreAnswer) {
        let circuit = lookup.circuit;
        match (&lookup.query, answer) {
            (StoreQuery::Names(ids), StoreAnswer::Names(found)) => self.send_names(circuit, ids, &found),
            (StoreQuery::People { query_id, .. }, StoreAnswer::People(found)) => {
                self.send_people(lookup, *query_id, &found);
            }
            (StoreQuery::Picker { query_id, .. }, StoreAnswer::People(found)) => {
                self.send_picked(lookup, *query_id, &found);
            }
            (StoreQuery::Profile(agent), StoreAnswer::Profile(born_s)) => {
                self.send_profile(lookup, *agent, born_s);
            }
            (
                StoreQuery::Items(_) | StoreQuery::Folder { .. },
                StoreAnswer::Inventory { messages, is_complete },
            ) => {
                for message in messages {
                    self.send_on(circuit, encoded(|out| message.encode(out)));
                }
                if !is_complete {
                    self.send_on(circuit, alert_message(&Feature::UnknownItem.to_string()));
                }
            }
            (StoreQuery::Asset(request), StoreAnswer::Asset(asset)) => {
                self.send_asset(circuit, request.clone(), asset);
            }
            (query, answer) => panic!("{answer:?} does not answer {query:?}"),
        }
    }

    /// Informs a client that its question is not answered. A refused request for names gets no row either: clients would cache an
    /// unknown name.
    pub fn refuse_lookup(&mut self, lookup: &StoreLookup) {
        self.counters.lookups_refused += 1;
        if matches!(lookup.query, StoreQuery::Asset(AssetRequest::Landmark(_))) {
            // The client waits for its teleport.
            return self.send_teleport_failed(lookup.circuit.session, BUSY);
        }
        self.send_on(lookup.circuit, alert_message(BUSY));
    }

    /// Hands an asset to the shard of the circuit, which sends it.
    fn send_asset(&mut self, circuit: CircuitKey, request: AssetRequest, asset: Option<Asset>) {
        if let Some(shard) = self.binding_mut(circuit).and_then(|binding| binding.shard) {
            let mail = ToShard::Asset(circuit, Box::new(request), asset);
            self.output.push_back((Address::One(shard), mail));
        }
    }

    /// Sends names in the order of the ids. An id without a name is answered too: node-metaverse waits for every id that it asked for.
    fn send_names(&mut self, circuit: CircuitKey, ids: &[AgentId], found: &[Option<AccountName>]) {
        let names = ids.iter().enumerate().map(|(at, &agent)| {
            let online = self.by_agent.get(&agent).and_then(|key| self.sessions.get(key));
            let stored = || found.get(at).and_then(Option::as_ref);
            let (first, last) = match online {
                Some(session) => (&*session.first_name, &*session.last_name),
                None => stored().map_or(("Unknown", "User"), |(first, last)| (first, last)),
            };
            UUIDNameReplyUUIDNameBlock {
                id: agent.0,
                first_name: to_wire(first, 32),
                last_name: to_wire(last, 32),
            }
        });
        let names = names.collect();
        let reply = encoded(|out| UUIDNameReply { uuid_name_block: names }.encode(out));
        self.send_on(circuit, reply);
    }

    fn send_people(&mut self, lookup: &StoreLookup, query_id: Uuid, found: &[(AgentId, AccountName)]) {
        for people in pages(found, PEOPLE_PER_REPLY) {
            let row = |(agent, (first, last)): &(AgentId, AccountName)| DirPeopleReplyQueryReplies {
                agent_id: agent.0,
                first_name: to_wire(first, 32),
                last_name: to_wire(last, 32),
                group: to_wire("", VARIABLE1_MAX),
                online: self.by_agent.contains_key(agent),
                reputation: 0,
            };
            let reply = DirPeopleReply {
                agent_data: DirPeopleReplyAgentData { agent_id: lookup.agent.0 },
                query_data: DirPeopleReplyQueryData { query_id },
                query_replies: people.iter().map(row).collect(),
            };
            self.send_on(lookup.circuit, encoded(|out| reply.encode(out)));
        }
    }

    fn send_picked(&mut self, lookup: &StoreLookup, query_id: Uuid, found: &[(AgentId, AccountName)]) {
        for people in pages(found, PEOPLE_PER_REPLY) {
            let row = |(agent, (first, last)): &(AgentId, AccountName)| AvatarPickerReplyData {
                avatar_id: agent.0,
                first_name: to_wire(first, 32),
                last_name: to_wire(last, 32),
            };
            let reply = AvatarPickerReply {
                agent_data: AvatarPickerReplyAgentData { agent_id: lookup.agent.0, query_id },
                data: people.iter().map(row).collect(),
            };
            self.send_on(lookup.circuit, encoded(|out| reply.encode(out)));
        }
    }

    /// Sends a profile, which is three messages. The profile of an unknown account is empty, and has no birth date.
    fn send_profile(&mut self, lookup: &StoreLookup, avatar: AgentId, born_s: Option<i64>) {
        let (agent_id, avatar_id) = (lookup.agent.0, avatar.0);
        let empty = || to_wire("", VARIABLE1_MAX);
        let is_online = self.by_agent.contains_key(&avatar);
        let properties = AvatarPropertiesReply {
            agent_data: AvatarPropertiesReplyAgentData { agent_id, avatar_id },
            properties_data: AvatarPropertiesReplyPropertiesData {
                about_text: empty(),
                fl_about_text: empty(),
                born_on: to_wire(&born_s.map(profile_date).unwrap_or_default(), VARIABLE1_MAX),
                profile_url: empty(),
                charter_member: empty(),
                flags: if is_online { PROFILE_ONLINE } else { 0 },
                ..AvatarPropertiesReplyPropertiesData::default()
            },
        };
        let interests = AvatarInterestsReply {
            agent_data: AvatarInterestsReplyAgentData { agent_id, avatar_id },
            properties_data: AvatarInterestsReplyPropertiesData {
                want_to_text: empty(),
                skills_text: empty(),
                languages_text: empty(),
                ..AvatarInterestsReplyPropertiesData::default()
            },
        };
        let groups = AvatarGroupsReply {
            agent_data: AvatarGroupsReplyAgentData { agent_id, avatar_id },
            ..AvatarGroupsReply::default()
        };
        self.send_on(lookup.circuit, encoded(|out| properties.encode(out)));
        self.send_on(lookup.circuit, encoded(|out| interests.encode(out)));
        self.send_on(lookup.circuit, encoded(|out| groups.encode(out)));
    }
}
