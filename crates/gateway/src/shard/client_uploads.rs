//! Files that one client uploads in messages, and its requests that wait for them.
//!
//! A file is under way until it is whole; then its bytes go to the store, and its memory stays taken until they are there. A request about an item that names the
//! transaction of a file is held while the file is under way, and for a while when the file is unknown: messages may overtake each other. Nothing here sends
//! anything; all of it is bounded by count, time and [`UploadRoom`].

#[cfg(test)]
mod tests;

use super::file_upload::{FileUpload, PartTaken};
use assets::AssetKind;
use grid::inventory::InventoryTask;
use grid::uploads::UploadRoom;
use ids::{AgentId, Instant, Uuid};
use std::collections::VecDeque;
use std::time::Duration;

/// Files of a client that are under way; a further one ends the oldest. A viewer that saves an outfit uploads each of its 16 parts at once.
pub(super) const FILES_MAX: usize = 16;
/// Files of a client that may wait for the store before a further one is refused.
pub(super) const STORING_MAX: usize = 64;
/// Requests of a client that are held; further ones are judged by the store at once.
pub(super) const REQUESTS_HELD_MAX: usize = 32;
/// Files remembered that are no longer under way.
const ENDED_MAX: usize = FILES_MAX + STORING_MAX;
/// Time without a part after which a file is given up. Viewers try for less.
pub(super) const SILENCE_MAX: Duration = Duration::from_secs(60);
/// Time after which a file is given up that is still not whole.
pub(super) const FILE_LIFETIME: Duration = Duration::from_secs(300);
/// Time for which a request waits for a file that is unknown. node-metaverse waits 10 s for the reply.
pub(super) const PATIENCE: Duration = Duration::from_secs(8);

/// Reasons for which a shard does not take a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FileTrouble {
    /// Assets of the type do not exist.
    UnknownType,
    /// It is an object.
    Object,
    /// It is longer than its kind may be.
    TooLong,
    /// It has another length than stated.
    Unfit,
    /// There is no memory.
    NoRoom,
    /// It did not come in time, or its client has begun too many others.
    GivenUp,
}

impl FileTrouble {
    /// The end of a sentence for the user.
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::UnknownType => "assets of that type do not exist",
            Self::Object => "objects are made in the world and cannot be uploaded",
            Self::TooLong => "the file is too long",
            Self::Unfit => "the file has another length than stated",
            Self::NoRoom => "the server has too many uploads under way; try again later",
            Self::GivenUp => "the file did not come in time",
        }
    }
}

/// An asset that a client uploads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileHead {
    /// Its id.
    pub(super) asset: Uuid,
    /// Its kind.
    pub(super) kind: AssetKind,
    /// Removed after a time, unless an item names it.
    pub(super) is_temporary: bool,
}

impl FileHead {
    /// Id of its file in messages.
    pub(super) const fn xfer_id(&self) -> u64 {
        xfer_id(self.asset)
    }
}

const fn xfer_id(asset: Uuid) -> u64 {
    asset.as_u64_pair().1
}

#[derive(Debug)]
struct FileUnderWay {
    head: FileHead,
    file: FileUpload,
    begun_at: Instant,
    heard_at: Instant,
}

/// A request that waits for files.
#[derive(Debug)]
struct HeldRequest {
    request: Box<InventoryTask>,
    /// The assets that it names.
    awaited: Vec<Uuid>,
    /// Time until which it waits for those that are unknown.
    until: Instant,
}

/// Uploads of one client.
#[derive(Debug)]
pub(super) struct ClientUploads {
    agent: AgentId,
    /// Oldest first.
    files: VecDeque<FileUnderWay>,
    /// Files that wait for the store, with their memory in bytes.
    storing: VecDeque<(FileHead, usize)>,
    /// Assets whose files are no longer under way, and true if the file has come as a whole; oldest first.
    ended: VecDeque<(Uuid, bool)>,
    held: VecDeque<HeldRequest>,
}

impl ClientUploads {
    /// None of an agent so far.
    pub(super) const fn new(agent: AgentId) -> Self {
        Self {
            agent,
            files: VecDeque::new(),
            storing: VecDeque::new(),
            ended: VecDeque::new(),
            held: VecDeque::new(),
        }
    }

    /// True if nothing waits for a time.
    pub(super) fn is_idle(&self) -> bool {
        self.files.is_empty() && self.held.is_empty()
    }

    /// True if the file of an asset is under way, or waits for the store.
    pub(super) fn is_known(&self, asset: Uuid) -> bool {
        self.is_under_way(asset) || self.storing.iter().any(|(head, _)| head.asset == asset)
    }

    /// True if the store has not taken the latest files yet.
    pub(super) fn is_busy(&self) -> bool {
        self.storing.len() >= STORING_MAX
    }

    /// Begins a file. Returns the oldest one if that ends for it.
    pub(super) fn begin(
        &mut self,
        now: Instant,
        head: FileHead,
        bytes_max: usize,
        room: &mut UploadRoom,
    ) -> Option<FileHead> {
        let oldest = if self.files.len() >= FILES_MAX { self.end(0, room) } else { None };
        let file = FileUpload::new(bytes_max);
        self.files.push_back(FileUnderWay { head, file, begun_at: now, heard_at: now });
        oldest
    }

    /// Takes memory for a file that came as a whole. False if there is none.
    pub(super) fn take_whole(&mut self, head: FileHead, bytes: usize, room: &mut UploadRoom) -> bool {
        let is_taken = room.take(self.agent, bytes);
        if is_taken {
            self.store(head, bytes);
        }
        is_taken
    }

    /// Takes a part of a file. None if no such file is under way. It is no longer if the part makes it whole, or makes it unfit.
    pub(super) fn take_part(
        &mut self,
        now: Instant,
        xfer_id: u64,
        packet: u32,
        data: &[u8],
        room: &mut UploadRoom,
    ) -> Option<(FileHead, PartTaken)> {
        let at = self.files.iter().position(|file| file.head.xfer_id() == xfer_id)?;
        let (agent, found) = (self.agent, &mut self.files[at]);
        found.heard_at = now;
        let head = found.head;
        let taken = found.file.take_part(packet, data, |bytes| room.take(agent, bytes));
        match &taken {
            PartTaken::More | PartTaken::Early => {}
            PartTaken::Whole(bytes) => {
                self.files.remove(at);
                self.store(head, bytes.len());
            }
            PartTaken::TooLong | PartTaken::NoRoom | PartTaken::Unfit => {
                self.end(at, room);
            }
        }
        Some((head, taken))
    }

    /// True if a file has lately come as a whole: its client repeats the last part when its confirmation is late.
    pub(super) fn has_come(&self, xfer: u64) -> bool {
        self.ended.iter().any(|&(asset, is_whole)| is_whole && xfer_id(asset) == xfer)
    }

    /// Ends a file at the wish of its client.
    pub(super) fn abort(&mut self, xfer_id: u64, room: &mut UploadRoom) -> Option<FileHead> {
        let at = self.files.iter().position(|file| file.head.xfer_id() == xfer_id)?;
        self.end(at, room)
    }

    /// The store has the asset, or has refused it.
    pub(super) fn finish(&mut self, asset: Uuid, room: &mut UploadRoom) -> Option<FileHead> {
        let at = self.storing.iter().position(|(head, _)| head.asset == asset)?;
        let (head, bytes) = self.storing.remove(at)?;
        room.release(self.agent, bytes);
        Some(head)
    }

    /// Ends a file of which nothing has been heard for too long, or that takes too long.
    pub(super) fn expire(&mut self, now: Instant, room: &mut UploadRoom) -> Option<FileHead> {
        let is_late =
            |file: &FileUnderWay| file.heard_at + SILENCE_MAX <= now || file.begun_at + FILE_LIFETIME <= now;
        let at = self.files.iter().position(is_late)?;
        self.end(at, room)
    }

    /// Holds a request that names assets, if it has to wait for any. Gives it back otherwise, and when too many are held.
    pub(super) fn hold(
        &mut self,
        now: Instant,
        request: Box<InventoryTask>,
        awaited: Vec<Uuid>,
    ) -> Option<Box<InventoryTask>> {
        let must_wait = awaited.iter().any(|&asset| self.is_under_way(asset) || !self.has_ended(asset));
        if !must_wait || self.held.len() >= REQUESTS_HELD_MAX {
            return Some(request);
        }
        self.held.push_back(HeldRequest { request, awaited, until: now + PATIENCE });
        None
    }

    /// A held request that has waited long enough; the oldest first.
    pub(super) fn poll_held(&mut self, now: Instant) -> Option<Box<InventoryTask>> {
        let is_due = |held: &HeldRequest| {
            let is_there =
                |asset: &Uuid| !self.is_under_way(*asset) && (held.until <= now || self.has_ended(*asset));
            held.awaited.iter().all(is_there)
        };
        let at = self.held.iter().position(is_due)?;
        self.held.remove(at).map(|held| held.request)
    }

    /// Any held request, whether it has waited or not: its client goes.
    pub(super) fn take_held(&mut self) -> Option<Box<InventoryTask>> {
        self.held.pop_front().map(|held| held.request)
    }

    /// Gives all memory back. Returns the number of files that were under way.
    pub(super) fn clear(&mut self, room: &mut UploadRoom) -> u64 {
        let under_way: usize = self.files.iter().map(|file| file.file.room()).sum();
        let storing: usize = self.storing.iter().map(|(_, bytes)| bytes).sum();
        room.release(self.agent, under_way + storing);
        self.storing.clear();
        let n_files = self.files.len() as u64;
        self.files.clear();
        n_files
    }

    fn is_under_way(&self, asset: Uuid) -> bool {
        self.files.iter().any(|file| file.head.asset == asset)
    }

    fn has_ended(&self, asset: Uuid) -> bool {
        self.ended.iter().any(|&(ended, _)| ended == asset)
    }

    /// Ends a file that is not whole.
    fn end(&mut self, at: usize, room: &mut UploadRoom) -> Option<FileHead> {
        let FileUnderWay { head, file, .. } = self.files.remove(at)?;
        room.release(self.agent, file.room());
        self.remember(head.asset, false);
        Some(head)
    }

    fn store(&mut self, head: FileHead, bytes: usize) {
        self.storing.push_back((head, bytes));
        self.remember(head.asset, true);
    }

    fn remember(&mut self, asset: Uuid, is_whole: bool) {
        self.ended.retain(|&(ended, _)| ended != asset);
        self.ended.push_back((asset, is_whole));
        if self.ended.len() > ENDED_MAX {
            self.ended.pop_front();
        }
    }
}
