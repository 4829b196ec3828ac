//! Deserialises requests from one flat JSON object, in which an unknown field is an error.
//!
//! serde's `flatten` would accept unknown fields, and its errors have no path. So a request that contains another struct, such as
//! [`Caller`], is deserialised into a plain struct of all its fields first.

use std::{collections::BTreeMap, fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Visitor},
};

use super::{Caller, LearnRequest, RememberRequest, SupersedeRequest};
use crate::domain::{ClaimKind, OpId, Qualifiers};

/// Defines a request that has the fields of a [`Caller`] and fields of its own. Those of the caller that it must have
/// are in parentheses; `scope` stands for `org_id` and `project`.
macro_rules! request {
    ($(#[$meta:meta])* pub struct $name:ident { $(#[$about:meta])* caller(who, scope), $($own:tt)* }) => {
        $crate::api::request::request! { @define {} {} {} [$(#[$meta])*] $name [$(#[$about])*] $($own)* }
    };
    ($(#[$meta:meta])* pub struct $name:ident { $(#[$about:meta])* caller(who), $($own:tt)* }) => {
        $crate::api::request::request! {
            @define {#[serde(default)]} {#[serde(default)]} {} [$(#[$meta])*] $name [$(#[$about])*] $($own)*
        }
    };
    ($(#[$meta:meta])* pub struct $name:ident { $(#[$about:meta])* caller(scope), $($own:tt)* }) => {
        $crate::api::request::request! {
            @define {} {} {#[serde(default)]} [$(#[$meta])*] $name [$(#[$about])*] $($own)*
        }
    };
    ($(#[$meta:meta])* pub struct $name:ident { $(#[$about:meta])* caller(org_id), $($own:tt)* }) => {
        $crate::api::request::request! {
            @define {} {#[serde(default)]} {#[serde(default)]} [$(#[$meta])*] $name [$(#[$about])*] $($own)*
        }
    };
    ($(#[$meta:meta])* pub struct $name:ident { $(#[$about:meta])* caller, $($own:tt)* }) => {
        $crate::api::request::request! {
            @define {#[serde(default)]} {#[serde(default)]} {#[serde(default)]} [$(#[$meta])*] $name [$(#[$about])*]
            $($own)*
        }
    };
    (
        @define {$($org_id:tt)*} {$($project:tt)*} {$($who:tt)*} [$(#[$meta:meta])*] $name:ident [$(#[$about:meta])*]
        $( $(#[$field_meta:meta])* pub $field:ident: $type:ty, )*
    ) => {
        #[derive(Clone, Debug, PartialEq, serde::Serialize, utoipa::ToSchema)]
        $(#[$meta])*
        pub struct $name {
            $(#[$about])*
            #[serde(flatten)]
            pub caller: $crate::api::Caller,
            $( $(#[$field_meta])* pub $field: $type, )*
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                #[derive(serde::Deserialize)]
                #[serde(deny_unknown_fields, expecting = "an object")]
                struct Fields {
                    // The first field that is missing is named in the error.
                    $( $(#[$field_meta])* $field: $type, )*
                    $($org_id)*
                    org_id: String,
                    $($project)*
                    project: String,
                    $($who)*
                    who: String,
                    agent: Option<String>,
                    op_id: Option<$crate::domain::OpId>,
                    identity: Option<String>,
                }
                let Fields { org_id, project, who, agent, op_id, identity, $($field),* } =
                    <Fields as serde::Deserialize>::deserialize(deserializer)?;
                Ok(Self { caller: $crate::api::Caller { org_id, project, who, agent, op_id, identity }, $($field),* })
            }
        }
    };
}
pub(super) use request;

/// Deserialises a map in which a key that occurs twice is an error. serde's own maps keep the last value.
pub(super) fn map_with_unique_keys<'de, D, V>(deserializer: D) -> Result<BTreeMap<String, V>, D::Error>
where
    D: Deserializer<'de>,
    V: Deserialize<'de>,
{
    struct UniqueKeys<V>(PhantomData<V>);

    impl<'de, V: Deserialize<'de>> Visitor<'de> for UniqueKeys<V> {
        type Value = BTreeMap<String, V>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a map")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
            let mut map = BTreeMap::new();
            while let Some((key, value)) = entries.next_entry::<String, V>()? {
                if map.insert(key.clone(), value).is_some() {
                    return Err(A::Error::custom(format_args!("the key `{key}` occurs twice")));
                }
            }
            Ok(map)
        }
    }

    deserializer.deserialize_map(UniqueKeys(PhantomData))
}

/// Defines the fields of a claim to be written, with those that one operation has besides.
macro_rules! claim_fields {
    ($name:ident { $($own:tt)* }) => {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields, expecting = "an object")]
        struct $name {
            $($own)*
            org_id: String,
            project: String,
            who: String,
            agent: Option<String>,
            op_id: Option<OpId>,
            identity: Option<String>,
            kind: Option<ClaimKind>,
            reason: Option<String>,
            source: Option<String>,
            key: Option<String>,
            #[serde(default)]
            depends_on: Vec<String>,
            env: Option<String>,
            team: Option<String>,
            tenant: Option<String>,
            valid_from: Option<String>,
            valid_until: Option<String>,
            force_exception: Option<String>,
            #[serde(default)]
            exception_to: Vec<String>,
            #[serde(default)]
            consider: bool,
            #[serde(default)]
            dry_run: bool,
        }
    };
}

/// Returns the claim in such fields.
macro_rules! claim_in {
    ($fields:ident) => {
        RememberRequest {
            caller: Caller {
                org_id: $fields.org_id,
                project: $fields.project,
                who: $fields.who,
                agent: $fields.agent,
                op_id: $fields.op_id,
                identity: $fields.identity,
            },
            statement: $fields.statement,
            kind: $fields.kind,
            reason: $fields.reason,
            source: $fields.source,
            key: $fields.key,
            depends_on: $fields.depends_on,
            qualifiers: Qualifiers {
                env: $fields.env,
                team: $fields.team,
                tenant: $fields.tenant,
                valid_from: $fields.valid_from,
                valid_until: $fields.valid_until,
            },
            force_exception: $fields.force_exception,
            exception_to: $fields.exception_to,
            consider: $fields.consider,
            dry_run: $fields.dry_run,
        }
    };
}

claim_fields! {
    RememberFields {
        statement: String,
    }
}

claim_fields! {
    SupersedeFields {
        targets: Vec<String>,
        successor: Option<String>,
        expect_rev: Option<u64>,
        #[serde(default)]
        drop_conditions: bool,
        // Without one, `successor` names the claim.
        #[serde(default)]
        statement: String,
    }
}

impl<'de> Deserialize<'de> for RememberRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = RememberFields::deserialize(deserializer)?;
        Ok(claim_in!(fields))
    }
}

impl<'de> Deserialize<'de> for LearnRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let claim = RememberRequest::deserialize(deserializer)?;
        if claim.source.is_none() { Err(D::Error::missing_field("source")) } else { Ok(Self { claim }) }
    }
}

impl<'de> Deserialize<'de> for SupersedeRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = SupersedeFields::deserialize(deserializer)?;
        Ok(Self {
            targets: fields.targets,
            successor: fields.successor,
            expect_rev: fields.expect_rev,
            drop_conditions: fields.drop_conditions,
            claim: claim_in!(fields),
        })
    }
}
