//! A document of a few values, changed and unchanged.

use super::*;
use proptest::prelude::*;

#[derive(Clone, Debug, Default, PartialEq)]
struct House {
    name: String,
    rooms: i32,
    is_open: bool,
    hatch: Hatch,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Hatch {
    width_m: f32,
    key: Option<Uuid>,
}

const FIELDS: [DocumentField<House>; 5] = [
    field!("Name", name),
    field!("Rooms", rooms),
    field!("Hatch", "Width", hatch.width_m),
    field!("Hatch", "Key", hatch.key),
    field!("State", "IsOpen", is_open),
];

fn read_house(text: &str) -> (House, Vec<UnreadValue>, DocumentSource) {
    let (ReadDocument { value, unread }, source) = read("House", &FIELDS, text.as_bytes()).unwrap();
    (value, unread, source)
}

fn write_house(house: &House, source: &DocumentSource) -> String {
    write("House", &FIELDS, DocumentLayout::Lines, house, source)
}

const SAMPLE: &str = "\u{FEFF}<?xml version=\"1.0\" encoding=\"utf-16\"?>\n<House age=\"9\">\n  <Name>A &amp; B</Name>\n  \
    <!-- kept --><Roof kind=\"flat\"><Name>no field</Name></Roof>\n  <Rooms lit='1'> 04 </Rooms>\n  <Hatch>\n    \
    <Width>0.90</Width>\n  </Hatch>\n</House>\n\0";

fn plain_sample() -> &'static str {
    SAMPLE.trim_start_matches('\u{FEFF}').trim_end_matches('\0')
}

#[test]
fn unchanged_values_stand_as_they_stood() {
    let (house, unread, source) = read_house(SAMPLE);
    let hatch = Hatch { width_m: 0.9, key: None };
    assert_eq!(house, House { name: "A & B".to_owned(), rooms: 4, is_open: false, hatch });
    assert_eq!(unread, vec![]);
    assert_eq!(source.as_str(), plain_sample());
    assert_eq!(write_house(&house, &source), plain_sample());
}

#[test]
fn changed_values_are_replaced_in_place() {
    let (mut house, _, source) = read_house(SAMPLE);
    house.rooms = 5;
    house.name = "<C>".to_owned();
    let text = write_house(&house, &source);
    let expected = plain_sample().replace("A &amp; B", "&lt;C&gt;").replace("> 04 <", ">5<");
    assert_eq!(text, expected);
    house.name.clear();
    let text = write_house(&house, &source);
    assert!(text.contains("<Name />\n"), "{text}");
    assert_eq!(read_house(&text).0, house);
}

#[test]
fn absent_values_are_added_to_their_group() {
    let (mut house, _, source) = read_house(SAMPLE);
    house.hatch.key = Some(Uuid::from_u128(7));
    house.is_open = true;
    let text = write_house(&house, &source);
    assert_eq!(read_house(&text).0, house);
    let added = "<Width>0.90</Width>\n  <Key>00000000-0000-0000-0000-000000000007</Key>\n</Hatch>";
    assert!(text.contains(added), "{text}");
    assert!(text.contains("<State>\n<IsOpen>True</IsOpen>\n</State>\n</House>"), "{text}");
    let (_, _, source) = read_house(&text);
    house.hatch.key = None;
    let text = write_house(&house, &source);
    assert!(!text.contains("<Key>"), "{text}");
    assert_eq!(read_house(&text).0, house);
    for empty in ["<House/>", "<House a=\"1\" />", "<House><Hatch b='2'/></House>"] {
        let (_, _, source) = read_house(empty);
        let text = write_house(&house, &source);
        assert_eq!(read_house(&text).0, house, "{text}");
    }
}

#[test]
fn a_new_document_has_lines_or_no_blanks() {
    let house = House { name: "A".to_owned(), rooms: 2, is_open: true, hatch: Hatch::default() };
    let lines = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<House>\n  <Name>A</Name>\n  <Rooms>2</Rooms>\n  <Hatch>\n    \
        <Width>0</Width>\n  </Hatch>\n  <State>\n    <IsOpen>True</IsOpen>\n  </State>\n</House>";
    assert_eq!(write_house(&house, &DocumentSource::default()), lines);
    let dense = fresh("House", " a=\"1\"", &FIELDS, DocumentLayout::Dense, &house);
    let expected = "<?xml version=\"1.0\" encoding=\"utf-8\"?><House a=\"1\"><Name>A</Name><Rooms>2</Rooms>\
        <Hatch><Width>0</Width></Hatch><State><IsOpen>True</IsOpen></State></House>";
    assert_eq!(dense, expected);
    assert_eq!(read_house(&dense).0, house);
}

#[test]
fn values_that_cannot_be_read_are_named_and_kept() {
    for wrong in ["x", "", "1.5", "99999999999", "NaN", "<a/>"] {
        let text = format!("<House><Rooms>{wrong}</Rooms><Name>B</Name></House>");
        let (mut house, unread, source) = read_house(&text);
        assert_eq!(unread, [UnreadValue { element: "Rooms".into(), text: wrong.into() }]);
        assert!(unread[0].to_string().starts_with("Rooms has an invalid value"));
        assert_eq!((house.rooms, &*house.name), (0, "B"));
        assert_eq!(write_house(&house, &source), text);
        house.rooms = 3;
        assert_eq!(read_house(&write_house(&house, &source)).0, house);
    }
    let many = ["<House>", &"<Rooms>x</Rooms>".repeat(100), "</House>"].concat();
    assert_eq!(read_house(&many).1.len(), UNREAD_MAX);
}

#[test]
fn other_documents_are_refused() {
    let other = read("House", &FIELDS, b"<Boat/>").unwrap_err();
    assert_eq!(other, DocumentError::Other { expected: "House", found: "Boat".into() });
    for wrong in [&b""[..], b"<House>", b"House", b"<House>\xFF</House>", b"<!DOCTYPE House><House/>"] {
        assert!(matches!(read("House", &FIELDS, wrong), Err(DocumentError::Xml(_))), "{wrong:?}");
    }
}

#[test]
fn numbers_words_and_places_have_the_forms_of_dotnet() {
    for (text, value) in [(" TRUE ", Some(true)), ("false", Some(false)), ("1", Some(true)), ("yes", None)] {
        assert_eq!(bool::read(text), value);
    }
    for (text, value) in [("4294967295", Some(u32::MAX)), ("-1", Some(u32::MAX)), ("4294967296", None)] {
        assert_eq!(u32::read(text), value);
    }
    assert_eq!(f32::read("1E+07"), Some(1e7));
    for text in ["NaN", "-Infinity", &"9".repeat(400)] {
        assert_eq!(f32::read(text), None);
    }
    assert_eq!([f64::read("0.1"), f64::read("1e999")], [Some(0.1), None]);
    assert_eq!(<[f32; 3]>::read("<128, 64.5,2>"), Some([128.0, 64.5, 2.0]));
    for wrong in ["<1, 2>", "<1, 2, 3, 4>", "1, 2, 3", "<1, 2, x>", ""] {
        assert_eq!(<[f32; 3]>::read(wrong), None, "{wrong}");
    }
    assert_eq!([1.5_f32, -2.0, 0.0].write(), FieldContent::Text("<1.5, -2, 0>".to_owned()));
    let id = Uuid::from_u128(0x8955_6747_24cb_43ed_920b_47ca_ed15_465f);
    for text in ["8955674724cb43ed920b47caed15465f", " 89556747-24CB-43ED-920B-47CAED15465F "] {
        assert_eq!(Uuid::read(text), Some(id));
    }
    assert_eq!(Uuid::read(""), Some(Uuid::nil()));
    assert_eq!(Option::<i64>::None.write(), FieldContent::Absent);
}

proptest! {
    #[test]
    fn any_values_are_read_as_they_were_written(
        name in "[ -~\u{e4}\u{1f3e0}\n]{0,20}", rooms in any::<i32>(), width_m in -1e9_f32..1e9,
        key in proptest::option::of(any::<u128>()), is_open in any::<bool>(), is_changed in any::<bool>(),
    ) {
        let hatch = Hatch { width_m, key: key.map(Uuid::from_u128) };
        let house = House { name, rooms, is_open, hatch };
        let source = if is_changed { read_house(SAMPLE).2 } else { DocumentSource::default() };
        let text = write_house(&house, &source);
        let (again, unread, source) = read_house(&text);
        prop_assert_eq!(&again, &house);
        prop_assert_eq!(unread, vec![]);
        prop_assert_eq!(write_house(&again, &source), text);
    }
}
