//! Charts as PNG, for slides and chats that take no SVG.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::fontdb::Database;
use resvg::usvg::{Options, Tree};

/// Latin, Greek and Cyrillic letters; the fonts of the machine are never looked at.
const FONT: &[u8] = include_bytes!("fonts/NotoSans-Regular.subset.ttf");
const FAMILY: &str = "Noto Sans";

/// Pixels for each unit of an SVG's width: sharp on dense screens.
const SCALE: f32 = 2.0;

/// Turns SVGs into PNGs.
pub(super) struct Renderer {
    options: Options<'static>,
}

impl Renderer {
    /// One that knows a single font.
    pub(super) fn new() -> Self {
        let mut fonts = Database::new();
        fonts.load_font_data(FONT.to_vec());
        fonts.set_sans_serif_family(FAMILY);
        Self { options: Options { fontdb: Arc::new(fonts), font_family: FAMILY.to_owned(), ..Options::default() } }
    }

    /// The PNG of an SVG, at twice its size.
    ///
    /// # Errors
    ///
    /// Why it cannot be drawn: it is no SVG, or too large.
    pub(super) fn png(&self, svg: &str) -> Result<Vec<u8>, String> {
        let tree = Tree::from_str(svg, &self.options).map_err(|error| error.to_string())?;
        let size = tree.size().to_int_size().scale_by(SCALE).ok_or("it has no size")?;
        let mut pixels = Pixmap::new(size.width(), size.height()).ok_or("it is too large")?;
        resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
        pixels.encode_png().map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_drawn_in_the_font_that_is_built_in() {
        let renderer = Renderer::new();
        let svg = |text: &str| {
            let head = r#"<svg xmlns="http://www.w3.org/2000/svg" width="60" height="20" viewBox="0 0 240 80">"#;
            format!(r#"{head}<text x="4" y="60" font-family="sans-serif" font-size="48">{text}</text></svg>"#)
        };
        let png = |text: &str| renderer.png(&svg(text)).expect("a picture");
        assert_eq!(&png("nodes")[..8], b"\x89PNG\r\n\x1a\n");
        assert_eq!(png("nodes"), png("nodes"));
        for other in ["", "pods", "Узлы", "→ 3 ≥ 2"] {
            assert_ne!(png("nodes"), png(other), "{other}");
        }
        assert_ne!(png("Узлы"), png("ЩЩЩЩ"));
        let pixels = Pixmap::decode_png(&png("nodes")).expect("a PNG");
        assert_eq!((pixels.width(), pixels.height()), (120, 40));
    }

    #[test]
    fn what_is_no_picture_is_refused() {
        assert!(Renderer::new().png("<html></html>").is_err());
    }
}
