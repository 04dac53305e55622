//! Counters of a world as plain numbers: the host exports them.

/// Totals since the world was made or restored; a [`crate::Life`] carries them over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorldCounters {
    /// Arrivals, repeated ones included.
    pub enter: u64,
    /// Departures.
    pub leave: u64,
    /// Inputs of avatars.
    pub control: u64,
    /// Teleports.
    pub teleport: u64,
    /// Changes of appearance.
    pub appear: u64,
    /// Animations started and stopped by owners.
    pub animate: u64,
    /// Chat messages and typing.
    pub chat: u64,
    /// Switches between walk and run.
    pub always_run: u64,
    /// Avatars that sat down on static objects.
    pub sit: u64,
    /// Snapshots asked for.
    pub resync: u64,
    /// Reloads of behaviours.
    pub reload_behaviors: u64,
    /// Commands of sessions that are not here, and reloads that were not offered.
    pub ignored: u64,
    /// Arrivals that found the world full.
    pub refused: u64,
    /// Commands whose author may not give them: for another session's avatar, or for the world as a whole.
    pub foreign: u64,
    /// Avatars that had something new for clients, once per tick and avatar.
    pub entities_dirtied: u64,
    /// Arrivals and teleports whose place had to be corrected: outside the region, under ground, no number.
    pub recovered: u64,
}

impl WorldCounters {
    /// Commands by action, with the label for metrics. [`WorldCounters::ignored`],
    /// [`WorldCounters::refused`] and [`WorldCounters::foreign`] commands count here as such, not as their action.
    #[must_use]
    pub const fn commands(&self) -> [(&'static str, u64); 14] {
        [
            ("enter", self.enter),
            ("leave", self.leave),
            ("control", self.control),
            ("teleport", self.teleport),
            ("appear", self.appear),
            ("animate", self.animate),
            ("chat", self.chat),
            ("always_run", self.always_run),
            ("sit", self.sit),
            ("resync", self.resync),
            ("reload_behaviors", self.reload_behaviors),
            ("ignored", self.ignored),
            ("refused", self.refused),
            ("foreign", self.foreign),
        ]
    }
}
