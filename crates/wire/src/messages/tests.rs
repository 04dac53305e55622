//! The message set against itself, against arbitrary bytes, and against the protocol's own template.

use super::*;
use glam::{Quat, Vec3};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// A stream of words from a seed (SplitMix64), from which messages make their fields.
fn words(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = state;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }
}

fn encoded(message: &Message) -> Vec<u8> {
    let mut body = Vec::new();
    message.encode(&mut body);
    body
}

#[test]
fn every_message_comes_back_as_it_was_sent() {
    let mut seen = BTreeMap::new();
    let mut next = words(1);
    // Enough for every one of about 130 messages to be drawn several times.
    for _ in 0..4_000 {
        let message = Message::arbitrary(&mut next);
        *seen.entry(message.schema().name).or_insert(0) += 1;
        assert_eq!(Message::decode(&encoded(&message)), Ok(message));
    }
    assert_eq!(seen.len(), SCHEMA.len(), "a message was never drawn");
}

proptest! {
    #[test]
    fn any_message_comes_back_from_any_seed(seed: u64) {
        let message = Message::arbitrary(&mut words(seed));
        prop_assert_eq!(Message::decode(&encoded(&message)), Ok(message));
    }

    #[test]
    fn arbitrary_bytes_are_decoded_or_refused(index in 0..SCHEMA.len(), rest in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut body = Vec::new();
        SCHEMA[index].number.write(&mut body);
        body.extend_from_slice(&rest);
        prop_assert_ne!(Message::decode(&body), Err(Malformed::UnknownMessage));
    }

    #[test]
    fn a_damaged_message_is_decoded_or_refused(seed: u64, at: prop::sample::Index, byte: u8, cut: prop::sample::Index) {
        let mut body = encoded(&Message::arbitrary(&mut words(seed)));
        let at = at.index(body.len());
        body[at] = byte;
        body.truncate(cut.index(body.len() + 1));
        let _ = Message::decode(&body);
    }

    #[test]
    fn bytes_behind_the_last_block_are_ignored(seed: u64, extra in prop::collection::vec(any::<u8>(), 1..20)) {
        let message = Message::arbitrary(&mut words(seed));
        // Behind a message that ends in a block which may be left out, bytes are that block.
        let last = message.schema().blocks.last();
        prop_assume!(last.is_none_or(|block| block.repeat != Repeat::Extra));
        let mut body = encoded(&message);
        body.extend_from_slice(&extra);
        prop_assert_eq!(Message::decode(&body), Ok(message));
    }
}

#[test]
fn numbers_outside_the_set_are_unknown() {
    assert_eq!(Message::decode(&[0xFF, 0xFF, 0x00, 0x01, 0, 0]), Err(Malformed::UnknownMessage));
    assert_eq!(schema_of(MessageNumber::Low(1)), None);
    assert_eq!(schema_of(MessageNumber::High(4)).map(|schema| schema.name), Some("AgentUpdate"));
}

#[test]
fn the_set_holds_every_declared_message_once() {
    let mut declared: Vec<_> = DECLARED.iter().copied().flatten().copied().collect();
    let mut in_set: Vec<_> = SCHEMA.iter().map(|schema| schema.name).collect();
    let mut numbers: Vec<_> = SCHEMA.iter().map(|schema| schema.number).collect();
    declared.sort_unstable();
    in_set.sort_unstable();
    numbers.sort_unstable();
    assert_eq!(declared, in_set);
    assert!(in_set.windows(2).all(|pair| pair[0] < pair[1]), "a message is listed twice");
    assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "two messages share a number");
}

#[test]
fn left_out_blocks_at_the_end_are_default() {
    let alert = AlertMessage {
        alert_data: AlertMessageAlertData { message: b"hello\0".to_vec() },
        ..AlertMessage::default()
    };
    let mut body = Vec::new();
    alert.encode(&mut body);
    // Number 4, length 1, text 6; then the count of a block that older senders do not know. The newest block is
    // left out already.
    assert_eq!(body.len(), 4 + 1 + 6 + 1);
    for cut in 0..=1 {
        assert_eq!(AlertMessage::decode(&body[4..body.len() - cut]), Ok(alert.clone()));
    }

    let mut body = Vec::new();
    let message = ImprovedInstantMessage::default();
    message.encode(&mut body);
    // Without EstateBlock, a Single.
    assert_eq!(ImprovedInstantMessage::decode(&body[4..body.len() - 4]), Ok(message));
}

#[test]
fn a_block_cut_short_is_truncated() {
    let mut body = Vec::new();
    ImprovedInstantMessage::default().encode(&mut body);
    // One to three bytes of the EstateBlock are there.
    for cut in 1..=3 {
        assert_eq!(ImprovedInstantMessage::decode(&body[4..body.len() - cut]), Err(Malformed::Truncated));
    }
    assert_eq!(PacketAck::decode(&[2, 1, 0, 0, 0]), Err(Malformed::Truncated), "one id of two");
    assert_eq!(PacketAck::decode(&[]), Err(Malformed::Truncated), "the first block is never left out");
    assert_eq!(UseCircuitCode::decode(&[]), Err(Malformed::Truncated));
    assert_eq!(DisableSimulator::decode(&[]), Ok(DisableSimulator {}), "there is no block to leave out");
}

#[test]
fn numbers_that_are_not_finite_are_refused() {
    let mut body = Vec::new();
    AgentUpdate::default().encode(&mut body);
    let body = &body[1..];
    // Every float behind the two ids: two quaternions, (state), camera, far.
    for at in (32..56).step_by(4).chain((57..109).step_by(4)) {
        for poison in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut body = body.to_vec();
            body[at..at + 4].copy_from_slice(&poison.to_le_bytes());
            assert_eq!(AgentUpdate::decode(&body), Err(Malformed::Value), "{poison} at {at}");
        }
    }
}

#[test]
fn a_rotation_has_three_floats_and_length_one() {
    let turned = Quat::from_rotation_z(2.5);
    let sent = |body_rotation| {
        let mut update = AgentUpdate::default();
        update.agent_data.body_rotation = body_rotation;
        let mut body = Vec::new();
        update.encode(&mut body);
        AgentUpdate::decode(&body[1..]).expect("a whole message").agent_data.body_rotation
    };
    assert!(sent(turned).dot(turned) > 0.999_999);
    assert!(sent(-turned).dot(turned) > 0.999_999, "the same rotation, written with w not negative");
    for too_long in [Vec3::new(0.0, 0.0, 1.000_1), Vec3::splat(f32::MAX)] {
        let rotation = quaternion_from_xyz(too_long);
        assert!(rotation.is_normalized(), "{too_long} became {rotation}");
    }
}

#[test]
fn agent_update_has_the_size_of_the_protocol_and_nothing_on_the_heap() {
    let mut body = Vec::new();
    AgentUpdate::default().encode(&mut body);
    assert_eq!(body.len(), 121 - 6, "121 bytes include the six of the datagram's header");
    assert!(AgentUpdate::SCHEMA.blocks.iter().all(|block| {
        block.repeat == Repeat::Single
            && block
                .fields
                .iter()
                .all(|field| !matches!(field.kind, FieldKind::Variable1 | FieldKind::Variable2))
    }));
}

#[test]
fn ports_are_big_endian_and_everything_else_is_not() {
    let open = OpenCircuit { circuit_info: OpenCircuitCircuitInfo { ip: [127, 0, 0, 1], port: 9_000 } };
    let mut body = Vec::new();
    open.encode(&mut body);
    assert_eq!(body, [0xFF, 0xFF, 0xFF, 0xFC, 127, 0, 0, 1, 0x23, 0x28]);

    let ack = PacketAck { packets: vec![PacketAckPackets { id: 0x0102_0304 }] };
    let mut body = Vec::new();
    ack.encode(&mut body);
    assert_eq!(body, [0xFF, 0xFF, 0xFF, 0xFB, 1, 4, 3, 2, 1]);
}

#[test]
#[should_panic(expected = "at most 255 bytes")]
fn a_field_too_long_for_its_prefix_is_our_mistake() {
    let message = vec![b'a'; 256];
    AlertMessage { alert_data: AlertMessageAlertData { message }, ..Default::default() }
        .encode(&mut Vec::new());
}

/// Differences from the template on disk, which is another edition of the protocol: blocks that Linden Lab appended later.
const APPENDED_LATER: &[(&str, &str)] = &[
    ("AlertMessage", "agent_info"),
    ("AvatarAppearance", "attachment_block"),
    ("ImprovedInstantMessage", "estate_block"),
    ("ImprovedInstantMessage", "meta_data"),
    ("RegionInfo", "region_info5"),
    ("RegionInfo", "combat_settings"),
];

#[test]
fn the_set_agrees_with_the_template() {
    let Some(path) = template_path() else {
        skipped("the protocol's message template is not here");
        return;
    };
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let template = parse_template(&text);
    for schema in SCHEMA {
        let described =
            template.get(schema.name).unwrap_or_else(|| panic!("no {} in the template", schema.name));
        assert_eq!(schema.number, described.number, "{}", schema.name);
        assert_eq!(schema.zero_coded, described.zero_coded, "{}", schema.name);
        assert!(
            !described.trusted || schema.sender != MessageOrigin::Client,
            "clients may not send {}",
            schema.name
        );
        let blocks: Vec<BlockLayout> = schema
            .blocks
            .iter()
            .filter(|block| !APPENDED_LATER.contains(&(schema.name, block.name)))
            .map(BlockLayout::from)
            .collect();
        assert_eq!(blocks, described.blocks, "{}", schema.name);
    }
}

/// Messages that the template on disk lacks: it is another edition of the protocol.
const ADDED_LATER: [MessageName; 5] = [
    MessageName::RetrieveIMsExtended,
    MessageName::JoinGroupRequestExtended,
    MessageName::CreateGroupRequestExtended,
    MessageName::ObjectBypassModUpdate,
    MessageName::GameControlInput,
];

#[test]
fn the_catalog_agrees_with_the_template() {
    let Some(path) = template_path() else {
        skipped("the protocol's message template is not here");
        return;
    };
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let template = parse_template(&text);
    for (name, described) in &template {
        let found = MessageName::of(described.number).unwrap_or_else(|| panic!("no {name} in the catalog"));
        assert_eq!((found.as_str(), found.is_trusted()), (name.as_str(), described.trusted));
    }
    assert_eq!(MessageName::ALL.len(), template.len() + ADDED_LATER.len());
}

#[test]
fn every_message_of_the_set_is_in_the_catalog() {
    for schema in SCHEMA {
        assert_eq!(MessageName::of(schema.number).map(MessageName::as_str), Some(schema.name));
    }
    for (index, name) in MessageName::ALL.iter().enumerate() {
        assert_eq!((*name as usize, MessageName::of(name.number())), (index, Some(*name)));
    }
}

#[test]
fn the_session_is_found_in_messages_that_name_it() {
    assert!(AgentPause::SCHEMA.names_session() && TeleportLandmarkRequest::SCHEMA.names_session());
    assert!(!UUIDNameRequest::SCHEMA.names_session() && !UseCircuitCode::SCHEMA.names_session());
}

/// A test that cannot run says so; CI looks for the word. Written past the test harness, which would keep
/// `eprintln!` of a passing test to itself.
fn skipped(reason: &str) {
    writeln!(std::io::stderr(), "skipped: {reason}").expect("standard error is open");
}

/// The template lies beside the project, in whichever folder above holds it.
fn template_path() -> Option<PathBuf> {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .map(|folder| folder.join("shared/data/message_template.msg"))
        .find(|path| path.is_file())
}

/// A block as the test compares it, with names as our tables write them.
#[derive(Debug, PartialEq)]
struct BlockLayout {
    name: String,
    repeat: Repeat,
    fields: Vec<(String, FieldKind)>,
}

impl From<&Block> for BlockLayout {
    fn from(block: &Block) -> Self {
        let fields = block.fields.iter().map(|field| (field.name.to_owned(), field.kind)).collect();
        let repeat = if block.repeat == Repeat::Extra { Repeat::Variable } else { block.repeat };
        Self { name: block.name.to_owned(), repeat, fields }
    }
}

struct Described {
    number: MessageNumber,
    zero_coded: bool,
    trusted: bool,
    blocks: Vec<BlockLayout>,
}

/// Reads the template: nested braces around words, `//` comments.
fn parse_template(text: &str) -> BTreeMap<String, Described> {
    let uncommented: Vec<&str> =
        text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let spaced = uncommented.join("\n").replace('{', " { ").replace('}', " } ");
    let mut words = spaced.split_whitespace().skip_while(|word| *word != "{").peekable();
    let mut messages = BTreeMap::new();
    while words.next_if_eq(&"{").is_some() {
        let head = words_until_brace(&mut words);
        let mut blocks = Vec::new();
        while words.next_if_eq(&"{").is_some() {
            let block = words_until_brace(&mut words);
            let mut fields = Vec::new();
            while words.next_if_eq(&"{").is_some() {
                let field = words_until_brace(&mut words);
                fields.push((snake_case(field[0]), kind(&field[1..])));
                assert_eq!(words.next(), Some("}"));
            }
            blocks.push(BlockLayout { name: snake_case(block[0]), repeat: repeat(&block[1..]), fields });
            assert_eq!(words.next(), Some("}"));
        }
        assert_eq!(words.next(), Some("}"));
        messages.insert(
            head[0].to_owned(),
            Described {
                number: number(head[1], head[2]),
                trusted: head[3] == "Trusted",
                zero_coded: head[4] == "Zerocoded",
                blocks,
            },
        );
    }
    messages
}

fn words_until_brace<'a>(words: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>) -> Vec<&'a str> {
    std::iter::from_fn(|| words.next_if(|word| !matches!(*word, "{" | "}"))).collect()
}

fn number(frequency: &str, number: &str) -> MessageNumber {
    let value = match number.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => number.parse(),
    }
    .expect("a number");
    let byte = value.to_le_bytes()[0];
    match frequency {
        "High" => MessageNumber::High(byte),
        "Medium" => MessageNumber::Medium(byte),
        "Low" => MessageNumber::Low(u16::try_from(value).expect("two bytes")),
        "Fixed" => MessageNumber::Fixed(byte),
        other => panic!("frequency {other}"),
    }
}

fn repeat(words: &[&str]) -> Repeat {
    match words {
        ["Single"] => Repeat::Single,
        ["Variable"] => Repeat::Variable,
        ["Multiple", count] => Repeat::Multiple(count.parse().expect("a count")),
        other => panic!("repetition {other:?}"),
    }
}

fn kind(words: &[&str]) -> FieldKind {
    match words {
        ["U8"] => FieldKind::U8,
        ["U16"] => FieldKind::U16,
        ["U32"] => FieldKind::U32,
        ["U64"] => FieldKind::U64,
        ["S8"] => FieldKind::S8,
        ["S16"] => FieldKind::S16,
        ["S32"] => FieldKind::S32,
        ["F32"] => FieldKind::F32,
        ["F64"] => FieldKind::F64,
        ["BOOL"] => FieldKind::Bool,
        ["LLUUID"] => FieldKind::Uuid,
        ["LLVector3"] => FieldKind::Vector3,
        ["LLVector3d"] => FieldKind::Vector3d,
        ["LLVector4"] => FieldKind::Vector4,
        ["LLQuaternion"] => FieldKind::Quaternion,
        ["IPADDR"] => FieldKind::IpAddress,
        ["IPPORT"] => FieldKind::IpPort,
        ["Fixed", len] => FieldKind::Fixed(len.parse().expect("a length")),
        ["Variable", "1"] => FieldKind::Variable1,
        ["Variable", "2"] => FieldKind::Variable2,
        // Kinds of messages outside our set.
        _ => FieldKind::Fixed(0),
    }
}

/// `CPUClassID` as `cpu_class_id`: a word begins at a capital behind a small letter or digit, and at the last
/// capital of several before a small letter. A plural of `ID` is one word.
fn snake_case(name: &str) -> String {
    let letters: Vec<char> = name.replace("IDs", "Ids").chars().collect();
    let mut snake = String::new();
    for (index, &letter) in letters.iter().enumerate() {
        let after_small = index > 0 && !letters[index - 1].is_uppercase();
        let before_small = letters.get(index + 1).is_some_and(|next| next.is_lowercase());
        if letter.is_uppercase() && index > 0 && (after_small || before_small) {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}
