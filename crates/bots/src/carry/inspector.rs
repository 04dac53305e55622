//! A bot that reads all that it has: its inventory, its objects and their contents, and assets.
//!
//! ```text
//! root ─► folders, in calls of a few ─► items ─► assets
//! scene ─► ObjectSelect ─► names ─► contents of chests ─► assets
//! ```
//!
//! It uses what viewers use, and no route of the operator: the reading shows what a user has.

use super::calls::{CallAnswer, FOLDERS_PER_CALL, HttpCall, item_rows};
use super::cargo::CargoTag;
use super::census::{Belongings, ContentRow, FolderRow, ObjectRow};
use super::content::content_hash;
use super::item_row::ItemRow;
use crate::prims::SeenPrim;
use glam::Vec3;
use ids::{Instant, LocalId, Uuid};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;
use wire::Malformed;
use wire::llsd::Llsd;
use wire::messages::ObjectProperties;
use wire::text::from_wire;

/// Bit of the numbers of its calls, which those of a carrier do not have.
pub const INSPECTION_CALL: u64 = 1 << 63;

/// Calls under way.
const CALLS_MAX: usize = 4;
/// Attempts at a call.
const ATTEMPTS_MAX: u32 = 5;
/// Objects in one ObjectSelect.
const SELECTED_MAX: usize = 60;
/// Time without another object after which the scene is complete.
const SCENE_QUIET: Duration = Duration::from_secs(2);
/// Time after which properties are asked for again.
const PROPERTIES_MAX: Duration = Duration::from_secs(1);
/// Update flag: the client's user owns the object.
const YOU_OWNER: u32 = 1 << 5;

/// Purpose of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Reading {
    Folders(Vec<Uuid>),
    Contents { prim: Uuid, local: LocalId },
    Asset { id: Uuid, asset_type: i8 },
}

/// An object of the scene whose properties may not be known yet.
#[derive(Clone, Debug)]
struct ShownObject {
    local: LocalId,
    position: Vec3,
    asked_at: Option<Instant>,
}

/// A reading under way.
#[derive(Clone, Debug)]
pub struct Inspector {
    agent: Uuid,
    due: VecDeque<(Reading, u32)>,
    under_way: BTreeMap<u64, (Reading, u32)>,
    n_calls: u64,
    /// Folders and assets that were asked for once.
    known: BTreeSet<Uuid>,
    shown: BTreeMap<Uuid, ShownObject>,
    changed_at: Instant,
    found: Belongings,
}

impl Inspector {
    /// Begins with the root folder of an agent. `assets` are read besides those of its things.
    #[must_use]
    pub fn new(now: Instant, agent: Uuid, root: Uuid, assets: impl IntoIterator<Item = (Uuid, i8)>) -> Self {
        let mut inspector = Self {
            agent,
            due: [(Reading::Folders(vec![root]), 0)].into(),
            under_way: BTreeMap::new(),
            n_calls: 0,
            known: [root].into(),
            shown: BTreeMap::new(),
            changed_at: now,
            found: Belongings::default(),
        };
        assets.into_iter().for_each(|(id, asset_type)| inspector.want_asset(id, asset_type));
        inspector
    }

    /// True once everything has been read.
    #[must_use]
    pub fn is_done(&self, now: Instant) -> bool {
        let is_quiet = now.since(self.changed_at) >= SCENE_QUIET;
        is_quiet && self.due.is_empty() && self.under_way.is_empty() && self.unnamed().next().is_none()
    }

    /// The reading.
    #[must_use]
    pub fn into_belongings(self) -> Belongings {
        self.found
    }

    fn unnamed(&self) -> impl Iterator<Item = (&Uuid, &ShownObject)> {
        self.shown.iter().filter(|(id, _)| !self.found.objects.iter().any(|object| object.id == **id))
    }

    /// Takes in the scene as it is displayed now. Objects that are worn are no part of it.
    pub fn on_scene<'a>(&mut self, now: Instant, prims: impl Iterator<Item = (LocalId, &'a SeenPrim)>) {
        let own = prims.filter(|(_, prim)| prim.parent == LocalId(0) && prim.update_flags & YOU_OWNER != 0);
        let mut shown = BTreeMap::new();
        for (local, prim) in own {
            let asked_at = self.shown.get(&prim.id).and_then(|known| known.asked_at);
            shown.insert(prim.id, ShownObject { local, position: prim.position, asked_at });
        }
        if !shown.keys().eq(self.shown.keys()) {
            self.changed_at = now;
            self.found.objects.retain(|object| shown.contains_key(&object.id));
        }
        self.shown = shown;
    }

    /// Objects whose properties are to be asked for now: as many as a message has room for.
    pub fn poll_select(&mut self, now: Instant) -> Vec<LocalId> {
        let is_due = |shown: &ShownObject| shown.asked_at.is_none_or(|at| now.since(at) >= PROPERTIES_MAX);
        let due = self.unnamed().filter(|&(_, shown)| is_due(shown)).map(|(id, _)| *id);
        let due: Vec<Uuid> = due.take(SELECTED_MAX).collect();
        let mut selected = Vec::with_capacity(due.len());
        for id in due {
            if let Some(shown) = self.shown.get_mut(&id) {
                shown.asked_at = Some(now);
                selected.push(shown.local);
            }
        }
        selected
    }

    /// Takes in an ObjectProperties.
    ///
    /// # Errors
    /// Those of its decoder.
    pub fn on_properties(&mut self, body: &[u8]) -> Result<(), Malformed> {
        for row in ObjectProperties::decode(body)?.object_data {
            let Some(shown) = self.shown.get(&row.object_id) else { continue };
            let (id, local) = (row.object_id, shown.local);
            if self.found.objects.iter().any(|object| object.id == id) {
                continue;
            }
            let object = ObjectRow {
                id,
                local,
                position: shown.position,
                name: from_wire(&row.name),
                owner_mask: row.owner_mask,
                next_owner_mask: row.next_owner_mask,
            };
            if CargoTag::of_name(&object.name).is_some_and(CargoTag::is_chest) {
                self.due.push_back((Reading::Contents { prim: id, local }, 0));
            }
            self.found.objects.push(object);
        }
        Ok(())
    }

    /// The next call, if there is one and there is room for it.
    pub fn poll_call(&mut self) -> Option<HttpCall> {
        if self.under_way.len() >= CALLS_MAX {
            return None;
        }
        let (reading, n_attempts) = self.due.pop_front()?;
        self.n_calls += 1;
        let id = INSPECTION_CALL | self.n_calls;
        let call = match &reading {
            Reading::Folders(folders) => HttpCall::folders(id, self.agent, folders),
            Reading::Contents { prim, .. } => HttpCall::contents(id, *prim),
            Reading::Asset { id: asset, asset_type } => HttpCall::asset(id, *asset, *asset_type),
        };
        self.under_way.insert(id, (reading, n_attempts + 1));
        Some(call)
    }

    /// Takes in an answer, or the reason for which there is none.
    pub fn on_answer(&mut self, id: u64, answer: &Result<CallAnswer, String>) {
        let Some((reading, n_attempts)) = self.under_way.remove(&id) else { return };
        let why = match answer {
            Ok(answer) => match self.take_in(&reading, n_attempts, answer) {
                Ok(()) => return,
                Err(why) => why,
            },
            Err(why) => why.clone(),
        };
        if n_attempts < ATTEMPTS_MAX {
            self.due.push_back((reading, n_attempts));
        } else {
            self.found.troubles.push(format!("{reading:?}: {why}"));
        }
    }

    fn take_in(&mut self, reading: &Reading, n_attempts: u32, answer: &CallAnswer) -> Result<(), String> {
        let status = || format!("status {}", answer.status);
        match reading {
            Reading::Asset { id, asset_type } => {
                let content = match answer.status {
                    200 => Some(content_hash(*asset_type, &answer.body)),
                    404 => None,
                    _ => return Err(status()),
                };
                self.found.assets.insert(*id, content);
            }
            Reading::Folders(_) => self.take_folders(&answer.llsd().ok_or_else(status)?, n_attempts),
            Reading::Contents { prim, local } => {
                for item in item_rows(&answer.llsd().ok_or_else(status)?) {
                    self.want_asset(item.asset, item.asset_type);
                    self.found.contents.push(ContentRow { prim: *prim, local: *local, item });
                }
            }
        }
        Ok(())
    }

    fn take_folders(&mut self, value: &Llsd, n_attempts: u32) {
        let mut inside = Vec::new();
        for folder in value.get("folders").as_array() {
            for row in folder.get("categories").as_array() {
                let Some(id) = row.get("category_id").as_uuid().or_else(|| row.get("folder_id").as_uuid())
                else {
                    continue;
                };
                if self.known.insert(id) {
                    inside.push(id);
                    let parent = row.get("parent_id").as_uuid().unwrap_or_default();
                    let name = row.get("name").as_str().unwrap_or_default().to_owned();
                    self.found.folders.push(FolderRow { id, parent, name });
                }
            }
            for item in folder.get("items").as_array().iter().filter_map(ItemRow::of_llsd) {
                if CargoTag::of_name(&item.name).is_some() {
                    self.want_asset(item.asset, item.asset_type);
                    self.found.items.push(item);
                }
            }
        }
        for part in inside.chunks(FOLDERS_PER_CALL) {
            self.due.push_back((Reading::Folders(part.to_vec()), 0));
        }
        // A folder that has no room in an answer comes in a later one.
        for row in value.get("bad_folders").as_array() {
            let Some(id) = row.get("folder_id").as_uuid() else { continue };
            if n_attempts < ATTEMPTS_MAX {
                self.due.push_back((Reading::Folders(vec![id]), n_attempts));
            } else {
                let why = row.get("error").as_str().unwrap_or_default();
                self.found.troubles.push(format!("folder {id}: {why}"));
            }
        }
    }

    fn want_asset(&mut self, id: Uuid, asset_type: i8) {
        if !id.is_nil() && self.known.insert(id) {
            self.due.push_back((Reading::Asset { id, asset_type }, 0));
        }
    }
}

#[cfg(test)]
mod tests;
