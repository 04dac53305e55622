//! Targets of long bodies, and their memory.

use super::super::listener::BodyAccount as _;
use super::body::{UploadTarget, upload_target};
use super::*;
use axum::http::Method;
use ids::Uuid;

const ADA: AgentId = AgentId(Uuid::from_u128(1));
const BOB: AgentId = AgentId(Uuid::from_u128(2));

fn body(uploads: &Uploads, agent: AgentId, bytes_max: usize) -> UploadBody {
    UploadBody::new(agent, bytes_max, Some(UploadPurpose::Bake), uploads.ledger())
}

#[test]
fn only_posts_to_uploads_and_new_files_may_be_long() {
    let (secret, id) = (Uuid::from_u128(7), Uuid::from_u128(8));
    let upload = format!("/cap/{secret}/upload/{id}");
    let new_file = format!("/cap/{secret}/NewFileAgentInventory");
    assert_eq!(upload_target(&Method::POST, &upload), Some((secret, UploadTarget::Address(id))));
    assert_eq!(upload_target(&Method::POST, &new_file), Some((secret, UploadTarget::NewFile)));
    assert_eq!(upload_target(&Method::PUT, &upload), None);
    for path in [
        format!("/cap/{secret}/UploadBakedTexture"),
        format!("/cap/{secret}"),
        format!("/cap/{secret}/upload/"),
        format!("/cap/{secret}/upload/{id}/more"),
        format!("/cap/nonsense/upload/{id}"),
        format!("{new_file}/"),
        "/".into(),
    ] {
        assert_eq!(upload_target(&Method::POST, &path), None, "{path}");
    }
}

#[test]
fn bytes_are_held_until_the_upload_ends_and_a_user_leaves_some_to_others() {
    let uploads = Uploads::with_room(100);
    let (first, second) = (body(&uploads, ADA, 90), body(&uploads, ADA, 90));
    assert!(first.take(30) && second.take(20) && !second.take(1));
    let other = body(&uploads, BOB, 90);
    assert!(other.take(25) && !other.take(1));
    assert_eq!(uploads.bytes_held(), 75);
    drop(first);
    assert!(second.take(5));
    assert_eq!((uploads.bytes_held(), second.bytes_max()), (50, 90));
    drop((second, other));
    assert_eq!(uploads.bytes_held(), 0);
}

#[test]
fn an_upload_without_all_its_bytes_is_counted() {
    let uploads = Uploads::with_room(100);
    let whole = body(&uploads, ADA, 90);
    assert_eq!(whole.take_purpose(), Some(UploadPurpose::Bake));
    assert_eq!(whole.take_purpose(), None, "once");
    uploads.count("baked texture", UploadOutcome::Stored);
    drop(whole);
    drop(body(&uploads, ADA, 90));
    drop(UploadBody::new(ADA, 90, None, uploads.ledger()));
    assert_eq!(uploads.counts(), [("baked texture", "stored", 1), ("baked texture", "broken_off", 1)]);
}

#[test]
fn the_first_reason_of_a_cut_stays() {
    let uploads = Uploads::with_room(100);
    let body = body(&uploads, ADA, 90);
    assert_eq!(body.why_cut(), None);
    body.cut(BodyCut::NoRoom);
    body.cut(BodyCut::TooLong);
    assert_eq!(body.why_cut(), Some(BodyCut::NoRoom));
    assert_eq!(cut_text(BodyCut::TooLong, "texture", 7), "the texture has more than 7 bytes");
}
