//! Addresses of uploads: each is used once and lasts five minutes.

use super::UploadPurpose;
use ids::{AgentId, Instant, Uuid};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// Lifetime of an address.
pub const TICKET_LIFETIME: Duration = Duration::from_secs(300);

/// Addresses that one user may have open; a further one ends the oldest. A viewer bakes eleven textures at once.
pub const TICKETS_PER_AGENT_MAX: usize = 32;

/// Addresses of all users; a further one is refused.
pub const TICKETS_MAX: usize = 65_536;

/// A random id for an address; none if the system has no random numbers.
#[must_use]
pub fn new_ticket_id() -> Option<Uuid> {
    crate::random_id().ok()
}

/// All open addresses.
#[derive(Debug, Default)]
pub struct UploadTickets {
    by_id: BTreeMap<Uuid, UploadTicket>,
    /// By expiry, which is the order of opening.
    order: BTreeSet<(Instant, Uuid)>,
    /// Those of each user that has any, the oldest first.
    by_agent: BTreeMap<AgentId, VecDeque<Uuid>>,
}

#[derive(Debug)]
struct UploadTicket {
    agent: AgentId,
    purpose: UploadPurpose,
    expires_at: Instant,
}

impl UploadTickets {
    /// Opens an address under a random id. False if there are too many of all users.
    #[must_use]
    pub fn open(&mut self, id: Uuid, agent: AgentId, purpose: UploadPurpose, now: Instant) -> bool {
        self.expire(now);
        if self.by_id.len() >= TICKETS_MAX {
            return false;
        }
        let of_agent = self.by_agent.entry(agent).or_default();
        of_agent.push_back(id);
        let oldest = if of_agent.len() > TICKETS_PER_AGENT_MAX { of_agent.front().copied() } else { None };
        let expires_at = now + TICKET_LIFETIME;
        let former = self.by_id.insert(id, UploadTicket { agent, purpose, expires_at });
        assert!(former.is_none(), "random ids do not repeat");
        self.order.insert((expires_at, id));
        if let Some(oldest) = oldest {
            self.remove(oldest);
        }
        true
    }

    /// Uses an address up, at the begin of its upload. None if it is unknown, used, expired or of another user, which is all the same to a stranger.
    pub fn redeem(&mut self, id: Uuid, agent: AgentId, now: Instant) -> Option<UploadPurpose> {
        self.expire(now);
        if self.by_id.get(&id)?.agent != agent {
            return None;
        }
        self.remove(id)
    }

    fn expire(&mut self, now: Instant) {
        while let Some(&(expires_at, id)) = self.order.first()
            && expires_at <= now
        {
            self.remove(id);
        }
    }

    fn remove(&mut self, id: Uuid) -> Option<UploadPurpose> {
        let ticket = self.by_id.remove(&id)?;
        let is_ordered = self.order.remove(&(ticket.expires_at, id));
        assert!(is_ordered, "each ticket has its place in the order");
        if let Some(of_agent) = self.by_agent.get_mut(&ticket.agent) {
            of_agent.retain(|&of_agent| of_agent != id);
            if of_agent.is_empty() {
                self.by_agent.remove(&ticket.agent);
            }
        }
        Some(ticket.purpose)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADA: AgentId = AgentId(Uuid::from_u128(1));
    const BOB: AgentId = AgentId(Uuid::from_u128(2));

    fn at_s(s: u64) -> Instant {
        Instant(s * 1_000_000_000)
    }

    fn open(tickets: &mut UploadTickets, id: u128, agent: AgentId, s: u64) -> bool {
        tickets.open(Uuid::from_u128(id), agent, UploadPurpose::Bake, at_s(s))
    }

    fn redeem(tickets: &mut UploadTickets, id: u128, agent: AgentId, s: u64) -> bool {
        tickets.redeem(Uuid::from_u128(id), agent, at_s(s)).is_some()
    }

    #[test]
    fn an_address_is_used_once_by_its_user() {
        let mut tickets = UploadTickets::default();
        assert!(open(&mut tickets, 1, ADA, 0));
        assert!(!redeem(&mut tickets, 1, BOB, 1) && !redeem(&mut tickets, 2, ADA, 1));
        assert!(redeem(&mut tickets, 1, ADA, 1) && !redeem(&mut tickets, 1, ADA, 1));
    }

    #[test]
    fn an_address_expires() {
        let mut tickets = UploadTickets::default();
        assert!(open(&mut tickets, 1, ADA, 0) && open(&mut tickets, 2, ADA, 1));
        assert!(!redeem(&mut tickets, 1, ADA, 300) && redeem(&mut tickets, 2, ADA, 300));
        assert!(tickets.by_id.is_empty() && tickets.order.is_empty() && tickets.by_agent.is_empty());
    }

    #[test]
    fn a_users_oldest_address_goes_first() {
        let mut tickets = UploadTickets::default();
        assert!(open(&mut tickets, 1_000, BOB, 0));
        for n in 0..=TICKETS_PER_AGENT_MAX as u128 {
            assert!(open(&mut tickets, n, ADA, n as u64));
        }
        assert!(!redeem(&mut tickets, 0, ADA, 33) && redeem(&mut tickets, 1, ADA, 33));
        assert!(redeem(&mut tickets, 1_000, BOB, 33));
    }

    #[test]
    fn addresses_of_all_users_are_bounded() {
        let mut tickets = UploadTickets::default();
        for n in 0..TICKETS_MAX as u128 {
            assert!(open(&mut tickets, n, AgentId(Uuid::from_u128(n / 8)), 0));
        }
        assert!(!open(&mut tickets, u128::MAX, ADA, 299));
        assert!(open(&mut tickets, u128::MAX, ADA, 300), "all others have expired");
    }
}
