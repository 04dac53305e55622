//! Lines and columns of a source.

/// Bytes of a block, for which the characters before it are known.
const BLOCK: usize = 64;

/// Beginnings of the lines of a source. A place is found in a time that does not grow with the length of its line.
#[derive(Clone, Debug)]
pub(crate) struct Lines {
    starts: Vec<u32>,
    /// Characters before each block of bytes, and before the end.
    chars_before: Vec<u32>,
}

impl Lines {
    pub(crate) fn new(source: &str) -> Self {
        let breaks = source.bytes().zip(1..).filter(|&(byte, _)| byte == b'\n').map(|(_, next)| next);
        let starts = std::iter::once(0).chain(breaks).collect();
        let mut n_chars = 0;
        let mut chars_before = vec![0];
        for block in source.as_bytes().chunks(BLOCK) {
            n_chars += n_first_bytes(block);
            chars_before.push(n_chars);
        }
        Self { starts, chars_before }
    }

    /// The line of a byte, from 1.
    pub(crate) fn line(&self, byte: u32) -> u32 {
        self.starts.partition_point(|&start| start <= byte) as u32
    }

    /// The bytes of a line without its end, from 1.
    pub(crate) fn text<'s>(&self, source: &'s str, line: u32) -> &'s str {
        let start = self.starts[line as usize - 1] as usize;
        let end = self.starts.get(line as usize).map_or(source.len(), |&next| next as usize);
        source[start..end].trim_end_matches(['\n', '\r'])
    }

    /// The characters of the line up to a byte, plus one.
    pub(crate) fn column(&self, source: &str, byte: u32) -> u32 {
        let start = self.starts[self.line(byte) as usize - 1];
        self.n_chars(source, byte) - self.n_chars(source, start) + 1
    }

    /// The characters of the source up to a byte.
    fn n_chars(&self, source: &str, byte: u32) -> u32 {
        let block = byte as usize / BLOCK;
        self.chars_before[block] + n_first_bytes(&source.as_bytes()[block * BLOCK..byte as usize])
    }
}

/// Bytes that begin a character.
fn n_first_bytes(bytes: &[u8]) -> u32 {
    bytes.iter().filter(|&&byte| byte & 0xC0 != 0x80).count() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_from_one() {
        let source = "a\nüb\r\n\nc";
        let lines = Lines::new(source);
        let at = [0, 1, 2, 4, 5, 6, 7, 8, 9];
        assert_eq!(at.map(|byte| lines.line(byte)), [1, 1, 2, 2, 2, 2, 3, 4, 4]);
        assert_eq!(at.map(|byte| lines.column(source, byte)), [1, 2, 1, 2, 3, 4, 1, 1, 2]);
        assert_eq!([1, 2, 3, 4].map(|line| lines.text(source, line)), ["a", "üb", "", "c"]);
    }

    #[test]
    fn columns_count_characters_in_long_lines() {
        let source = format!("ä\n{}b", "ü€x".repeat(1_000));
        let lines = Lines::new(&source);
        for (byte, _) in source.char_indices() {
            let before = &source[..byte];
            let line_start = before.rfind('\n').map_or(0, |at| at + 1);
            let expected = source[line_start..byte].chars().count() as u32 + 1;
            assert_eq!(lines.column(&source, byte as u32), expected, "{byte}");
        }
        let end = source.len() as u32;
        assert_eq!(lines.column(&source, end), 3_002);
        let block = "x".repeat(BLOCK);
        assert_eq!(Lines::new(&block).column(&block, BLOCK as u32), BLOCK as u32 + 1);
    }
}
