//! Counters of a world as plain numbers: the host exports them.

use link::EditRefusal;

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
    /// Requests to sit down on objects.
    pub sit: u64,
    /// Touches of prims.
    pub touch: u64,
    /// Effects for others: gazes, beams, sounds.
    pub effect: u64,
    /// Of these, those that were not passed on: beyond the bound of a tick, with impossible values, or sounds where the parcel allows none.
    pub effect_dropped: u64,
    /// Linksets that physics moved out of the region.
    pub bodies_left: u64,
    /// Linksets that physics stopped, since a number of their motion was none.
    pub bodies_stopped: u64,
    /// Edits of the land that were carried out.
    pub land: u64,
    /// Edits of the land that were refused.
    pub land_refused: u64,
    /// Snapshots asked for.
    pub resync: u64,
    /// Reloads of behaviours.
    pub reload_behaviors: u64,
    /// Requests to change objects.
    pub object: u64,
    /// Rights to edit that were given to sessions.
    pub edit_rights: u64,
    /// Changes of the bounds of objects.
    pub object_limits: u64,
    /// Orders to take linksets from the store, repeated ones included.
    pub restore: u64,
    /// Tickets that were settled, with those before them.
    pub settle: u64,
    /// Users for whom the store takes no more linksets, or does so again.
    pub held_full: u64,
    /// Solids of assets that came, and that prims have.
    pub put_solid: u64,
    /// Others, of which the prims stay boxes, since the world has no room for them.
    pub put_solid_dropped: u64,
    /// Orders to let avatars wear items.
    pub wear: u64,
    /// Orders to take items off avatars.
    pub take_off: u64,
    /// Results of the requests to change objects.
    pub edits: EditCounters,
    /// Commands of sessions that are not here, reloads that were not offered, and orders of the node while it has not settled that the world has gone back.
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
    pub const fn commands(&self) -> [(&'static str, u64); 29] {
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
            ("touch", self.touch),
            ("effect", self.effect),
            ("effect_dropped", self.effect_dropped),
            ("land", self.land),
            ("land_refused", self.land_refused),
            ("resync", self.resync),
            ("reload_behaviors", self.reload_behaviors),
            ("object", self.object),
            ("edit_rights", self.edit_rights),
            ("object_limits", self.object_limits),
            ("restore", self.restore),
            ("settle", self.settle),
            ("held_full", self.held_full),
            ("put_solid", self.put_solid),
            ("put_solid_dropped", self.put_solid_dropped),
            ("wear", self.wear),
            ("take_off", self.take_off),
            ("ignored", self.ignored),
            ("refused", self.refused),
            ("foreign", self.foreign),
        ]
    }
}

/// Results of requests to change objects, object by object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EditCounters {
    /// Objects that were changed.
    pub done: u64,
    /// Refusals, by the numbers of their reasons.
    pub refused: [u64; EditRefusal::ALL.len()],
}

impl EditCounters {
    /// Refusals for this reason.
    #[must_use]
    pub const fn refused_for(&self, reason: EditRefusal) -> u64 {
        self.refused[reason as usize]
    }

    /// Results with their labels for metrics.
    pub fn outcomes(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let refused = EditRefusal::ALL.into_iter().map(|reason| (reason.label(), self.refused_for(reason)));
        std::iter::once(("done", self.done)).chain(refused)
    }
}
