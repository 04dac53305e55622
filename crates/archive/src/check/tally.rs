//! The part of a check that both sorts of archives have: assets, accounts, findings.

use super::accounts::AccountLedger;
use super::ledger::{AssetLedger, Naming, Referrer};
use super::mentions::each_mention;
use super::objects::{GroupCounts, note_group};
use super::report::ArchiveReport;
use super::{CheckConfig, CheckError};
use crate::fields::ReadDocument;
use crate::file::{ArchiveReader, FileError};
use crate::kind::{ArchivedKind, read_asset_path};
use crate::object::{ObjectReport, SceneObject, read_object};
use crate::xml::XmlLimits;
use assets::AssetKind;
use std::io::Read;

/// Path of remarks about the file as a whole.
const END: &str = "end of the archive";

/// Counts and findings so far.
pub(super) struct CheckTally<'a> {
    pub(super) config: &'a CheckConfig<'a>,
    pub(super) report: ArchiveReport,
    pub(super) assets: AssetLedger,
    pub(super) accounts: AccountLedger,
    /// A part of such an archive was found.
    pub(super) has_parts: bool,
}

impl<'a> CheckTally<'a> {
    pub(super) fn new(config: &'a CheckConfig<'a>) -> Self {
        Self {
            config,
            report: ArchiveReport::default(),
            assets: AssetLedger::default(),
            accounts: AccountLedger::default(),
            has_parts: false,
        }
    }

    /// The value of a document, with remarks about what of it could not be read.
    pub(super) fn noted<T>(&mut self, path: &str, read: ReadDocument<T>) -> T {
        read.unread.iter().for_each(|unread| self.report.add_remark(path, unread));
        read.value
    }

    /// Ids in an environment in notation, which are those of textures and of settings, many of which viewers have.
    pub(super) fn environment(&mut self, path: &str, environment: Option<&str>) {
        let kind = ArchivedKind::from(AssetKind::Settings);
        let mut referrer = Referrer::new(path);
        each_mention(kind, environment.unwrap_or_default().as_bytes(), &mut |id, certainty| {
            self.assets.name(&mut referrer, id, Naming { certainty, kind: None, is_shown: false });
        });
    }

    /// Remarks about an object that was read otherwise than it stands there.
    pub(super) fn remark_object(&mut self, path: &str, findings: &ObjectReport) {
        for problem in &findings.problems {
            self.report.add_remark(path, format_args!("{}: {}", problem.path, problem.flaw));
        }
        for loss in &findings.losses {
            self.report.add_remark(path, format_args!("{}: {} bytes are not kept", loss.path, loss.bytes));
        }
    }

    /// Notes the linksets of an object. `is_in_world` is true for those that clients see.
    pub(super) fn groups(&mut self, path: &str, object: &SceneObject, is_in_world: bool) -> GroupCounts {
        let mut referrer = Referrer::new(path);
        let mut sum = GroupCounts::default();
        for group in object.groups() {
            sum += note_group(group, is_in_world, &mut referrer, &mut self.assets, &mut self.accounts);
        }
        sum
    }

    /// Notes an asset with all that it names, and returns the counts of an object. `name` is its path within its region.
    pub(super) fn asset(&mut self, path: &str, name: &str, content: &[u8]) -> GroupCounts {
        let none = GroupCounts::default();
        let (id, kind) = match read_asset_path(name) {
            Ok(named) => named,
            Err(why) => {
                self.report.add_unreadable(path, why);
                return none;
            }
        };
        let Some(kind) = kind else {
            self.report.add_unreadable(path, "the ending of its name is that of no kind of asset");
            return none;
        };
        if !self.assets.add_asset(id, Some(kind), content, self.config) {
            self.report.add_unreadable(path, "an earlier asset has the same id");
            return none;
        }
        if kind.stored() != Some(AssetKind::Object) {
            if kind.stored().is_none() && kind != ArchivedKind::OPENSIMULATOR_MATERIAL {
                self.report.add_remark(path, "this server does not use assets of this kind");
            }
            self.assets.follow(id, kind, content);
            return none;
        }
        match read_object(content, &XmlLimits::OBJECT) {
            Ok(read) => self.groups(path, &read.object, false),
            Err(why) => {
                self.assets.add_fault(id, &why.to_string());
                none
            }
        }
    }

    /// Notes the reason for which the rest of the file cannot be read.
    ///
    /// # Errors
    /// The reason, if nothing was read before.
    pub(super) fn cut_short(
        &mut self,
        why: FileError,
        entries: &ArchiveReader<impl Read>,
    ) -> Result<(), CheckError> {
        if why.is_no_archive() || entries.summary().n_entries == 0 {
            return Err(why.into());
        }
        self.report.cut_short = Some(why.to_string().into());
        self.report.add_unreadable(END, why);
        Ok(())
    }

    /// Notes the totals of the file.
    pub(super) fn note_file(&mut self, entries: &ArchiveReader<impl Read>) {
        let summary = entries.summary();
        if summary.has_trailing_bytes {
            self.report.add_remark(END, "bytes behind it are ignored");
        }
        (self.report.bytes, self.report.bytes_uncompressed) = (summary.file_bytes, summary.inflated_bytes);
    }

    /// Resolves all references.
    pub(super) fn finish(mut self) -> ArchiveReport {
        self.accounts.finish(self.config, &mut self.report);
        self.assets.finish(self.config, &mut self.report);
        self.report
    }
}
