//! Owners and creators in an archive.

use super::CheckConfig;
use super::report::{AccountFinding, ArchiveReport, FindingList};
use ids::Uuid;
use std::collections::HashMap;

/// Different accounts. Further ones are not followed.
const ACCOUNTS_MAX: usize = 200_000;

/// Characters of a name that is listed.
const NAME_SHOWN: usize = 200;

/// Accounts that own or made something.
#[derive(Default)]
pub(super) struct AccountLedger {
    owners: HashMap<Uuid, u64>,
    creators: HashMap<Uuid, Creator>,
    is_cut: bool,
}

#[derive(Default)]
struct Creator {
    n_uses: u64,
    name: Option<Box<str>>,
}

impl AccountLedger {
    /// Notes an owner. The null id is none.
    pub(super) fn add_owner(&mut self, owner: Uuid) {
        if !owner.is_nil() && self.has_room(self.owners.contains_key(&owner), self.owners.len()) {
            *self.owners.entry(owner).or_default() += 1;
        }
    }

    /// Notes a creator, with the home and name of one of another grid. The null id is none.
    pub(super) fn add_creator(&mut self, creator: Uuid, name: Option<&str>) {
        if creator.is_nil() || !self.has_room(self.creators.contains_key(&creator), self.creators.len()) {
            return;
        }
        let noted = self.creators.entry(creator).or_default();
        noted.n_uses += 1;
        if noted.name.is_none() {
            noted.name = name.map(|name| name.chars().take(NAME_SHOWN).collect());
        }
    }

    fn has_room(&mut self, is_known: bool, n_known: usize) -> bool {
        let has_room = is_known || n_known < ACCOUNTS_MAX;
        self.is_cut |= !has_room;
        has_room
    }

    /// Lists those without an account.
    pub(super) fn finish(self, config: &CheckConfig<'_>, report: &mut ArchiveReport) {
        if self.is_cut {
            let reason = format!("more than {ACCOUNTS_MAX} accounts; further ones are not followed");
            report.add_remark("accounts", reason);
        }
        let owners = self.owners.into_iter().map(|(id, n_uses)| AccountFinding { id, name: None, n_uses });
        report.owners_unknown = unknown(owners, config);
        let creators = self.creators.into_iter().map(|(id, Creator { n_uses, name })| AccountFinding {
            id,
            name,
            n_uses,
        });
        report.creators_unknown = unknown(creators, config);
    }
}

fn unknown(
    accounts: impl Iterator<Item = AccountFinding>,
    config: &CheckConfig<'_>,
) -> FindingList<AccountFinding> {
    let mut unknown: Vec<AccountFinding> =
        accounts.filter(|account| !(config.knows_account)(account.id)).collect();
    unknown.sort_unstable_by_key(|account| account.id);
    let mut findings = FindingList::default();
    unknown.into_iter().for_each(|account| findings.add(|| account));
    findings
}
