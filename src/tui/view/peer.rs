//! A team, a device of a team, or a join request, in full.

use ratatui::text::Line;

use super::{
    paint::{Paint, labelled},
    peers::team_state,
};
use crate::{
    api::{PeerState, PeerView, PendingJoin, TeamStatus},
    domain::{
        Scope,
        text::{count, escape},
    },
    tui::{text, times},
};

const LABEL_WIDTH: usize = 12;

/// The lines of a detail, field by field.
struct FieldLines<'a> {
    paint: &'a Paint<'a>,
    width: usize,
    lines: Vec<Line<'static>>,
}

impl<'a> FieldLines<'a> {
    fn new(paint: &'a Paint<'a>, width: usize) -> Self {
        Self { paint, width, lines: Vec::new() }
    }

    fn heading(&mut self, text: &str) {
        self.lines.extend(text::wrap(text, self.width, self.paint.theme.title));
    }

    fn field(&mut self, label: &str, value: &str) {
        self.styled(label, value, self.paint.theme.text);
    }

    fn styled(&mut self, label: &str, value: &str, style: ratatui::style::Style) {
        let body = text::wrap(value, self.width.saturating_sub(LABEL_WIDTH), style);
        self.lines.extend(labelled(label, body, LABEL_WIDTH, self.paint.theme.dim));
    }

    fn ago(&self, at: Option<u64>, never: &str) -> String {
        let (state, zone) = (self.paint.state, &self.paint.state.settings.zone);
        at.map_or_else(|| never.to_owned(), |at| format!("{} ({})", times::ago(at, state.now), times::minute(at, zone)))
    }
}

fn scopes(scopes: Option<&[Scope]>) -> String {
    match scopes {
        None | Some([]) => "all of the team's scopes".to_owned(),
        Some(scopes) => scopes.iter().map(|scope| escape(&scope.to_string())).collect::<Vec<_>>().join(", "),
    }
}

/// Lays out a join request. The words come first, because the user must compare them.
pub(super) fn pending(paint: &Paint<'_>, join: &PendingJoin, width: usize) -> Vec<Line<'static>> {
    let mut fields = FieldLines::new(paint, width);
    fields.heading(&format!("{} asks to join {}", escape(&join.name), escape(&join.team_name)));
    fields.styled("words", &join.words.join(" "), paint.theme.title);
    let compare = "The other screen must show the same six words. If they differ, deny the request: it may be a \
                   man-in-the-middle attack.";
    fields.field("compare", compare);
    fields.field("person", &join.person);
    fields.field("role", &format!("{} in {}", join.role.as_str(), scopes(Some(&join.scopes))));
    let left = join.expires_at.saturating_sub(paint.state.now) / 1000;
    let left = if left < 90 { format!("{left} s") } else { format!("{} min", left.div_ceil(60)) };
    fields.field("expires in", &left);
    fields.lines
}

/// Lays out a team: its state, its problems, and what it shares.
pub(super) fn team(paint: &Paint<'_>, team: &TeamStatus, width: usize) -> Vec<Line<'static>> {
    let theme = paint.theme;
    let status = paint.state.peers.status.as_ref();
    let mut fields = FieldLines::new(paint, width);
    fields.heading(&escape(&team.name));
    let (words, good) = team_state(team, status.map(|status| status.mode));
    fields.styled("state", &words, if good { theme.ok } else { theme.warn });
    if let Some(end) = &team.ended {
        fields.field("when", &times::minute(end.at, &paint.state.settings.zone));
        fields.styled("next step", &end.says, theme.warn);
        return fields.lines;
    }
    for problem in &team.problems {
        fields.styled("problem", problem, theme.warn);
    }
    for kept in &team.kept {
        fields.styled("not shared", &kept.says, if kept.before { theme.dim } else { theme.warn });
    }
    if let Some(status) = status {
        fields.field("network", &status.says);
    }
    fields.field("your role", team.role.map_or("no longer a member", |role| role.as_str()));
    for scope in &team.scopes {
        let bound = &scope.bound;
        let name = if bound.scope == bound.local {
            escape(&bound.scope.to_string())
        } else {
            format!("{} (here {})", escape(&bound.scope.to_string()), escape(&bound.local.to_string()))
        };
        let dot = theme.glyphs.dot;
        let mut parts = vec![name, count(scope.events, "event", "events")];
        if scope.open_cards > 0 {
            parts.push(count(scope.open_cards, "open conflict", "open conflicts"));
        }
        if scope.quarantined > 0 {
            parts.push(format!("{} in quarantine", scope.quarantined));
        }
        fields.field("scope", &parts.join(&format!(" {dot} ")));
    }
    if team.quarantined > 0 {
        let are = if team.quarantined == 1 { "event is" } else { "events are" };
        let text = format!(
            "{} {are} in quarantine: not accepted by the team's roster. `ergo sync quarantine list` shows them; an admin can accept them.",
            team.quarantined
        );
        fields.styled("quarantined", &text, theme.warn);
    }
    if let Some(status) = status {
        for problem in &status.problems {
            fields.styled("problem", problem, theme.warn);
        }
        if !status.addresses.is_empty() {
            fields.field("listens at", &status.addresses.join(", "));
        }
    }
    if !team.peers.iter().any(|peer| !peer.you) {
        fields.field("next step", "`ergo sync invite` makes a ticket for another device.");
    }
    fields.lines
}

/// Lays out a device: how it is reached, what each side lacks, what went wrong and what to do.
pub(super) fn device(paint: &Paint<'_>, peer: &PeerView, width: usize) -> Vec<Line<'static>> {
    let theme = paint.theme;
    let mut fields = FieldLines::new(paint, width);
    fields.heading(&escape(&peer.name));
    fields.field("person", &escape(&peer.person));
    fields.field("device", &peer.device.short());
    let state = match peer.state {
        PeerState::Active => format!("{} in {}", peer.role.as_str(), scopes(peer.scopes.as_deref())),
        PeerState::Left => "left the team; what it wrote before stays".to_owned(),
        PeerState::Revoked => "revoked; what it wrote after that is not accepted".to_owned(),
    };
    fields.field("role", &state);
    if peer.you {
        fields.field("this is", "this device");
        return fields.lines;
    }
    if peer.connected {
        fields.styled("connection", &peer.path_words(), theme.ok);
    } else {
        fields.field("connection", "not connected");
    }
    if !peer.addresses.is_empty() {
        fields.field("address", &peer.addresses.join(", "));
    }
    let seen = fields.ago(peer.last_seen, "never");
    fields.field("last seen", &seen);
    let synced = fields.ago(peer.last_sync, "never");
    fields.field("last synced", &synced);
    fields.field("to receive", &peer.we_lack.to_string());
    fields.field("to send", &peer.they_lack.to_string());
    let (synced, style) = if peer.is_in_sync() {
        (format!("{} yes", theme.glyphs.done), theme.ok)
    } else if peer.digests_equal {
        ("no, events were not accepted".to_owned(), theme.warn)
    } else {
        ("no, or not compared since the last change".to_owned(), theme.text)
    };
    fields.styled("in sync", &synced, style);
    if peer.quarantined > 0 {
        let events = count(peer.quarantined, "event", "events");
        let text = format!("{events} that it sent; `ergo sync quarantine list` shows them");
        fields.styled("quarantined", &text, theme.warn);
    }
    if peer.not_taken > 0 {
        let text = count(
            peer.not_taken,
            "event of this device is not accepted there",
            "events of this device are not accepted there",
        );
        fields.styled("unaccepted", &text, theme.warn);
    }
    if let Some(error) = &peer.last_error {
        fields.styled("last error", error, theme.warn);
    }
    if let Some(advice) = &peer.advice {
        fields.field("next step", advice);
    }
    fields.lines
}
