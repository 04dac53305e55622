//! Damaged files of records: both readers find the same in them, and what is read can be written. (With `cfg(fuzzing)` checksums are not
//! compared.)
#![no_main]

use libfuzzer_sys::fuzz_target;
use record::{END, Format, PREAMBLE_LEN, Part, RecordBuffer, RecordCursor, Records};

const FORMAT: Format =
    Format { magic: *b"THRW", number: 7, reads: "7", name: "file", body_bytes_max: 1 << 20 };
const PLACE: Part = Part::new(*b"PLAC", "place");
/// With a version more than is written.
const IDS: Part = Part { upgrades: &[|body| Ok([body, b"!"].concat())], ..Part::new(*b"LIDS", "local ids") };

/// Tags and bodies up to the last record, as the reader of streams finds them.
fn stream(bytes: &[u8]) -> Option<Vec<([u8; 4], Vec<u8>)>> {
    let (preamble, mut input) = bytes.split_at_checked(PREAMBLE_LEN)?;
    let mut cursor = RecordCursor::begin(&FORMAT, preamble).ok()?;
    let (mut list, mut body) = (Vec::new(), Vec::new());
    loop {
        let head = cursor.read(&mut input, &mut body).ok()??;
        if head.tag == END.tag {
            return input.is_empty().then_some(list);
        }
        list.push((head.tag.0, std::mem::take(&mut body)));
    }
}

fuzz_target!(|bytes: &[u8]| {
    let parts = [&PLACE, &IDS];
    let Ok(records) = Records::parse(&FORMAT, bytes, &parts) else { return };
    let bodies: Option<Vec<_>> =
        records.iter().map(|record| Some((record.tag().0, record.body().ok()?.into_owned()))).collect();
    let Some(bodies) = bodies else { return };
    assert_eq!(stream(bytes).as_ref(), Some(&bodies), "the readers differ");
    let _ = records.decode::<(u64, String)>(&PLACE);
    let _ = records.decode::<Vec<u32>>(&IDS);
    if let Ok(Some(migrated)) = Records::migrate(&FORMAT, bytes, &parts) {
        assert!(matches!(Records::migrate(&FORMAT, &migrated, &parts), Ok(None)), "a migration is final");
    }
    let mut buffer = RecordBuffer::new(&FORMAT);
    let known =
        bodies.iter().filter_map(|(tag, body)| Some((parts.iter().find(|part| part.tag.0 == *tag)?, body)));
    known.for_each(|(part, body)| buffer.push_deflated(part, body));
    Records::parse(&FORMAT, &buffer.finish(), &parts).expect("what was written just now");
});
