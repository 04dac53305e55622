//! Objects that can change: sent when the client comes within their reach and whenever they change, killed when they are gone.
//!
//! The order is radius ÷ distance, a root before its parts. Datagrams are zero-coded, since blocks are: three real archives take 279 bytes a prim plain
//! and 127 zero-coded. A viewer with an object cache gets prims that have not changed lately in forms that it caches:
//!
//! | viewer's cache | prim, until it has arrived | prim that the viewer asks for | prim that was sent as ObjectUpdate, has changed since it was sent, is in doubt, or is not cacheable |
//! |---|---|---|---|
//! | none | ObjectUpdate | ObjectUpdate | ObjectUpdate |
//! | empty | ObjectUpdateCompressed | ObjectUpdateCompressed | ObjectUpdate |
//! | filled | ObjectUpdateCached | ObjectUpdateCompressed | ObjectUpdate |
//!
//! Viewers evict an object from the cache at each ObjectUpdate, and take no compressed update of one that they display; hence the last column. A
//! linkset has the form of its root. A prim with extra parameters or particles above 255 bytes is always compressed: no other form holds them.
//!
//! Overrides of render materials are in no update: a message of their own follows a prim's first update, and the first one after each change of them.

use super::{Turn, UNACKED_MAX};
use crate::shard::progress::ViewerCache;
use glam::Vec3;
use grid::capability::{OVERRIDES_METHOD, overrides_text};
use ids::LocalId;
use prim::MaterialOverrides;
use replicate::Viewer;
use replicate::objects::{DueObject, ObjectEntry, Onlooker};
use wire::header::{DATAGRAM_MAX, Flags};
use wire::messages::{
    GenericStreamingMessage, GenericStreamingMessageDataBlock, GenericStreamingMessageMethodData,
    MessageNumber, ObjectUpdate, ObjectUpdateCached, ObjectUpdateCompressed,
};
use wire::{object_update, zero_code};

/// Datagrams of one send at most, as many as 512 KiB/s carry at ten sends per second: a turn stays below a millisecond.
const DATAGRAMS_PER_SEND: usize = 44;
/// Unacked reliable messages beyond which objects wait: avatars come first.
const UNACKED_SHARE: usize = UNACKED_MAX / 2;
/// Objects of one datagram: their blocks are hardly ever shorter than 60 bytes.
const PER_DATAGRAM: usize = 20;
/// The same for ObjectUpdateCached.
const CACHED_PER_DATAGRAM: usize = 80;
/// Bytes of an expanded datagram. Clients have buffers of 8,192 bytes for these; header and prefix take 25.
const EXPANDED_MAX: usize = 8_000;

/// Update flag of an object that the client has made and selects now.
const CREATE_SELECTED: u32 = 1 << 1;

/// Message that an object is sent in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Plain,
    Compressed,
    Cached,
}

impl Form {
    const fn number(self) -> MessageNumber {
        match self {
            Self::Plain => ObjectUpdate::NUMBER,
            Self::Compressed => ObjectUpdateCompressed::NUMBER,
            Self::Cached => ObjectUpdateCached::NUMBER,
        }
    }

    const fn per_datagram(self) -> usize {
        if matches!(self, Self::Cached) { CACHED_PER_DATAGRAM } else { PER_DATAGRAM }
    }
}

/// The place of a client, and the avatars whose worn objects it displays: its own, and the near ones.
struct ClientEye<'a> {
    viewer: &'a Viewer,
    draw_m: f32,
}

impl Onlooker for ClientEye<'_> {
    fn eye(&self) -> Vec3 {
        self.viewer.eye
    }

    fn draw_m(&self) -> f32 {
        self.draw_m
    }

    fn distance_to_wearer(&self, wearer: LocalId, is_on_screen: bool) -> Option<f32> {
        let is_displayed = !is_on_screen || self.viewer.is_own(wearer);
        self.viewer.distance_to_near(wearer).filter(|_| is_displayed)
    }

    fn wearers(&self) -> impl Iterator<Item = LocalId> {
        let near = &self.viewer.histories()[..self.viewer.near().end];
        near.iter().map(|history| LocalId(history.id))
    }
}

impl Turn<'_> {
    /// Notes what the near avatars wear: others have come near since the last call.
    pub(super) fn near_wearers(&mut self) {
        let objects = self.replica.objects();
        if !objects.is_any_worn() {
            return;
        }
        let client = &mut *self.client;
        for history in &client.viewer.histories()[..client.viewer.near().end] {
            let wearer = LocalId(history.id);
            client.objects.sent.note_wearer(objects, wearer, client.viewer.is_own(wearer));
        }
    }

    /// True if an object within reach was not sent in its newest state, or may not have been.
    pub(super) fn are_objects_due(&self) -> bool {
        let (eye, draw_m) = (self.client.viewer.eye, self.client.draw_m);
        self.client.objects.sent.is_due(self.replica.objects(), eye, draw_m)
    }

    /// Sends the largest ones for their distance, as far as the bytes go.
    pub(super) fn objects(&mut self) {
        let objects = self.replica.objects();
        let room = UNACKED_SHARE.saturating_sub(self.client.circuit.unacked());
        let bytes = self.client.circuit.budget_bytes(self.now);
        let mut datagrams = room.min(bytes / DATAGRAM_MAX).min(DATAGRAMS_PER_SEND);
        let is_probing = self.client.greeting.cache == ViewerCache::Filled;
        let per_datagram = if is_probing { CACHED_PER_DATAGRAM } else { PER_DATAGRAM };
        let mut due = std::mem::take(self.due_objects);
        let client = &mut *self.client;
        let onlooker = ClientEye { viewer: &client.viewer, draw_m: client.draw_m };
        client.objects.sent.choose(objects, &onlooker, datagrams * per_datagram, &mut due);
        // Forms are chosen before the first send. No send changes the form of another object: parts of a root that goes as Plain are Plain already.
        let mut by_form = std::mem::take(self.due_by_form);
        for due in due.drain(..) {
            by_form[self.form(&due) as usize].push(due);
        }
        for (form, due_in_form) in [Form::Plain, Form::Compressed, Form::Cached].into_iter().zip(&mut by_form)
        {
            let mut n_sent = 0;
            while n_sent < due_in_form.len() && datagrams > 0 && self.has_room() {
                let Some(n) = self.object_datagram(form, &due_in_form[n_sent..]) else { break };
                datagrams -= 1;
                n_sent += n;
            }
            due.extend(due_in_form.drain(..).skip(n_sent));
        }
        self.client.objects.sent.put_back(&mut due);
        (*self.due_objects, *self.due_by_form) = (due, by_form);
    }

    /// True if there is room for one more datagram: overrides of the objects that were sent take room, too.
    fn has_room(&mut self) -> bool {
        let circuit = &mut self.client.circuit;
        circuit.unacked() < UNACKED_SHARE && circuit.budget_bytes(self.now) >= DATAGRAM_MAX
    }

    fn form(&self, due: &DueObject) -> Form {
        let sent = &self.client.objects.sent;
        let root = self.entry(due.root);
        if self.entry(due.id).long_fields_len() > 0 {
            // They do not fit an ObjectUpdate.
            return Form::Compressed;
        }
        if self.client.greeting.cache == ViewerCache::None
            || sent.is_plain(due.root)
            || sent.is_plain(due.id)
            || !root.is_cacheable(self.now, self.cache_after)
        {
            Form::Plain
        } else if sent.is_asked(due.id) || self.client.greeting.cache == ViewerCache::Empty {
            Form::Compressed
        } else {
            Form::Cached
        }
    }

    fn entry(&self, id: LocalId) -> &ObjectEntry {
        self.replica.objects().get(id).expect("chosen from it in this turn")
    }

    /// Sends a datagram with the first of these objects; their number, unless the circuit takes no more. An object that is longer than a
    /// datagram alone goes alone, in fragments of IP.
    fn object_datagram(&mut self, form: Form, due: &[DueObject]) -> Option<usize> {
        let begun = self.client.circuit.begin_perishable(self.now, &mut self.out.bytes);
        self.counters.messages_refused += u64::from(begun.is_err());
        let sequence = begun.ok()?;
        let start = self.out.bytes.len() - self.out.open_len();
        self.body.clear();
        // The count is never zero, and is patched in afterwards.
        object_update::write_prefix_of(form.number(), self.body, self.place.handle, self.replica.dilation, 1);
        if self.is_zero_coded(form) {
            self.out.bytes[start] |= Flags::ZERO_CODED.0;
            zero_code::compress(self.body, &mut self.out.bytes);
        } else {
            self.out.bytes.extend_from_slice(self.body);
        }
        let count_at = self.out.bytes.len() - 1;
        let (mut n, mut expanded) = (0, 0);
        for due in &due[..due.len().min(self.packing.objects).min(form.per_datagram())] {
            let expanded_len = self.write_block(form, due.id);
            let is_full = self.out.open_len() + self.body.len() > self.packing.bytes
                || expanded + expanded_len > EXPANDED_MAX;
            if n > 0 && is_full {
                break;
            }
            self.out.bytes.extend_from_slice(self.body);
            expanded += expanded_len;
            // A mover has another state in each tick.
            let (tick, objects) = (self.replica.tick.0 as u32, self.replica.objects());
            let moved_at = objects.mover(due.id).map_or(0, |_| tick);
            let state = self.entry(due.id).crc ^ moved_at;
            self.client.objects.record(sequence, due.id, state, form == Form::Plain);
            self.client.objects.movers.note_full(objects, due.id, tick);
            n += 1;
        }
        self.out.bytes[count_at] = n as u8;
        self.counters.objects_sent[form as usize] += n as u64;
        self.end_datagram();
        due[..n].iter().for_each(|due| self.overrides(due.id));
        Some(n)
    }

    /// Sends the overrides of a prim's materials, which its update does not have, unless the client has them.
    fn overrides(&mut self, id: LocalId) {
        let Some(overrides) = &self.replica.objects().get(id).expect("just sent").body.overrides else {
            return;
        };
        if !self.client.objects.note_overrides(id, overrides) {
            return;
        }
        if !self.send_overrides(id, overrides) {
            // The prim comes once more, and its overrides with it.
            self.client.objects.mark_lacking(id);
        }
    }

    /// Sends all overrides of an object's materials; false if the circuit takes no more. After a loss the newest ones are sent: a datagram that
    /// were resent unchanged could come behind them. One that is too long for a datagram goes in fragments of IP, as a long object does.
    pub(super) fn send_overrides(&mut self, id: LocalId, overrides: &MaterialOverrides) -> bool {
        let data = overrides_text(id, overrides).into_bytes();
        self.body.clear();
        GenericStreamingMessage {
            method_data: GenericStreamingMessageMethodData { method: OVERRIDES_METHOD },
            data_block: GenericStreamingMessageDataBlock { data },
        }
        .encode(self.body);
        let begun = self.client.circuit.begin_perishable(self.now, &mut self.out.bytes);
        if let Ok(sequence) = begun {
            self.out.bytes.extend_from_slice(self.body);
            self.client.objects.record_overrides(sequence, id);
            self.end_datagram();
        }
        self.counters.messages_refused += u64::from(begun.is_err());
        begun.is_ok()
    }

    fn is_zero_coded(&self, form: Form) -> bool {
        form != Form::Compressed || !self.packing.plain_cache
    }

    /// Puts the block of an object, zero-coded or not as its form is, into [`Turn::body`]; its length when it is expanded, at most.
    fn write_block(&mut self, form: Form, id: LocalId) -> usize {
        self.body.clear();
        let entry = self.replica.objects().get(id).expect("chosen from it in this turn");
        let mut flags = entry.flags_for(self.client.ticket.agent);
        let is_created = self.client.created.contains(&id)
            || !self.client.objects.sent.knows(id) && self.replica.is_created_by(self.client.session(), id);
        if is_created {
            flags |= CREATE_SELECTED;
        }
        match form {
            Form::Plain => {
                let motion = entry.prim.motion.after(self.replica.lead_s(self.now));
                entry.write_plain(id, &motion, flags, self.body)
            }
            Form::Compressed => entry.write_compressed(id, flags, !self.packing.plain_cache, self.body),
            Form::Cached => {
                let block = [id.0.to_le_bytes(), entry.crc.to_le_bytes(), flags.to_le_bytes()];
                zero_code::compress(block.as_flattened(), self.body);
                block.as_flattened().len()
            }
        }
    }
}
