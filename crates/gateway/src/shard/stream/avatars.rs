//! Avatars: absent ones are killed, the others sent in full or moved, within the bytes.

use super::{Turn, UNACKED_MAX};
use ids::LocalId;
use replicate::Place as At;
use replicate::selection::Allowance;
use wire::fanout;
use wire::header::HEADER_LEN;
use wire::object_update::{self, AVATAR_FLAGS_OFFSET};
use wire::terse;

/// Full updates in one send at most.
const FULL_PER_SEND: usize = 24;
/// Local ids in one KillObject.
const KILLS_PER_MESSAGE: usize = 200;
/// Kills from the waiting list per turn: ten thousand objects of a left world are gone within a second.
pub(super) const KILLS_PER_TURN: usize = 1_000;
/// Share of the bytes that avatars get while terrain and the like still wait.
const SHARE_BESIDE_BULK: f32 = 0.6;
/// Update flags of the own avatar: owned by its user, with the permission to move it (bits 4, 5, 8).
const OWN_AVATAR_FLAGS: u32 = 1 << 4 | 1 << 5 | 1 << 8;

impl Turn<'_> {
    pub(super) fn kills(&mut self) {
        self.gone.clear();
        self.settle_sent();
        self.client.objects.follow(self.replica.objects(), self.gone);
        let departed = self.client.viewer.update_visible_set(self.replica, self.lister);
        // An id in both is killed once.
        self.gone.retain(|id| !departed.contains(id));
        self.gone.extend_from_slice(departed);
        let objects = self.replica.objects();
        if objects.is_any_worn() {
            for &id in departed {
                self.client.objects.sent.forget_worn(objects, id, self.gone);
            }
        }
        self.take_unkilled();
        // Later messages bypass the circuit's queue: AgentMovementComplete has to come before them.
        self.client.flush_messages(self.now, self.out);
        let mut rest = self.gone.as_slice();
        while !rest.is_empty() {
            let (ids, others) = rest.split_at(rest.len().min(KILLS_PER_MESSAGE));
            self.body.clear();
            fanout::write_kills(ids, self.body);
            let written = self.client.circuit.write_reliable(self.now, self.body, true, &mut self.out.bytes);
            let Ok(sequence) = written else { break };
            self.client.killed.extend(ids.iter().map(|&id| (sequence, id)));
            self.counters.kills_sent += ids.len() as u64;
            self.out.seal(self.client.address);
            rest = others;
        }
        // Kills without room go to the front of the list and are sent once there is room: the client's own avatar in a world that it left is
        // among the first. An avatar whose kill was dropped would be displayed forever. The list is bounded by the client's displayed objects, since a circuit without room for kills has
        // none for full updates.
        self.client.unkilled.splice(0..0, rest.iter().copied());
    }

    pub(super) fn avatars(&mut self, share: f32) {
        self.client.viewer.is_path_lossy = self.client.circuit.is_path_lossy();
        let circuit = &mut self.client.circuit;
        let share = if circuit.queued_messages() > 0 { share.min(SHARE_BESIDE_BULK) } else { share };
        let bytes = (circuit.budget_bytes(self.now) as f32 * share) as usize;
        let full = UNACKED_MAX.saturating_sub(circuit.unacked()).min(FULL_PER_SEND);
        let near_only = !self.includes_far;
        self.counters.far_left_out += u64::from(near_only);
        let allowance = Allowance {
            bytes,
            full,
            blocks_per_datagram: self.packing.terse_blocks(),
            pressure: self.pressure.value(),
            far_every: self.pressure.far_every() as u32,
            near_only,
        };
        self.counters.avatars_looked_at +=
            self.selection.choose(&mut self.client.viewer, self.replica, allowance) as u64;
        self.write_full();
        self.write_terse();
    }

    /// Several avatars in a datagram, with the receiver's own flags.
    fn write_full(&mut self) {
        let own = self.client.viewer.own();
        let lead_s = self.replica.lead_s(self.now);
        let selection = std::mem::take(&mut self.selection.full);
        let mut rest = selection.as_slice();
        while !rest.is_empty() {
            let Some(sequence) = self.begin_full() else { break };
            let mut n = 0;
            for &at in rest {
                let index = self.slot(at);
                let slot = self.replica.slot(index).expect("selected from this replica");
                if n == self.packing.full
                    || n > 0 && self.out.open_len() + slot.full_len() > self.packing.bytes
                {
                    break;
                }
                let start = self.out.bytes.len();
                slot.write_full(lead_s, &mut self.out.bytes);
                let flags = if Some(index) == own { OWN_AVATAR_FLAGS } else { 0 };
                let flags_at = start + AVATAR_FLAGS_OFFSET;
                self.out.bytes[flags_at..flags_at + 4].copy_from_slice(&flags.to_le_bytes());
                n += 1;
            }
            self.end_full(n);
            self.counters.full_sent += n as u64;
            self.note_shown(sequence, &rest[..n]);
            rest = &rest[n..];
        }
        self.selection.full = selection;
    }

    /// Begins a datagram of full blocks, to be acked; its number, unless the circuit takes no more.
    pub(super) fn begin_full(&mut self) -> Option<u32> {
        let begun = self.client.circuit.begin_perishable(self.now, &mut self.out.bytes);
        self.counters.messages_refused += u64::from(begun.is_err());
        let sequence = begun.ok()?;
        object_update::write_prefix(&mut self.out.bytes, self.place.handle, self.replica.dilation, 0);
        Some(sequence)
    }

    /// Sends it with its `n` blocks.
    pub(super) fn end_full(&mut self, n: usize) {
        let start = self.out.bytes.len() - self.out.open_len();
        self.out.bytes[start + HEADER_LEN + object_update::PREFIX_LEN - 1] = n as u8;
        self.end_datagram();
    }

    fn note_shown(&mut self, sequence: u32, shown: &[At]) {
        let tick = self.replica.tick.0 as u32;
        for &at in shown {
            let index = self.slot(at);
            let hot = &self.replica.hot()[index as usize];
            let slot = self.replica.slot(index).expect("selected from this replica");
            self.client.shown.push((sequence, LocalId(hot.id), slot.agent));
            if let Some(seat) = &slot.seat {
                self.client.objects.sent.pin(seat.parent);
            }
            self.client.viewer.mark_shown(at, hot, tick);
            let objects = self.replica.objects();
            if objects.is_any_worn() {
                let wearer = LocalId(hot.id);
                let is_own = self.client.viewer.is_own(wearer);
                self.client.objects.sent.note_wearer(objects, wearer, is_own);
            }
        }
    }

    /// Encoded blocks are copied, and those of moving avatars advanced to now. Last repetitions of rests go first, in datagrams that others fill.
    fn write_terse(&mut self) {
        let mut chosen = std::mem::take(&mut self.selection.terse);
        let mut n_rests = self.last_rests_first(&mut chosen);
        for chunk in chosen.chunks(self.packing.terse_blocks()) {
            let (rests, others) = chunk.split_at(n_rests.min(chunk.len()));
            n_rests -= rests.len();
            if rests.is_empty() {
                self.client.circuit.begin_unreliable(&mut self.out.bytes);
                self.end_terse(others);
            } else if let Some(sequence) = self.begin_last_rests() {
                for &at in rests {
                    let id = self.client.viewer.histories()[at as usize].id;
                    self.client.rested.push((sequence, LocalId(id)));
                }
                self.end_terse(chunk);
            } else if !others.is_empty() {
                // Those rests stay due.
                self.client.circuit.begin_unreliable(&mut self.out.bytes);
                self.end_terse(others);
            }
        }
        self.selection.terse = chosen;
    }

    /// Begins a datagram that has to be acked, unless too many are.
    fn begin_last_rests(&mut self) -> Option<u32> {
        let circuit = &mut self.client.circuit;
        if circuit.unacked() >= UNACKED_MAX {
            return None;
        }
        circuit.begin_perishable(self.now, &mut self.out.bytes).ok()
    }

    /// Sends the datagram that was begun, with these blocks.
    fn end_terse(&mut self, chunk: &[At]) {
        let tick = self.replica.tick.0 as u32;
        let bytes = &mut self.out.bytes;
        terse::write_prefix(bytes, self.place.handle, self.replica.dilation, chunk.len() as u8);
        let lead_s = self.replica.lead_s(self.now);
        for &at in chunk {
            let index = self.client.viewer.shown()[at as usize].slot;
            let hot = &self.replica.hot()[index as usize];
            bytes.extend_from_slice(self.replica.terse(index));
            // A rest is exact: no later update would correct it.
            if !hot.at_rest
                && let Some(block) = bytes.last_chunk_mut()
            {
                terse::advance_avatar(block, lead_s);
            }
            self.client.viewer.updated(at, hot, tick);
        }
        self.end_datagram();
        self.counters.terse_sent += chunk.len() as u64;
        self.counters.terse_datagrams += 1;
    }
}
