//! Shape, textures, material, extra parameters, names and clicks of single prims.

use super::editor::ObjectEditor;
use super::materials::put_extra_params;
use ids::LocalId;
use link::{EditRefusal, ExtraParamEdit, ObjectMask, Textures};
use prim::body::{CLICK_ACTION_MAX, DESCRIPTION_MAX, MEDIA_URL_MAX, NAME_MAX};
use prim::{Edit, ExtraParam, Material, Shape, check_texture_entry, with_media_marks};
use std::sync::Arc;

impl ObjectEditor<'_> {
    pub(super) fn set_shape(&mut self, id: LocalId, shape: Shape) -> Result<(), EditRefusal> {
        let shape = shape.clamped().map_err(|_| EditRefusal::BadValue)?;
        self.need(id, Edit::Modify)?;
        self.edit_body(id, ObjectMask::SHAPE, |body| body.shape = shape);
        Ok(())
    }

    pub(super) fn set_textures(&mut self, id: LocalId, textures: Textures) -> Result<(), EditRefusal> {
        let Textures { entry, media_url } = textures;
        check_texture_entry(&entry).map_err(|_| EditRefusal::BadValue)?;
        // A shorter address would be another one.
        if media_url.len() > MEDIA_URL_MAX || media_url.contains(char::is_control) {
            return Err(EditRefusal::BadValue);
        }
        self.need(id, Edit::Modify)?;
        self.edit_body(id, ObjectMask::TEXTURES, |body| {
            // Marks and version of media are those of the last change of media: a client that paints may have older ones.
            let Some(media) = &body.media else {
                (body.texture_entry, body.media_url) = (entry, media_url.into());
                return;
            };
            let marked = with_media_marks(&entry, media.marks());
            body.texture_entry = marked.map_or(entry, Into::into);
        });
        Ok(())
    }

    pub(super) fn set_material(&mut self, id: LocalId, code: u8) -> Result<(), EditRefusal> {
        let material = Material::of_code(code).ok_or(EditRefusal::BadValue)?;
        self.need(id, Edit::Modify)?;
        self.edit_body(id, ObjectMask::FLAGS, |body| body.material = material);
        Ok(())
    }

    pub(super) fn set_extra_param(&mut self, id: LocalId, edit: ExtraParamEdit) -> Result<(), EditRefusal> {
        let kind = ExtraParam::of_code(edit.kind).map_err(|_| EditRefusal::BadValue)?;
        self.need(id, Edit::Modify)?;
        let body = &self.store.body(id).ok_or(EditRefusal::Unknown)?.body;
        let params = body.extra_params.with(kind, edit.data.as_deref()).map_err(|_| EditRefusal::BadValue)?;
        self.edit_body(id, ObjectMask::EXTRA, |body| put_extra_params(body, params));
        Ok(())
    }

    pub(super) fn set_name(&mut self, id: LocalId, name: String) -> Result<(), EditRefusal> {
        self.need(id, Edit::Modify)?;
        self.edit_body(id, ObjectMask::TEXT, |body| body.names.name = cut(&name, NAME_MAX));
        Ok(())
    }

    pub(super) fn set_description(&mut self, id: LocalId, text: String) -> Result<(), EditRefusal> {
        self.need(id, Edit::Modify)?;
        self.edit_body(id, ObjectMask::TEXT, |body| body.names.description = cut(&text, DESCRIPTION_MAX));
        Ok(())
    }

    pub(super) fn set_click_action(&mut self, id: LocalId, code: u8) -> Result<(), EditRefusal> {
        if code > CLICK_ACTION_MAX {
            return Err(EditRefusal::BadValue);
        }
        self.need(id, Edit::Modify)?;
        self.edit_body(id, ObjectMask::FLAGS, |body| body.click_action = code);
        Ok(())
    }
}

/// A text without control characters, of at most `len_max` bytes.
pub(super) fn cut(text: &str, len_max: usize) -> Arc<str> {
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    text[..text.floor_char_boundary(len_max)].into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(&*cut("a\nb\0c", 10), "abc");
        assert_eq!(&*cut(&"é".repeat(40), NAME_MAX), "é".repeat(31));
        assert_eq!(&*cut("", NAME_MAX), "");
    }
}
