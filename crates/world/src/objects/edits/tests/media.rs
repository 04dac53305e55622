//! Media on faces: changed by users who may change the prim, visited by those whom the face lets.

use super::stage::{ADA, EVE, FAY, Stage, agent_of};
use ids::LocalId;
use link::{EditRefusal, Navigation, ObjectChange, ObjectCommand, ObjectMask, Textures, plain_texture};
use prim::{MediaEntry, MediaUsers, with_media_marks};

fn page(address: &str) -> MediaEntry {
    MediaEntry { home: address.into(), current: address.into(), ..MediaEntry::default() }
}

fn visit(id: LocalId, face: u8, address: &str) -> ObjectCommand {
    ObjectCommand::Navigate(id, Navigation { face, address: address.into() })
}

#[test]
fn media_of_a_prim_is_in_the_frame_and_its_version_in_the_address() {
    let mut stage = Stage::new();
    let id = stage.rez(ADA);
    stage.ask(ADA, ObjectCommand::Media(id, vec![None, Some(page("http://a.org/"))])).done();
    let [ObjectChange::Set { mask, body, .. }] = &stage.frame.objects[..] else {
        panic!("{:?}", stage.frame.objects)
    };
    assert_eq!(*mask, ObjectMask::TEXTURES);
    assert_eq!(*body.body.media_url, *format!("x-mv:0000000001/{}", agent_of(ADA).0));
    stage.ask(FAY, ObjectCommand::Media(id, vec![None, None])).done();
    let body = stage.body(id);
    assert_eq!(*body.media_url, *format!("x-mv:0000000002/{}", agent_of(FAY).0));
    assert_eq!(body.media.as_ref().unwrap().marks(), 0);
}

#[test]
fn textures_keep_the_version_and_marks_follow_the_media() {
    let mut stage = Stage::new();
    let id = stage.rez(ADA);
    let plain = stage.body(id).texture_entry.clone();
    stage.ask(ADA, ObjectCommand::Media(id, vec![Some(page("http://a.org/"))])).done();
    assert_ne!(stage.body(id).texture_entry, plain);
    let textures = Textures { entry: plain_texture(7).into(), media_url: "http://old.org/".into() };
    stage.ask(ADA, ObjectCommand::Textures(vec![(id, textures)])).done();
    assert!(stage.body(id).media_url.starts_with("x-mv:0000000001/"));
    let marked = with_media_marks(&plain_texture(7), 1).unwrap();
    assert_eq!(stage.body(id).texture_entry[..], marked[..]);
}

#[test]
fn a_stranger_visits_an_address_where_the_face_lets_all_users() {
    let mut stage = Stage::new();
    let id = stage.rez(ADA);
    let own = MediaEntry { interact: MediaUsers::OWNER, ..page("http://a.org/") };
    let limited = MediaEntry { is_limited: true, allowed: vec!["a.org".into()], ..page("http://a.org/") };
    let faces = vec![Some(page("http://a.org/")), Some(own), Some(limited)];
    stage.ask(ADA, ObjectCommand::Media(id, faces)).done();
    stage.ask(EVE, visit(id, 0, "http://b.org/")).done();
    let media = stage.body(id).media.clone().unwrap();
    assert_eq!((media.version, media.editor), (2, agent_of(EVE)));
    assert_eq!(media.face(0).unwrap().current, "http://b.org/");
    stage.ask(EVE, visit(id, 1, "http://b.org/")).refused(EditRefusal::Rights, &[id]);
    stage.ask(ADA, visit(id, 1, "http://b.org/")).done();
    stage.ask(FAY, visit(id, 1, "http://c.org/")).done();
    stage.ask(ADA, visit(id, 2, "http://b.org/")).refused(EditRefusal::Rights, &[id]);
    stage.ask(EVE, visit(id, 2, "https://a.org/next")).done();
    stage.ask(EVE, visit(id, 3, "http://a.org/")).refused(EditRefusal::BadValue, &[id]);
    stage.ask(EVE, visit(id, 0, "http://a.org/\n")).refused(EditRefusal::BadValue, &[id]);
    assert_eq!(stage.body(id).media.as_ref().unwrap().version, 5);
}

#[test]
fn a_prim_without_media_is_not_visited() {
    let mut stage = Stage::new();
    let id = stage.rez(ADA);
    stage.ask(ADA, visit(id, 0, "http://a.org/")).refused(EditRefusal::BadValue, &[id]);
}
