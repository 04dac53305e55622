//! Assignment of a session's UDP ports to places.
//!
//! A viewer resolves local ids by sender address and port, so within a session a port may stand for another place only after the old
//! one is surely forgotten: [`PORT_REST`].

use crate::places::PlaceId;
use ids::Instant;
use std::time::Duration;

/// Rest of a (session, port) pair before it stands for another place. Viewers and node-metaverse remember sequence numbers and circuits
/// for at most this time.
pub const PORT_REST: Duration = Duration::from_secs(60);

/// Ports in a pool at most.
pub const PORTS_MAX: usize = 16;

/// The ports of one session.
#[derive(Clone, Debug)]
pub(crate) struct SessionPorts {
    pairs: Vec<PortUse>,
}

#[derive(Clone, Copy, Debug)]
struct PortUse {
    place: Option<PlaceId>,
    /// Circuits open or expected on it.
    in_use: bool,
    released_at: Instant,
    next_sequence: u32,
}

impl SessionPorts {
    /// A session that used none of the pool's `n` ports yet.
    #[must_use]
    pub(super) fn new(n: usize) -> Self {
        assert!((1..=PORTS_MAX).contains(&n), "a pool of {n} ports");
        let pair = PortUse { place: None, in_use: false, released_at: Instant::ZERO, next_sequence: 1 };
        Self { pairs: vec![pair; n] }
    }

    /// A port for a circuit to `place`, with the sequence number it begins with. Prefers the place's usual port, so
    /// that a capture is easy to read. `None` when all are in use or resting.
    pub(super) fn take_port(&mut self, now: Instant, place: PlaceId) -> Option<(u8, u32)> {
        let n = self.pairs.len();
        let usual = place.0 as usize % n;
        let index = (0..n).map(|step| (usual + step) % n).find(|&i| self.pairs[i].is_free(now, place))?;
        Some((index as u8, self.bind(now, index, place)))
    }

    /// Lets a free port stand for a place. The sequence number that its circuit begins with.
    fn bind(&mut self, now: Instant, index: usize, place: PlaceId) -> u32 {
        let pair = &mut self.pairs[index];
        assert!(
            pair.place.is_none_or(|former| former == place || now.since(pair.released_at) >= PORT_REST),
            "port {index} stands for another place before it has rested"
        );
        pair.in_use = true;
        pair.place = Some(place);
        pair.next_sequence
    }

    /// The circuit on `port` is gone; its next one continues the sequence.
    pub(super) fn release(&mut self, now: Instant, port: u8, next_sequence: u32) {
        let pair = &mut self.pairs[port as usize];
        assert!(pair.in_use, "port {port} is released twice, and the next circuit may be on it already");
        pair.in_use = false;
        pair.released_at = now;
        pair.next_sequence = pair.next_sequence.max(next_sequence);
    }
}

impl PortUse {
    fn is_free(&self, now: Instant, place: PlaceId) -> bool {
        let rested =
            self.place.is_none_or(|used_by| used_by == place) || now.since(self.released_at) >= PORT_REST;
        !self.in_use && rested
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: PlaceId = PlaceId(0);
    const B: PlaceId = PlaceId(1);

    #[test]
    fn two_places_get_two_ports() {
        let mut ports = SessionPorts::new(4);
        assert_eq!(ports.take_port(Instant::ZERO, A), Some((0, 1)));
        assert_eq!(ports.take_port(Instant::ZERO, B), Some((1, 1)));
    }

    #[test]
    fn the_same_place_gets_its_port_back_at_once_and_counts_on() {
        let mut ports = SessionPorts::new(4);
        ports.take_port(Instant::ZERO, A);
        ports.release(Instant::from_millis(10), 0, 500);
        assert_eq!(ports.take_port(Instant::from_millis(20), A), Some((0, 500)));
    }

    #[test]
    #[should_panic(expected = "port 0 is released twice, and the next circuit may be on it already")]
    fn a_port_is_released_once() {
        let mut ports = SessionPorts::new(1);
        ports.take_port(Instant::ZERO, A);
        ports.release(Instant::ZERO, 0, 7);
        ports.release(Instant::ZERO, 0, 7);
    }

    #[test]
    #[should_panic(expected = "port 0 stands for another place before it has rested")]
    fn a_port_without_its_rest_does_not_stand_for_another_place() {
        let mut ports = SessionPorts::new(1);
        ports.take_port(Instant::ZERO, A);
        ports.release(Instant::ZERO, 0, 7);
        ports.bind(Instant::from_millis(59_999), 0, B);
    }

    #[test]
    fn another_place_waits_until_the_pair_has_rested() {
        let mut ports = SessionPorts::new(1);
        ports.take_port(Instant::ZERO, A);
        ports.release(Instant::ZERO, 0, 7);
        assert_eq!(ports.take_port(Instant::from_millis(59_999), B), None);
        assert_eq!(ports.take_port(Instant::from_millis(60_000), B), Some((0, 7)));
    }
}
