//! Bytes of an archive file: as they are, or inflated if they begin as gzip does, within bounds.

use super::{ArchiveLimits, ArchivePosition};
use flate2::bufread::GzDecoder;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::mem;

/// Bytes read from a file at a time.
const BUFFER_BYTES: usize = 64 * 1_024;

/// The first bytes of gzip, with the one method that there is. No tar file begins with the first one, since it is no character of a path.
const GZIP_MARK: [u8; 3] = [0x1F, 0x8B, 8];

/// Inflated bytes up to which any ratio is accepted.
const RATIO_FROM_BYTES: u64 = 64 << 20;

/// Reason for which no further byte can be read.
#[derive(Debug)]
pub(super) enum InputFault {
    Io(String),
    Truncated,
    Damaged(String),
    /// The file begins in another form.
    Other,
    Inflated(u64),
    Ratio(u64),
}

/// The bytes.
#[derive(Debug)]
pub(super) struct ArchiveInput<R: Read> {
    stream: InputStream<Counted<BufReader<R>>>,
    limits: ArchiveLimits,
    n_inflated: u64,
    is_compressed: bool,
}

#[derive(Debug)]
enum InputStream<B> {
    Plain(B),
    Gzip(Box<GzDecoder<B>>),
    /// Behind the last member of a gzip file.
    Ended(B),
    /// Of a stream that is being replaced, or whose replacement failed.
    Gone,
}

impl<R: Read> ArchiveInput<R> {
    /// Looks at the first bytes.
    pub(super) fn open(input: R, limits: ArchiveLimits) -> Result<Self, InputFault> {
        let mut input = Counted { input: BufReader::with_capacity(BUFFER_BYTES, input), n_consumed: 0 };
        let is_compressed = begins_gzip(&mut input)?;
        let ahead = input.input.buffer();
        if is_compressed && !GZIP_MARK.iter().zip(ahead).all(|(mark, byte)| mark == byte) {
            return Err(InputFault::Other);
        }
        let stream = match is_compressed {
            true => InputStream::Gzip(Box::new(GzDecoder::new(input))),
            false => InputStream::Plain(input),
        };
        Ok(Self { stream, limits, n_inflated: 0, is_compressed })
    }

    /// True for a file that is compressed.
    pub(super) const fn is_compressed(&self) -> bool {
        self.is_compressed
    }

    /// Bytes that were returned.
    pub(super) const fn n_inflated(&self) -> u64 {
        self.n_inflated
    }

    /// Bytes of the file that were taken.
    pub(super) fn n_consumed(&self) -> u64 {
        match &self.stream {
            InputStream::Plain(input) | InputStream::Ended(input) => input.n_consumed,
            InputStream::Gzip(decoder) => decoder.get_ref().n_consumed,
            InputStream::Gone => 0,
        }
    }

    /// True if bytes follow the last member of a gzip file.
    pub(super) fn has_trailing_bytes(&mut self) -> bool {
        match &mut self.stream {
            InputStream::Ended(input) => input.fill_buf().is_ok_and(|ahead| !ahead.is_empty()),
            _ => false,
        }
    }

    /// The position, for messages.
    pub(super) fn place(&self, entry: Option<&str>) -> ArchivePosition {
        ArchivePosition {
            file_bytes: self.n_consumed(),
            inflated_bytes: self.n_inflated,
            entry: entry.map(Box::from),
        }
    }

    /// Fills `buffer` as far as there are bytes, and returns their number.
    pub(super) fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, InputFault> {
        let mut n_filled = 0;
        while n_filled < buffer.len() {
            match self.read(&mut buffer[n_filled..])? {
                0 => break,
                n_read => n_filled += n_read,
            }
        }
        Ok(n_filled)
    }

    /// Some bytes for a `buffer` that is not empty; 0 at the end.
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, InputFault> {
        loop {
            let result = match &mut self.stream {
                InputStream::Plain(input) => input.read(buffer),
                InputStream::Gzip(decoder) => decoder.read(buffer),
                InputStream::Ended(_) | InputStream::Gone => return Ok(0),
            };
            match result {
                Ok(0) if self.begin_member()? => {}
                Ok(n_read) => {
                    self.n_inflated += n_read as u64;
                    self.check_bounds()?;
                    return Ok(n_read);
                }
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                Err(why) => return Err(self.fault(&why)),
            }
        }
    }

    /// Behind a member of a gzip file, whose checksum is verified then: begins the next one, if there is one.
    fn begin_member(&mut self) -> Result<bool, InputFault> {
        let (stream, has_begun) = match mem::replace(&mut self.stream, InputStream::Gone) {
            InputStream::Gzip(decoder) => {
                let mut input = decoder.into_inner();
                if begins_gzip(&mut input)? {
                    (InputStream::Gzip(Box::new(GzDecoder::new(input))), true)
                } else {
                    (InputStream::Ended(input), false)
                }
            }
            other => (other, false),
        };
        self.stream = stream;
        Ok(has_begun)
    }

    fn check_bounds(&self) -> Result<(), InputFault> {
        let ArchiveLimits { inflated_bytes_max, ratio_max, .. } = self.limits;
        if self.n_inflated > inflated_bytes_max {
            return Err(InputFault::Inflated(inflated_bytes_max));
        }
        let is_bomb = self.is_compressed
            && self.n_inflated > RATIO_FROM_BYTES
            && self.n_inflated > self.n_consumed().saturating_mul(ratio_max);
        if is_bomb { Err(InputFault::Ratio(ratio_max)) } else { Ok(()) }
    }

    fn fault(&self, why: &io::Error) -> InputFault {
        match why.kind() {
            ErrorKind::UnexpectedEof => InputFault::Truncated,
            // The decoder's kinds for damaged data.
            ErrorKind::InvalidInput | ErrorKind::InvalidData if self.is_compressed => {
                InputFault::Damaged(why.to_string())
            }
            _ => InputFault::Io(why.to_string()),
        }
    }
}

/// True if the next byte is the first one of a gzip file.
fn begins_gzip(input: &mut impl BufRead) -> Result<bool, InputFault> {
    loop {
        match input.fill_buf() {
            Ok(ahead) => return Ok(ahead.first() == Some(&GZIP_MARK[0])),
            Err(why) if why.kind() == ErrorKind::Interrupted => {}
            Err(why) => return Err(InputFault::Io(why.to_string())),
        }
    }
}

/// Counts the bytes that are taken.
#[derive(Debug)]
struct Counted<B> {
    input: B,
    n_consumed: u64,
}

impl<B: BufRead> Read for Counted<B> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_read = self.input.read(buffer)?;
        self.n_consumed += n_read as u64;
        Ok(n_read)
    }
}

impl<B: BufRead> BufRead for Counted<B> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.input.fill_buf()
    }

    fn consume(&mut self, n_bytes: usize) {
        self.input.consume(n_bytes);
        self.n_consumed += n_bytes as u64;
    }
}
