//! Requests about media, as LLSD: a change that is read keeps its bounds or is refused, and the answer to the next question has the same media.
#![no_main]

use grid::capability::{MediaCall, MediaVisit, object_media};
use ids::{AgentId, Uuid};
use libfuzzer_sys::fuzz_target;
use prim::{MEDIA_TEXT_MAX, Media};
use wire::llsd::{Limits, Llsd, xml};

const EDITOR: AgentId = AgentId(Uuid::from_u128(1));

fuzz_target!(|bytes: &[u8]| {
    let Ok(request) = xml::decode(bytes, Limits::REQUEST) else { return };
    let visit = MediaVisit::read(&request);
    let Ok(MediaCall::Update(object, faces)) = MediaCall::read(&request) else { return };
    let Ok(media) = Media::changed(None, faces, EDITOR) else { return };
    let texts = media.faces.iter().flatten().map(|entry| entry.home.len() + entry.current.len());
    assert!(texts.sum::<usize>() <= MEDIA_TEXT_MAX);
    let answer = object_media(object, Some(&media));
    let again = Llsd::map([
        ("verb", Llsd::from("UPDATE")),
        ("object_id", object.into()),
        ("object_media_data", answer.get("object_media_data").clone()),
    ]);
    assert_eq!(MediaCall::read(&again), Ok(MediaCall::Update(object, media.faces.clone())));
    if let Ok(visit) = visit
        && let Ok(visited) = media.navigated(visit.face, visit.address.clone(), EDITOR)
    {
        assert_eq!(visited.face(visit.face).map(|entry| &entry.current), Some(&visit.address));
        assert_eq!((visited.check(), visited.version), (Ok(()), 2));
    }
});
