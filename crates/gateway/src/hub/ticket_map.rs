//! A map of few entries by ticket number: the circuits of one session.

/// A map of one or two entries, three during a teleport: a node of a B-tree has room for eleven, one kilobyte for each session.
#[derive(Debug)]
pub(crate) struct TicketMap<T>(Vec<(u32, T)>);

impl<T> Default for TicketMap<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> TicketMap<T> {
    /// Adds the entry of a new ticket. Tickets of a session are numbered upward.
    pub(super) fn insert(&mut self, ticket: u32, entry: T) {
        assert!(
            self.0.last().is_none_or(|(last, _)| *last < ticket),
            "ticket {ticket} is numbered behind an earlier one of its session"
        );
        self.0.reserve_exact(1);
        self.0.push((ticket, entry));
    }

    pub(super) fn get(&self, ticket: &u32) -> Option<&T> {
        self.0.iter().find(|(number, _)| number == ticket).map(|(_, entry)| entry)
    }

    pub(super) fn get_mut(&mut self, ticket: &u32) -> Option<&mut T> {
        self.0.iter_mut().find(|(number, _)| number == ticket).map(|(_, entry)| entry)
    }

    pub(super) fn remove(&mut self, ticket: &u32) -> Option<T> {
        let at = self.0.iter().position(|(number, _)| number == ticket)?;
        Some(self.0.remove(at).1)
    }

    /// All entries, in the order of their tickets.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.0.iter().map(|(number, entry)| (*number, entry))
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|(_, entry)| entry)
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut().map(|(_, entry)| entry)
    }
}
