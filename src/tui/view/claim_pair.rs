//! Two claims in a row of a list: the new one ⇄ the existing one, with the words that differ highlighted.

use ratatui::{style::Style, text::Span};

use super::paint::{Paint, span};
use crate::{
    api::CardPair,
    tui::{
        text,
        word_diff::{self, Run},
    },
};

/// Width of the arrow between the two claims, with the spaces around it.
const ARROW_WIDTH: usize = 3;

/// Lays out both claims in one line of `room` columns. The new one is shown from its beginning; of the existing one, if
/// there is little room, what differs is enough.
pub(super) fn one_line(paint: &Paint<'_>, pair: &CardPair, room: usize, style: Style) -> Vec<Span<'static>> {
    let theme = paint.theme;
    let (new, existing) = sides(pair);
    let room = room.saturating_sub(ARROW_WIDTH);
    let (wide, right) = (runs_width(&new), runs_width(&existing));
    let enough = width_from_difference(&existing).map_or(room / 2, |columns| columns.clamp(room / 5, room / 2));
    let left = wide.min(room.saturating_sub(right.min(enough)));
    let mut out = cut(&new, left, style, theme.side_a);
    out.push(span(format!(" {} ", theme.glyphs.pair), theme.dim));
    out.extend(cut(&existing, room.saturating_sub(left), style, theme.side_b));
    fill(&mut out, room + ARROW_WIDTH);
    out
}

/// Lays out each claim in a line of its own, of `room` columns.
pub(super) fn two_lines(paint: &Paint<'_>, pair: &CardPair, room: usize, style: Style) -> [Vec<Span<'static>>; 2] {
    let theme = paint.theme;
    let (new, existing) = sides(pair);
    let mut below = vec![span(format!("{} ", theme.glyphs.pair), theme.dim)];
    below.extend(cut(&existing, room.saturating_sub(2), style, theme.side_b));
    [cut(&new, room, style, theme.side_a), below]
}

/// Splits both claims into runs. If nearly everything differs, nothing is highlighted: it would say nothing.
fn sides(pair: &CardPair) -> (Vec<Run>, Vec<Run>) {
    let diff = word_diff::words(&pair.new, &pair.existing);
    let nearly_all_differs = diff.is_apart();
    let runs =
        |runs: Vec<Run>| runs.into_iter().map(|run| Run { own: run.own && !nearly_all_differs, ..run }).collect();
    (runs(diff.left), runs(diff.right))
}

/// Returns the width from the word before the first one that differs up to the end, and of an ellipsis; `None` if no
/// word is highlighted.
fn width_from_difference(runs: &[Run]) -> Option<usize> {
    let words: Vec<(&str, bool)> =
        runs.iter().flat_map(|run| run.text.split_inclusive(' ').map(|word| (word, run.own))).collect();
    let first = words.iter().position(|(_, own)| *own)?;
    let shown = words.get(first.saturating_sub(1)..).unwrap_or_default();
    Some(1 + shown.iter().map(|(word, _)| text::width(word)).sum::<usize>())
}

fn runs_width(runs: &[Run]) -> usize {
    runs.iter().map(|run| text::width(&run.text)).sum()
}

/// Cuts a statement to at most `room` columns so that the first word that differs stays visible: what is before it is
/// cut first.
fn cut(runs: &[Run], room: usize, style: Style, highlight: Style) -> Vec<Span<'static>> {
    let styled = |run: &Run| if run.own { highlight } else { style };
    let words: Vec<(&str, Style, bool)> =
        runs.iter().flat_map(|run| run.text.split_inclusive(' ').map(|word| (word, styled(run), run.own))).collect();
    let width = |words: &[(&str, Style, bool)]| words.iter().map(|(word, ..)| text::width(word)).sum::<usize>();
    let mut start = 0;
    if width(&words) > room
        && let Some(first) = words.iter().position(|(_, _, own)| *own)
    {
        // The word must fit, and an ellipsis on either side where text is cut.
        let after = usize::from(first + 1 < words.len());
        while start < first
            && usize::from(start > 0) + width(words.get(start..=first).unwrap_or_default()) + after > room
        {
            start += 1;
        }
    }
    let mut out = Vec::new();
    let mut left = room;
    if start > 0 && left > 0 {
        out.push(span("…", style));
        left -= 1;
    }
    let shown = words.get(start..).unwrap_or_default();
    for (at, (word, style, _)) in shown.iter().enumerate() {
        let here = text::width(word.trim_end());
        let rest = width(shown.get(at + 1..).unwrap_or_default());
        let fits = if rest == 0 { here <= left } else { text::width(word) < left };
        if !fits {
            let cut = text::fit(&format!("{}…", word.trim_end()), left);
            out.push(span(cut, *style));
            break;
        }
        let word = text::fit(word, left);
        left = left.saturating_sub(text::width(&word));
        out.push(span(word, *style));
    }
    out
}

/// Pads to exactly this many columns.
fn fill(spans: &mut Vec<Span<'static>>, room: usize) {
    let used = text::spans_width(spans);
    spans.push(Span::raw(" ".repeat(room.saturating_sub(used))));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(new: &str, existing: &str, room: usize) -> String {
        let runs = word_diff::words(new, existing).left;
        cut(&runs, room, Style::default(), Style::default()).iter().map(|span| span.content.to_string()).collect()
    }

    #[rstest::rstest]
    #[case("The canary is red", "The canary is blue", 40, "The canary is red")]
    #[case(
        "The canary deployment of the web shop is red",
        "The canary deployment of the web shop is blue",
        16,
        "…web shop is red"
    )]
    #[case("Red is the canary of the web shop", "Blue is the canary of the web shop", 12, "Red is the …")]
    #[case("決定：配備は毎週金曜日に行う", "決定：配備は毎週月曜日に行う", 9, "…金曜日…")]
    fn what_differs_is_seen_in_few_columns(
        #[case] new: &str,
        #[case] existing: &str,
        #[case] room: usize,
        #[case] expected: &str,
    ) {
        let shown = shown(new, existing, room);
        assert!(text::width(&shown) <= room, "{shown}");
        assert_eq!(shown, expected);
    }

    proptest::proptest! {
        #[test]
        fn no_row_is_wider_than_its_room(new in "\\PC{0,60}", existing in "\\PC{0,60}", room in 0usize..50) {
            let pair = word_diff::words(&new, &existing);
            for runs in [&pair.left, &pair.right] {
                let spans = cut(runs, room, Style::default(), Style::default());
                proptest::prop_assert!(text::spans_width(&spans) <= room);
            }
        }
    }
}
