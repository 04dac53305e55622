//! The circuit's state, its time and its end. What comes in is in `receive`, what goes out in `send` and
//! `transmit`.

use crate::acks::Acks;
use crate::adapt::{Adapt, PathSample};
use crate::clock::Clock;
use crate::duplicates::Duplicates;
use crate::idle::Idle;
use crate::lanes::Lanes;
use crate::loss::Loss;
use crate::ping::Ping;
use crate::resend::InFlight;
use crate::rtt::Rtt;
use crate::sequence::Sequence;
use crate::spare::Spare;
use crate::throttle::Throttle;
use crate::{CloseReason, Config, Stats};
use ids::Instant;
use std::time::Duration;
use wire::throttle::{Category, Throttles};

/// Lateness up to which measurements count: half of the time between two services at ten a second, and a quarter of the delay that counts as
/// a queue on the path.
const LATE_MIN: Duration = Duration::from_millis(50);

/// One end of an LLUDP circuit.
///
/// The caller drives it in a loop: hand in what arrived ([`Self::handle_datagram`]) or that time has passed
/// ([`Self::handle_timeout`]), ask for things ([`Self::send`], [`Self::queue`]), then call
/// [`Self::poll_transmit`] until it gives `None` and sleep until [`Self::poll_timeout`]. Every `now` is the
/// same clock; earlier readings count as the latest. A new circuit has no memory of the one before it on the
/// same port: give it that one's [`Self::next_sequence`], since peers remember numbers for a minute.
///
/// At rest it holds about two kilobytes, half of it the duplicate filter.
#[derive(Clone, Debug)]
pub struct Circuit {
    pub(crate) config: Config,
    clock: Clock,
    /// Numbers what we send.
    pub(crate) sequence: Sequence,
    /// Received packets.
    pub(crate) duplicates: Duplicates,
    pub(crate) acks: Acks,
    /// Packets that the peer has not acked.
    pub(crate) in_flight: InFlight,
    pub(crate) rtt: Rtt,
    pub(crate) loss: Loss,
    pub(crate) adapt: Adapt,
    pub(crate) ping: Ping,
    pub(crate) lanes: Lanes,
    pub(crate) throttle: Throttle,
    pub(crate) idle: Idle,
    pub(crate) spare: Spare,
    /// Lateness of this end's services in microseconds: see [`Circuit::handle_lateness`].
    late_us: u32,
    /// Last words only: see [`Circuit::finish`].
    pub(crate) finishing: bool,
    pub(crate) closed: Option<CloseReason>,
    pub(crate) stats: Stats,
}

impl Circuit {
    /// A circuit that begins now and numbers its packets from `first_sequence` on, within 24 bits. Simulators
    /// begin at 1, and so do viewers; the peer's numbers may begin anywhere.
    #[must_use]
    pub fn new(now: Instant, config: &Config, first_sequence: u32) -> Self {
        Self {
            config: *config,
            clock: Clock::new(now),
            sequence: Sequence::new(first_sequence),
            duplicates: Duplicates::new(config.duplicate_window),
            acks: Acks::default(),
            in_flight: InFlight::default(),
            rtt: Rtt::default(),
            loss: Loss::default(),
            adapt: Adapt::new(now),
            ping: Ping::new(now, config.ping_interval),
            lanes: Lanes::default(),
            throttle: Throttle::new(now, config),
            idle: Idle::new(now),
            spare: Spare::default(),
            late_us: 0,
            finishing: false,
            closed: None,
            stats: Stats::default(),
        }
    }

    /// Latest time to call [`Self::handle_timeout`]; in the past if something waits to leave now. `None` once the circuit is closed.
    /// After handling it and draining [`Self::poll_transmit`] it always lies ahead. Costs a few comparisons.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.closed.is_some() {
            return None;
        }
        let reading = self.clock.reading();
        if self.acks.is_alone_waiting() || self.ping.is_ready() || !self.lanes.express.is_empty() {
            return Some(self.clock.to_caller(reading));
        }
        let lanes = self.lanes.ready_at(&self.throttle, &self.in_flight, &self.config);
        let timers = self.timers();
        Some(self.clock.to_caller(lanes.map_or(timers, |at| at.min(timers))))
    }

    /// End of the first timer, in the circuit's time.
    fn timers(&self) -> Instant {
        let always = self.ping.next_at().min(self.idle.deadline(&self.config));
        [self.acks.due_at(), self.in_flight.deadline()].into_iter().flatten().fold(always, Instant::min)
    }

    /// Advances the circuit to `now`: it may ping, change its rate, free memory, or close.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.closed.is_some() {
            return;
        }
        let now = self.advance(now);
        if self.idle.deadline(&self.config) <= now {
            self.close(CloseReason::Idle);
        } else if self.in_flight.is_hopeless(now, self.config.give_up_after, self.config.give_up_tries) {
            self.close(CloseReason::NotAcking);
        }
        if self.closed.is_some() {
            return;
        }
        if self.adapt.is_due(now) {
            self.expire_perishable(now);
            let seen = PathSample {
                bytes_per_s: self.throttle.total_bytes_per_s(),
                bytes_out: self.stats.bytes_out,
                round_trip: self.rtt.pings(),
                losses: self.in_flight.losses(),
            };
            if self.is_late() {
                self.adapt.skip(now, &seen);
            } else if self.adapt.judge_path(now, &seen) {
                self.throttle.refill(now);
                self.throttle.set_part(self.adapt.part());
                self.in_flight.hold_until(None);
            }
        }
        if self.ping.next_at() <= now {
            self.ping.on_timeout(now, self.config.ping_interval);
            self.in_flight.free_spare(now);
            self.lanes.free_after_rush();
            if self.spare.was_idle() {
                self.acks.free_spare();
                self.lanes.free_spare();
            }
        }
    }

    /// Reports that the caller serves the circuit `late` after it should have, for lack of CPU time; zero when on time. Call it before
    /// [`Self::handle_timeout`].
    ///
    /// That time does not count as silence of the peer. Until the next call, timeouts of acks are longer by `late`, which counts up to
    /// [`Config::stall_max`]. If `late` > 50 ms, measurements contain this end's own delay and are left out: round trips of pings are no
    /// samples, the rate does not change, and resends do not count as ignored by the peer.
    pub fn handle_lateness(&mut self, now: Instant, late: Duration) {
        // The clock leaves out the rest.
        let late = late.min(self.config.stall_max);
        if late > Duration::ZERO {
            let now = self.advance(now);
            self.idle.excuse(now, late);
        }
        self.late_us = late.as_micros() as u32;
    }

    /// Lateness of the last service.
    pub(crate) const fn late(&self) -> Duration {
        Duration::from_micros(self.late_us as u64)
    }

    /// True if this end is so late that its measurements say nothing of the peer.
    pub(crate) fn is_late(&self) -> bool {
        self.late() > LATE_MIN
    }

    /// Time until a packet without an ack is sent again, after `transmissions` transmissions.
    pub(crate) fn ack_timeout(&self, transmissions: u32) -> Duration {
        self.rtt.resend_timeout(&self.config, transmissions) + self.late()
    }

    /// Moves the circuit's clock to the caller's `now`, leaving out the time that the process was stopped.
    /// Messages that wait to leave do not count as work that is late: they are accepted without a time.
    pub(crate) fn advance(&mut self, now: Instant) -> Instant {
        let stall_max = self.config.stall_max;
        let expected = self.clock.may_be_late(now, stall_max).then(|| self.clock.to_caller(self.timers()));
        self.clock.advance(now, expected, stall_max)
    }

    /// True if the time since `sent_at` is a fair measure of a round trip: the process was not stopped meanwhile.
    pub(crate) fn is_measurable(&self, sent_at: Instant) -> bool {
        self.clock.steady_since() <= sent_at
    }

    /// Obeys the client's AgentThrottle, between floor and cap of each category.
    pub fn set_throttles(&mut self, now: Instant, wanted: &Throttles) {
        let now = self.advance(now);
        self.throttle.refill(now);
        self.throttle.set_wanted(wanted);
        self.in_flight.hold_until(None);
    }

    /// Limits all traffic to this many bytes per second, or to the sum of the client's throttles if that is less.
    /// At least [`FLOOR_BYTES_PER_S`](crate::FLOOR_BYTES_PER_S).
    pub fn set_total_bytes_per_s(&mut self, now: Instant, bytes_per_s: u32) {
        let now = self.advance(now);
        self.throttle.refill(now);
        self.throttle.set_allowed_total(bytes_per_s);
        self.in_flight.hold_until(None);
    }

    /// Obeys AgentPause (`true`) and AgentResume (`false`), unless one with a newer serial number came
    /// before: a paused client may be silent for longer.
    pub fn set_paused(&mut self, paused: bool, serial: u32) {
        self.idle.set_paused(paused, serial);
    }

    /// The peer is about to leave: sent packets are still delivered and received ones acked, but nothing new is sent. No pings, and
    /// queues are emptied.
    pub fn wind_down(&mut self) {
        self.ping.stop();
        self.lanes.drop_queued();
    }

    /// Begins the circuit's last messages: waiting acks leave now, then reliable messages until they are acked, and nothing else. A
    /// peer that dropped this circuit takes everything later for a stranger's. Queues are emptied.
    pub fn finish(&mut self) {
        self.wind_down();
        self.finishing = true;
    }

    /// True if the last messages have all been acked.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.finishing && self.unacked() == 0
    }

    /// Closes the circuit: nothing leaves any more, all memory of queues and packets in flight is freed. The
    /// first reason stays. To let last words through, send them, then wait until [`Self::unacked`] is 0 or
    /// patience ends.
    pub fn close(&mut self, reason: CloseReason) {
        if self.closed.is_none() {
            self.closed = Some(reason);
            self.acks = Acks::default();
            self.in_flight = InFlight::default();
            self.lanes = Lanes::default();
        }
    }

    /// Reason for the end of the circuit, or `None` while it is open.
    #[must_use]
    pub const fn closed(&self) -> Option<CloseReason> {
        self.closed
    }

    /// Number of our next packet. Another circuit between the same ports within a minute begins there.
    #[must_use]
    pub const fn next_sequence(&self) -> u32 {
        self.sequence.next()
    }

    /// Reliable messages that the peer has not acked: in flight, or given to [`Self::send`] and about to
    /// leave. Those in paced queues are not counted.
    #[must_use]
    pub fn unacked(&self) -> usize {
        self.in_flight.unacked()
    }

    /// Bytes that wait in a category's queue.
    #[must_use]
    pub const fn queued_bytes(&self, category: Category) -> usize {
        self.lanes.lane(category).bytes()
    }

    /// True if messages wait that were given to [`Self::send`] or [`Self::queue`]; acks, pings and resends do not count.
    #[must_use]
    pub fn has_waiting_messages(&self) -> bool {
        !self.lanes.express.is_empty() || self.lanes.queued() > 0
    }

    /// Messages that wait in the queues of all categories.
    #[must_use]
    pub const fn queued_messages(&self) -> usize {
        self.lanes.queued()
    }

    /// Bytes of the total rate that may leave now, as a budget for updates. Zero while other traffic has overdrawn it.
    pub fn budget_bytes(&mut self, now: Instant) -> usize {
        let now = self.advance(now);
        self.throttle.refill(now);
        self.throttle.available()
    }

    /// Bytes per second of all traffic: min(client's throttles, caller's limit) × the part that the path carries (`adapt`).
    #[must_use]
    pub const fn total_bytes_per_s(&self) -> u32 {
        self.throttle.total_bytes_per_s()
    }

    /// Bytes per second that the queued messages of one category may use.
    #[must_use]
    pub const fn category_bytes_per_s(&self, category: Category) -> u32 {
        self.throttle.bytes_per_s(category)
    }

    /// The smoothed round trip of the path, once a ping was answered or a packet acked.
    #[must_use]
    pub fn rtt(&self) -> Option<Duration> {
        self.rtt.path()
    }

    /// The round trip of the latest answered ping; [`Stats::pings_answered`] rises with each new one.
    #[must_use]
    pub const fn latest_ping(&self) -> Option<Duration> {
        self.rtt.latest_ping()
    }

    /// Time until a reliable packet sent now without an ack is resent.
    #[must_use]
    pub fn resend_timeout(&self) -> Duration {
        self.rtt.resend_timeout(&self.config, 1)
    }

    /// The share of our reliable packets that had to be resent lately, from 0 to 1.
    #[must_use]
    pub const fn loss(&self) -> f32 {
        self.loss.share()
    }

    /// True if the path loses packets: one of the last 512 that the peer has to ack was not acked in time.
    #[must_use]
    pub const fn is_path_lossy(&self) -> bool {
        self.in_flight.losses().is_recent()
    }

    /// True after an AgentPause of the client.
    #[must_use]
    pub const fn is_paused(&self) -> bool {
        self.idle.is_paused()
    }

    /// Counters since the beginning.
    #[must_use]
    pub const fn stats(&self) -> &Stats {
        &self.stats
    }
}
