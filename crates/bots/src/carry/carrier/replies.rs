//! Answers over HTTP, and readings of effects that have no answer.

use super::holding::{Confirmation, Effect, HeldAt, Holding, Lookup, LookupPurpose, Wait};
use super::{Carrier, READ_PERIOD, SAVED_AFTER};
use crate::carry::calls::{CallAnswer, HttpCall, UploadAnswer, item_rows};
use crate::carry::cargo::{CargoKey, CargoPlace, CargoTag};
use crate::carry::content::Content;
use crate::carry::item_row::ItemRow;
use crate::carry::record::DeedKind;
use ids::{Instant, Uuid};

/// Status of a capability that refuses a request.
const FORBIDDEN: u16 = 403;

impl Carrier {
    /// Takes in the answer to a call, or the reason for which there is none.
    pub fn on_answer(&mut self, now: Instant, id: u64, answer: &Result<CallAnswer, String>) {
        if let Some(lookup) = self.lookups.remove(&id) {
            return self.on_looked_up(&lookup, answer);
        }
        let Some(errand) = self.errands.get(&id) else { return };
        let Ok(answer) = answer else { return self.on_no_answer(now, id) };
        match &errand.wait {
            Wait::Uploader(content) => {
                let content = content.clone();
                self.on_uploader(id, content, answer);
            }
            Wait::Stored(asset_type) => {
                let asset_type = *asset_type;
                self.on_stored(now, id, asset_type, answer);
            }
            Wait::Folder(folder) => {
                let folder = *folder;
                match answer.status {
                    200 => self.on_folder(now, id, folder),
                    FORBIDDEN => self.refuse(id),
                    _ => self.abandon(id),
                }
            }
            Wait::Confirmed(_) => self.on_reading(now, id, answer),
            Wait::Put { .. } => self.on_contents(now, id, answer),
            _ => {}
        }
    }

    /// Readings are repeated. A request whose answer was lost has an unknown outcome.
    fn on_no_answer(&mut self, now: Instant, id: u64) {
        match self.errands.get_mut(&id).map(|errand| &mut errand.wait) {
            Some(Wait::Confirmed(confirmation)) => confirmation.read_at = Some(now + READ_PERIOD),
            Some(Wait::Put { read_at, is_reading, .. }) => {
                (*read_at, *is_reading) = (Some(now + READ_PERIOD), false);
            }
            _ => self.abandon(id),
        }
    }

    fn on_uploader(&mut self, id: u64, content: Content, answer: &CallAnswer) {
        match UploadAnswer::of(answer) {
            UploadAnswer::Uploader(address) => {
                if let Some(errand) = self.errands.get_mut(&id) {
                    errand.wait = Wait::Stored(content.asset_type);
                }
                self.calls.push_back(HttpCall::upload(id, address, content.bytes));
            }
            UploadAnswer::Refused(_) => self.refuse(id),
            UploadAnswer::Complete { .. } | UploadAnswer::Unclear => self.abandon(id),
        }
    }

    fn on_stored(&mut self, now: Instant, id: u64, asset_type: i8, answer: &CallAnswer) {
        let (asset, item) = match UploadAnswer::of(answer) {
            UploadAnswer::Complete { asset, item } => (asset, item),
            UploadAnswer::Refused(_) => return self.refuse(id),
            UploadAnswer::Uploader(_) | UploadAnswer::Unclear => return self.abandon(id),
        };
        let errand = &self.errands[&id];
        let (kind, content, holding) = (errand.kind, errand.expected.content, errand.holding);
        let known = holding.and_then(|id| self.holdings.get_mut(&id));
        if let Some(held) = known.filter(|_| kind == DeedKind::Rewrite) {
            held.content = content;
            if let HeldAt::Item(row) = &mut held.at {
                row.asset = asset;
            }
            let place = held.place(self.setup.bot);
            return self.finish(now, id, Some(place), Some((asset, asset_type)));
        }
        self.finish(now, id, Some(self.item_place(item)), Some((asset, asset_type)));
        // The answer has no rights: the bot takes the item up when it has its row.
        self.look_up(Lookup { item, purpose: LookupPurpose::Uploaded(content) });
    }

    /// Reads the row of an item.
    pub(super) fn look_up(&mut self, lookup: Lookup) {
        let number = self.next_number();
        self.calls.push_back(HttpCall::items(number, self.setup.ids.agent, &[lookup.item]));
        self.lookups.insert(number, lookup);
    }

    fn on_folder(&mut self, now: Instant, id: u64, folder: Uuid) {
        let key = self.errands[&id].key;
        let place = CargoPlace::Folder { owner: self.setup.bot, folder };
        self.finish(now, id, Some(place), None);
        self.hold(Holding::new(key, HeldAt::Folder(folder), None));
    }

    /// The row of an uploaded item, or of a gift. Without it the bot leaves the item alone.
    fn on_looked_up(&mut self, lookup: &Lookup, answer: &Result<CallAnswer, String>) {
        let value = answer.as_ref().ok().and_then(CallAnswer::llsd).unwrap_or_default();
        let Some(row) = item_rows(&value).into_iter().find(|row| row.id == lookup.item) else { return };
        let Some(tag) = CargoTag::of_name(&row.name) else { return };
        match lookup.purpose {
            LookupPurpose::Uploaded(content) => {
                self.hold(Holding::new(CargoKey::common(tag), HeldAt::Item(row), content));
            }
            LookupPurpose::Gift { is_declined } => self.receive(row, is_declined),
        }
    }

    /// Reads effects that are due, and ends requests whose objects are saved.
    pub(super) fn advance_readings(&mut self, now: Instant) {
        let due = self.errands.iter().filter(|(_, errand)| errand.due_at() <= now).map(|(number, _)| *number);
        let due: Vec<u64> = due.collect();
        for number in due {
            let Some(errand) = self.errands.get_mut(&number) else { continue };
            match &mut errand.wait {
                Wait::Confirmed(Confirmation { of, read_at }) => {
                    *read_at = None;
                    let agent = self.setup.ids.agent;
                    let call = match of {
                        Effect::Folder(folder) => HttpCall::folders(number, agent, &[*folder]),
                        Effect::ItemIn { item, .. } => HttpCall::items(number, agent, &[*item]),
                        Effect::Gone(gone) => {
                            let items: Vec<Uuid> = gone.iter().map(|(_, item)| *item).collect();
                            HttpCall::items(number, agent, &items)
                        }
                        Effect::OutOf { prim, .. } => HttpCall::contents(number, *prim),
                    };
                    self.calls.push_back(call);
                }
                Wait::Named { saved_at: Some(_), .. } => self.end_build(now, number),
                Wait::Named { id: _, local, select_at, .. } => {
                    *select_at = now + READ_PERIOD;
                    let select = self.setup.ids.select(&[*local]);
                    self.messages.push_back(select);
                }
                Wait::Shown { .. } => self.end_rez(now, number),
                Wait::Put { prim, read_at, is_reading, .. } => {
                    (*read_at, *is_reading) = (None, true);
                    self.calls.push_back(HttpCall::contents(number, *prim));
                }
                _ => {}
            }
        }
    }

    fn on_reading(&mut self, now: Instant, id: u64, answer: &CallAnswer) {
        let Some(Wait::Confirmed(confirmation)) = self.errands.get(&id).map(|errand| &errand.wait) else {
            return;
        };
        let of = confirmation.of.clone();
        let Some(value) = answer.llsd() else { return self.on_no_answer(now, id) };
        let is_there = match of {
            Effect::Folder(folder) => {
                let found = value.get("folders").at(0).get("folder_id").as_uuid() == Some(folder);
                if found {
                    self.on_folder(now, id, folder);
                }
                found
            }
            Effect::ItemIn { item, folder } => {
                let row = item_rows(&value).into_iter().find(|row| row.id == item && row.folder == folder);
                let found = row.is_some();
                if let Some(row) = row {
                    self.on_moved(now, id, row);
                }
                found
            }
            Effect::Gone(gone) => {
                let left = item_rows(&value);
                let is_empty = !gone.iter().any(|(_, item)| left.iter().any(|row| row.id == *item));
                if is_empty {
                    gone.into_iter().for_each(|(number, _)| self.on_gone(now, number));
                }
                is_empty
            }
            Effect::OutOf { prim, item, was_out } => {
                let is_out = !item_rows(&value).iter().any(|row| row.id == item);
                if is_out && was_out {
                    self.on_gone(now, id);
                } else if is_out && let Some(errand) = self.errands.get_mut(&id) {
                    let of = Effect::OutOf { prim, item, was_out: true };
                    errand.wait = Wait::Confirmed(Confirmation { of, read_at: Some(now + SAVED_AFTER) });
                }
                is_out
            }
        };
        if !is_there {
            self.on_no_answer(now, id);
        }
    }

    fn on_moved(&mut self, now: Instant, id: u64, row: ItemRow) {
        let holding = self.errands[&id].holding;
        self.finish(now, id, Some(self.item_place(row.id)), None);
        if let Some(held) = holding.and_then(|id| self.holdings.get_mut(&id)) {
            held.at = HeldAt::Item(row);
        }
    }

    fn on_gone(&mut self, now: Instant, number: u64) {
        let holding = self.errands.get(&number).and_then(|errand| errand.holding);
        self.finish(now, number, None, None);
        if let Some(id) = holding {
            self.holdings.remove(&id);
        }
    }

    /// Contents of the prim into which an item went.
    fn on_contents(&mut self, now: Instant, id: u64, answer: &CallAnswer) {
        let Some(errand) = self.errands.get(&id) else { return };
        let Wait::Put { prim, local, .. } = errand.wait else { return };
        let (key, holding) = (errand.key, errand.holding);
        let Some(value) = answer.llsd() else { return self.on_no_answer(now, id) };
        let is_it = |row: &ItemRow| {
            CargoTag::of_name(&row.name) == Some(key.tag) && row.masks.is_unique() == key.is_unique
        };
        let Some(row) = item_rows(&value).into_iter().find(is_it) else { return self.on_no_answer(now, id) };
        self.finish(now, id, Some(CargoPlace::Content { prim, item: row.id }), None);
        let Some(held) = holding.and_then(|id| self.holdings.get_mut(&id)) else { return };
        let at = HeldAt::Content { prim, local, row };
        if key.is_unique {
            held.at = at;
        } else {
            let content = held.content;
            self.hold(Holding::new(key, at, content));
        }
    }
}
