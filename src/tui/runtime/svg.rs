//! A frame as SVG: text in cells, on the colours of a dark terminal.

use std::fmt::Write;

use ratatui::{
    buffer::{Buffer, Cell},
    style::{Color, Modifier},
};

use crate::tui::text;

/// Width, height and baseline of a cell, in pixels.
const CELL: (f32, f32, f32) = (8.4, 16.5, 12.8);

/// Margin around the frame, in pixels.
const MARGIN: f32 = 14.0;

/// The default colours of text and background.
const TEXT_COLOUR: &str = "#d8dee9";
const BACKGROUND_COLOUR: &str = "#1b1f27";

/// Renders the frame as an SVG document.
pub(super) fn render(buffer: &Buffer) -> String {
    let (columns, rows) = (f32::from(buffer.area.width), f32::from(buffer.area.height));
    let (width, height) = (columns * CELL.0 + 2.0 * MARGIN, rows * CELL.1 + 2.0 * MARGIN);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\" \
         font-size=\"14\">\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{BACKGROUND_COLOUR}\"/>\n"
    );
    for y in 0..buffer.area.height {
        let mut x = 0;
        while x < buffer.area.width {
            let Some(first) = buffer.cell((x, y)) else { break };
            let (start, run_style) = (x, RunStyle::of(first));
            let mut run = String::new();
            while x < buffer.area.width {
                let Some(cell) = buffer.cell((x, y)).filter(|cell| RunStyle::of(cell) == run_style) else { break };
                run.push_str(cell.symbol());
                // A wide character covers the cell after it.
                x += u16::try_from(text::width(cell.symbol()).max(1)).unwrap_or(1);
            }
            write_run(&mut out, (start, y), x - start, &run, &run_style);
        }
    }
    out.push_str("</svg>\n");
    out
}

fn write_run(out: &mut String, (column, row): (u16, u16), cells: u16, run: &str, run_style: &RunStyle) {
    let (x, y) = (MARGIN + f32::from(column) * CELL.0, MARGIN + f32::from(row) * CELL.1);
    let width = f32::from(cells) * CELL.0;
    if run_style.background_colour != BACKGROUND_COLOUR {
        let _ = writeln!(
            out,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{:.1}\" fill=\"{}\"/>",
            CELL.1, run_style.background_colour
        );
    }
    if run.trim().is_empty() {
        return;
    }
    let mut style = String::new();
    if run_style.bold {
        style.push_str(" font-weight=\"bold\"");
    }
    if run_style.underlined {
        style.push_str(" text-decoration=\"underline\"");
    }
    if run_style.dim {
        style.push_str(" opacity=\"0.6\"");
    }
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{:.1}\" fill=\"{}\"{style} textLength=\"{width:.1}\" xml:space=\"preserve\">{}</text>",
        y + CELL.2,
        run_style.text_colour,
        escape(run)
    );
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The style that the cells of a run share.
#[derive(PartialEq)]
struct RunStyle {
    text_colour: &'static str,
    background_colour: &'static str,
    bold: bool,
    dim: bool,
    underlined: bool,
}

impl RunStyle {
    fn of(cell: &Cell) -> Self {
        let (mut text_colour, mut background_colour) =
            (colour(cell.fg, TEXT_COLOUR), colour(cell.bg, BACKGROUND_COLOUR));
        if cell.modifier.contains(Modifier::REVERSED) {
            (text_colour, background_colour) = (background_colour, text_colour);
        }
        Self {
            text_colour,
            background_colour,
            bold: cell.modifier.contains(Modifier::BOLD),
            dim: cell.modifier.contains(Modifier::DIM),
            underlined: cell.modifier.contains(Modifier::UNDERLINED),
        }
    }
}

fn colour(colour: Color, default: &'static str) -> &'static str {
    match colour {
        Color::Black => "#2e3440",
        Color::Red | Color::LightRed => "#e0727c",
        Color::Green | Color::LightGreen => "#9fc986",
        Color::Yellow | Color::LightYellow => "#e5c07b",
        Color::Blue | Color::LightBlue => "#81a1c1",
        Color::Magenta | Color::LightMagenta => "#b48ead",
        Color::Cyan | Color::LightCyan => "#7fc8d6",
        Color::Gray | Color::White => "#e5e9f0",
        Color::DarkGray => "#6b7486",
        _ => default,
    }
}

#[cfg(test)]
mod tests {
    use ratatui::{layout::Rect, style::Style};

    use super::*;

    #[test]
    fn text_is_escaped_and_wide_characters_keep_their_cells() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 8, 1));
        buffer.set_string(0, 0, "a<決&b", Style::new());
        let svg = render(&buffer);
        assert!(svg.contains("a&lt;決&amp;b"), "{svg}");
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
    }
}
