//! The way of a keeper's commands to its world: tickets that are settled, held objects that come back, users for whom the store takes no more.
//!
//! No command is dropped: without room in the world's inbox it is sent after the next frame. A world that panics drops the commands of that step; the
//! keeper sends its own again after the snapshot that follows, and here the states of users go out again in each epoch.

use super::full_users::FullNotice;
use ids::{AgentId, Epoch, SessionKey};
use keeper::Keeper;
use link::{Action, Command, CommandSeries};
use std::collections::{BTreeMap, BTreeSet};

/// Commands to one world.
#[derive(Debug)]
pub(super) struct TransferOrders {
    next_command: u64,
    epoch: Epoch,
    /// Users whose state has changed since the world's first epoch began.
    full: BTreeMap<AgentId, bool>,
    /// Those of whom the world is to be told.
    due: BTreeSet<AgentId>,
}

impl TransferOrders {
    /// To a world in its first epoch.
    pub(super) const fn new() -> Self {
        Self {
            next_command: CommandSeries::Transfers.first(),
            epoch: Epoch(0),
            full: BTreeMap::new(),
            due: BTreeSet::new(),
        }
    }

    /// Adds the state of a user.
    pub(super) fn note(&mut self, FullNotice { owner, is_full }: FullNotice) {
        self.full.insert(owner, is_full);
        self.due.insert(owner);
    }

    /// Takes note of a frame's epoch.
    pub(super) fn note_epoch(&mut self, epoch: Epoch) {
        if self.epoch != epoch {
            self.epoch = epoch;
            self.due.extend(self.full.keys());
        }
    }

    /// Sends everything that is due, until `push` has no room in the world's inbox. To be called after each frame, each saved batch and each notice.
    pub(super) fn send(&mut self, keeper: &mut Keeper, push: impl Fn(Command) -> bool) {
        let Self { next_command, full, due, .. } = self;
        let mut send = |action| {
            let has_room = push(Command::by_node(SessionKey::NODE, *next_command, action));
            *next_command += u64::from(has_room);
            has_room
        };
        while let Some(owner) = due.pop_first() {
            let is_full = full.get(&owner).copied().unwrap_or(false);
            if !send(Action::HeldFull { owner, is_full }) {
                due.insert(owner);
                return;
            }
        }
        keeper.send_orders(send);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::{HeldKey, Instant, Ticket, Uuid, WorldId};
    use keeper::{KeeperConfig, NewLand, RegionIds};
    use link::{Estate, Event, Frame, Terrain, Transfer};
    use std::cell::RefCell;
    use std::sync::Arc;
    use std::time::Duration;
    use store::StoredRegion;

    /// A keeper that has a ticket to settle.
    fn keeper() -> Keeper {
        let terrain = Arc::new(Terrain::flat(256, 21.0));
        let config = KeeperConfig {
            region: WorldId(1),
            name: "Harbour".into(),
            former_name: None,
            land: NewLand { terrain, estate: Estate::new("Estate", None, 20.0), now_s: 0 },
            ids: RegionIds { kept: 1 << 20..3 << 19, temporary: 3 << 19..7 << 18 },
            save: Duration::from_millis(250),
            moving_bytes_per_s: 0,
            unix_start_s: 0,
        };
        let loaded = Keeper::load(&config, &StoredRegion::default(), Uuid::from_u128(9));
        let (mut keeper, _) = loaded.expect("an empty region");
        let restored = Transfer::Restored(HeldKey { region: WorldId(1), ticket: Ticket(7) });
        let events = vec![Event::Transfer(Ticket(1), restored)];
        keeper.handle_frame(Instant::ZERO, &Frame { world: WorldId(1), events, ..Frame::empty() });
        let batch = keeper.poll_batch(Instant::from_millis(250)).expect("due");
        keeper.handle_saved(Instant::from_millis(250), batch.id, true);
        keeper
    }

    #[test]
    fn commands_wait_for_room_and_are_numbered() {
        let (mut orders, mut keeper) = (TransferOrders::new(), keeper());
        let owners = [1, 2].map(|n| AgentId(Uuid::from_u128(n)));
        owners.iter().for_each(|&owner| orders.note(FullNotice { owner, is_full: true }));
        let (sent, room) = (RefCell::new(Vec::new()), RefCell::new(1));
        let push = |command: Command| {
            let has_room = *room.borrow() > sent.borrow().len();
            if has_room {
                sent.borrow_mut().push(command);
            }
            has_room
        };
        for more in [1, 2, 10] {
            *room.borrow_mut() = more;
            orders.send(&mut keeper, push);
        }
        let full = |owner| Action::HeldFull { owner, is_full: true };
        let expected = [full(owners[0]), full(owners[1]), Action::Settle(Ticket(1))];
        let expected = expected.into_iter().zip(CommandSeries::Transfers.first()..);
        let expected: Vec<Command> =
            expected.map(|(action, sequence)| Command::by_node(SessionKey::NODE, sequence, action)).collect();
        assert_eq!(*sent.borrow(), expected);
    }

    #[test]
    fn users_are_told_again_in_a_later_epoch() {
        let (mut orders, mut keeper) = (TransferOrders::new(), keeper());
        let owner = AgentId(Uuid::from_u128(1));
        let sent = RefCell::new(Vec::new());
        let push = |command: Command| {
            sent.borrow_mut().push(command.action);
            true
        };
        for is_full in [true, false] {
            orders.note(FullNotice { owner, is_full });
        }
        orders.note_epoch(Epoch(0));
        orders.send(&mut keeper, push);
        let notice = Action::HeldFull { owner, is_full: false };
        assert_eq!(*sent.borrow(), [notice.clone(), Action::Settle(Ticket(1))]);
        orders.note_epoch(Epoch(1));
        orders.send(&mut keeper, push);
        assert_eq!(sent.borrow()[2..], [notice]);
    }
}
