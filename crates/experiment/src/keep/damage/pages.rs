//! Places of rows in an SQLite file, by the description of its form (<https://www.sqlite.org/fileformat2.html>): each table and each index is a tree of
//! pages, whose cells hold the rows. A row's bytes beyond its page, on pages of their own, are left out, and so is the kind of a column that stands for the row's number:
//! SQLite reads the number in its place, so that some bits of it mean nothing.
//!
//! It reads files that were closed whole, and passes over what it does not understand: less is damaged then, and the report has the number of rows.

use std::collections::BTreeMap;
use std::ops::Range;

/// Bytes of the file's header; size of a page and reserved bytes of each in it.
const HEADER: usize = 100;
const PAGE_SIZE_AT: usize = 16;
const RESERVED_AT: usize = 20;
/// Kinds of pages.
const INDEX_INNER: u8 = 2;
const TABLE_INNER: u8 = 5;
const INDEX_LEAF: u8 = 10;
const TABLE_LEAF: u8 = 13;
/// Number of cells, and the child behind the last one, in the header of a page; its length by the kind of page.
const CELLS_AT: usize = 3;
const LAST_CHILD_AT: usize = 8;
const LEAF_HEADER: usize = 8;
const INNER_HEADER: usize = 12;
/// Bytes of the number of a child before its cell.
const CHILD: usize = 4;
/// Depth of a tree, beyond which there is none.
const DEPTH_MAX: usize = 20;
/// Name of the group of all indexes.
pub(super) const INDEXES: &str = "entries of indexes";

/// The content of an SQLite file.
pub(super) struct DatabasePages<'a> {
    bytes: &'a [u8],
    page_bytes: usize,
    /// Bytes of a page without reserved ones.
    usable: usize,
}

/// A column of a row, as far as the schema needs it.
#[derive(Debug, PartialEq)]
enum Cell<'a> {
    Text(&'a str),
    Integer(u64),
    Other,
}

impl<'a> DatabasePages<'a> {
    /// None if it is no such file.
    pub(super) fn new(bytes: &'a [u8]) -> Option<Self> {
        let size = usize::from(u16_at(bytes, PAGE_SIZE_AT)?);
        let page_bytes = if size == 1 { 65_536 } else { size };
        let usable = page_bytes.checked_sub(usize::from(*bytes.get(RESERVED_AT)?))?;
        (bytes.starts_with(b"SQLite format 3\0") && usable >= 480).then_some(Self {
            bytes,
            page_bytes,
            usable,
        })
    }

    /// Places of the rows of each table, and of the entries of all indexes together. Tables of SQLite's own are left out.
    pub(super) fn rows(&self) -> BTreeMap<String, Vec<Range<usize>>> {
        let mut by_name: BTreeMap<String, Vec<Range<usize>>> = BTreeMap::new();
        for place in self.rows_of(1) {
            let Some([Cell::Text(kind), Cell::Text(name), _, Cell::Integer(root)]) =
                self.bytes.get(place).and_then(columns)
            else {
                continue;
            };
            let name = match kind {
                "table" if !name.starts_with("sqlite_") => name,
                "index" => INDEXES,
                _ => continue,
            };
            let root = usize::try_from(root).unwrap_or(0);
            by_name.entry(name.to_owned()).or_default().extend(self.rows_of(root));
        }
        by_name
    }

    /// Places of the rows of a tree, which begins at this page, counted from 1.
    fn rows_of(&self, root: usize) -> Vec<Range<usize>> {
        let mut rows = Vec::new();
        // The pages to read, with their depth.
        let mut pages = vec![(root, 0)];
        while let Some((number, depth)) = pages.pop() {
            if depth < DEPTH_MAX {
                let read = self.read_page(number, &mut rows);
                pages.extend(read.unwrap_or_default().into_iter().map(|child| (child, depth + 1)));
            }
        }
        rows
    }

    /// Adds the rows of a page; its children.
    fn read_page(&self, number: usize, rows: &mut Vec<Range<usize>>) -> Option<Vec<usize>> {
        let page_at = number.checked_sub(1)?.checked_mul(self.page_bytes)?;
        let page = self.bytes.get(page_at..page_at.checked_add(self.page_bytes)?)?;
        let head = if number == 1 { HEADER } else { 0 };
        let kind = *page.get(head)?;
        let is_inner = matches!(kind, INDEX_INNER | TABLE_INNER);
        let (head_len, skipped) = if is_inner { (INNER_HEADER, CHILD) } else { (LEAF_HEADER, 0) };
        let mut children = Vec::new();
        for n in 0..usize::from(u16_at(page, head + CELLS_AT)?) {
            let cell = usize::from(u16_at(page, head + head_len + 2 * n)?);
            if is_inner {
                children.push(u32_at(page, cell)?);
            }
            if let Some(row) = self.row(page, cell + skipped, kind) {
                let (start, end) = (page_at + row.start, page_at + row.end);
                // The length of the row's header, and the kind of its first column: NULL in place of the row's number.
                if kind == TABLE_LEAF && row.len() > 2 && page[row.start + 1] == 0 {
                    rows.extend([start..start + 1, start + 2..end]);
                } else {
                    rows.push(start..end);
                }
            }
        }
        if is_inner {
            children.push(u32_at(page, head + LAST_CHILD_AT)?);
        }
        Some(children)
    }

    /// Place of a cell's row within its page, as far as it lies there. Inner pages of tables have keys only.
    fn row(&self, page: &[u8], cell: usize, kind: u8) -> Option<Range<usize>> {
        let (len, n) = varint(page, cell)?;
        let (from, most) = match kind {
            TABLE_LEAF => (cell + n + varint(page, cell + n)?.1, self.usable - 35),
            INDEX_LEAF | INDEX_INNER => (cell + n, (self.usable - 12) * 64 / 255 - 23),
            _ => return None,
        };
        let len = usize::try_from(len).ok()?;
        let local = if len <= most {
            len
        } else {
            let least = (self.usable - 12) * 32 / 255 - 23;
            let rest = least + (len - least) % (self.usable - 4);
            if rest <= most { rest } else { least }
        };
        (local > 0 && from + local <= page.len()).then(|| from..from + local)
    }
}

/// The first four columns of a row.
fn columns(row: &[u8]) -> Option<[Cell<'_>; 4]> {
    let (head_len, mut head) = varint(row, 0)?;
    let mut at = usize::try_from(head_len).ok()?;
    let mut next = || {
        let (kind, n) = varint(row, head)?;
        head += n;
        let len = match kind {
            0 | 8 | 9 => 0,
            1..=4 => usize::try_from(kind).ok()?,
            5 => 6,
            6 | 7 => 8,
            kind => usize::try_from(kind.checked_sub(12)? / 2).ok()?,
        };
        let bytes = row.get(at..at.checked_add(len)?)?;
        at += len;
        Some(match kind {
            0 | 7 => Cell::Other,
            1..=6 => Cell::Integer(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))),
            8 | 9 => Cell::Integer(kind - 8),
            kind if kind.is_multiple_of(2) => Cell::Other,
            _ => Cell::Text(std::str::from_utf8(bytes).ok()?),
        })
    };
    Some([next()?, next()?, next()?, next()?])
}

/// A number of up to nine bytes, seven bits in each but the last one, and its length.
fn varint(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let mut number = 0;
    for n in 0..8 {
        let byte = *bytes.get(at + n)?;
        number = number << 7 | u64::from(byte & 0x7F);
        if byte < 0x80 {
            return Some((number, n + 1));
        }
    }
    Some((number << 8 | u64::from(*bytes.get(at + 8)?), 9))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let (number, _) = bytes.get(at..)?.split_first_chunk()?;
    Some(u16::from_be_bytes(*number))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<usize> {
    let (number, _) = bytes.get(at..)?.split_first_chunk()?;
    usize::try_from(u32::from_be_bytes(*number)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::{Store, StoreUrl};

    #[test]
    fn numbers_have_one_to_nine_bytes() {
        assert_eq!(varint(&[0x7F], 0), Some((127, 1)));
        assert_eq!(varint(&[9, 0x81, 0x00], 1), Some((128, 2)));
        assert_eq!(varint(&[0xFF; 9], 0), Some((u64::MAX, 9)));
        assert_eq!(varint(&[0x81], 0), None);
    }

    #[test]
    fn columns_are_read_by_their_kinds() {
        // Lengths of header and columns, then "table", "ab", a blob of one byte, 258.
        let row = [5, 23, 17, 14, 2, b't', b'a', b'b', b'l', b'e', b'a', b'b', 0xEE, 1, 2];
        assert_eq!(
            columns(&row),
            Some([Cell::Text("table"), Cell::Text("ab"), Cell::Other, Cell::Integer(258)])
        );
        assert_eq!(columns(&row[..14]), None);
    }

    #[test]
    fn rows_of_a_database_are_found_where_they_are() {
        let data = tempfile::tempdir().unwrap();
        let url = StoreUrl::of_directory(data.path());
        let store = Store::open(&url).unwrap();
        let identity = store.identity().unwrap();
        drop(store);
        let bytes = std::fs::read(StoreUrl::path_in_directory(data.path())).unwrap();
        let rows = DatabasePages::new(&bytes).expect("a database").rows();
        let of_identity = &rows["database_identity"];
        // Behind the length of the header, and without the kind of the column of the row's number.
        let [header, row] = &of_identity[..] else { panic!("one row: {of_identity:?}") };
        assert_eq!((header.len(), header.end + 1), (1, row.start));
        let row = &bytes[row.clone()];
        assert!(row.windows(16).any(|part| part == identity.as_bytes()), "{row:?}");
        assert!(rows.contains_key("accounts") && rows["accounts"].is_empty());
        assert!(rows.keys().all(|name| !name.starts_with("sqlite_")), "{:?}", rows.keys());
        assert!(DatabasePages::new(b"no database").is_none());
    }
}
