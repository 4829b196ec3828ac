//! Joining a team by files: a person carries a request file of the device to an admin, and a grant file back.

use std::{fs::File, io::Write, os::unix::fs::OpenOptionsExt, path::Path};

use minicbor::{Decode, Encode};

use super::{Teams, joins::device_name, random};
use crate::{
    api::{
        ApiError, ApproveRequest, CardRequest, DeviceCard, ErrorCode, ExportRequest, JoinRequest, JoinState, JoinView,
    },
    domain::{
        DeviceId, EventId, Roster,
        roster::MAX_NAME,
        text::{escape, name_problem, quote},
    },
    engine::Engine,
    files,
    sync::{
        bundle::note,
        transfer::{self, RosterFile},
        verification,
    },
};

/// The maximum size of a file in bytes.
const MAX_FILE: u64 = 64 * 1024 * 1024;

/// The content of a request file, besides the device that signed it.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
struct Card {
    /// The person to whom the device belongs.
    #[n(0)]
    person: String,
    /// The device's name.
    #[n(1)]
    name: String,
    /// Random bytes, so that two request files have different words.
    #[cbor(n(2), with = "minicbor::bytes")]
    salt: [u8; 16],
}

impl Teams {
    /// Writes a request file of this device.
    pub(in crate::daemon) async fn card(&self, request: CardRequest) -> Result<DeviceCard, ApiError> {
        let person = if request.caller.who.trim().is_empty() { self.who.clone() } else { request.caller.who };
        let name = device_name(request.device_name.as_deref())?;
        for (field, text) in [("who", &person), ("device_name", &name)] {
            if let Some(problem) = name_problem(text) {
                return Err(ApiError::field(field, format!("`{field}` {problem}")).hint("give it another name"));
            }
            if text.len() > MAX_NAME {
                return Err(ApiError::field(field, format!("`{field}` is longer than {MAX_NAME} bytes")));
            }
        }
        let card = Card { person, name, salt: random()? };
        let payload = minicbor::to_vec(&card).unwrap_or_default();
        let bytes = note::seal(&payload, &self.key).map_err(|error| ApiError::internal(error.to_string()))?;
        let out = request.out.clone();
        self.engine(move |_| write_new("out", &out, |file| file.write_all(&bytes))).await?;
        let summary =
            format!("{} is the join request of “{}”. It contains no secret. Its words:", request.out, card.name);
        Ok(view(request.out, self.me(), &card, &payload, summary))
    }

    /// Reads a request file. If the request names a grant file (`out`), admits the device, whose words must match.
    pub(in crate::daemon) async fn approve(&self, request: ApproveRequest) -> Result<DeviceCard, ApiError> {
        let team = self.administered(request.in_team.as_deref(), "admit devices").await?;
        let grant = team.grant(request.role, &request.scopes)?;
        let path = request.card.clone();
        let bytes = self.engine(move |_| read("card", &path)).await?;
        let note = note::open(&bytes).map_err(|error| ApiError::field("card", format!("{}: {error}", request.card)))?;
        let card: Card = minicbor::decode(&note.payload).map_err(|_| {
            ApiError::field("card", format!("{} was made by another version of ergo", request.card))
                .hint("make the request file with the same version")
        })?;
        let asks = format!(
            "{} asks to join {} with the device “{}”",
            escape(&card.person),
            escape(team.roster.name()),
            escape(&card.name)
        );
        if note.device == self.me() {
            return Err(ApiError::field("card", "this request file was created on this device")
                .hint("create it on the device that should join: `ergo sync request`"));
        }
        let seen = view(request.card.clone(), note.device, &card, &note.payload, asks);
        let Some(out) = request.out else { return Ok(seen) };
        if !verification::matches(&request.words, &seen.words) {
            return Err(ApiError::field("words", "these are not the words of this request file: nobody was admitted")
                .hint("ask the one who sent it for the words that `ergo sync request` showed"));
        }
        // Before the device is admitted, check that the grant can be written.
        absolute("out", &out)?;
        if Path::new(&out).exists() {
            return Err(ApiError::field("out", format!("{out} already exists")).hint("choose another name"));
        }
        let (device, caller, named) = (note.device, request.caller, team.id.to_hex());
        let (person, name, role) = (card.person.clone(), card.name.clone(), grant.role);
        // Also if it is a member: it may have left while it was unconnected, and the role may be another one.
        let add = move |engine: &Engine| engine.add_member(&caller, Some(&named), device, &person, &name, &grant);
        let (done, _) = self.engine(add).await?;
        self.changed(&done.summary).await;
        let export = ExportRequest {
            in_team: Some(team.id.to_hex()),
            to: vec![device.to_hex()],
            roster_only: true,
            ..ExportRequest::default()
        };
        let path = out.clone();
        self.engine(move |engine| {
            let mut file = create("out", &path)?;
            transfer::export(engine, &export, &mut file)?;
            file.sync_all().map_err(|error| io("write", "out", &path, &error))
        })
        .await?;
        let team_name = team.roster.name().to_owned();
        let admitted = if team.roster.is_member(&device) {
            format!("“{}” already belonged to {team_name}, and now has the role {role}.", card.name)
        } else {
            format!("“{}” was admitted to {team_name} with the role {role}.", card.name)
        };
        let summary = format!(
            "{admitted} {out} is encrypted for it alone: carry the file there. That device must show these words:"
        );
        let grant_words = grant_words(team.id, self.me(), device);
        Ok(DeviceCard { grant: Some(out), grant_words, team_name: Some(team_name), summary, ..seen })
    }

    /// Joins by a grant file. Without the words, only reports the content of the file.
    pub(super) async fn join_by_file(&self, path: &str, request: JoinRequest) -> Result<JoinView, ApiError> {
        let (key, file) = (self.key.clone(), path.to_owned());
        let RosterFile { team, from, events, .. } =
            self.engine(move |_| transfer::roster_in(read("grant", &file)?.as_slice(), &key)).await?;
        let roster = Roster::of(team, &events).filter(|roster| roster.is_member(&self.me()));
        let Some(roster) = roster else {
            return Err(ApiError::field("grant", format!("{path} is a grant for another device")).hint(
                "`ergo sync request` here makes a request file; an admin makes the grant from it with `ergo sync approve`",
            ));
        };
        let given = request.device_name.as_deref().map(str::trim).filter(|name| !name.is_empty());
        if let (Some(name), Some(member)) = (given, roster.member(&self.me()))
            && member.name != name
        {
            return Err(ApiError::field(
                "device_name",
                format!("the grant file admits this device as “{}”, the name in its request", escape(&member.name)),
            )
            .hint(format!("join without another name, then rename this device: `ergo sync rename {}`", quote(name))));
        }
        let approver = roster.member(&from);
        let mut view = JoinView {
            id: hex::encode(random::<8>()?),
            state: JoinState::Waiting,
            team_name: roster.name().to_owned(),
            inviter: approver.map_or_else(|| from.short(), |member| member.name.clone()),
            person: approver.map_or_else(|| "someone".to_owned(), |member| member.person.clone()),
            role: roster.role(&self.me()).unwrap_or_default(),
            words: grant_words(team, from, self.me()),
            expires_at: 0,
            team: None,
            error: None,
        };
        if request.words.is_empty() {
            return Ok(view);
        }
        if !verification::matches(&request.words, &view.words) {
            return Err(ApiError::field("words", "the words do not match this file: the team was not joined")
                .hint("ask the admin who approved it for the words that `ergo sync approve` showed"));
        }
        let joined = self
            .engine(move |engine| {
                engine.join_team(&request.caller, team, &events, Some(from), &request.map, &request.bring)
            })
            .await?;
        self.changed(&joined.summary).await;
        view.state = JoinState::Joined;
        view.team = Some(joined);
        Ok(view)
    }
}

fn view(path: String, device: DeviceId, card: &Card, payload: &[u8], summary: String) -> DeviceCard {
    let material = [&device.0[..], payload].concat();
    DeviceCard {
        path,
        device,
        name: card.name.clone(),
        person: card.person.clone(),
        words: verification::verification_code("card", &material).map(str::to_owned).into(),
        grant: None,
        grant_words: Vec::new(),
        team_name: None,
        summary,
    }
}

/// Returns the words of a grant, which depend on the team, the approving device and the admitted device.
fn grant_words(team: EventId, from: DeviceId, to: DeviceId) -> Vec<String> {
    verification::verification_code("grant", &[team.0, from.0, to.0].concat()).map(str::to_owned).into()
}

fn absolute(field: &str, path: &str) -> Result<(), ApiError> {
    if Path::new(path).is_absolute() {
        return Ok(());
    }
    Err(ApiError::field(field, format!("`{field}` must be an absolute path: “{path}” is relative")))
}

fn read(field: &str, path: &str) -> Result<Vec<u8>, ApiError> {
    absolute(field, path)?;
    files::bytes(Path::new(path), MAX_FILE).map_err(|error| io("read", field, path, &error))
}

fn create(field: &str, path: &str) -> Result<File, ApiError> {
    absolute(field, path)?;
    let file = File::options().write(true).create_new(true).mode(0o600).open(path);
    file.map_err(|error| io("create", field, path, &error))
}

fn write_new(field: &str, path: &str, write: impl FnOnce(&mut File) -> std::io::Result<()>) -> Result<(), ApiError> {
    let mut file = create(field, path)?;
    write(&mut file).and_then(|()| file.sync_all()).map_err(|error| io("write", field, path, &error))
}

fn io(act: &str, field: &str, path: &str, error: &std::io::Error) -> ApiError {
    match error.kind() {
        _ if files::is_full(error) => ApiError::new(ErrorCode::Unavailable, format!("cannot {act} {path}: {error}"))
            .hint("free disk space, then try again"),
        std::io::ErrorKind::AlreadyExists => {
            ApiError::field(field, format!("{path} already exists")).hint("choose another name, or remove it")
        }
        _ => ApiError::field(field, format!("cannot {act} {path}: {error}")),
    }
}
