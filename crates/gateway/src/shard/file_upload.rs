//! A file on its way from a client in SendXferPacket messages.
//!
//! Parts are numbered from 0, and the last one is marked. The first begins with the length of the whole as u32, little-endian. Clients send a part when the one before is
//! confirmed, and again when no confirmation came.

/// The bit that marks the last part of a file.
const LAST_PART: u32 = 1 << 31;

/// Bytes of the length in front of the first part.
const LENGTH_BYTES: usize = 4;

/// The file so far.
#[derive(Debug)]
pub(super) struct FileUpload {
    bytes: Vec<u8>,
    bytes_max: usize,
    next_part: u32,
    /// Stated by the first part.
    length: usize,
}

/// Effect of a part.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PartTaken {
    /// It is to be confirmed, and more are to come. Also one that came before.
    More,
    /// It is to be confirmed, and the file is whole.
    Whole(Vec<u8>),
    /// A part before it is missing: without a confirmation the client sends that one again.
    Early,
    /// The file is longer than is taken.
    TooLong,
    /// There is no memory for the file.
    NoRoom,
    /// The file has another length than stated.
    Unfit,
}

impl FileUpload {
    /// A file of this number of bytes at most.
    pub(super) const fn new(bytes_max: usize) -> Self {
        Self { bytes: Vec::new(), bytes_max, next_part: 0, length: 0 }
    }

    /// Takes a part. With the first one `take_room` is asked for the memory of the whole file.
    pub(super) fn take_part(
        &mut self,
        packet: u32,
        data: &[u8],
        take_room: impl FnOnce(usize) -> bool,
    ) -> PartTaken {
        let (part, is_last) = (packet & !LAST_PART, packet & LAST_PART != 0);
        if part < self.next_part {
            return PartTaken::More;
        }
        if part > self.next_part {
            return PartTaken::Early;
        }
        let mut data = data;
        if part == 0 {
            let Some((length, rest)) = data.split_first_chunk::<LENGTH_BYTES>() else {
                return PartTaken::Unfit;
            };
            let length = u32::from_le_bytes(*length) as usize;
            if length > self.bytes_max {
                return PartTaken::TooLong;
            }
            if !take_room(length) {
                return PartTaken::NoRoom;
            }
            self.length = length;
            self.bytes.reserve_exact(length);
            data = rest;
        }
        if self.bytes.len() + data.len() > self.length {
            return PartTaken::Unfit;
        }
        self.bytes.extend_from_slice(data);
        self.next_part += 1;
        match (is_last, self.bytes.len() == self.length) {
            (false, _) => PartTaken::More,
            (true, true) => PartTaken::Whole(std::mem::take(&mut self.bytes)),
            (true, false) => PartTaken::Unfit,
        }
    }

    /// Bytes of memory that were taken for it: its length as stated, none before the first part.
    pub(super) const fn room(&self) -> usize {
        self.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Parts of a file as clients send them: 1,000 bytes each, the length not counted.
    fn parts(file: &[u8]) -> Vec<(u32, Vec<u8>)> {
        let mut parts: Vec<(u32, Vec<u8>)> =
            (0..).zip(file.chunks(1_000)).map(|(n, part)| (n, part.to_vec())).collect();
        // A multiple of 1,000 ends with an empty part.
        if file.len().is_multiple_of(1_000) {
            parts.push((parts.len() as u32, Vec::new()));
        }
        let length = (file.len() as u32).to_le_bytes();
        parts[0].1 = [&length[..], &parts[0].1].concat();
        parts.last_mut().unwrap().0 |= LAST_PART;
        parts
    }

    #[test]
    fn a_file_is_whole_with_its_last_part() {
        for length in [0, 1, 999, 1_000, 1_001, 5_000] {
            let file = vec![7; length];
            let mut upload = FileUpload::new(5_000);
            let parts = parts(&file);
            let (last, before) = parts.split_last().unwrap();
            for (packet, data) in before {
                assert_eq!(upload.take_part(*packet, data, |_| true), PartTaken::More);
            }
            assert_eq!(upload.take_part(last.0, &last.1, |_| true), PartTaken::Whole(file), "{length}");
            assert_eq!(upload.room(), length);
        }
    }

    #[test]
    fn a_repeated_part_is_confirmed_and_an_early_one_is_not() {
        let mut upload = FileUpload::new(5_000);
        let parts = parts(&[1; 2_500]);
        assert_eq!(upload.take_part(1, &parts[1].1, |_| true), PartTaken::Early);
        for _ in 0..2 {
            assert_eq!(upload.take_part(0, &parts[0].1, |_| true), PartTaken::More);
        }
        assert_eq!((upload.bytes.len(), upload.room()), (1_000, 2_500));
        assert_eq!(upload.take_part(parts[2].0, &parts[2].1, |_| true), PartTaken::Early);
    }

    /// The effect of the first part of a file of 5,000 bytes at most.
    fn first(packet: u32, data: &[u8]) -> PartTaken {
        FileUpload::new(5_000).take_part(packet, data, |_| true)
    }

    #[test]
    fn a_file_of_another_length_than_stated_is_unfit() {
        for (stated, sent) in [(3_u32, 4), (5, 4)] {
            let data = [&stated.to_le_bytes()[..], &vec![0; sent]].concat();
            assert_eq!(first(LAST_PART, &data), PartTaken::Unfit, "{stated}");
        }
        assert_eq!(first(0, &[1, 2, 3]), PartTaken::Unfit, "no length");
    }

    #[test]
    fn a_file_without_room_is_refused_before_its_bytes_come() {
        for length in [5_001, u32::MAX] {
            assert_eq!(first(0, &length.to_le_bytes()), PartTaken::TooLong, "{length}");
        }
        let mut upload = FileUpload::new(5_000);
        assert_eq!(upload.take_part(0, &5_000_u32.to_le_bytes(), |bytes| bytes < 5_000), PartTaken::NoRoom);
        assert_eq!((upload.room(), upload.bytes.capacity()), (0, 0));
    }

    proptest! {
        #[test]
        fn held_bytes_are_bounded(parts in prop::collection::vec((any::<u32>(), prop::collection::vec(any::<u8>(), 0..40)), 0..40)) {
            let mut upload = FileUpload::new(100);
            for (n, (packet, data)) in parts.iter().enumerate() {
                // Mostly the next part.
                let packet = if packet.is_multiple_of(3) { *packet } else { n as u32 };
                upload.take_part(packet, data, |bytes| bytes <= 100);
                prop_assert!(upload.bytes.len() <= upload.room() && upload.room() <= 100);
            }
        }
    }
}
