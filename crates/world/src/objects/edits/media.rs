//! Media on the faces of prims.

use super::editor::ObjectEditor;
use ids::{AgentId, LocalId};
use link::{EditRefusal, Navigation, ObjectMask};
use prim::{Edit, Media, MediaEntry, MediaError, with_media_marks};
use std::sync::Arc;

impl ObjectEditor<'_> {
    pub(super) fn set_media(
        &mut self,
        id: LocalId,
        faces: Vec<Option<MediaEntry>>,
    ) -> Result<(), EditRefusal> {
        let judged = self.need(id, Edit::Modify)?;
        let former = self.store.body(id).ok_or(EditRefusal::Unknown)?.body.media.as_deref();
        let media = Media::changed(former, faces, self.media_editor(judged.owner)).map_err(refusal)?;
        self.show_media(id, media);
        Ok(())
    }

    /// A visit needs no right to change the object, but one that the face grants.
    pub(super) fn navigate(&mut self, id: LocalId, visit: Navigation) -> Result<(), EditRefusal> {
        let Navigation { face, address } = visit;
        let judged = self.judge(id)?;
        let body = Arc::clone(&self.store.body(id).ok_or(EditRefusal::Unknown)?.body);
        let media = body.media.as_deref().ok_or(EditRefusal::BadValue)?;
        let entry = media.face(face).ok_or(EditRefusal::BadValue)?;
        if !entry.interact.any(judged.media_users()) {
            return Err(EditRefusal::Rights);
        }
        // Each pattern costs a comparison.
        self.charge(entry.allowed.len())?;
        let media = media.navigated(face, address, self.media_editor(judged.owner)).map_err(refusal)?;
        self.show_media(id, media);
        Ok(())
    }

    /// The user who is named in the version of the media. For the node that is the owner.
    fn media_editor(&self, owner: AgentId) -> AgentId {
        self.actor.agent.unwrap_or(owner)
    }

    fn show_media(&mut self, id: LocalId, media: Media) {
        self.edit_body(id, ObjectMask::TEXTURES, |body| {
            // Textures of imported prims may be of another form; viewers read media without marks, too.
            if let Ok(marked) = with_media_marks(&body.texture_entry, media.marks())
                && *marked != *body.texture_entry
            {
                body.texture_entry = marked.into();
            }
            body.media_url = media.address().into();
            body.media = Some(Arc::new(media));
        });
    }
}

const fn refusal(why: MediaError) -> EditRefusal {
    match why {
        MediaError::Forbidden => EditRefusal::Rights,
        MediaError::Faces(_)
        | MediaError::Address(_)
        | MediaError::Control
        | MediaError::Patterns(_)
        | MediaError::Text(_)
        | MediaError::Range
        | MediaError::NoMedia(_) => EditRefusal::BadValue,
    }
}
