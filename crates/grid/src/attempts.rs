//! Limits of password attempts.
//!
//! Three buckets are charged before a password is checked, and refunded if it was right:
//!
//! - the **address**, against one address that tries many accounts;
//! - the **pair** of account and address, against one address that tries many passwords for one account;
//! - the **account**, against many addresses that do so. This bucket never refuses by itself, or an attacker could lock the owner out.
//!
//! When the bucket of the account is empty, addresses that never got into this account have one attempt a minute each instead of a handful; the
//! right password from a new address still succeeds, and addresses that have succeeded before are not affected.
//!
//! Charging first means that a thousand guesses sent at once are counted at once, and that a client which hangs up before the answer
//! has paid. It is sans-IO: time is an argument.

use ids::{AgentId, Instant};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

/// A bucket: how many failures at once, and how soon one is forgiven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailureBudget {
    /// Failures in a row.
    pub burst: u32,
    /// Time after which one failure is forgiven.
    pub forgiven_after: Duration,
}

/// The limits; the defaults are chosen so that people never meet them and a guess costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptLimits {
    /// Per address. Default 100, one forgiven every 6 s: a class room behind one address logs in at once, and a
    /// sprayer gets 14,400 guesses a day over all accounts.
    pub address: FailureBudget,
    /// Per account and address. Default 10, one forgiven every 30 s.
    pub pair: FailureBudget,
    /// Per account. Default 30, one forgiven every 20 s.
    pub account: FailureBudget,
    /// Per account and unknown address while the account's bucket is empty. Default 1, forgiven after 60 s.
    pub suspicious_pair: FailureBudget,
    /// True if attempts from this machine are free, unless they come through a proxy. Default true: the bots and the operator live
    /// there.
    pub exempt_loopback: bool,
}

impl Default for AttemptLimits {
    fn default() -> Self {
        let allowance =
            |burst, forgiven_s| FailureBudget { burst, forgiven_after: Duration::from_secs(forgiven_s) };
        Self {
            address: allowance(100, 6),
            pair: allowance(10, 30),
            account: allowance(30, 20),
            suspicious_pair: allowance(1, 60),
            exempt_loopback: true,
        }
    }
}

/// The address of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientAddress {
    /// As the last one on the way saw it that the server trusts.
    pub ip: IpAddr,
    /// True without a proxy in between. Behind one, loopback is the proxy's address and no client's.
    pub is_direct: bool,
}

impl From<IpAddr> for ClientAddress {
    fn from(ip: IpAddr) -> Self {
        Self { ip, is_direct: true }
    }
}

/// The attempt is refused; the password was not looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many failed attempts; the next is allowed in {} s", retry_after.as_secs() + 1)]
pub struct TooManyAttempts {
    /// Time until the next allowed attempt.
    pub retry_after: Duration,
}

/// The state of all buckets.
#[derive(Debug)]
pub struct AttemptTable {
    limits: AttemptLimits,
    addresses: Expiring<ClientNetwork>,
    pairs: Expiring<(AgentId, ClientNetwork)>,
    accounts: Expiring<AgentId>,
    trusted: Expiring<(AgentId, ClientNetwork)>,
}

/// A client as far as limits per address go: an IPv4 address, or the 64-bit prefix of an IPv6 one, since a customer has all addresses
/// behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClientNetwork(IpAddr);

impl ClientNetwork {
    /// Network of an address; an IPv4 address mapped into IPv6 is itself.
    #[must_use]
    pub fn of(peer: IpAddr) -> Self {
        Self(match peer.to_canonical() {
            IpAddr::V6(v6) => IpAddr::V6((v6.to_bits() & !u128::from(u64::MAX)).into()),
            v4 @ IpAddr::V4(_) => v4,
        })
    }
}

impl AttemptTable {
    /// Entries in each table, about 100 bytes each. Only failures leave entries, and they vanish when forgiven. When
    /// a table is full, the entry that would vanish next goes: forgetting it changes the least, and to push out a
    /// heavy offender needs as many addresses that offend more.
    pub const TABLE_MAX: usize = 65_536;

    /// Time for which an address is trusted after a login to an account.
    pub const TRUSTED_FOR: Duration = Duration::from_secs(30 * 24 * 3600);

    /// No failures yet.
    #[must_use]
    pub const fn new(limits: AttemptLimits) -> Self {
        Self {
            limits,
            addresses: Expiring::new(),
            pairs: Expiring::new(),
            accounts: Expiring::new(),
            trusted: Expiring::new(),
        }
    }

    /// Charges an attempt at an account; for a name without one the caller gives an id that stands for the name.
    ///
    /// # Errors
    /// [`TooManyAttempts`]; then nothing was charged.
    pub fn begin(
        &mut self,
        now: Instant,
        peer: impl Into<ClientAddress>,
        agent: AgentId,
    ) -> Result<(), TooManyAttempts> {
        let peer = peer.into();
        if self.is_exempt(peer) {
            return Ok(());
        }
        let address = ClientNetwork::of(peer.ip);
        let of_address = self.addresses.wait(now, address, self.limits.address);
        let of_pair = self.pairs.wait(now, (agent, address), self.pair_allowance(now, agent, address));
        let wait = of_address.max(of_pair);
        if wait > Duration::ZERO {
            return Err(TooManyAttempts { retry_after: wait });
        }
        self.addresses.charge(now, address, self.limits.address);
        self.pairs.charge(now, (agent, address), self.pair_allowance(now, agent, address));
        self.accounts.charge(now, agent, self.limits.account);
        Ok(())
    }

    /// The attempt that was charged last for this peer and account had the right password.
    pub fn succeed(&mut self, now: Instant, peer: impl Into<ClientAddress>, agent: AgentId) {
        let peer = peer.into();
        if self.is_exempt(peer) {
            return;
        }
        let address = ClientNetwork::of(peer.ip);
        self.addresses.refund(now, address, self.limits.address);
        self.accounts.refund(now, agent, self.limits.account);
        self.pairs.remove((agent, address));
        self.trusted.set(now, (agent, address), now + Self::TRUSTED_FOR);
    }

    fn is_exempt(&self, peer: ClientAddress) -> bool {
        self.limits.exempt_loopback && peer.is_direct && peer.ip.to_canonical().is_loopback()
    }

    fn pair_allowance(&self, now: Instant, agent: AgentId, address: ClientNetwork) -> FailureBudget {
        let attacked = self.accounts.wait(now, agent, self.limits.account) > Duration::ZERO;
        if attacked && self.trusted.until(now, (agent, address)) == now {
            self.limits.suspicious_pair
        } else {
            self.limits.pair
        }
    }
}

/// A bounded table of keys with the time until which each is held. For a bucket this is the time at which all is
/// forgiven, which is the whole state of a token bucket (the "generic cell rate" form).
#[derive(Debug)]
struct Expiring<K> {
    until: BTreeMap<K, Instant>,
    by_end: BTreeSet<(Instant, K)>,
}

impl<K: Copy + Ord> Expiring<K> {
    const fn new() -> Self {
        Self { until: BTreeMap::new(), by_end: BTreeSet::new() }
    }

    /// Until when the key is held; `now` when it is not.
    fn until(&self, now: Instant, key: K) -> Instant {
        self.until.get(&key).copied().unwrap_or(now).max(now)
    }

    /// Wait for an attempt within this allowance; zero if one is available.
    fn wait(&self, now: Instant, key: K, allowance: FailureBudget) -> Duration {
        let debt = self.until(now, key).since(now);
        let affordable = allowance.forgiven_after.saturating_mul(allowance.burst.saturating_sub(1));
        debt.saturating_sub(affordable)
    }

    /// Adds one failure, but never more than the burst: else a long attack would be remembered for days.
    fn charge(&mut self, now: Instant, key: K, allowance: FailureBudget) {
        let full = now + allowance.forgiven_after.saturating_mul(allowance.burst);
        let until = self.until(now, key);
        self.set(now, key, (until + allowance.forgiven_after).min(full).max(until));
    }

    /// Takes one failure back.
    fn refund(&mut self, now: Instant, key: K, allowance: FailureBudget) {
        let debt = self.until(now, key).since(now);
        self.set(now, key, now + debt.saturating_sub(allowance.forgiven_after));
    }

    fn set(&mut self, now: Instant, key: K, until: Instant) {
        self.remove(key);
        self.drop_ended(now);
        if until <= now {
            return;
        }
        if self.until.len() == AttemptTable::TABLE_MAX
            && let Some((_, next)) = self.by_end.first().copied()
        {
            self.remove(next);
        }
        self.until.insert(key, until);
        self.by_end.insert((until, key));
    }

    fn remove(&mut self, key: K) {
        if let Some(until) = self.until.remove(&key) {
            self.by_end.remove(&(until, key));
        }
    }

    fn drop_ended(&mut self, now: Instant) {
        while let Some((end, key)) = self.by_end.first().copied()
            && end <= now
        {
            self.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::{Ipv4Addr, Ipv6Addr};
    use uuid::Uuid;

    const ADA: AgentId = AgentId(Uuid::from_u128(1));

    fn address(n: u32) -> IpAddr {
        Ipv4Addr::from_bits(0x0A00_0000 + n).into()
    }

    fn attempts() -> AttemptTable {
        AttemptTable::new(AttemptLimits::default())
    }

    fn seconds(s: u64) -> Instant {
        Instant::from_millis(s * 1000)
    }

    #[test]
    fn a_guesser_at_one_account_is_stopped_and_gets_the_time_to_return() {
        let mut attempts = attempts();
        for _ in 0..10 {
            assert_eq!(attempts.begin(seconds(0), address(1), ADA), Ok(()));
        }
        let refused = attempts.begin(seconds(0), address(1), ADA).unwrap_err();
        assert_eq!(refused.retry_after, Duration::from_secs(30));
        assert!(attempts.begin(seconds(29), address(1), ADA).is_err());
        assert_eq!(attempts.begin(seconds(30), address(1), ADA), Ok(()));
        assert!(attempts.begin(seconds(30), address(1), ADA).is_err());
    }

    #[test]
    fn a_sprayer_over_many_accounts_is_stopped_by_address() {
        let mut attempts = attempts();
        for n in 0..100 {
            let agent = AgentId(Uuid::from_u128(n));
            assert_eq!(attempts.begin(seconds(0), address(1), agent), Ok(()));
        }
        assert!(attempts.begin(seconds(0), address(1), ADA).is_err());
        assert_eq!(attempts.begin(seconds(0), address(2), ADA), Ok(()));
    }

    #[test]
    fn right_passwords_are_free_so_a_crowd_behind_one_address_gets_in() {
        let mut attempts = attempts();
        for n in 0..5_000 {
            let agent = AgentId(Uuid::from_u128(n));
            assert_eq!(attempts.begin(seconds(0), address(1), agent), Ok(()));
            attempts.succeed(seconds(0), address(1), agent);
        }
        assert!(attempts.addresses.until.is_empty() && attempts.accounts.until.is_empty());
    }

    #[test]
    fn an_attack_from_many_places_is_slowed_but_locks_no_account() {
        let mut attempts = attempts();
        let home = address(1);
        attempts.begin(seconds(0), home, ADA).unwrap();
        attempts.succeed(seconds(0), home, ADA);
        for n in 100..200 {
            attempts.begin(seconds(1), address(n), ADA).unwrap();
        }
        // Every attacker has had an attempt; the second of each waits a minute.
        let refused = attempts.begin(seconds(1), address(150), ADA).unwrap_err();
        assert!(refused.retry_after > Duration::from_secs(20), "{refused:?}");
        // The owner mistypes at home as often as ever, and gets in from a new place at the first attempt.
        for _ in 0..9 {
            assert_eq!(attempts.begin(seconds(2), home, ADA), Ok(()));
        }
        assert_eq!(attempts.begin(seconds(2), address(7), ADA), Ok(()));
    }

    #[test]
    fn a_long_attack_is_forgiven_as_soon_as_a_short_one() {
        let mut attempts = attempts();
        for n in 0..10_000 {
            let _ = attempts.begin(seconds(0), address(n), ADA);
        }
        assert_eq!(attempts.accounts.until(seconds(0), ADA), seconds(30 * 20));
    }

    #[test]
    fn one_ipv6_customer_is_one_address() {
        let mut attempts = attempts();
        for host in 0..10_u16 {
            let peer = IpAddr::from(Ipv6Addr::new(0x2001, 0xDB8, 1, 2, 0, 0, 0, host));
            attempts.begin(seconds(0), peer, ADA).unwrap();
        }
        let neighbour = IpAddr::from(Ipv6Addr::new(0x2001, 0xDB8, 1, 2, 9, 9, 9, 9));
        assert!(attempts.begin(seconds(0), neighbour, ADA).is_err());
        let other = IpAddr::from(Ipv6Addr::new(0x2001, 0xDB8, 1, 3, 0, 0, 0, 1));
        assert_eq!(attempts.begin(seconds(0), other, ADA), Ok(()));
    }

    #[test]
    fn loopback_behind_a_proxy_is_charged_like_any_address() {
        let mut attempts = AttemptTable::new(AttemptLimits::default());
        let proxied = ClientAddress { ip: IpAddr::from([127, 0, 0, 1]), is_direct: false };
        let agent = |n| AgentId(Uuid::from_u128(n));
        let is_tried = |n: &u128| attempts.begin(Instant::ZERO, proxied, agent(*n)).is_ok();
        let tried = (0..1_000).take_while(is_tried).count();
        assert_eq!(tried, AttemptLimits::default().address.burst as usize);
        assert!(attempts.begin(Instant::ZERO, IpAddr::from([127, 0, 0, 1]), ADA).is_ok(), "the operator");
    }

    #[test]
    fn loopback_is_free_unless_configured_otherwise() {
        for (exempt, free) in [(true, true), (false, false)] {
            let mut attempts =
                AttemptTable::new(AttemptLimits { exempt_loopback: exempt, ..AttemptLimits::default() });
            let mapped: IpAddr = Ipv4Addr::LOCALHOST.to_ipv6_mapped().into();
            for peer in [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into(), mapped] {
                let all = (0..1_000).all(|_| attempts.begin(seconds(0), peer, ADA).is_ok());
                assert_eq!(all, free, "{peer} exempt {exempt}");
            }
        }
    }

    #[test]
    fn a_full_table_forgets_the_entry_that_is_forgiven_next() {
        let mut table = Expiring::<u64>::new();
        for key in 0..=AttemptTable::TABLE_MAX as u64 {
            table.set(Instant::ZERO, key, Instant(key + 10));
        }
        assert_eq!(table.until.len(), AttemptTable::TABLE_MAX);
        assert_eq!(table.until(Instant::ZERO, 0), Instant::ZERO);
        assert_eq!(table.until(Instant::ZERO, 1), Instant(11));
    }

    proptest! {
        /// The table matches a plain count of charges and forgiveness.
        #[test]
        fn failures_never_exceed_the_burst_plus_the_forgiven_ones(
            gaps_s in prop::collection::vec(0_u64..40, 1..200)
        ) {
            let mut attempts = attempts();
            let (mut now_s, mut allowed) = (0, 0_u64);
            for gap in gaps_s {
                now_s += gap;
                allowed += u64::from(attempts.begin(seconds(now_s), address(1), ADA).is_ok());
                prop_assert!(allowed <= 10 + now_s / 30);
                prop_assert_eq!(attempts.pairs.until.len(), attempts.pairs.by_end.len());
            }
        }
    }
}
