//! State of a look through the rows.

use super::flaws::{FaultList, StoredFlaw};
use super::{VerifyError, VerifyOrder, WorkDriver};
use ids::Uuid;
use jobs::JobProgress;
use store::StoreView;

/// Rows of one part of a list.
pub(super) const ROWS_AT_ONCE: u32 = 500;

/// Findings in the rows.
#[derive(Debug, Default)]
pub(crate) struct RowFindings {
    pub(crate) assets: u64,
    pub(crate) items: u64,
    pub(crate) objects: u64,
    pub(crate) faults: FaultList,
}

/// A look through the rows under way.
pub(super) struct RowCheck<'a, 'v, 'w> {
    pub(super) order: &'a VerifyOrder<'a>,
    driver: &'a mut dyn WorkDriver,
    pub(super) view: &'a mut StoreView<'v, 'w>,
    pub(super) findings: &'a mut RowFindings,
    n_rows: u64,
}

impl<'a, 'v, 'w> RowCheck<'a, 'v, 'w> {
    pub(super) fn new(
        order: &'a VerifyOrder<'a>,
        driver: &'a mut dyn WorkDriver,
        view: &'a mut StoreView<'v, 'w>,
        findings: &'a mut RowFindings,
    ) -> Self {
        Self { order, driver, view, findings, n_rows: 0 }
    }

    pub(super) fn note(&mut self, flaw: StoredFlaw) {
        self.findings.faults.note(flaw);
    }

    /// Reports the progress after some rows.
    pub(super) fn advance(&mut self, n_rows: usize, bytes: u64) -> Result<(), VerifyError> {
        self.n_rows += n_rows as u64;
        let progress = JobProgress { part: "rows", done: self.n_rows, total: 0 };
        Ok(self.driver.advance(progress, bytes)?)
    }

    /// Notes an asset without a row, unless it is the program's own or nil.
    pub(super) fn note_lost_asset(&mut self, asset: Uuid, flaw: impl FnOnce(String) -> StoredFlaw) {
        if !asset.is_nil() && !(self.order.is_own_asset)(asset) {
            self.note(flaw(format!("its asset {asset} does not exist")));
        }
    }
}
