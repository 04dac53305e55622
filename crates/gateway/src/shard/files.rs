//! Files that clients ask for: lists of the contents of objects.

use super::counters::Refused;
use super::file_sends::FileStep;
use super::incoming::{Handled, Incoming};
use super::uploads::XFER_FAILED;
use super::{ClientIndex, Shard};
use crate::coverage::MessageOutcome;
use circuit::{Category, Reliability};
use ids::Instant;
use wire::messages::*;
use wire::text::from_wire;

/// Items of a list that cost a client as much as one request.
const ITEMS_PER_ASK: usize = 32;

impl Shard {
    /// Begins to send a file that the client was offered.
    pub(super) fn on_xfer(&mut self, at: &mut Incoming<'_>, m: RequestXfer) -> Handled {
        let id = m.xfer_id.id;
        let client = self.client(at.index);
        let Some(offered) = client.files.offered(&from_wire(&m.xfer_id.filename)) else {
            return self.refuse(at, AbortXfer { xfer_id: AbortXferXferID { id, result: XFER_FAILED } });
        };
        let cost = 1 + offered.n_items() / ITEMS_PER_ASK;
        if !client.asks.try_spend_many(at.now, cost as f32) {
            return Err(Refused::Flood.into());
        }
        let bytes = offered.to_bytes();
        if client.files.is_under_way(id) {
            // The client repeats itself: its parts come.
            return Ok(MessageOutcome::Ignored);
        }
        if !client.files.begin(at.now, id, bytes) {
            return self.refuse(at, AbortXfer { xfer_id: AbortXferXferID { id, result: XFER_FAILED } });
        }
        self.send_files_now(at);
        Ok(MessageOutcome::Done)
    }

    pub(super) fn on_xfer_confirmed(&mut self, at: &mut Incoming<'_>, m: ConfirmXferPacket) -> Handled {
        let ConfirmXferPacketXferID { id, packet } = m.xfer_id;
        if !self.client(at.index).files.confirm(at.now, id, packet) {
            // Confirmations of a file that has arrived, or was given up.
            return Ok(MessageOutcome::Ignored);
        }
        self.send_files_now(at);
        Ok(MessageOutcome::Done)
    }

    /// The client ends the transfer of a file, in either direction.
    pub(super) fn on_xfer_aborted(&mut self, at: &mut Incoming<'_>, m: AbortXfer) -> Handled {
        if self.client(at.index).files.abort(m.xfer_id.id) {
            return Ok(MessageOutcome::Done);
        }
        self.abort_upload(at, m.xfer_id.id)
    }

    fn send_files_now(&mut self, at: &mut Incoming<'_>) {
        self.send_files(at.now, at.index);
        self.client(at.index).flush_messages(at.now, at.out);
    }

    /// Queues the parts of files that are due.
    pub(super) fn send_files(&mut self, now: Instant, index: ClientIndex) {
        let client = self.client(index);
        if !client.files.is_busy() {
            return;
        }
        let round_trip = client.circuit.rtt().unwrap_or_default();
        let is_waiting = client.circuit.queued_bytes(Category::Asset) > 0;
        while let Some(step) = client.files.poll(now, round_trip, is_waiting) {
            let mut body = Vec::new();
            let id = match step {
                FileStep::Part { id, packet, data } => {
                    let xfer_id = SendXferPacketXferID { id, packet };
                    let data_packet = SendXferPacketDataPacket { data };
                    SendXferPacket { xfer_id, data_packet }.encode(&mut body);
                    id
                }
                FileStep::GivenUp(id) => {
                    AbortXfer { xfer_id: AbortXferXferID { id, result: XFER_FAILED } }.encode(&mut body);
                    id
                }
            };
            if client.circuit.queue(Category::Asset, Reliability::Reliable, &body, false).is_err() {
                client.files.take_back(id);
                return;
            }
        }
    }
}
