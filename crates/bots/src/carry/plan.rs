//! Range of a carrying bot's work.

/// See the fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CarryPlan {
    /// Things that a bot has before it makes no more.
    pub held_max: usize,
    /// Requests without an answer.
    pub under_way_max: usize,
    /// True if it only takes, rezzes and gives objects that must not be copied.
    pub ferries: bool,
}

impl CarryPlan {
    /// All kinds of requests.
    pub const CARRY: Self = Self { held_max: 24, under_way_max: 4, ferries: false };
    /// Transfers alone.
    pub const FERRY: Self = Self { held_max: 16, under_way_max: 8, ferries: true };
}
