//! Deserialises requests from one flat JSON object, in which an unknown field is an error.
//!
//! serde's `flatten` would accept unknown fields, and its errors have no path. So a request that contains another struct, such as
//! [`Caller`], is deserialised into a plain struct of all its fields first.

use std::{collections::BTreeMap, fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Visitor},
};

use super::{Caller, RememberRequest, SupersedeRequest};
use crate::domain::{ClaimKind, OpId, Qualifiers};

/// Defines a request that has the fields of a [`Caller`] and fields of its own.
macro_rules! request {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $(#[$caller_meta:meta])*
            caller,
            $( $(#[$field_meta:meta])* pub $field:ident: $type:ty, )*
        }
    ) => {
        #[derive(Clone, Debug, PartialEq, serde::Serialize, utoipa::ToSchema)]
        $(#[$meta])*
        $vis struct $name {
            $(#[$caller_meta])*
            #[serde(flatten)]
            pub caller: $crate::api::Caller,
            $( $(#[$field_meta])* pub $field: $type, )*
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                #[derive(serde::Deserialize)]
                #[serde(deny_unknown_fields, expecting = "an object")]
                struct Fields {
                    #[serde(default)]
                    org_id: String,
                    #[serde(default)]
                    project: String,
                    #[serde(default)]
                    who: String,
                    #[serde(default)]
                    agent: Option<String>,
                    #[serde(default)]
                    op_id: Option<$crate::domain::OpId>,
                    #[serde(default)]
                    identity: Option<String>,
                    $( $(#[$field_meta])* $field: $type, )*
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

/// All fields of `remember` and `supersede`.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "an object")]
struct ClaimFields {
    targets: Vec<String>,
    successor: Option<String>,
    expect_rev: Option<u64>,
    drop_conditions: bool,
    org_id: String,
    project: String,
    who: String,
    agent: Option<String>,
    op_id: Option<OpId>,
    identity: Option<String>,
    statement: String,
    kind: Option<ClaimKind>,
    reason: Option<String>,
    source: Option<String>,
    key: Option<String>,
    depends_on: Vec<String>,
    env: Option<String>,
    team: Option<String>,
    tenant: Option<String>,
    valid_from: Option<String>,
    valid_until: Option<String>,
    force_exception: Option<String>,
    exception_to: Vec<String>,
    consider: bool,
    dry_run: bool,
}

impl<'de> Deserialize<'de> for SupersedeRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = ClaimFields::deserialize(deserializer)?;
        let ClaimFields { org_id, project, who, agent, op_id, identity, .. } = fields;
        let ClaimFields { env, team, tenant, valid_from, valid_until, .. } = fields;
        Ok(Self {
            targets: fields.targets,
            successor: fields.successor,
            expect_rev: fields.expect_rev,
            drop_conditions: fields.drop_conditions,
            claim: RememberRequest {
                caller: Caller { org_id, project, who, agent, op_id, identity },
                statement: fields.statement,
                kind: fields.kind,
                reason: fields.reason,
                source: fields.source,
                key: fields.key,
                depends_on: fields.depends_on,
                qualifiers: Qualifiers { env, team, tenant, valid_from, valid_until },
                force_exception: fields.force_exception,
                exception_to: fields.exception_to,
                consider: fields.consider,
                dry_run: fields.dry_run,
            },
        })
    }
}

impl<'de> Deserialize<'de> for RememberRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let request = SupersedeRequest::deserialize(deserializer)?;
        let SupersedeRequest { targets, successor, expect_rev, drop_conditions, claim } = request;
        let others = [
            ("targets", !targets.is_empty()),
            ("successor", successor.is_some()),
            ("expect_rev", expect_rev.is_some()),
            ("drop_conditions", drop_conditions),
        ];
        match others.into_iter().find(|(_, given)| *given) {
            Some((field, _)) => {
                Err(D::Error::custom(format_args!("unknown field `{field}`: only `supersede` takes it")))
            }
            None => Ok(claim),
        }
    }
}
