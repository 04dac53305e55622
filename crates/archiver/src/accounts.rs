//! Accounts of an archive and those of this grid.

use ids::{AgentId, Uuid};
use prim::Ownership;
use std::fmt;

/// Rules for accounts that are not known here, those of OpenSimulator.
#[derive(Clone, Copy)]
pub struct AccountRules<'a> {
    /// True for an account that there is. It is asked often.
    pub is_known: &'a dyn Fn(AgentId) -> bool,
    /// Takes the place of those that there are not.
    pub default_user: AgentId,
}

impl fmt::Debug for AccountRules<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccountRules").field("default_user", &self.default_user).finish_non_exhaustive()
    }
}

impl AccountRules<'_> {
    /// True for an account that there is; the null id is none.
    #[must_use]
    pub fn knows(&self, account: AgentId) -> bool {
        !account.0.is_nil() && (self.is_known)(account)
    }

    /// An owner, or the default user for an unknown one.
    #[must_use]
    pub fn owner(&self, owner: AgentId) -> AgentId {
        if self.knows(owner) { owner } else { self.default_user }
    }

    /// A creator, or the default user for an unknown one. A creator whose home and name the archive has is kept in any case.
    #[must_use]
    pub fn creator(&self, creator: AgentId, has_home: bool) -> AgentId {
        if has_home && !creator.0.is_nil() { creator } else { self.owner(creator) }
    }

    /// The owners of a prim or an item. There are no groups, so that none is known.
    #[must_use]
    pub fn ownership(&self, archived: &Ownership, has_home: bool) -> Ownership {
        Ownership {
            creator: self.creator(archived.creator, has_home),
            owner: self.owner(archived.owner),
            last_owner: self.owner(archived.last_owner),
            group: Uuid::nil(),
            permissions: archived.permissions,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prim::Permissions;

    fn agent(n: u128) -> AgentId {
        AgentId(Uuid::from_u128(n))
    }

    #[test]
    fn unknown_accounts_become_the_default_user_and_creators_of_other_grids_stay() {
        let is_known = |account: AgentId| account == agent(1) || account == agent(0);
        let rules = AccountRules { is_known: &is_known, default_user: agent(9) };
        assert_eq!([1, 2, 0].map(|n| rules.owner(agent(n))), [agent(1), agent(9), agent(9)]);
        assert_eq!([1, 2, 0].map(|n| rules.creator(agent(n), true)), [agent(1), agent(2), agent(9)]);
        let archived = Ownership {
            creator: agent(2),
            owner: agent(1),
            last_owner: agent(3),
            group: Uuid::from_u128(7),
            permissions: Permissions::NEW,
        };
        let expected = Ownership { last_owner: agent(9), group: Uuid::nil(), ..archived };
        assert_eq!(rules.ownership(&archived, true), expected);
        assert_eq!(rules.ownership(&archived, false), Ownership { creator: agent(9), ..expected });
    }
}
