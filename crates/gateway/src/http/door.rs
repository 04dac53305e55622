//! Admission of further logins. The watcher of memory and load sets the room once a second ([`Door::set`]); between two samples no more
//! logins are admitted than there was room for, since a crowd arrives within a second.

use std::sync::atomic::{AtomicI64, AtomicU8, Ordering};

/// Reasons for refusing logins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoRoom {
    /// More people would take more memory than the server may have.
    Memory,
    /// The server does not keep up with its present clients.
    Load,
    /// Nearly all HTTP connections are taken by clients that are being served: another client would find none for its event queue.
    Connections,
}

impl NoRoom {
    /// Every reason.
    pub const ALL: [Self; 3] = [Self::Memory, Self::Load, Self::Connections];

    /// Metric label.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Load => "load",
            Self::Connections => "connections",
        }
    }
}

/// Room until the next sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// Room for this number of logins; memory is short after them.
    For(i64),
    /// None, for this reason.
    None(NoRoom),
}

/// Open until set otherwise.
#[derive(Debug)]
pub struct Door {
    room: AtomicI64,
    /// Index of the [`NoRoom`] without room.
    reason: AtomicU8,
}

impl Default for Door {
    fn default() -> Self {
        Self { room: AtomicI64::new(i64::MAX), reason: AtomicU8::new(0) }
    }
}

impl Door {
    /// Says how much room there is from now on.
    pub fn set(&self, room: Room) {
        let (room, reason) = match room {
            Room::For(n) => (n, NoRoom::Memory),
            Room::None(reason) => (0, reason),
        };
        self.reason.store(reason as u8, Ordering::Relaxed);
        self.room.store(room, Ordering::Relaxed);
    }

    /// Checks for room before a login's password is hashed.
    ///
    /// # Errors
    /// The reason without room.
    pub fn check_room(&self) -> Result<(), NoRoom> {
        if self.room.load(Ordering::Relaxed) > 0 { Ok(()) } else { Err(self.reason()) }
    }

    /// Takes room for one login.
    ///
    /// # Errors
    /// [`NoRoom`]: the cause of the shortage.
    pub fn take_room(&self) -> Result<(), NoRoom> {
        let taken = self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |room| {
            (room > 0).then(|| room - i64::from(room < i64::MAX))
        });
        taken.map(drop).map_err(|_| self.reason())
    }

    fn reason(&self) -> NoRoom {
        NoRoom::ALL[usize::from(self.reason.load(Ordering::Relaxed))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_come_in_as_there_is_room_for() {
        let door = Door::default();
        assert!((0..1_000).all(|_| door.take_room().is_ok()), "no room has been set yet");
        door.set(Room::For(2));
        assert_eq!(
            [door.take_room(), door.take_room(), door.take_room()],
            [Ok(()), Ok(()), Err(NoRoom::Memory)]
        );
        assert_eq!(door.check_room(), Err(NoRoom::Memory));
        door.set(Room::None(NoRoom::Load));
        assert_eq!((door.check_room(), door.take_room()), (Err(NoRoom::Load), Err(NoRoom::Load)));
        door.set(Room::For(1));
        assert_eq!((door.check_room(), door.take_room()), (Ok(()), Ok(())));
    }
}
