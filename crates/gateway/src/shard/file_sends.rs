//! Files on their way to a client in SendXferPacket messages.
//!
//! A file has a name, by which the client asks for it, and comes in parts. The first begins with the length of the whole as u32, little-endian; a bit marks the
//! last one. The client confirms each part. Some are sent ahead of confirmations. Viewers take parts in their order only, and drop others: all parts behind a
//! missing one are sent again.
//!
//! Pure logic: the caller sends parts, and gives the time.

use ids::Instant;
use std::collections::VecDeque;
use std::time::Duration;

/// Files that a client was offered last and may ask for. A viewer asks for one as soon as it has the name.
const OFFERS_MAX: usize = 16;
/// Files under way to a client.
const SENDS_MAX: usize = 4;
/// Bytes of all files under way to a client: a list of 1,024 items is half as long.
const BYTES_MAX: usize = 2 << 20;
/// Bytes of a file in a part.
const PART_BYTES: usize = 1_000;
/// Bytes of the length in front of the first part.
const LENGTH_BYTES: usize = 4;
/// The bit that marks the last part.
const LAST_PART: u32 = 1 << 31;
/// Parts that may be ahead of a confirmation. The first part is alone.
const WINDOW_MAX: u32 = 8;
/// Attempts for a part without a confirmation.
const ATTEMPTS_MAX: u32 = 5;
/// Time without a confirmation after which parts are sent again, besides a round trip.
const RESEND_AFTER: Duration = Duration::from_secs(1);

/// Files of a client: those that it may ask for, of a form `F` that makes their bytes, and those under way.
#[derive(Debug)]
pub(super) struct FileSends<F> {
    /// By name, the newest last.
    offers: VecDeque<(String, F)>,
    sends: Vec<FileSend>,
    n_offered: u64,
}

/// A file under way.
#[derive(Debug)]
struct FileSend {
    id: u64,
    bytes: Vec<u8>,
    n_parts: u32,
    /// Parts that the client has.
    n_confirmed: u32,
    /// Parts that were sent, and are not to be sent again.
    n_sent: u32,
    /// Parts that were ever sent.
    n_reached: u32,
    /// Parts that may be ahead.
    window: u32,
    attempts: u32,
    /// Time of the last part, or of the last confirmation.
    at: Instant,
}

/// A step of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FileStep {
    /// A part to be sent.
    Part {
        /// The client's number of the file.
        id: u64,
        /// Number of the part, with [`LAST_PART`] for the last one.
        packet: u32,
        /// Its bytes.
        data: Vec<u8>,
    },
    /// The client does not confirm; the file is not sent any more.
    GivenUp(u64),
}

impl<F> Default for FileSends<F> {
    fn default() -> Self {
        Self { offers: VecDeque::new(), sends: Vec::new(), n_offered: 0 }
    }
}

impl<F> FileSends<F> {
    /// Lets the client ask for a file. The oldest offer goes beyond [`OFFERS_MAX`].
    pub(super) fn offer(&mut self, name: String, file: F) {
        if self.offers.len() == OFFERS_MAX {
            self.offers.pop_front();
        }
        self.offers.push_back((name, file));
        self.n_offered += 1;
    }

    /// Number of offers so far.
    pub(super) const fn n_offered(&self) -> u64 {
        self.n_offered
    }

    /// A file that the client was offered.
    pub(super) fn offered(&self, name: &str) -> Option<&F> {
        self.offers.iter().rfind(|(offered, _)| offered == name).map(|(_, file)| file)
    }

    /// True if a file goes to the client under this number.
    pub(super) fn is_under_way(&self, id: u64) -> bool {
        self.sends.iter().any(|send| send.id == id)
    }

    /// Begins to send a file under the client's number. False if too many are under way, or one with this number; nothing is sent then.
    pub(super) fn begin(&mut self, now: Instant, id: u64, bytes: Vec<u8>) -> bool {
        let n_bytes: usize = self.sends.iter().map(|send| send.bytes.len()).sum();
        if self.is_under_way(id) || self.sends.len() == SENDS_MAX || n_bytes + bytes.len() > BYTES_MAX {
            return false;
        }
        // An empty file has one part all the same.
        let n_parts = u32::try_from(bytes.len().div_ceil(PART_BYTES).max(1)).expect("files are bounded");
        self.sends.push(FileSend {
            id,
            bytes,
            n_parts,
            n_confirmed: 0,
            n_sent: 0,
            n_reached: 0,
            window: 1,
            attempts: 0,
            at: now,
        });
        true
    }

    /// The client has a part, and all before it. False for an unknown file.
    pub(super) fn confirm(&mut self, now: Instant, id: u64, packet: u32) -> bool {
        let Some(at) = self.sends.iter().position(|send| send.id == id) else { return false };
        let send = &mut self.sends[at];
        let n_confirmed = (packet & !LAST_PART).saturating_add(1).min(send.n_reached);
        if n_confirmed > send.n_confirmed {
            (send.n_confirmed, send.n_sent) = (n_confirmed, send.n_sent.max(n_confirmed));
            send.window = (send.window + 1).min(WINDOW_MAX);
            (send.attempts, send.at) = (0, now);
        }
        if send.n_confirmed == send.n_parts {
            self.sends.swap_remove(at);
        }
        true
    }

    /// The client does not want a file any more. False for an unknown one.
    pub(super) fn abort(&mut self, id: u64) -> bool {
        let n_before = self.sends.len();
        self.sends.retain(|send| send.id != id);
        self.sends.len() < n_before
    }

    /// Forgets all files: those of a world that the client has left.
    pub(super) fn clear(&mut self) {
        self.offers.clear();
        self.sends.clear();
    }

    /// True if files are under way.
    pub(super) const fn is_busy(&self) -> bool {
        !self.sends.is_empty()
    }

    /// The next step that is due. `round_trip` is the path's; `is_waiting` while parts wait in the client's queue: they are not missed then.
    pub(super) fn poll(&mut self, now: Instant, round_trip: Duration, is_waiting: bool) -> Option<FileStep> {
        for at in 0..self.sends.len() {
            let send = &mut self.sends[at];
            if is_waiting {
                send.at = now;
            }
            if send.n_sent > send.n_confirmed && send.at + RESEND_AFTER + round_trip <= now {
                send.attempts += 1;
                if send.attempts == ATTEMPTS_MAX {
                    let id = send.id;
                    self.sends.remove(at);
                    return Some(FileStep::GivenUp(id));
                }
                (send.n_sent, send.window) = (send.n_confirmed, 1);
            }
            if let Some(part) = send.next_part(now) {
                return Some(part);
            }
        }
        None
    }

    /// Takes the last part of a file back, which could not be sent: the next poll has it again.
    pub(super) fn take_back(&mut self, id: u64) {
        if let Some(send) = self.sends.iter_mut().find(|send| send.id == id) {
            send.n_sent = send.n_sent.saturating_sub(1).max(send.n_confirmed);
        }
    }
}

impl FileSend {
    fn next_part(&mut self, now: Instant) -> Option<FileStep> {
        let end = self.n_parts.min(self.n_confirmed + self.window);
        if self.n_sent >= end {
            return None;
        }
        let part = self.n_sent;
        (self.n_sent, self.at) = (part + 1, now);
        self.n_reached = self.n_reached.max(self.n_sent);
        let from = part as usize * PART_BYTES;
        let bytes = &self.bytes[from..self.bytes.len().min(from + PART_BYTES)];
        let mut data = Vec::with_capacity(LENGTH_BYTES + bytes.len());
        if part == 0 {
            let length = u32::try_from(self.bytes.len()).expect("files are bounded");
            data.extend_from_slice(&length.to_le_bytes());
        }
        data.extend_from_slice(bytes);
        let is_last = part + 1 == self.n_parts;
        Some(FileStep::Part { id: self.id, packet: if is_last { part | LAST_PART } else { part }, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Files = FileSends<u8>;

    const ID: u64 = 7;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    /// Numbers of the parts that are due.
    fn due(files: &mut Files, now: Instant) -> Vec<u32> {
        let steps = std::iter::from_fn(|| files.poll(now, Duration::ZERO, false));
        let packet = |step| match step {
            FileStep::Part { id: ID, packet, .. } => packet,
            other => panic!("{other:?}"),
        };
        steps.map(packet).collect()
    }

    #[test]
    fn the_first_part_is_alone_and_more_are_ahead_with_each_confirmation() {
        let mut files = Files::default();
        assert!(files.begin(at(0), ID, vec![5; 3_500]));
        let Some(FileStep::Part { id: ID, packet: 0, data }) = files.poll(at(0), Duration::ZERO, false)
        else {
            panic!("the first part");
        };
        assert_eq!((&data[..4], data.len()), (&3_500_u32.to_le_bytes()[..], 1_004));
        assert!(due(&mut files, at(500)).is_empty());
        assert!(files.confirm(at(500), ID, 0));
        assert_eq!(due(&mut files, at(500)), [1, 2]);
        assert!(files.confirm(at(600), ID, 1));
        assert_eq!(due(&mut files, at(600)), [3 | LAST_PART]);
        assert!(files.confirm(at(700), ID, 2) && files.confirm(at(700), ID, 3) && !files.is_busy());
        assert!(!files.confirm(at(700), ID, 3), "it has arrived");
    }

    #[test]
    fn parts_behind_a_missing_one_are_sent_again_and_a_silent_client_is_given_up() {
        let mut files = Files::default();
        assert!(files.begin(at(0), ID, vec![5; 9_000]));
        due(&mut files, at(0));
        assert!(files.confirm(at(100), ID, 0));
        assert_eq!(due(&mut files, at(100)), [1, 2]);
        assert!(due(&mut files, at(1_099)).is_empty());
        assert_eq!(due(&mut files, at(1_100)), [1]);
        // Parts that wait for their turn are not missed.
        assert_eq!(files.poll(at(5_000), Duration::ZERO, true), None);
        assert!(due(&mut files, at(5_500)).is_empty());
        assert!(files.confirm(at(5_500), ID, 2), "it had come at first");
        assert_eq!(due(&mut files, at(5_500)), [3, 4]);
        for n in 1..5 {
            assert_eq!(due(&mut files, at(5_500 + 1_000 * n)), [3]);
        }
        assert_eq!(files.poll(at(10_500), Duration::ZERO, false), Some(FileStep::GivenUp(ID)));
        assert!(!files.is_busy() && !files.abort(ID));
    }

    #[test]
    fn files_under_way_and_offers_are_bounded() {
        let mut files = Files::default();
        for id in 0..SENDS_MAX as u64 {
            assert!(files.begin(at(0), id, Vec::new()) && !files.begin(at(0), id, Vec::new()), "{id}");
        }
        assert!(!files.begin(at(0), 99, Vec::new()));
        assert!(files.abort(2) && !files.begin(at(0), 99, vec![0; BYTES_MAX + 1]));
        assert!(files.begin(at(0), 99, vec![0; BYTES_MAX]));
        for n in 0..40 {
            files.offer(n.to_string(), n);
        }
        assert_eq!((files.offered("23"), files.offered("24"), files.n_offered()), (None, Some(&24), 40));
        files.offer("39".into(), 0);
        assert_eq!(files.offered("39"), Some(&0), "the newest of a name");
        files.clear();
        assert!(!files.is_busy() && files.offered("39").is_none());
    }

    #[test]
    fn an_empty_file_has_one_part() {
        let mut files = Files::default();
        assert!(files.begin(at(0), ID, Vec::new()));
        let part = FileStep::Part { id: ID, packet: LAST_PART, data: vec![0; 4] };
        assert_eq!(files.poll(at(0), Duration::ZERO, false), Some(part));
        files.take_back(ID);
        assert_eq!(due(&mut files, at(0)), [LAST_PART], "it was not sent");
        assert!(files.confirm(at(0), ID, LAST_PART) && !files.is_busy());
    }

    proptest! {
        /// A client that takes parts in their order, as viewers do, has the file if it is not given up.
        #[test]
        fn a_file_arrives_whole(
            len in 0_usize..12_000,
            lost in prop::collection::vec(prop::bool::weighted(0.2), 64),
        ) {
            let bytes: Vec<u8> = (0..len).map(|n| (n % 251) as u8).collect();
            let mut files = Files::default();
            prop_assert!(files.begin(at(0), ID, bytes.clone()));
            let (mut lost, mut got, mut next, mut now) = (lost.into_iter(), Vec::new(), 0, 0);
            while files.is_busy() {
                prop_assert!(now < 600_000, "it does not end");
                now += 100;
                let mut confirmed = Vec::new();
                while let Some(step) = files.poll(at(now), Duration::ZERO, false) {
                    let FileStep::Part { packet, data, .. } = step else { return Ok(()) };
                    let part = packet & !LAST_PART;
                    if lost.next().unwrap_or(false) || part > next {
                        continue;
                    }
                    if part == next {
                        got.extend_from_slice(&data);
                        next += 1;
                    }
                    confirmed.push(part);
                }
                for part in confirmed {
                    prop_assert!(files.confirm(at(now), ID, part) || part < next);
                }
            }
            prop_assert_eq!(&got[..4], &(len as u32).to_le_bytes()[..]);
            prop_assert_eq!(&got[4..], &bytes[..]);
        }
    }
}
