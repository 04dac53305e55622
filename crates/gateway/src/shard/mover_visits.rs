//! Clients near prims in motion, which are visited after each frame of their world as well as in their turns.
//!
//! A bounce or a throw cannot be foreseen: a client shows the mover elsewhere until it is sent another motion. With turns alone the update comes
//! 50 ms after the frame on average, 100 ms at most: thrown bodies were more than 0.3 m off in 8 % of all samples of the nearest 20. Worlds have
//! phases of their own, and a frame is there as soon as its step is made; therefore the shard looks for new frames every [`LOOK`] while there are such
//! clients.

use super::ClientIndex;
use ids::{Instant, Tick, WorldId};
use std::collections::BTreeMap;
use std::time::Duration;

/// Time between two looks for new frames. Each is a thread that wakes up, and a load for each world with such clients.
const LOOK: Duration = Duration::from_millis(5);

/// Clients by world, and those to be visited now.
#[derive(Debug, Default)]
pub(super) struct MoverVisits {
    worlds: BTreeMap<WorldId, Watched>,
    next_look: Instant,
}

/// A world with clients near movers.
#[derive(Debug)]
struct Watched {
    /// The newest tick at the last look.
    tick: Tick,
    clients: Vec<ClientIndex>,
    /// Number of clients at the end of the list that are still to be visited for that tick.
    n_left: usize,
}

impl MoverVisits {
    /// Adds a client that was sent its movers as of this tick.
    pub(super) fn add(&mut self, world: WorldId, tick: Tick, client: ClientIndex) {
        let watched = self.worlds.entry(world).or_insert(Watched { tick, clients: Vec::new(), n_left: 0 });
        debug_assert!(!watched.clients.contains(&client), "a client is listed once");
        // Before those that are still to be visited for this tick: it has it.
        watched.clients.insert(watched.clients.len() - watched.n_left, client);
    }

    /// Removes a client that is listed in this world.
    pub(super) fn remove(&mut self, world: WorldId, client: ClientIndex) {
        let Some(watched) = self.worlds.get_mut(&world) else { return };
        let Some(at) = watched.clients.iter().position(|&listed| listed == client) else { return };
        watched.n_left -= usize::from(at >= watched.clients.len() - watched.n_left);
        watched.clients.remove(at);
        if watched.clients.is_empty() {
            self.worlds.remove(&world);
        }
    }

    /// Looks for new frames, if that is due: the clients of their worlds are to be visited. `tick_of` is the newest tick of a client's world. While
    /// the shard is short of CPU time, it does not look.
    pub(super) fn look(&mut self, now: Instant, is_short: bool, tick_of: impl Fn(ClientIndex) -> Tick) {
        if self.worlds.is_empty() || now < self.next_look {
            return;
        }
        self.next_look = now + LOOK;
        if is_short {
            return;
        }
        for watched in self.worlds.values_mut() {
            let tick = tick_of(watched.clients[0]);
            if std::mem::replace(&mut watched.tick, tick) != tick {
                // Clients not yet visited for the former frame are visited once, for this one.
                watched.n_left = watched.clients.len();
            }
        }
    }

    /// Takes the next client to visit.
    pub(super) fn pop(&mut self) -> Option<ClientIndex> {
        let watched = self.worlds.values_mut().find(|watched| watched.n_left > 0)?;
        let client = watched.clients[watched.clients.len() - watched.n_left];
        watched.n_left -= 1;
        Some(client)
    }

    pub(super) fn is_under_way(&self) -> bool {
        self.worlds.values().any(|watched| watched.n_left > 0)
    }

    /// Time of the next call of [`Self::look`] or [`Self::pop`]; never without clients.
    pub(super) fn due_at(&self) -> Option<Instant> {
        if self.is_under_way() {
            Some(Instant::ZERO)
        } else {
            (!self.worlds.is_empty()).then_some(self.next_look)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: WorldId = WorldId(1);
    const B: WorldId = WorldId(2);

    fn ms(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn visited(visits: &mut MoverVisits, now: Instant, ticks: [u64; 2]) -> Vec<ClientIndex> {
        // Clients of B have the numbers from 10.
        visits.look(now, false, |client| Tick(ticks[usize::from(client >= 10)]));
        std::iter::from_fn(|| visits.pop()).collect()
    }

    #[test]
    fn clients_are_visited_once_after_each_frame_of_their_world() {
        let mut visits = MoverVisits::default();
        assert_eq!(visits.due_at(), None);
        [(A, 1), (A, 2), (B, 10)].into_iter().for_each(|(world, client)| visits.add(world, Tick(5), client));
        assert_eq!(visited(&mut visits, ms(100), [5, 5]), [0; 0], "they have this frame");
        assert_eq!(visits.due_at(), Some(ms(105)));
        assert_eq!(visited(&mut visits, ms(104), [6, 6]), [0; 0], "not yet");
        assert_eq!(visited(&mut visits, ms(105), [6, 5]), [1, 2]);
        assert_eq!(visited(&mut visits, ms(110), [6, 7]), [10]);
        assert_eq!(visited(&mut visits, ms(115), [6, 7]), [0; 0]);
        visits.look(ms(120), true, |_| Tick(9));
        assert_eq!((visits.pop(), visits.due_at()), (None, Some(ms(125))), "short of CPU time");
        visits.remove(A, 1);
        visits.remove(B, 10);
        assert_eq!(visited(&mut visits, ms(125), [7, 8]), [2]);
        visits.remove(A, 2);
        assert_eq!(visits.due_at(), None);
    }

    #[test]
    fn visits_that_are_interrupted_continue_and_none_is_left_of_a_client_that_is_gone() {
        let mut visits = MoverVisits::default();
        (1..=3).for_each(|client| visits.add(A, Tick(1), client));
        visits.look(ms(10), false, |_| Tick(2));
        assert_eq!((visits.pop(), visits.due_at()), (Some(1), Some(Instant::ZERO)));
        visits.remove(A, 2);
        visits.look(ms(20), false, |_| Tick(3));
        assert_eq!(std::iter::from_fn(|| visits.pop()).collect::<Vec<_>>(), [1, 3]);
    }
}
