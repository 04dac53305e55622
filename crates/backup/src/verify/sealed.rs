//! Rows of all tables that belong to no region and to no instance, by their checksums.

use super::VerifyError;
use super::flaws::{FlawKind, StoredFlaw, StoredPart};
use super::row_check::RowCheck;
use store::{RowDamage, SealWalk};

/// Looks through the rows.
pub(super) fn check_sealed(check: &mut RowCheck<'_, '_, '_>) -> Result<(), VerifyError> {
    let mut walk = SealWalk::default();
    while let Some(page) = check.view.sealed_rows(&mut walk)? {
        for damage in page.damages {
            check.note(flaw_of(damage));
        }
        check.advance(page.rows, page.bytes)?;
    }
    Ok(())
}

fn flaw_of(damage: RowDamage) -> StoredFlaw {
    let RowDamage { table, id, name, owner, why } = damage;
    let why = format!("row of {table}: {why}");
    StoredFlaw::new(FlawKind::Damaged, part_of(table), id, name, why).of(owner)
}

fn part_of(table: &str) -> StoredPart {
    match table {
        "accounts" => StoredPart::Account,
        "inventory_folders" => StoredPart::Folder,
        "inventory_items" => StoredPart::Item,
        "inventory_offers" => StoredPart::Offer,
        "avatar_wearables" | "appearance_bakes" => StoredPart::Appearance,
        "instances" => StoredPart::Instance,
        "held_objects" => StoredPart::Held,
        "assets" | "asset_contents" => StoredPart::Asset,
        "api_tokens" => StoredPart::Token,
        "jobs" => StoredPart::Job,
        _ => StoredPart::Row,
    }
}
