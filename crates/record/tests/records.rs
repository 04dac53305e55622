//! Both readers read written records alike, and nothing else.

use proptest::prelude::*;
use record::{
    END, Format, PREAMBLE_LEN, Part, RECORD_HEAD_LEN, RecordBuffer, RecordCursor, RecordError, Records,
};

const FORMAT: Format =
    Format { magic: *b"TEST", number: 3, reads: "3", name: "test file", body_bytes_max: 1 << 20 };
const ONE: Part = Part::new(*b"ONE ", "one");
const TWO: Part = Part::new(*b"TWO ", "two");
const ASIDE: Part = Part { is_skippable: true, ..Part::new(*b"ASID", "aside") };
/// The part [`TWO`] of a later build.
const TWO_LATER: Part = Part { upgrades: &[|body| Ok([body, b"!"].concat())], ..TWO };

fn file() -> Vec<u8> {
    let mut buffer = RecordBuffer::new(&FORMAT);
    buffer.push(&ONE, &(7_u8, "seven"));
    buffer.push_bytes(&ASIDE, b"not for everybody");
    buffer.push_deflated(&TWO, &[5; 10_000]);
    buffer.finish()
}

/// As the reader of streams finds it: tags and bodies up to the last one.
fn read(bytes: &[u8]) -> Result<Vec<(String, Vec<u8>)>, RecordError> {
    let (preamble, mut input) = bytes.split_at(PREAMBLE_LEN.min(bytes.len()));
    let mut cursor = RecordCursor::begin(&FORMAT, preamble)?;
    let (mut list, mut body) = (Vec::new(), Vec::new());
    while let Some(head) = cursor.read(&mut input, &mut body)? {
        if head.tag == END.tag {
            let is_over = cursor.read(&mut input, &mut body)?.is_none();
            return if is_over { Ok(list) } else { Err(RecordError::TooLong { format: "", offset: 0 }) };
        }
        list.push((head.tag.to_string(), std::mem::take(&mut body)));
    }
    Err(RecordError::CutOff { format: "", offset: cursor.offset() })
}

#[test]
fn written_records_are_read_by_both_readers() {
    let bytes = file();
    assert!(bytes.len() < 300, "{} bytes: it is not deflated", bytes.len());
    let records = Records::parse(&FORMAT, &bytes, &[&ONE, &TWO, &ASIDE]).unwrap();
    assert_eq!(records.decode::<(u8, String)>(&ONE).unwrap(), (7, "seven".into()));
    let bodies: Vec<_> = records
        .iter()
        .map(|record| (record.tag().to_string(), record.body().unwrap().into_owned()))
        .collect();
    assert_eq!(bodies[2].1, [5; 10_000]);
    assert_eq!(read(&bytes).unwrap(), bodies);
    assert_eq!(records.need(&TWO).unwrap().offset(), (PREAMBLE_LEN + 2 * RECORD_HEAD_LEN + 7 + 17) as u64);
}

/// Found by fuzzing: a last record that claims to be deflated and is not.
#[test]
fn a_last_record_that_cannot_be_inflated_is_refused_by_both_readers() {
    let preamble = &file()[..PREAMBLE_LEN];
    let body = b"not deflated";
    let mut head = [0; 16];
    head[..4].copy_from_slice(b"END ");
    head[4] = 1;
    head[6] = 1;
    head[8] = body.len() as u8;
    head[12] = 100;
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&crc32fast::hash(preamble).to_le_bytes());
    hasher.update(&head);
    hasher.update(body);
    let bytes = [preamble, &head, &hasher.finalize().to_le_bytes(), body].concat();
    let whole = Records::parse(&FORMAT, &bytes, &[]).unwrap_err();
    assert!(matches!(whole, RecordError::Unpackable { .. }), "{whole}");
    assert_eq!(read(&bytes).unwrap_err().to_string(), whole.to_string());
}

#[test]
fn an_unknown_part_is_refused_by_name_unless_it_may_be_skipped() {
    let bytes = file();
    assert!(Records::parse(&FORMAT, &bytes, &[&ONE, &TWO]).is_ok());
    let refused = Records::parse(&FORMAT, &bytes, &[&TWO]).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "record \"ONE \" at byte 8 (version 1) belongs to a part that this build does not have"
    );
    assert!(!refused.is_damage());
    let missing = Records::parse(&FORMAT, &bytes, &[&ONE, &TWO]).unwrap();
    let missing = missing.decode::<u8>(&Part::new(*b"THRE", "three")).unwrap_err();
    assert_eq!(missing.to_string(), "the test file has no record \"three\"");
}

#[test]
fn damage_is_named_with_its_offset() {
    let mut bytes = file();
    bytes[PREAMBLE_LEN + RECORD_HEAD_LEN] ^= 1;
    let damaged = Records::parse(&FORMAT, &bytes, &[&ONE, &TWO]).unwrap_err();
    assert_eq!(damaged.to_string(), "record \"ONE \" at byte 8 is damaged");
    assert!(damaged.is_damage());
}

#[test]
fn records_that_are_missing_doubled_or_moved_are_damage() {
    let bytes = file();
    let first = PREAMBLE_LEN..PREAMBLE_LEN + RECORD_HEAD_LEN + 7;
    let second = first.end..first.end + RECORD_HEAD_LEN + 17;
    let (one, aside) = (&bytes[first.clone()], &bytes[second.clone()]);
    let (head, rest) = (&bytes[..first.start], &bytes[second.end..]);
    for (what, parts) in [
        ("missing", vec![head, aside, rest]),
        ("doubled", vec![head, one, one, aside, rest]),
        ("moved", vec![head, aside, one, rest]),
    ] {
        let bytes = parts.concat();
        let error = Records::parse(&FORMAT, &bytes, &[&ONE, &TWO]).unwrap_err();
        assert!(matches!(error, RecordError::Damaged { .. }), "{what}: {error}");
        assert!(matches!(read(&bytes), Err(RecordError::Damaged { .. })), "{what}");
    }
    let behind = [&bytes[..], one].concat();
    let error = Records::parse(&FORMAT, &behind, &[&ONE, &TWO]).unwrap_err();
    assert!(matches!(error, RecordError::TooLong { offset, .. } if offset == bytes.len() as u64), "{error}");
}

#[test]
fn a_part_is_there_once() {
    let mut buffer = RecordBuffer::new(&FORMAT);
    buffer.push(&ONE, &1_u8);
    buffer.push(&ONE, &2_u8);
    let twice = Records::parse(&FORMAT, &buffer.finish(), &[&ONE]).unwrap_err();
    assert!(matches!(twice, RecordError::Twice { offset: 29, .. }), "{twice}");
}

#[test]
fn other_formats_and_other_layouts_are_distinguished() {
    let bytes = file();
    let parse = |format: &Format| Records::parse(format, &bytes, &[&ONE, &TWO]).unwrap_err();
    assert_eq!(parse(&Format { magic: *b"ELSE", ..FORMAT }).to_string(), "not a test file");
    let later = parse(&Format { number: 4, reads: "4", ..FORMAT });
    assert_eq!(later.to_string(), "test file version 3, this build reads 4");
    assert!(!later.is_damage());
    for n in 0..PREAMBLE_LEN {
        assert!(matches!(read(&bytes[..n]), Err(RecordError::OtherFormat { .. })), "{n} bytes");
    }
}

#[test]
fn a_body_is_decoded_to_its_last_byte() {
    let bytes = file();
    let records = Records::parse(&FORMAT, &bytes, &[&ONE, &TWO]).unwrap();
    let error = records.decode::<u8>(&ONE).unwrap_err();
    assert!(error.to_string().ends_with("cannot be decoded: it goes on behind its end"), "{error}");
    let error = records.decode::<(u8, u8, [u64; 4])>(&ONE).unwrap_err();
    assert!(matches!(error, RecordError::Undecodable { part: "one", offset: 8, .. }), "{error}");
}

#[test]
fn a_body_that_would_inflate_beyond_the_bound_is_refused() {
    let mut buffer = RecordBuffer::new(&FORMAT);
    buffer.push_deflated(&ONE, &vec![0; (1 << 20) + 1]);
    let error = Records::parse(&FORMAT, &buffer.finish(), &[&ONE]).unwrap_err();
    assert!(matches!(error, RecordError::Unpackable { .. }), "{error}");
}

#[test]
fn incompressible_bodies_are_stored_unchanged() {
    let mut buffer = RecordBuffer::new(&FORMAT);
    buffer.push_deflated(&ONE, b"abc");
    let bytes = buffer.finish();
    assert_eq!(bytes.len(), PREAMBLE_LEN + 2 * RECORD_HEAD_LEN + 3);
    assert_eq!(read(&bytes).unwrap(), [("ONE ".to_owned(), b"abc".to_vec())]);
}

#[test]
fn migration_upgrades_old_records_and_copies_the_rest() {
    let bytes = file();
    assert_eq!(
        Records::migrate(&FORMAT, &bytes, &[&ONE, &TWO]).unwrap(),
        None,
        "it is of the newest versions"
    );
    let later = [&ONE, &TWO_LATER];
    let migrated = Records::migrate(&FORMAT, &bytes, &later).unwrap().unwrap();
    let records = Records::parse(&FORMAT, &migrated, &later).unwrap();
    let versions: Vec<_> = records.iter().map(|record| (record.tag(), record.version())).collect();
    assert_eq!(versions, [(ONE.tag, 1), (ASIDE.tag, 1), (TWO.tag, 2)]);
    let two = records.need(&TWO_LATER).unwrap().read(&TWO_LATER).unwrap().into_owned();
    assert_eq!((two.len(), two.last()), (10_001, Some(&b'!')));
    assert!(matches!(Records::migrate(&FORMAT, &migrated, &later), Ok(None)));
    // The build before cannot read it, and says which part is newer.
    let refused = Records::parse(&FORMAT, &migrated, &[&ONE, &TWO]).unwrap().decode::<u8>(&TWO).unwrap_err();
    assert!(matches!(refused, RecordError::Newer { part: "two", found: 2, newest: 1, .. }), "{refused}");
}

proptest! {
    #[test]
    fn no_bytes_make_a_reader_panic(
        cut in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        bit in 0..8_u32,
    ) {
        let whole = file();
        let cut = &whole[..cut.index(whole.len())];
        prop_assert!(Records::parse(&FORMAT, cut, &[&ONE, &TWO]).is_err() && read(cut).is_err());
        let mut flipped = whole.clone();
        flipped[at.index(whole.len())] ^= 1_u8 << bit;
        prop_assert!(Records::parse(&FORMAT, &flipped, &[&ONE, &TWO]).is_err() && read(&flipped).is_err());
    }
}
