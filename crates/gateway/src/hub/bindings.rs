//! The circuits of one session, by ticket number.

use super::session::Binding;

/// A map of one or two entries, three during a teleport: a node of a B-tree has room for eleven, one kilobyte for each session.
#[derive(Debug, Default)]
pub(crate) struct Bindings(Vec<(u32, Binding)>);

impl Bindings {
    /// Adds a circuit. Tickets of a session are numbered upward.
    pub(super) fn insert(&mut self, ticket: u32, binding: Binding) {
        assert!(
            self.0.last().is_none_or(|(last, _)| *last < ticket),
            "ticket {ticket} is numbered behind an earlier one of its session"
        );
        self.0.reserve_exact(1);
        self.0.push((ticket, binding));
    }

    pub(super) fn get(&self, ticket: &u32) -> Option<&Binding> {
        self.0.iter().find(|(number, _)| number == ticket).map(|(_, binding)| binding)
    }

    pub(super) fn get_mut(&mut self, ticket: &u32) -> Option<&mut Binding> {
        self.0.iter_mut().find(|(number, _)| number == ticket).map(|(_, binding)| binding)
    }

    pub(super) fn remove(&mut self, ticket: &u32) -> Option<Binding> {
        let at = self.0.iter().position(|(number, _)| number == ticket)?;
        Some(self.0.remove(at).1)
    }

    /// All of them, in the order of their tickets.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Binding)> {
        self.0.iter().map(|(number, binding)| (*number, binding))
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &Binding> {
        self.0.iter().map(|(_, binding)| binding)
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut Binding> {
        self.0.iter_mut().map(|(_, binding)| binding)
    }
}
