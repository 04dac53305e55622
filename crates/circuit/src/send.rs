//! Requests of the application to send: at once, queued by category, or straight into its own buffer (fan-out).

use crate::lanes::Unnumbered;
use crate::{Circuit, SendError};
use ids::Instant;
use wire::header::{self, DATAGRAM_MAX, EXPANDED_MAX, Flags, HEADER_LEN};
use wire::throttle::Category;
use wire::zero_code;

/// Reliable messages are resent until acked. Neither kind is ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reliability {
    /// Sent once.
    Unreliable,
    /// Resent until acked; delivered once, or the circuit closes.
    Reliable,
}

impl Circuit {
    /// Sends a message (number and body, not zero-coded) at the next [`Self::poll_transmit`], regardless of the throttle: for answers,
    /// and for messages that the peer cannot continue without. `zero_code` makes it zero-coded if that is shorter.
    ///
    /// # Errors
    /// The reason if nothing was taken. [`SendError::InFlightFull`] applies to reliable messages only.
    pub fn send(
        &mut self,
        reliability: Reliability,
        message: &[u8],
        zero_code: bool,
    ) -> Result<(), SendError> {
        let message = self.prepare(reliability, message, zero_code)?;
        let len = message.len();
        if !self.lanes.express.has_room(len, self.config.queue_bytes_max) {
            self.spare.return_buffer(message.0);
            return Err(SendError::QueueFull);
        }
        if message.is_reliable() {
            if !self.in_flight.has_room(len, self.config.in_flight_max, self.config.in_flight_bytes_max) {
                self.spare.return_buffer(message.0);
                return Err(SendError::InFlightFull);
            }
            self.in_flight.reserve(len);
        }
        self.lanes.express.push(message);
        Ok(())
    }

    /// Queues a message (number and body, not zero-coded) behind the others of its category. It leaves when
    /// the category's rate and the total allow; categories take turns. Reliable ones wait, too, while as many
    /// as allowed are in flight.
    ///
    /// # Errors
    /// [`SendError::QueueFull`] above [`crate::QUEUE_MESSAGES_MAX`] or [`crate::Config::queue_bytes_max`]: the
    /// caller keeps the message, or drops it if newer state will replace it.
    pub fn queue(
        &mut self,
        category: Category,
        reliability: Reliability,
        message: &[u8],
        zero_code: bool,
    ) -> Result<(), SendError> {
        let message = self.prepare(reliability, message, zero_code)?;
        if !self.lanes.lane(category).has_room(message.len(), self.config.queue_bytes_max) {
            self.spare.return_buffer(message.0);
            return Err(SendError::QueueFull);
        }
        self.lanes.push(category, message);
        Ok(())
    }

    /// Makes a message into a datagram that only lacks its number.
    fn prepare(
        &mut self,
        reliability: Reliability,
        message: &[u8],
        zero_code: bool,
    ) -> Result<Unnumbered, SendError> {
        assert!(!message.is_empty(), "a message has a number at least");
        if self.closed.is_some() {
            return Err(SendError::Closed);
        }
        if message.len() > EXPANDED_MAX {
            return Err(SendError::TooLong { len: message.len() });
        }
        let mut flags = match reliability {
            Reliability::Unreliable => Flags::NONE,
            Reliability::Reliable => Flags::RELIABLE,
        };
        let mut datagram = self.spare.take_buffer(HEADER_LEN + message.len());
        header::write_header(&mut datagram, flags, 0);
        if zero_code {
            zero_code::compress(message, &mut datagram);
        }
        if zero_code && datagram.len() < HEADER_LEN + message.len() {
            flags |= Flags::ZERO_CODED;
            datagram[0] = flags.0;
        } else {
            datagram.truncate(HEADER_LEN);
            datagram.extend_from_slice(message);
        }
        if datagram.len() > DATAGRAM_MAX {
            self.spare.return_buffer(datagram);
            return Err(SendError::TooLong { len: message.len() });
        }
        Ok(Unnumbered(datagram))
    }

    /// Begins an unreliable datagram of the fan-out path, and returns its sequence number. The caller appends the message (number and
    /// body) to `out` and calls [`Self::note_sent`]. Nothing is copied or allocated; the throttle is not asked, see
    /// [`Self::budget_bytes`]. Drain [`Self::poll_transmit`] first, so that nothing overtakes the ack of UseCircuitCode.
    pub fn begin_unreliable(&mut self, out: &mut Vec<u8>) -> u32 {
        let sequence = self.sequence.take_number();
        header::write_header(out, Flags::NONE, sequence);
        sequence
    }

    /// Counts one datagram of the fan-out path, header included, against the total throttle.
    pub fn note_sent(&mut self, now: Instant, datagram_bytes: usize) {
        let now = self.advance(now);
        self.throttle.refill(now);
        self.on_sent(datagram_bytes);
    }

    /// Begins a perishable datagram of the fan-out path, like [`Self::begin_unreliable`], and returns its number. The peer acks it like
    /// any reliable one, but it is not resent: old state must not overwrite newer. Once its ack is overdue, [`Self::poll_lost`] returns
    /// the number, and the caller makes a new message from current state; an ack that comes later still is returned by [`Self::poll_late_ack`].
    /// Only the number is kept.
    ///
    /// # Errors
    /// The reason if nothing was begun.
    pub fn begin_perishable(&mut self, now: Instant, out: &mut Vec<u8>) -> Result<u32, SendError> {
        let now = self.advance(now);
        if self.closed.is_some() {
            return Err(SendError::Closed);
        }
        if !self.in_flight.has_room(0, self.config.in_flight_max, self.config.in_flight_bytes_max) {
            return Err(SendError::InFlightFull);
        }
        let sequence = self.sequence.take_number();
        header::write_header(out, Flags::RELIABLE, sequence);
        let timeout = self.ack_timeout(1);
        self.in_flight.insert(sequence, Vec::new(), now, timeout);
        Ok(sequence)
    }

    /// Number of a perishable message whose ack is overdue.
    pub fn poll_lost(&mut self, now: Instant) -> Option<u32> {
        let now = self.advance(now);
        self.expire_perishable(now);
        self.in_flight.pop_lost()
    }

    /// Number of a perishable message that was acked after [`Self::poll_lost`] had returned it, or before it could: the peer has it.
    pub fn poll_late_ack(&mut self) -> Option<u32> {
        self.in_flight.pop_late_ack()
    }

    pub(crate) fn expire_perishable(&mut self, now: Instant) {
        for _ in 0..self.in_flight.expire_perishable(now) {
            self.loss.on_timeout();
            self.stats.perished += 1;
        }
    }

    /// True if the reliable or perishable message with this number is unacked.
    #[must_use]
    pub fn is_unacked(&self, sequence: u32) -> bool {
        self.in_flight.contains(sequence)
    }

    /// Writes a reliable message (number and body, not zero-coded) of the fan-out path to `out` at once,
    /// keeps it for resends, counts it, and gives its number. Drain [`Self::poll_transmit`]
    /// first, as for [`Self::begin_unreliable`].
    ///
    /// # Errors
    /// Says why nothing was written.
    pub fn write_reliable(
        &mut self,
        now: Instant,
        message: &[u8],
        zero_code: bool,
        out: &mut Vec<u8>,
    ) -> Result<u32, SendError> {
        let now = self.advance(now);
        let message = self.prepare(Reliability::Reliable, message, zero_code)?;
        let len = message.len();
        if !self.in_flight.has_room(len, self.config.in_flight_max, self.config.in_flight_bytes_max) {
            self.spare.return_buffer(message.0);
            return Err(SendError::InFlightFull);
        }
        self.throttle.refill(now);
        let start = out.len();
        let sequence = self.write_message(now, message, out);
        self.on_sent(out.len() - start);
        Ok(sequence)
    }
}
