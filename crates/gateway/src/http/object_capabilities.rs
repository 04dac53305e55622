//! Capabilities of objects: answers from the newest state of the client's world, and changes that go to the world.
//!
//! A change is answered when it is on its way. The world judges it; if it refuses, the client gets a notice and the object as it is, as after a
//! message.

use super::reply::{error, failed, llsd, read_llsd};
use super::{HttpState, blocking};
use crate::hub::Holder;
use axum::body::Bytes;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use grid::capability::{
    self, FaceChange, MATERIALS_MAX, MaterialChange, MediaCall, MediaVisit, ObjectCost, Selection, WornObject,
};
use ids::{LocalId, Uuid};
use link::{EDIT_OBJECTS_MAX, FaceMaterial, Navigation, ObjectCommand, RenderMaterialEdit};
use prim::PrimPhysics;
use replicate::Replica;
use std::sync::Arc;
use store::{Store, StoreError};
use wire::llsd::Llsd;

/// Answers a call with a body, all of which is LLSD.
pub(super) fn post(state: &HttpState, holder: &Holder, name: &str, body: &Bytes) -> Response {
    let request = match read_llsd(body) {
        Ok(request) => request,
        Err(response) => return *response,
    };
    match name {
        "ObjectMedia" => object_media(state, holder, &request),
        "ObjectMediaNavigate" => navigate(state, holder, &request),
        "ModifyMaterialParams" => modify_materials(state, holder, &request),
        "GetObjectCost" => match capability::read_object_ids(&request) {
            Ok(ids) => llsd(&capability::object_costs(known(holder, ids, |replica, object, id| {
                Some(ObjectCost { object, n_prims: replica.objects().get(id)?.n_prims })
            }))),
            Err(why) => bad_request(&why),
        },
        "GetObjectPhysicsData" => match capability::read_object_ids(&request) {
            Ok(ids) => llsd(&capability::physics_data(known(holder, ids, physics_of))),
            Err(why) => bad_request(&why),
        },
        // ResourceCostSelected.
        _ => match capability::read_selection(&request) {
            Ok(selection) => llsd(&capability::selected_cost(n_selected(holder, selection))),
            Err(why) => bad_request(&why),
        },
    }
}

/// `GET …/AttachmentResources`: what the user's avatar wears.
pub(super) fn attachment_resources(holder: &Holder) -> Response {
    let replica = holder.place.scene.feed.current();
    let avatar =
        replica.of_session(holder.circuit.session).map(|slot| LocalId(replica.hot()[slot as usize].id));
    let objects = replica.objects();
    let prims =
        avatar.into_iter().flat_map(|avatar| objects.worn_by(avatar)).filter_map(|id| objects.get(id));
    let worn: Vec<WornObject> = prims
        .filter(|entry| Some(entry.prim.parent) == avatar)
        .map(|entry| WornObject {
            object: entry.body.id,
            name: entry.body.names.name.to_string(),
            owner: entry.body.ownership.owner.0,
            // Messages have its nibbles in the other order.
            point: entry.body.state.rotate_left(4),
        })
        .collect();
    llsd(&capability::attachment_resources(&worn))
}

/// RenderMaterials: all legacy materials of the region, those that a client asks for, or new ones for faces.
pub(super) async fn render_materials(
    state: &Arc<HttpState>,
    holder: &Holder,
    method: &Method,
    body: &Bytes,
) -> Response {
    let region = holder.place.world();
    if *method == Method::GET {
        return from_materials(state, move |store| store.all_region_materials(region, MATERIALS_MAX)).await;
    }
    let request = match read_llsd(body) {
        Ok(request) => request,
        Err(response) => return *response,
    };
    if *method == Method::POST {
        return match capability::read_material_ids(&request) {
            Ok(ids) => from_materials(state, move |store| store.region_materials(region, &ids)).await,
            Err(why) => bad_request(&why),
        };
    }
    match capability::read_face_materials(&request) {
        Ok(faces) => put_materials(state, holder, faces).await,
        Err(why) => bad_request(&why),
    }
}

async fn from_materials(
    state: &Arc<HttpState>,
    read: impl FnOnce(&Store) -> Result<Vec<(Uuid, Vec<u8>)>, StoreError> + Send + 'static,
) -> Response {
    let store = Arc::clone(&state.store);
    match blocking(move || read(&store)).await {
        Ok(found) => {
            let materials = found.iter().map(|(id, value)| (*id, &value[..]));
            llsd(&capability::materials_answer(materials))
        }
        Err(why) => failed("reading materials", &why),
    }
}

/// Keeps new materials, then gives them to the faces. Those that a user may not change add no material.
async fn put_materials(state: &Arc<HttpState>, holder: &Holder, faces: Vec<FaceChange>) -> Response {
    let may_change = {
        let replica = holder.place.scene.feed.current();
        let may_change = |face: &FaceChange| {
            let entry = replica.objects().get(face.object);
            entry.is_some_and(|entry| entry.flags_for(holder.agent) & prim::receiver_flags::MODIFY != 0)
        };
        faces.iter().all(may_change)
    };
    if !may_change {
        return error(StatusCode::FORBIDDEN, "You are not allowed to change one of these objects.");
    }
    let materials = faces.iter().filter_map(|face| face.material.as_ref());
    let mut materials: Vec<(Uuid, Vec<u8>)> =
        materials.map(|material| (material.id, material.value.clone())).collect();
    materials.sort_unstable();
    materials.dedup();
    let (store, region) = (Arc::clone(&state.store), holder.place.world());
    let kept = blocking(move || {
        store.add_region_materials(region, &materials, MATERIALS_MAX).map(|is_added| (is_added, materials))
    });
    let materials = match kept.await {
        Ok((true, materials)) => materials,
        Ok((false, _)) => {
            return error(
                StatusCode::INSUFFICIENT_STORAGE,
                "The region has as many materials as it can hold.",
            );
        }
        Err(why) => return failed("keeping materials", &why),
    };
    let edits = faces.into_iter().map(|FaceChange { object, face, material }| {
        let material = material.map_or(Uuid::nil(), |material| material.id);
        (object, FaceMaterial { face, material })
    });
    let answer = capability::materials_answer(materials.iter().map(|(id, value)| (*id, &value[..])));
    pass_on(state, holder, [ObjectCommand::FaceMaterial(edits.collect())], &answer)
}

fn object_media(state: &HttpState, holder: &Holder, request: &Llsd) -> Response {
    match MediaCall::read(request) {
        Ok(MediaCall::Get(object)) => {
            let replica = holder.place.scene.feed.current();
            let entry = replica.objects().of_id(object).and_then(|id| replica.objects().get(id));
            let scenery = &holder.place.ground().scenery;
            let content = || scenery.index_of(object).and_then(|index| scenery.body(index));
            let Some(body) = entry.map(|entry| &entry.body).or_else(content) else { return no_object() };
            llsd(&capability::object_media(object, body.media.as_deref()))
        }
        Ok(MediaCall::Update(object, faces)) => {
            let Some(id) = local_id(holder, object) else { return no_object() };
            pass_on(state, holder, [ObjectCommand::Media(id, faces)], &Llsd::map::<&str>([]))
        }
        Err(why) => bad_request(&why),
    }
}

/// A client goes back at once if the address is not one of the face's. The users whom the face lets are the world's to know.
fn navigate(state: &HttpState, holder: &Holder, request: &Llsd) -> Response {
    let MediaVisit { object, face, address } = match MediaVisit::read(request) {
        Ok(visit) => visit,
        Err(why) => return bad_request(&why),
    };
    let replica = holder.place.scene.feed.current();
    let Some(id) = replica.objects().of_id(object) else { return no_object() };
    let body = replica.objects().get(id).map(|entry| Arc::clone(&entry.body));
    drop(replica);
    let media = body.as_ref().and_then(|body| body.media.as_deref());
    let entry = media.and_then(|media| media.face(face));
    if entry.is_none_or(|entry| !entry.allows(&address)) {
        return llsd(&capability::visit_denied(object));
    }
    let visit = ObjectCommand::Navigate(id, Navigation { face, address });
    pass_on(state, holder, [visit], &Llsd::map([("object_id", Llsd::from(object))]))
}

fn modify_materials(state: &HttpState, holder: &Holder, request: &Llsd) -> Response {
    let refused = |why: &str| llsd(&capability::material_answer(Err(why)));
    let changes = match capability::read_material_changes(request) {
        Ok(changes) => changes,
        Err(why) => return refused(&format!("{why}.")),
    };
    let replica = holder.place.scene.feed.current();
    let edit = |MaterialChange { object, face, material, changes }| {
        let id = replica.objects().of_id(object)?;
        Some((id, RenderMaterialEdit { face, material, changes: changes.map(Box::new) }))
    };
    let edits: Option<Vec<(LocalId, RenderMaterialEdit)>> = changes.into_iter().map(edit).collect();
    drop(replica);
    let Some(edits) = edits else { return refused("There is no such object.") };
    let requests = edits.chunks(EDIT_OBJECTS_MAX).map(|part| ObjectCommand::RenderMaterial(part.to_vec()));
    pass_on(state, holder, requests, &capability::material_answer(Ok(())))
}

/// Passes changes on to the client's world, and answers.
fn pass_on(
    state: &HttpState,
    holder: &Holder,
    requests: impl IntoIterator<Item = ObjectCommand>,
    answer: &Llsd,
) -> Response {
    let is_passed_on = state
        .sessions
        .with(|hub| requests.into_iter().all(|request| hub.change_objects(holder.circuit, request)));
    if is_passed_on {
        llsd(answer)
    } else {
        // A client tries again after this status.
        error(StatusCode::SERVICE_UNAVAILABLE, "Your avatar is not in this region.")
    }
}

/// Facts about those of these objects that are in the client's world.
fn known<T>(
    holder: &Holder,
    objects: Vec<Uuid>,
    fact: impl Fn(&Replica, Uuid, LocalId) -> Option<T>,
) -> Vec<T> {
    let replica = holder.place.scene.feed.current();
    let local = |object: &Uuid| Some((*object, replica.objects().of_id(*object)?));
    objects.iter().filter_map(local).filter_map(|(object, id)| fact(&replica, object, id)).collect()
}

fn physics_of(replica: &Replica, object: Uuid, id: LocalId) -> Option<(Uuid, PrimPhysics)> {
    Some((object, replica.objects().get(id)?.body.physics))
}

fn n_selected(holder: &Holder, selection: Selection) -> u32 {
    let (objects, counts_linksets) = match selection {
        Selection::Roots(objects) => (objects, true),
        Selection::Prims(objects) => (objects, false),
    };
    let n_prims = known(holder, objects, |replica, _, id| {
        let entry = replica.objects().get(id)?;
        Some(if counts_linksets { u32::from(entry.n_prims) } else { 1 })
    });
    n_prims.into_iter().sum()
}

fn local_id(holder: &Holder, object: Uuid) -> Option<LocalId> {
    holder.place.scene.feed.current().objects().of_id(object)
}

fn no_object() -> Response {
    error(StatusCode::NOT_FOUND, "There is no such object.")
}

fn bad_request(why: &dyn std::error::Error) -> Response {
    error(StatusCode::BAD_REQUEST, &format!("The request is refused: {why}."))
}
