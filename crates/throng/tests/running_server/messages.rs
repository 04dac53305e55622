//! Every message that a client may send, over a real socket: acked, counted under the outcome that the table states, and answered where
//! the table says that it is refused. Malformed ones are counted and leave the circuit alive.

use crate::message_client::MessageClient;
use crate::server::Server;
use circuit::Reliability;
use gateway::coverage::{MESSAGES, MessageCoverage, MessageOutcome};
use std::collections::BTreeMap;
use wire::messages::*;

/// Counts of messages by name and outcome.
type Counts = BTreeMap<(&'static str, &'static str), u64>;

/// Rows that end the session or the circuit: each has a session of its own.
const LAST: [MessageName; 2] = [MessageName::LogoutRequest, MessageName::CloseCircuit];

/// Rows that the circuit handles. Clients send them by their own clock besides, so that their counts have a least value only.
const OF_CIRCUIT: [MessageName; 3] =
    [MessageName::PacketAck, MessageName::StartPingCheck, MessageName::CompletePingCheck];

/// Rows with other outcomes than the table's for the null ids of this sweep: with one row in each block that repeats, and without rows.
/// Null ids name no object, region, parcel or asset, and the empty method none.
const OF_NULL_IDS: &[(MessageName, [MessageOutcome; 2])] = &[
    (MessageName::AbortXfer, [MessageOutcome::Ignored; 2]),
    (MessageName::AgentRequestSit, [MessageOutcome::Refused; 2]),
    (MessageName::AssetUploadRequest, [MessageOutcome::Done, MessageOutcome::Ignored]),
    (MessageName::ConfirmXferPacket, [MessageOutcome::Ignored; 2]),
    (MessageName::DeRezObject, [MessageOutcome::Refused, MessageOutcome::Ignored]),
    (MessageName::DetachAttachmentIntoInv, [MessageOutcome::Ignored; 2]),
    (MessageName::GenericMessage, [MessageOutcome::Refused; 2]),
    (MessageName::ModifyLand, [MessageOutcome::Done, MessageOutcome::Ignored]),
    (MessageName::MoveTaskInventory, [MessageOutcome::Refused; 2]),
    (MessageName::MultipleObjectUpdate, [MessageOutcome::Refused, MessageOutcome::Ignored]),
    (MessageName::ObjectAttach, [MessageOutcome::Refused, MessageOutcome::Ignored]),
    (MessageName::ObjectBuy, [MessageOutcome::Refused, MessageOutcome::Ignored]),
    (MessageName::ObjectClickAction, [MessageOutcome::Refused, MessageOutcome::Ignored]),
    (MessageName::ObjectDeGrab, [MessageOutcome::Refused; 2]),
    (MessageName::ObjectDelete, [MessageOutcome::Refused, MessageOutcome::Ignored]),
    (MessageName::ObjectDelink, [MessageOutcome::Refused, MessageOutcome::Ignored]),
    (MessageName::ObjectDescription, [MessageOutcome::Refused, MessageOutcome::Ignored]),
    (MessageName::ObjectDetach, [MessageOutcome::Refused, MessageOutcome::Ignored]),
    (MessageName::ObjectDrop, [MessageOutcome::Refused, MessageOutcome::Ignored]),
    (MessageName::ObjectDuplicate, [MessageOutcome::Refused, MessageOutcome::Ignored]),
    (MessageName::ObjectDuplicateOnRay, [MessageOutcome::Refused, MessageOutcome::Ignored]),
    (MessageName::ObjectExtraParams, [MessageOutcome::Refused, MessageOutcome::Ignored]),
    (MessageName::ObjectFlagUpdate, [MessageOutcome::Refused; 2]),
    (MessageName::ObjectGrab, [MessageOutcome::Refused; 2]),
    (MessageName::ObjectGrabUpdate, [MessageOutcome::Ignored; 2]),
    (MessageName::ObjectGroup, [MessageOutcome::Refused, MessageOutcome::Ignored]),
    (MessageName::ObjectImage, [MessageOutcome::Refused, MessageOutcome::Ignored]),
    (MessageName::ObjectIncludeInSearch, [MessageOutcome::Refused, MessageOutcome::Ignored]),
    (MessageName::ObjectLink, [MessageOutcome::Refused, MessageOutcome::Ignored]),
    (MessageName::ObjectMaterial, [MessageOutcome::Refused, MessageOutcome::Ignored]),
    (MessageName::ObjectName, [MessageOutcome::Refused, MessageOutcome::Ignored]),
    (MessageName::ObjectOwner, [MessageOutcome::Refused, MessageOutcome::Ignored]),
    (MessageName::ObjectPermissions, [MessageOutcome::Refused, MessageOutcome::Ignored]),
    (MessageName::ObjectPosition, [MessageOutcome::Refused, MessageOutcome::Ignored]),
    (MessageName::ObjectRotation, [MessageOutcome::Refused, MessageOutcome::Ignored]),
    (MessageName::ObjectSaleInfo, [MessageOutcome::Refused, MessageOutcome::Ignored]),
    (MessageName::ObjectScale, [MessageOutcome::Refused, MessageOutcome::Ignored]),
    (MessageName::ObjectShape, [MessageOutcome::Refused, MessageOutcome::Ignored]),
    (MessageName::ParcelAccessListUpdate, [MessageOutcome::Refused; 2]),
    (MessageName::ParcelBuy, [MessageOutcome::Refused; 2]),
    (MessageName::ParcelInfoRequest, [MessageOutcome::Refused; 2]),
    (MessageName::ParcelPropertiesUpdate, [MessageOutcome::Refused; 2]),
    (MessageName::ParcelReclaim, [MessageOutcome::Refused; 2]),
    (MessageName::ParcelRelease, [MessageOutcome::Refused; 2]),
    (MessageName::ParcelReturnObjects, [MessageOutcome::Refused; 2]),
    (MessageName::ParcelSelectObjects, [MessageOutcome::Refused; 2]),
    (MessageName::ParcelSetOtherCleanTime, [MessageOutcome::Refused; 2]),
    (MessageName::RegionHandleRequest, [MessageOutcome::Refused; 2]),
    (MessageName::RemoveAttachment, [MessageOutcome::Ignored; 2]),
    (MessageName::RemoveTaskInventory, [MessageOutcome::Refused; 2]),
    (MessageName::RequestImage, [MessageOutcome::Done, MessageOutcome::Ignored]),
    (MessageName::RequestObjectPropertiesFamily, [MessageOutcome::Refused; 2]),
    (MessageName::RequestTaskInventory, [MessageOutcome::Refused; 2]),
    (MessageName::RequestXfer, [MessageOutcome::Refused; 2]),
    (MessageName::RezMultipleAttachmentsFromInv, [MessageOutcome::Done, MessageOutcome::Ignored]),
    (MessageName::RezScript, [MessageOutcome::Refused; 2]),
    (MessageName::SendXferPacket, [MessageOutcome::Refused; 2]),
    (MessageName::SoundTrigger, [MessageOutcome::Ignored; 2]),
    (MessageName::TransferRequest, [MessageOutcome::Refused; 2]),
    (MessageName::UpdateTaskInventory, [MessageOutcome::Refused; 2]),
    (MessageName::ViewerEffect, [MessageOutcome::Done, MessageOutcome::Ignored]),
];

/// Bytes of a field that is not 0 in a valid message, its length in front where it has one.
fn field_of(name: MessageName, field: &Field, client: &MessageClient<'_>) -> Vec<u8> {
    match (name, field.name) {
        (_, "agent_id") => client.identity.agent.0.into_bytes().into(),
        (_, "session_id") => client.identity.session.0.into_bytes().into(),
        // Seven rates.
        (MessageName::AgentThrottle, "throttles") => [&[28][..], &[0; 28]].concat(),
        (MessageName::ChatFromViewer, "message") => b"\x02\x00a\0".into(),
        // Of people.
        (MessageName::DirFindQuery, "query_flags") => 1_u32.to_le_bytes().into(),
        (MessageName::EstateOwnerMessage, "method") => b"\x08getinfo\0".into(),
        (MessageName::RequestImage, "image") => ids::PLYWOOD_TEXTURE.into_bytes().into(),
        _ => vec![0; len_min(field.kind)],
    }
}

/// Bytes of a message: its number and fields ([`field_of`]). Each block that repeats stands `rows` times.
fn body_of(name: MessageName, client: &MessageClient<'_>, rows: u8) -> Vec<u8> {
    let mut body = Vec::new();
    name.number().write(&mut body);
    let Some(schema) = schema_of(name.number()) else {
        // Nothing reads it: the blocks that most messages begin with, and zeros.
        body.extend_from_slice(client.identity.agent.0.as_bytes());
        body.extend_from_slice(client.identity.session.0.as_bytes());
        body.extend_from_slice(&[0; 64]);
        return body;
    };
    for block in schema.blocks {
        let n = match block.repeat {
            Repeat::Single => 1,
            Repeat::Multiple(n) => n,
            Repeat::Variable => {
                body.push(rows);
                rows
            }
            Repeat::Extra => 0,
        };
        for _ in 0..n {
            for field in block.fields {
                body.extend_from_slice(&field_of(name, field, client));
            }
        }
    }
    body
}

/// Fewest bytes of a field.
const fn len_min(kind: FieldKind) -> usize {
    match kind {
        FieldKind::U8 | FieldKind::S8 | FieldKind::Bool | FieldKind::Variable1 => 1,
        FieldKind::U16 | FieldKind::S16 | FieldKind::IpPort | FieldKind::Variable2 => 2,
        FieldKind::U32 | FieldKind::S32 | FieldKind::F32 | FieldKind::IpAddress => 4,
        FieldKind::U64 | FieldKind::F64 => 8,
        FieldKind::Vector3 | FieldKind::Quaternion => 12,
        FieldKind::Uuid | FieldKind::Vector4 => 16,
        FieldKind::Vector3d => 24,
        FieldKind::Fixed(len) => len as usize,
    }
}

/// Sends a message; returns once it is acked. A PacketAck is never acked.
fn deliver(client: &mut MessageClient<'_>, name: MessageName, body: &[u8]) {
    if name == MessageName::PacketAck {
        return client.send(Reliability::Unreliable, body);
    }
    client.send(Reliability::Reliable, body);
    let what = format!("{} is acked", name.as_str());
    client.turn_until(&what, |client| client.circuit.unacked() == 0);
}

/// Waits for the answer to a refused message: a message or an event that the row's text names, or an alert.
fn await_refusal(client: &mut MessageClient<'_>, row: &MessageCoverage) {
    let is_named = |name: &&MessageName| {
        row.text.split(|c: char| !c.is_alphanumeric()).any(|word| word == name.as_str())
    };
    let named: Vec<MessageName> = MessageName::ALL.iter().filter(is_named).copied().collect();
    if row.text.contains("in the event queue") {
        return client.await_event(named.first().expect("the text names the event").as_str());
    }
    let what = format!("{} is refused by {named:?} or an alert", row.name.as_str());
    client.turn_until(&what, |client| {
        client.has(MessageName::AlertMessage) || named.iter().any(|name| client.has(*name))
    });
}

/// True if the server reads such a message to its end.
fn is_read(row: &MessageCoverage) -> bool {
    let is_edit = row.text == "The object is sent again as it is.";
    match row.name {
        // Nothing but the id in front.
        MessageName::StartPingCheck => return false,
        MessageName::PacketAck | MessageName::CompletePingCheck => return true,
        _ => {}
    }
    matches!(row.outcome, MessageOutcome::Done | MessageOutcome::Refused)
        && (row.feature.is_none() || is_edit)
}

fn is_of_circuit(name: &str) -> bool {
    OF_CIRCUIT.iter().any(|of_circuit| of_circuit.as_str() == name)
}

fn count(counts: &mut Counts, name: MessageName, outcome: MessageOutcome) {
    *counts.entry((name.as_str(), outcome.as_str())).or_default() += 1;
}

fn count_arrival(counts: &mut Counts) {
    // The circuit is open before its first message is dispatched.
    count(counts, MessageName::UseCircuitCode, MessageOutcome::Ignored);
    count(counts, MessageName::CompleteAgentMovement, MessageOutcome::Done);
    count(counts, MessageName::RegionHandshakeReply, MessageOutcome::Done);
}

/// Waits until the server's counts of all messages are the expected ones; those of acks and pings may be higher.
fn await_counts(server: &Server, expected: &Counts) {
    let counted = |server: &Server| -> BTreeMap<(String, String), u64> {
        let metrics = server.ask("GET /metrics", "");
        let rows = metrics.lines().filter_map(|line| line.strip_prefix("throng_messages_total{message=\""));
        rows.map(|row| {
            let (message, rest) = row.split_once('"').expect("a label");
            let (_, rest) = rest.split_once("outcome=\"").expect("a label");
            let (outcome, n) = rest.split_once("\"} ").expect("a value");
            ((message.to_owned(), outcome.to_owned()), n.parse().expect("a number"))
        })
        .collect()
    };
    // The metrics follow within seconds: first the last one is awaited, then all are compared.
    let owned = |counts: Counts| -> BTreeMap<(String, String), u64> {
        counts.into_iter().map(|((name, outcome), n)| ((name.to_owned(), outcome.to_owned()), n)).collect()
    };
    let (least, exact): (Counts, Counts) = expected.iter().partition(|((name, _), _)| is_of_circuit(name));
    let (least, exact) = (owned(least), owned(exact));
    let without_circuit = |mut counted: BTreeMap<(String, String), u64>| {
        counted.retain(|(name, _), _| !is_of_circuit(name));
        counted
    };
    server.wait_until("all messages are counted", |server| {
        let counted = counted(server);
        least.iter().all(|(key, n)| counted.get(key).is_some_and(|counted| counted >= n))
            && without_circuit(counted).values().sum::<u64>() >= exact.values().sum::<u64>()
    });
    let counted = without_circuit(counted(server));
    let differ: Vec<_> = counted.iter().filter(|(key, n)| exact.get(*key) != Some(n)).collect();
    let lacking: Vec<_> = exact.iter().filter(|(key, n)| counted.get(*key) != Some(n)).collect();
    assert!(differ.is_empty() && lacking.is_empty(), "counted {differ:?}\nexpected {lacking:?}");
}

#[test]
fn every_message_of_the_table_ends_as_it_states_over_a_real_socket() {
    let server = Server::start();
    let mut client = MessageClient::enter(&server, "Ada");
    let mut counts = Counts::new();
    count_arrival(&mut counts);

    for (form, rows) in [1, 0].into_iter().enumerate() {
        for row in MESSAGES.iter().filter(|row| !LAST.contains(&row.name)) {
            let body = body_of(row.name, &client, rows);
            deliver(&mut client, row.name, &body);
            let of_null_ids = OF_NULL_IDS.iter().find(|(name, _)| *name == row.name);
            let outcome = of_null_ids.map_or(row.outcome, |(_, outcomes)| outcomes[form]);
            if outcome == MessageOutcome::Refused {
                await_refusal(&mut client, row);
            }
            count(&mut counts, row.name, outcome);
        }
    }

    let mut truncated = 0;
    for row in MESSAGES {
        let body = body_of(row.name, &client, 1);
        let cut = &body[..body.len() - 1];
        // A body may end in front of any block but the first.
        let is_whole = MessageNumber::split(cut).is_err() || Message::decode(cut).is_ok();
        if is_whole {
            continue;
        }
        deliver(&mut client, row.name, cut);
        let outcome = if is_read(row) { MessageOutcome::Dropped } else { row.outcome };
        truncated += u64::from(is_read(row));
        count(&mut counts, row.name, outcome);
    }

    deliver(&mut client, MessageName::StartPingCheck, &[1, 9, 0, 0, 0, 0]);
    client.turn_until("a ping is answered", |client| client.circuit.stats().pings_answered > 0);
    client.echo("still here");
    count(&mut counts, MessageName::ChatFromViewer, MessageOutcome::Done);
    await_counts(&server, &counts);
    let dropped = |server: &Server| server.metric(r#"throng_dropped_total{reason="truncated"}"#);
    server.wait_until("all cut messages are counted", |server| dropped(server) >= Some(truncated as f64));
    assert_eq!(dropped(&server), Some(truncated as f64));
    assert!(truncated > 100, "only {truncated} messages were cut");

    let body = body_of(MessageName::LogoutRequest, &client, 1);
    client.send(Reliability::Reliable, &body);
    client.turn_until("the logout is answered", |client| client.has(MessageName::LogoutReply));
    count(&mut counts, MessageName::LogoutRequest, MessageOutcome::Done);
    let mut other = MessageClient::enter(&server, "Bob");
    count_arrival(&mut counts);
    let body = body_of(MessageName::CloseCircuit, &other, 1);
    deliver(&mut other, MessageName::CloseCircuit, &body);
    count(&mut counts, MessageName::CloseCircuit, MessageOutcome::Done);
    await_counts(&server, &counts);
}
