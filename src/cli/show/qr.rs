//! QR codes in the terminal: each row of half blocks shows two rows of the code, surrounded by a quiet zone.

use qrcode::{EcLevel, QrCode, render::unicode::Dense1x2};

use crate::cli::ui::{SafeText, Ui};

/// Black on white: colours 16 and 231 of the 256 are the same on every terminal.
const PAPER: &str = "\x1b[38;5;16;48;5;231m";

impl Ui {
    /// Shows `text` as a QR code and returns true, unless stdout is no terminal or too narrow.
    ///
    /// The code contains capital letters only, which need half the space; its reader must ignore case.
    pub(crate) fn qr(&mut self, text: &str) -> bool {
        let Some(lines) = self.width.filter(|_| !self.dumb).and_then(|width| lines(text, width, !self.has_color()))
        else {
            return false;
        };
        for line in lines {
            let line = SafeText::line(line);
            self.line(if self.has_color() { line.styled(PAPER) } else { line });
        }
        true
    }
}

/// Returns the rows of the code; `None` if `width` columns are too few or the text is too long. With `light`, the light squares are
/// drawn instead of the dark ones, for dark terminals.
fn lines(text: &str, width: usize, light: bool) -> Option<Vec<String>> {
    // A screen loses no squares, so the lowest redundancy is enough, and makes the largest squares.
    let code = QrCode::with_error_correction_level(text.to_uppercase(), EcLevel::L).ok()?;
    // The quiet zone is four squares on each side.
    if code.width() + 8 > width {
        return None;
    }
    let (dark, paper) = if light { (Dense1x2::Light, Dense1x2::Dark) } else { (Dense1x2::Dark, Dense1x2::Light) };
    let image = code.render::<Dense1x2>().module_dimensions(1, 1).dark_color(dark).light_color(paper).build();
    Some(image.lines().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::ui::captured;

    const TICKET: &str = "ergo1acc2macyedveu3dd4kofecv66vihwezoyx4zkr3wv27l464siipou2iui3jcyamci3akqaiuccjff7iaaaaaaaaaaaaaaaaaaaaaaaiqsibfqiadambqgaydambqgaydambqgaydambqgaydambqgaydambqgaydambwq4dmmf2gm33snucfacijbeeqscijbeeqscijbeeqscifdj3tlfaa637sxwy";

    /// The squares of a picture, true for what is drawn.
    fn squares(lines: &[String]) -> Vec<Vec<bool>> {
        let row = |line: &String, half: fn(char) -> bool| line.chars().map(half).collect();
        lines
            .iter()
            .flat_map(|line| [row(line, |c| matches!(c, '█' | '▀')), row(line, |c| matches!(c, '█' | '▄'))])
            .collect()
    }

    #[test]
    fn a_ticket_fits_a_usual_terminal_with_its_quiet_zone_around_it() {
        let lines = lines(TICKET, 80, false).unwrap();
        let squares = squares(&lines);
        let width = squares[0].len();
        assert!(width <= 61, "{width} columns");
        assert!(lines.iter().all(|line| line.chars().count() == width));
        for row in &squares[..4] {
            assert!(row.iter().all(|drawn| !drawn), "quiet above");
        }
        for row in &squares {
            assert!(row[..4].iter().chain(&row[width - 4..]).all(|drawn| !drawn), "quiet at the sides");
        }
        // The finder pattern in the corner: a frame of seven.
        assert!(squares[4][4..11].iter().all(|drawn| *drawn) && !squares[5][5] && squares[6][6]);
    }

    #[test]
    fn what_has_no_room_is_left_out() {
        assert_eq!(lines(TICKET, 56, false), None);
        assert_eq!(lines(&"x".repeat(5_000), 1_000, false), None);
        let (mut ui, out, _) = captured::ui(None, false);
        assert!(!ui.qr(TICKET), "a pipe gets none");
        let (mut ui, ..) = captured::ui(Some(80), false);
        ui.dumb = true;
        assert!(!ui.qr(TICKET), "nor does a dumb terminal");
        assert_eq!(out.text(), "");
    }

    #[test]
    fn with_colour_it_is_black_on_white_and_without_it_is_drawn_in_light() {
        let (mut ui, out, _) = captured::ui(Some(80), true);
        assert!(ui.qr(TICKET));
        assert!(out.text().lines().all(|line| line.starts_with(PAPER) && line.ends_with("\x1b[0m")));
        let (mut ui, out, _) = captured::ui(Some(80), false);
        assert!(ui.qr(TICKET));
        assert!(out.text().starts_with("████"), "the quiet zone is drawn, as light paper");
    }
}
