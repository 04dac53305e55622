//! Lines and columns of a source.

/// Where the lines of a source begin.
#[derive(Clone, Debug)]
pub(crate) struct Lines {
    starts: Vec<u32>,
}

impl Lines {
    pub(crate) fn new(source: &str) -> Self {
        let breaks = source.bytes().zip(1..).filter(|&(byte, _)| byte == b'\n').map(|(_, next)| next);
        Self { starts: std::iter::once(0).chain(breaks).collect() }
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
        let start = self.starts[self.line(byte) as usize - 1] as usize;
        source[start..byte as usize].chars().count() as u32 + 1
    }
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
}
