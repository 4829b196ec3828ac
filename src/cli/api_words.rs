//! Translates field names of the API in error messages into arguments of the command line.

/// Names in backticks in messages of the API, each with the words of the command line for it. An empty text stands for a name that
/// the command line lacks: it is omitted before a colon, and loses its backticks elsewhere.
const WORDS: &[(&str, &str)] = &[
    ("as_of", "`--as-of`"),
    ("because", "`--reason`"),
    ("cursor", "`--cursor`"),
    ("depends_on", "`--depends-on`"),
    ("env", "`--env`"),
    ("exception_to", "`--exception-to`"),
    ("force_exception", "`--force-exception`"),
    ("in_team", "`--in`"),
    ("key", "`--key`"),
    ("kind", "`--kind`"),
    ("kind: fact", "`--kind fact`"),
    ("limit", "`--limit`"),
    ("name", "the name"),
    ("op_id", "id"),
    ("org_id", "the organisation"),
    ("project", "the project"),
    ("q", "the words to look for"),
    ("query", "the question"),
    ("question", "the question"),
    ("reason", "`--reason`"),
    ("since", "`--since`"),
    ("source", "`--source`"),
    ("statement", "the statement"),
    ("status", "`--status`"),
    ("successor", "`--by`"),
    ("target", "the id"),
    ("targets", "the ids"),
    ("verdicts", ""),
    ("team", "`--team`"),
    ("tenant", "`--tenant`"),
    ("text", "the text"),
    ("tokens", "`--tokens`"),
    ("until", "`--until`"),
    ("valid_from", "`--from`"),
    ("valid_until", "`--until`"),
    ("verdict", "`--verdict`"),
    ("GET /claims", "`ergo claims`"),
    ("GET /doubts", "`ergo judge --json`"),
    ("GET /openapi.json", "`ergo help`"),
    ("GET /sync/invites", "`ergo sync status`"),
];

/// Replaces names of the API in a message by those of the command line. Text in quotation marks, such as a statement, stays as it is.
pub(crate) fn in_arguments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['`', '“']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let (open, close) = if from.starts_with('`') { ('`', '`') } else { ('“', '”') };
        let inner = from.get(open.len_utf8()..).unwrap_or_default();
        let Some((inner, after)) = inner.split_once(close) else {
            rest = from;
            break;
        };
        match WORDS.iter().find(|(name, _)| open == '`' && *name == inner) {
            Some((_, "" | "the id" | "the ids")) if after.starts_with(": ") => {
                rest = after.get(2..).unwrap_or_default();
                continue;
            }
            Some((_, "")) => out.push_str(inner),
            Some((_, word)) => out.push_str(word),
            None => out.extend([open.to_string().as_str(), inner, close.to_string().as_str()]),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("`valid_from` is no day", "`--from` is no day")]
    #[case("`GET /claims` with `q` pages", "`ergo claims` with the words to look for pages")]
    #[case("“use `kind` here” needs a `reason`", "“use `kind` here” needs a `--reason`")]
    #[case("`target`: invalid id “zz”", "invalid id “zz”")]
    #[case("`target` is empty", "the id is empty")]
    #[case("`ergo log` lists acts", "`ergo log` lists acts")]
    #[case("an open ` and “ stay", "an open ` and “ stay")]
    fn names_of_the_api_become_arguments(#[case] text: &str, #[case] shown: &str) {
        assert_eq!(in_arguments(text), shown);
    }
}
