//! Prims in motion: terse blocks in datagrams of their own, for prims that the client has.

use super::{Turn, UNACKED_MAX};
use replicate::objects::{DueMover, MoverSend};
use wire::header::HEADER_LEN;
use wire::terse::{self, PRIM_BLOCK_LEN};

/// Movers get max(0.5 × bytes, min(bytes of urgent movers, 0.8 × bytes)) of the bytes that avatars leave, while objects are due. A mover is urgent if
/// users see its error ([`DueMover::is_urgent`]).
const SHARE_BESIDE_SCENE: f32 = 0.5;
const SHARE_OF_URGENT: f32 = 0.8;
/// Share of all bytes that is theirs between two turns: the next turn begins with avatars.
const SHARE_BETWEEN_TURNS: f32 = 0.5;

impl Turn<'_> {
    /// True if the client has prims that move, or whose rest it may lack.
    pub(super) const fn are_movers_shown(&self) -> bool {
        !self.client.objects.movers.is_empty()
    }

    /// Sends the most urgent ones, as far as their share of the bytes goes.
    pub(super) fn movers(&mut self, is_scene_due: bool) {
        let objects = self.replica.objects();
        let send = self.mover_send();
        let stream = &mut self.client.objects;
        stream.movers.follow(objects, &stream.sent);
        if stream.movers.is_empty() {
            return;
        }
        let mut due = std::mem::take(self.due_movers);
        stream.movers.choose(objects, &mut stream.sent, send, &mut due);
        let per_datagram = self.packing.prim_blocks();
        let bytes = self.client.circuit.budget_bytes(self.now) as f32;
        let blocks_in = |share: f32| blocks_in((bytes * share) as usize, per_datagram);
        let most = if is_scene_due {
            let n_urgent = due.iter().filter(|due| due.is_urgent()).count();
            blocks_in(SHARE_BESIDE_SCENE).max(n_urgent.min(blocks_in(SHARE_OF_URGENT)))
        } else {
            blocks_in(1.0)
        };
        sort_by_urgency(&mut due);
        for &held in due.get(most..).unwrap_or_default() {
            self.client.objects.movers.note_held(held);
        }
        due.truncate(most);
        self.send_movers(&mut due);
        *self.due_movers = due;
    }

    /// Sends those that the client displays wrongly to an extent that users see, between two turns. All others wait for the next turn, and so do
    /// last repetitions of rests.
    pub(super) fn urgent_movers(&mut self) {
        let objects = self.replica.objects();
        let send = self.mover_send();
        let mut due = std::mem::take(self.due_movers);
        let stream = &mut self.client.objects;
        stream.movers.follow(objects, &stream.sent);
        stream.movers.choose(objects, &mut stream.sent, send, &mut due);
        due.retain(|due| due.is_urgent() && !due.is_last_rest);
        sort_by_urgency(&mut due);
        let bytes = self.client.circuit.budget_bytes(self.now) as f32 * SHARE_BETWEEN_TURNS;
        due.truncate(blocks_in(bytes as usize, self.packing.prim_blocks()));
        self.send_movers(&mut due);
        *self.due_movers = due;
    }

    /// Sends these movers.
    fn send_movers(&mut self, due: &mut [DueMover]) {
        let objects = self.replica.objects();
        let per_datagram = self.packing.prim_blocks();
        // The last repetitions of rests in front: these datagrams have to be acked.
        due.sort_by_key(|due| !due.is_last_rest);
        let mut n_rests = due.iter().take_while(|due| due.is_last_rest).count();
        for chunk in due.chunks(per_datagram) {
            let (rests, others) = chunk.split_at(n_rests.min(chunk.len()));
            n_rests -= rests.len();
            if rests.is_empty() {
                self.client.circuit.begin_unreliable(&mut self.out.bytes);
                self.end_movers(others);
            } else if let Some(sequence) = self.begin_acked_rests() {
                let ids = rests.iter().map(|due| objects.movers()[due.mover as usize].id);
                self.client.objects.rests.extend(ids.map(|id| (sequence, id)));
                self.end_movers(chunk);
            } else if !others.is_empty() {
                // Those rests stay due.
                self.client.circuit.begin_unreliable(&mut self.out.bytes);
                self.end_movers(others);
            }
        }
    }

    /// Begins a datagram that has to be acked, unless too many are.
    fn begin_acked_rests(&mut self) -> Option<u32> {
        let circuit = &mut self.client.circuit;
        if circuit.unacked() >= UNACKED_MAX {
            return None;
        }
        circuit.begin_perishable(self.now, &mut self.out.bytes).ok()
    }

    /// Sends the datagram that was begun, with these blocks, advanced to now.
    fn end_movers(&mut self, due: &[DueMover]) {
        let objects = self.replica.objects();
        let send = self.mover_send();
        let lead_s = self.replica.lead_s(self.now);
        let is_path_lossy = self.client.circuit.is_path_lossy();
        let bytes = &mut self.out.bytes;
        terse::write_prefix(bytes, self.place.handle, self.replica.dilation, due.len() as u8);
        for &due in due {
            let mover = &objects.movers()[due.mover as usize];
            bytes.extend_from_slice(&mover.terse);
            // A rest is exact: no later update would correct it.
            if !mover.at_rest
                && let Some(block) = bytes.last_chunk_mut()
            {
                terse::advance_prim(block, lead_s);
            }
            self.client.objects.movers.note_sent(objects, due, send, is_path_lossy);
        }
        self.end_datagram();
        self.counters.movers_sent += due.len() as u64;
    }

    fn mover_send(&self) -> MoverSend {
        let tick_s = 1.0 / self.place.scene.hz as f32;
        MoverSend { tick: self.replica.tick.0 as u32, tick_s, eye: self.client.viewer.eye }
    }
}

/// The most urgent ones in front.
fn sort_by_urgency(due: &mut [DueMover]) {
    due.sort_unstable_by(|a, b| b.urgency.total_cmp(&a.urgency).then(a.mover.cmp(&b.mover)));
}

/// Blocks that fit in so many bytes, as datagrams of `per_datagram` blocks.
const fn blocks_in(bytes: usize, per_datagram: usize) -> usize {
    let prefix_len = HEADER_LEN + terse::PREFIX_LEN;
    let datagram_len = prefix_len + per_datagram * PRIM_BLOCK_LEN;
    bytes / datagram_len * per_datagram + (bytes % datagram_len).saturating_sub(prefix_len) / PRIM_BLOCK_LEN
}
