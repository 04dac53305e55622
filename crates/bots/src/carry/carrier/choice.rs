//! Choice of the next request.

use super::holding::{Confirmation, Effect, Errand, HeldAt, Holding, LegacyUpload, Wait};
use super::{Carrier, READ_PERIOD, new_deed};
use crate::carry::calls::HttpCall;
use crate::carry::cargo::{CHEST_SERIAL, CargoKey, CargoTag};
use crate::carry::content::Content;
use crate::carry::item_row::{COPY, ItemRow, MODIFY, MOVE, NOTECARD, OBJECT, SCRIPT, TRANSFER};
use crate::carry::record::{Deed, DeedKind, Expectation};
use crate::carry::requests::{
    GIFT_OFFERED, INLINE_BYTES_MAX, TO_INVENTORY, TO_TRASH, begin_upload, gift_bucket, legacy_asset_id,
};
use glam::{Vec2, Vec3};
use ids::{Instant, LocalId, Uuid};
use std::time::Duration;

/// Choices that are tried for a request: some find nothing that they could be about.
const CHOICES_MAX: usize = 6;
/// Time between two gifts: servers limit instant messages.
const GIFT_PERIOD: Duration = Duration::from_millis(350);
/// Folders of a bot.
const FOLDERS_MAX: usize = 3;
/// Things in the trash at which it is emptied.
const TRASH_MAX: usize = 3;
/// Things in the chest that may be copied, and stay there when they are taken out, at which one of them is removed.
const CONTENTS_MAX: usize = 6;
/// Objects of a bot that only makes transfers.
const FERRIED: u32 = 4;
/// Rights of the next owner of things that must not be copied then, and of others.
const UNIQUE_NEXT: u32 = MOVE | MODIFY | TRANSFER;
const COMMON_NEXT: u32 = UNIQUE_NEXT | COPY;
/// Height of objects over the region's floor, metres, at least: as of those that other bots build.
const FLOOR_M: f32 = 30.0;
/// Edge of a prim, metres.
const EDGE_M: f32 = 0.5;
/// Distance between two objects along the ground, metres: each is known by its place.
const APART_M: f32 = 0.02;

impl Carrier {
    /// Asks for something.
    pub(super) fn choose(&mut self, now: Instant) {
        if self.chest.is_none() && !self.setup.plan.ferries {
            let is_built = |errand: &Errand| errand.key.tag.is_chest();
            if !self.errands.values().any(is_built) {
                self.build(now, CargoTag { maker: self.setup.bot, serial: CHEST_SERIAL }, false);
            }
            return;
        }
        for _ in 0..CHOICES_MAX {
            let has_begun = if self.setup.plan.ferries { self.ferry(now) } else { self.carry(now) };
            if has_begun.is_some() {
                return;
            }
        }
    }

    /// Any request. `None` if there is nothing that it could be about.
    fn carry(&mut self, now: Instant) -> Option<()> {
        let is_full = self.holdings.len() >= self.setup.plan.held_max;
        match self.rng.next() % 20 {
            0..=6 if is_full => self.discard(now),
            0 | 1 => self.upload(now),
            2 => self.upload_legacy(now),
            3 => self.create(now),
            4 => self.create_folder(now),
            5 => self.copy(now),
            6 => {
                let tag = self.next_tag();
                let becomes_unique = self.rng.next().is_multiple_of(2);
                self.build(now, tag, becomes_unique)
            }
            7 => self.rewrite(now),
            8 => self.rename(now),
            9 => self.relocate(now),
            10 | 11 => self.give(now),
            12 | 13 => self.take(now, TO_INVENTORY),
            14 => self.rez(now),
            15 => self.wear_or_detach(now),
            16 | 17 => self.put(now),
            18 => self.take_out(now),
            _ => self.discard(now),
        }
    }

    /// A transfer of an object that must not be copied, or what leads to one.
    fn ferry(&mut self, now: Instant) -> Option<()> {
        if self.serial < self.setup.numbers.1 + FERRIED {
            let tag = self.next_tag();
            return self.build(now, tag, true);
        }
        let is_unique_object =
            |held: &Holding| held.key.is_unique && matches!(held.at, HeldAt::Object { .. });
        if let Some(id) = self.pick(is_unique_object) {
            return self.take_this(now, id, TO_INVENTORY);
        }
        let trash = self.setup.trash;
        let is_unique_item = move |held: &Holding| held.key.is_unique && held.is_object_item(trash);
        if let Some(id) = self.pick(is_unique_item) {
            let gives = self.rng.next().is_multiple_of(4) && self.may_give(now);
            return if gives { self.give_this(now, id) } else { self.rez_this(now, id) };
        }
        // The originals of gifts.
        self.take(now, TO_INVENTORY).or_else(|| self.give(now)).or_else(|| self.discard(now))
    }

    fn next_owner(&mut self) -> u32 {
        if self.rng.next().is_multiple_of(2) { UNIQUE_NEXT } else { COMMON_NEXT }
    }

    /// A folder of the bot's own: the root, or another that it has made.
    fn any_folder(&mut self) -> Uuid {
        let root = self.setup.root;
        let folder = self.pick(|held| matches!(held.at, HeldAt::Folder(_)));
        match folder.and_then(|id| self.holdings.get(&id)).map(|held| &held.at) {
            Some(HeldAt::Folder(folder)) => *folder,
            _ => root,
        }
    }

    fn upload(&mut self, now: Instant) -> Option<()> {
        let (content, folder) = (Content::any(&mut self.rng), self.any_folder());
        let (tag, next_owner) = (self.next_tag(), self.next_owner());
        let expected = Expectation { content: Some(content.hash), folder: Some(folder), revision: Some(0) };
        let deed = new_deed(DeedKind::Upload, CargoKey::common(tag), expected);
        let number = self.begin(now, deed, None, Wait::Uploader(content.clone()));
        self.calls.push_back(HttpCall::new_file(number, &content, &tag.name(0), folder, next_owner));
        Some(())
    }

    fn upload_legacy(&mut self, now: Instant) -> Option<()> {
        let (content, transaction) = (Content::any(&mut self.rng), self.next_id());
        let (tag, next_owner) = (self.next_tag(), self.next_owner());
        let folder = self.setup.root;
        let expected = Expectation { content: Some(content.hash), folder: Some(folder), revision: Some(0) };
        let deed = new_deed(DeedKind::UploadLegacy, CargoKey::common(tag), expected);
        let upload = LegacyUpload {
            transaction,
            asset: legacy_asset_id(transaction, self.setup.secure_session),
            callback: self.next_callback(),
            name: tag.name(0),
            next_owner,
            xfer: None,
            // Servers take both orders. A file is asked for first, so that it is not taken for an unknown one.
            is_created: content.bytes.len() <= INLINE_BYTES_MAX && self.rng.next().is_multiple_of(2),
            content,
        };
        self.messages.push_back(begin_upload(transaction, upload.content.asset_type, &upload.content.bytes));
        if upload.is_created {
            self.create_uploaded(&upload);
        }
        self.begin(now, deed, None, Wait::Legacy(upload));
        Some(())
    }

    /// Asks for the item of a legacy upload.
    pub(super) fn create_uploaded(&mut self, upload: &LegacyUpload) {
        let message = self.setup.ids.create_item(
            self.setup.root,
            &upload.name,
            upload.content.asset_type,
            upload.transaction,
            upload.callback,
            upload.next_owner,
        );
        self.messages.push_back(message);
    }

    fn create(&mut self, now: Instant) -> Option<()> {
        let (tag, next_owner, folder) = (self.next_tag(), self.next_owner(), self.any_folder());
        let asset_type = if self.rng.next().is_multiple_of(2) { NOTECARD } else { SCRIPT };
        let callback = self.next_callback();
        let expected = Expectation { content: None, folder: Some(folder), revision: Some(0) };
        let deed = new_deed(DeedKind::Create, CargoKey::common(tag), expected);
        self.begin(now, deed, None, Wait::Row(callback));
        let (name, none) = (tag.name(0), Uuid::nil());
        self.messages
            .push_back(self.setup.ids.create_item(folder, &name, asset_type, none, callback, next_owner));
        Some(())
    }

    fn create_folder(&mut self, now: Instant) -> Option<()> {
        let n_folders = self.holdings.values().filter(|held| matches!(held.at, HeldAt::Folder(_))).count();
        if n_folders >= FOLDERS_MAX {
            return None;
        }
        let (tag, folder, root) = (self.next_tag(), self.next_id(), self.setup.root);
        let expected = Expectation { content: None, folder: Some(root), revision: Some(0) };
        let deed = new_deed(DeedKind::CreateFolder, CargoKey::common(tag), expected);
        if self.rng.next().is_multiple_of(2) {
            let number = self.begin(now, deed, None, Wait::Folder(folder));
            self.calls.push_back(HttpCall::new_folder(number, folder, root, &tag.name(0)));
        } else {
            self.begin(now, deed, None, confirmed(now, Effect::Folder(folder)));
            self.messages.push_back(self.setup.ids.create_folder(folder, root, &tag.name(0)));
        }
        Some(())
    }

    fn copy(&mut self, now: Instant) -> Option<()> {
        let trash = self.setup.trash;
        let is_wanted =
            move |held: &Holding| held.item().is_some() && !held.key.is_unique && !held.is_in(trash);
        let original = self.pick(is_wanted)?;
        let held = &self.holdings[&original];
        let (item, content) = (held.item()?.id, held.content);
        let (tag, folder, callback) = (self.next_tag(), self.any_folder(), self.next_callback());
        let expected = Expectation { content, folder: Some(folder), revision: Some(0) };
        let deed = new_deed(DeedKind::Copy, CargoKey::common(tag), expected);
        self.begin(now, deed, None, Wait::Row(callback));
        self.messages.push_back(self.setup.ids.copy_item(item, folder, &tag.name(0), callback));
        Some(())
    }

    /// Picks an item outside of the trash, and returns it with its row.
    fn pick_item(&mut self, is_wanted: impl Fn(&Holding, &ItemRow) -> bool) -> Option<(u64, ItemRow)> {
        let trash = self.setup.trash;
        let id =
            self.pick(|held| held.item().is_some_and(|row| row.folder != trash && is_wanted(held, row)))?;
        Some((id, self.holdings[&id].item()?.clone()))
    }

    /// A request about a thing at its place.
    fn deed_at(&self, id: u64, kind: DeedKind, leaves: bool, expected: Expectation) -> Deed {
        let held = &self.holdings[&id];
        Deed { kind, key: held.key, from: Some(held.place(self.setup.bot)), leaves, expected }
    }

    fn rewrite(&mut self, now: Instant) -> Option<()> {
        let may_modify = |row: &ItemRow| row.masks.base & row.masks.owner & MODIFY != 0;
        let (id, row) = self.pick_item(|_, row| row.asset_type == NOTECARD && may_modify(row))?;
        let content = Content::notecard(&mut self.rng);
        let expected = Expectation { content: Some(content.hash), ..self.stated(&row) };
        let deed = self.deed_at(id, DeedKind::Rewrite, false, expected);
        let number = self.begin(now, deed, Some(id), Wait::Uploader(content));
        self.calls.push_back(HttpCall::update_notecard(number, row.id));
        Some(())
    }

    /// Properties of an item as its row has them. A folder that the bot does not know is none.
    pub(super) fn stated(&self, row: &ItemRow) -> Expectation {
        let folder = (!row.folder.is_nil()).then_some(row.folder);
        Expectation { content: None, folder, revision: Some(CargoTag::revision_of(&row.name)) }
    }

    fn rename(&mut self, now: Instant) -> Option<()> {
        let (id, row) = self.pick_item(|held, _| !held.key.is_unique)?;
        let (tag, revision) = (self.holdings[&id].key.tag, CargoTag::revision_of(&row.name) + 1);
        let renamed = ItemRow { name: tag.name(revision), ..row };
        let expected = Expectation { content: self.holdings[&id].content, ..self.stated(&renamed) };
        let deed = self.deed_at(id, DeedKind::Rename, false, expected);
        let callback = self.next_callback();
        self.begin(now, deed, Some(id), Wait::Row(callback));
        self.messages.push_back(self.setup.ids.update_item(&renamed, callback));
        Some(())
    }

    fn relocate(&mut self, now: Instant) -> Option<()> {
        let (id, row) = self.pick_item(|_, _| true)?;
        let folder = self.any_folder();
        if folder == row.folder {
            return None;
        }
        self.move_to(now, (id, &row), DeedKind::Move, folder)
    }

    fn move_to(
        &mut self,
        now: Instant,
        (id, row): (u64, &ItemRow),
        kind: DeedKind,
        folder: Uuid,
    ) -> Option<()> {
        let content = self.holdings[&id].content;
        let expected = Expectation { content, folder: Some(folder), ..self.stated(row) };
        let deed = self.deed_at(id, kind, false, expected);
        self.begin(now, deed, Some(id), confirmed(now, Effect::ItemIn { item: row.id, folder }));
        self.messages.push_back(self.setup.ids.move_item(row.id, folder));
        Some(())
    }

    fn may_give(&self, now: Instant) -> bool {
        self.next_gift_at <= now && !self.peers.is_empty()
    }

    fn give(&mut self, now: Instant) -> Option<()> {
        if !self.may_give(now) {
            return None;
        }
        let (id, _) = self.pick_item(|held, row| row.masks.may_transfer() && !held.is_spent)?;
        self.give_this(now, id)
    }

    fn give_this(&mut self, now: Instant, id: u64) -> Option<()> {
        let n = (self.rng.unit() * self.peers.len() as f64) as usize;
        let to = *self.peers.values().nth(n)?;
        let held = &self.holdings[&id];
        let row = held.item()?.clone();
        let key = CargoKey { is_unique: row.masks.becomes_unique(), ..held.key };
        let leaves = held.key.is_unique;
        let from = leaves.then(|| held.place(self.setup.bot));
        let revision = Some(CargoTag::revision_of(&row.name));
        let expected = Expectation { content: held.content, folder: None, revision };
        let transaction = self.next_id();
        let deed = Deed { kind: DeedKind::Give, key, from, leaves, expected };
        self.begin(now, deed, Some(id), Wait::Gift { transaction, item: row.id, leaves });
        self.next_gift_at = now + GIFT_PERIOD;
        if key.is_unique && !leaves {
            // Rezzed, put into a prim or taken out of one, the original is there several times.
            let originals =
                self.holdings.values_mut().filter(|held| held.key.tag == key.tag && !held.key.is_unique);
            originals.for_each(|held| held.is_spent = true);
        }
        let bucket = gift_bucket(row.asset_type, row.id);
        self.messages.push_back(self.setup.ids.gift(GIFT_OFFERED, to, transaction, &row.name, bucket));
        Some(())
    }

    /// Makes a prim at a free place of the plot.
    fn build(&mut self, now: Instant, tag: CargoTag, becomes_unique: bool) -> Option<()> {
        let (position, scale) = (self.free_place(), Vec3::splat(EDGE_M));
        let deed = new_deed(DeedKind::Build, CargoKey::common(tag), Expectation::default());
        self.begin(now, deed, None, Wait::Built { position, scale, becomes_unique });
        self.messages.push_back(self.setup.ids.build(position, scale));
        Some(())
    }

    /// A place on the plot that no request under way waits for.
    fn free_place(&mut self) -> Vec3 {
        loop {
            let side = self.setup.plot.side;
            let inside = Vec2::new(self.rng.between(0.1, 0.9), self.rng.between(0.1, 0.9)) * side;
            let place = (self.setup.plot.corner + inside).extend(FLOOR_M + self.rng.between(0.0, side));
            let is_near = |other: Vec3| (other - place).truncate().abs().max_element() < APART_M;
            let is_taken = self.errands.values().any(|errand| match errand.wait {
                Wait::Built { position, .. } | Wait::Shown { position, .. } => is_near(position),
                _ => false,
            });
            if !is_taken {
                return place;
            }
        }
    }

    fn take(&mut self, now: Instant, destination: u8) -> Option<()> {
        let id = self.pick(|held| matches!(held.at, HeldAt::Object { .. }))?;
        self.take_this(now, id, destination)
    }

    fn take_this(&mut self, now: Instant, id: u64, destination: u8) -> Option<()> {
        let HeldAt::Object { local, .. } = self.holdings[&id].at else { return None };
        let transaction = self.next_id();
        let (kind, folder) = if destination == TO_TRASH {
            (DeedKind::TakeToTrash, self.setup.trash)
        } else {
            (DeedKind::Take, self.setup.root)
        };
        let expected = Expectation { folder: Some(folder), ..Expectation::default() };
        let deed = self.deed_at(id, kind, true, expected);
        self.begin(now, deed, Some(id), Wait::Taken(transaction));
        self.messages.push_back(self.setup.ids.derez(local, destination, folder, transaction));
        Some(())
    }

    fn rez(&mut self, now: Instant) -> Option<()> {
        let trash = self.setup.trash;
        let id = self.pick(move |held| held.is_object_item(trash) && !held.is_spent)?;
        self.rez_this(now, id)
    }

    fn rez_this(&mut self, now: Instant, id: u64) -> Option<()> {
        let (row, position) = (self.holdings[&id].item()?.clone(), self.free_place());
        let leaves = row.masks.is_unique();
        let deed = self.deed_at(id, DeedKind::Rez, leaves, Expectation::default());
        let wait = Wait::Shown { position, shown: None, is_removed: !leaves, saved_at: None };
        self.begin(now, deed, Some(id), wait);
        let transaction = self.next_id();
        self.messages.push_back(self.setup.ids.rez(&row, position, transaction));
        Some(())
    }

    fn wear_or_detach(&mut self, now: Instant) -> Option<()> {
        if let Some((id, local)) = self.worn {
            if local == LocalId(0) || self.errands.values().any(|errand| errand.holding == Some(id)) {
                return None;
            }
            let deed = self.deed_at(id, DeedKind::Detach, false, Expectation::default());
            self.begin(now, deed, Some(id), Wait::Gone(local));
            self.messages.push_back(self.setup.ids.detach(local));
            return Some(());
        }
        let (id, row) = self.pick_item(|held, row| row.asset_type == OBJECT && !held.is_spent)?;
        let deed = self.deed_at(id, DeedKind::Wear, false, Expectation::default());
        self.begin(now, deed, Some(id), Wait::Worn);
        self.worn = Some((id, LocalId(0)));
        self.messages.push_back(self.setup.ids.wear(&row));
        Some(())
    }

    fn put(&mut self, now: Instant) -> Option<()> {
        let (prim, local) = self.chest?;
        let (id, row) = self.pick_item(|held, row| !held.is_spent && row.masks.may_transfer())?;
        let tag = self.holdings[&id].key.tag;
        // A second one of the same name would be renamed.
        let is_inside = |held: &Holding| matches!(held.at, HeldAt::Content { .. }) && held.key.tag == tag;
        if self.holdings.values().any(is_inside) {
            return None;
        }
        let leaves = row.masks.is_unique();
        let content = self.holdings[&id].content;
        let deed = self.deed_at(id, DeedKind::Put, leaves, Expectation { content, ..Expectation::default() });
        // A copy is in the prim at once, and saved a little later.
        let read_at = (!leaves).then_some(now + super::SAVED_AFTER + READ_PERIOD);
        let wait = Wait::Put { prim, local, read_at, is_reading: false };
        self.begin(now, deed, Some(id), wait);
        self.messages.push_back(self.setup.ids.put(local, &row));
        Some(())
    }

    fn take_out(&mut self, now: Instant) -> Option<()> {
        let id = self.pick(|held| matches!(held.at, HeldAt::Content { .. }))?;
        let held = &self.holdings[&id];
        let HeldAt::Content { local, row, .. } = &held.at else { return None };
        let (local, item, content, leaves) = (*local, row.id, held.content, row.masks.is_unique());
        let root = self.setup.root;
        let expected = Expectation { content, folder: Some(root), revision: None };
        let deed = self.deed_at(id, DeedKind::TakeOut, leaves, expected);
        self.begin(now, deed, Some(id), Wait::Taken(Uuid::nil()));
        self.messages.push_back(self.setup.ids.take_out(local, item, root));
        Some(())
    }

    /// Something goes into the trash, or the trash is emptied, or something in the chest is removed.
    fn discard(&mut self, now: Instant) -> Option<()> {
        let trash = self.setup.trash;
        if self.holdings.values().filter(|held| stays_inside(held)).count() >= CONTENTS_MAX
            && let Some(()) = self.remove(now)
        {
            return Some(());
        }
        let n_trash = self.holdings.values().filter(|held| held.is_in(trash)).count();
        if n_trash >= TRASH_MAX
            && let Some(()) = self.purge(now)
        {
            return Some(());
        }
        // Originals of gifts first: nothing else becomes of them.
        let spent = self.pick(move |held| held.is_spent && held.item().is_some() && !held.is_in(trash));
        if let Some(id) = spent {
            let row = self.holdings[&id].item()?.clone();
            return self.move_to(now, (id, &row), DeedKind::Trash, trash);
        }
        if self.setup.plan.ferries {
            return None;
        }
        if self.rng.next().is_multiple_of(2) {
            return self.take(now, TO_TRASH);
        }
        // Then copies of things that others have made: they become more by gifts, and would be all that there is. Things that must not be copied last longest:
        // they are seldom made.
        let (maker, may_be_unique) = (self.setup.bot, self.rng.next().is_multiple_of(8));
        let copy = self.pick_item(|held, _| !held.key.is_unique && held.key.tag.maker != maker);
        let discarded = copy.or_else(|| self.pick_item(|held, _| may_be_unique || !held.key.is_unique));
        let (id, row) = discarded?;
        self.move_to(now, (id, &row), DeedKind::Trash, trash)
    }

    fn remove(&mut self, now: Instant) -> Option<()> {
        let id = self.pick(stays_inside)?;
        let HeldAt::Content { prim, local, row } = &self.holdings[&id].at else { return None };
        let (prim, local, item) = (*prim, *local, row.id);
        let deed = self.deed_at(id, DeedKind::Remove, true, Expectation::default());
        self.begin(now, deed, Some(id), confirmed(now, Effect::OutOf { prim, item, was_out: false }));
        self.messages.push_back(self.setup.ids.remove_from(local, item));
        Some(())
    }

    /// Empties the trash, if all that is in it or on its way there is known.
    fn purge(&mut self, now: Instant) -> Option<()> {
        let trash = self.setup.trash;
        let is_coming = |errand: &Errand| {
            matches!(errand.kind, DeedKind::Trash | DeedKind::TakeToTrash | DeedKind::Purge)
        };
        let in_trash: Vec<u64> =
            self.holdings.iter().filter(|(_, held)| held.is_in(trash)).map(|(id, _)| *id).collect();
        let is_busy = in_trash.iter().any(|id| self.holdings[id].is_busy);
        if is_busy || in_trash.is_empty() || self.errands.values().any(is_coming) {
            return None;
        }
        let mut gone = Vec::with_capacity(in_trash.len());
        for id in in_trash {
            let item = self.holdings[&id].item()?.id;
            let deed = self.deed_at(id, DeedKind::Purge, true, Expectation::default());
            gone.push((self.begin(now, deed, Some(id), Wait::Shared), item));
        }
        // One of them reads for all.
        let (first, _) = gone[0];
        if let Some(errand) = self.errands.get_mut(&first) {
            errand.wait = confirmed(now, Effect::Gone(gone));
        }
        self.messages.push_back(self.setup.ids.purge(trash));
        Some(())
    }
}

/// True for a thing in the chest that stays there when it is taken out.
const fn stays_inside(held: &Holding) -> bool {
    matches!(held.at, HeldAt::Content { .. }) && !held.key.is_unique
}

/// Waits for an effect to be read.
fn confirmed(now: Instant, of: Effect) -> Wait {
    Wait::Confirmed(Confirmation { of, read_at: Some(now + READ_PERIOD) })
}
