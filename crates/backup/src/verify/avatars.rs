//! Objects that avatars wear, and the appearances of avatars.

use super::VerifyError;
use super::flaws::{FlawKind, StoredFlaw, StoredPart};
use super::regions::push_items;
use super::row_check::{ROWS_AT_ONCE, RowCheck};
use ids::{AgentId, Uuid};
use keeper::check_worn;
use store::{AppearanceDamage, WornDamage, WornRow};

/// The evidence of a row with damage.
const CHECKSUM: &str = "the checksum does not match";

/// Bytes of a row of an appearance, for the pace.
const APPEARANCE_BYTES: u64 = 1_024;

/// Looks through the rows of all avatars.
pub(super) fn check_avatars(check: &mut RowCheck<'_, '_, '_>) -> Result<(), VerifyError> {
    check.check_worn()?;
    check.check_appearances()
}

impl RowCheck<'_, '_, '_> {
    fn check_worn(&mut self) -> Result<(), VerifyError> {
        let mut after = (AgentId(Uuid::nil()), Uuid::nil());
        loop {
            let rows = self.view.worn_after(after, ROWS_AT_ONCE)?;
            let Some(last) = rows.last() else { return Ok(()) };
            after = match last {
                Ok(WornRow { owner, item, .. }) | Err(WornDamage { owner, item }) => (*owner, *item),
            };
            let mut bytes = 0;
            for row in &rows {
                match row {
                    Ok(row) => {
                        bytes += row.value.len() as u64;
                        self.check_worn_row(row)?;
                    }
                    Err(WornDamage { owner, item }) => self.note_worn(*owner, *item, CHECKSUM),
                }
            }
            self.advance(rows.len(), bytes)?;
        }
    }

    fn check_worn_row(&mut self, row: &WornRow) -> Result<(), VerifyError> {
        let bodies = match check_worn(row) {
            Ok(bodies) => bodies,
            Err(why) => {
                self.note_worn(row.owner, row.item, why.to_string());
                return Ok(());
            }
        };
        self.findings.objects += bodies.len() as u64;
        let mut items = Vec::new();
        bodies.iter().for_each(|body| push_items(&mut items, body));
        self.check_prim_items(&mut items)
    }

    fn note_worn(&mut self, owner: AgentId, item: Uuid, why: impl Into<String>) {
        let flaw = StoredFlaw::new(FlawKind::Damaged, StoredPart::Worn, item, "", why);
        self.note(flaw.of(Some(owner)));
    }

    fn check_appearances(&mut self) -> Result<(), VerifyError> {
        let mut after = AgentId(Uuid::nil());
        loop {
            let (damages, last) = self.view.damaged_appearances_after(after, ROWS_AT_ONCE)?;
            for AppearanceDamage { agent } in damages {
                let flaw = StoredFlaw::new(FlawKind::Damaged, StoredPart::Appearance, "", "", CHECKSUM);
                self.note(flaw.of(Some(agent)));
            }
            let Some(last) = last else { return Ok(()) };
            after = last;
            self.advance(ROWS_AT_ONCE as usize, APPEARANCE_BYTES * u64::from(ROWS_AT_ONCE))?;
        }
    }
}
