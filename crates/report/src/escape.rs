//! Text in HTML. Names of worlds and avatars, panic messages and paths end up in reports, so nothing is trusted.

/// Appends text so that it is read as text, between tags and inside of a quoted attribute.
pub(crate) fn push_text(out: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Control characters are errors in HTML, also as references.
            control if control.is_control() && !matches!(control, '\n' | '\t') => out.push('\u{FFFD}'),
            other => out.push(other),
        }
    }
}

/// [`push_text`] into a string of its own.
pub(crate) fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    push_text(&mut out, text);
    out
}

/// True if an address may become a link: a path, or a scheme that only fetches. Others, `javascript:` above all, would run their
/// content.
pub(crate) fn may_link(href: &str) -> bool {
    let scheme =
        href.find([':', '/', '?', '#']).filter(|&at| href.as_bytes()[at] == b':').map(|at| &href[..at]);
    scheme
        .is_none_or(|scheme| ["http", "https", "file"].iter().any(|known| scheme.eq_ignore_ascii_case(known)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text_between_tags_and_in_attributes() {
        assert_eq!(text(r#"<b a="1" c='2'>&amp;"#), "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;");
        assert_eq!(text("nul \0, bell \x07, line\nend"), "nul \u{FFFD}, bell \u{FFFD}, line\nend");
    }

    #[test]
    fn links_lead_to_paths_and_pages_and_run_nothing() {
        for href in
            ["captures/a:b.txt", "../x", "/abs", "#cpu", "http://h/", "HTTPS://h/", "file:///x", "a?b:c"]
        {
            assert!(may_link(href), "{href}");
        }
        for href in ["javascript:alert(1)", "JavaScript:x", "data:text/html,x", "vbscript:x", " javascript:x"]
        {
            assert!(!may_link(href), "{href}");
        }
    }
}
