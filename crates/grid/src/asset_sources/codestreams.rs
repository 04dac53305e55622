//! Textures in the executable, one behind the other.

/// Textures, each behind its length.
pub(crate) fn codestreams(mut rest: &'static [u8]) -> impl Iterator<Item = &'static [u8]> {
    std::iter::from_fn(move || {
        let (length, behind) = rest.split_first_chunk()?;
        let (texture, behind) = behind.split_at_checked(u16::from_le_bytes(*length).into())?;
        rest = behind;
        Some(texture)
    })
}
