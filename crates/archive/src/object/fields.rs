//! Values of the known children of an element.

use super::error::{Flaw, Mode, ObjectError, ReadContext};
use super::scope::FoundElements;
use super::values;
use crate::xml::XmlElement;
use std::sync::Arc;

/// KnownElement children of an element, and the treatment of wrong values in them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'f, 'd> {
    pub(super) found: &'f FoundElements<'d>,
    pub(super) mode: Mode,
}

impl<'d> Fields<'_, 'd> {
    /// A child.
    pub(super) fn get(&self, name: &str) -> Option<XmlElement<'d>> {
        self.found.get(name)
    }

    /// The value of a child, or the default without one.
    pub(super) fn read<T>(
        &self,
        context: &mut ReadContext,
        name: &str,
        default: T,
        parse: impl FnOnce(&XmlElement<'d>) -> Result<T, Flaw>,
    ) -> Result<T, ObjectError> {
        match self.get(name) {
            None => Ok(default),
            Some(element) => context.judge(name, self.mode, default, parse(&element)),
        }
    }

    /// The value of a child, or the default without one or with a wrong value.
    pub(super) fn read_or_default<T>(
        &self,
        context: &mut ReadContext,
        name: &str,
        default: T,
        parse: impl FnOnce(&XmlElement<'d>) -> Result<T, Flaw>,
    ) -> T {
        match self.get(name).map(|element| parse(&element)) {
            None => default,
            Some(Ok(value)) => value,
            Some(Err(flaw)) => {
                context.problem(name, flaw);
                default
            }
        }
    }

    /// The value of a child that has a code; one without a meaning becomes the default.
    pub(super) fn code<T: Default>(
        &self,
        context: &mut ReadContext,
        name: &str,
        of_code: impl FnOnce(u8) -> Option<T>,
    ) -> Result<T, ObjectError> {
        let Some(code) = self.read(context, name, None, |element| values::byte(element).map(Some))? else {
            return Ok(T::default());
        };
        Ok(of_code(code).unwrap_or_else(|| {
            context.problem(name, Flaw::Range(code.into()));
            T::default()
        }))
    }

    /// The text of a child, cut to a number of bytes.
    pub(super) fn text(
        &self,
        context: &mut ReadContext,
        name: &str,
        max: usize,
    ) -> Result<Arc<str>, ObjectError> {
        let text = self.read(context, name, "".into(), values::text)?;
        if text.len() <= max {
            return Ok(Arc::from(&*text));
        }
        context.problem(name, Flaw::Cut { len: text.len(), max });
        Ok(Arc::from(&text[..text.floor_char_boundary(max)]))
    }

    /// Bytes of a child in base64. More than `max` of them are a wrong value.
    pub(super) fn bytes(
        &self,
        context: &mut ReadContext,
        name: &str,
        max: usize,
    ) -> Result<Vec<u8>, ObjectError> {
        let bytes = self.read(context, name, Vec::new(), values::bytes)?;
        if bytes.len() <= max {
            return Ok(bytes);
        }
        context.problem(name, Flaw::Length(bytes.len()));
        Ok(Vec::new())
    }
}
