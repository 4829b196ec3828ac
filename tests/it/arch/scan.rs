//! Parses Rust source only as far as needed to find the modules it declares and the paths it names.

/// A word, `::` or a single mark, with its line (from 1). Comments and literals are left out.
#[derive(Debug, PartialEq)]
pub(crate) struct Token<'a> {
    pub(crate) text: &'a str,
    pub(crate) line: usize,
}

/// Splits source into tokens.
pub(crate) fn tokens(source: &str) -> Vec<Token<'_>> {
    let bytes = source.as_bytes();
    let (mut out, mut at, mut line) = (Vec::new(), 0, 1);
    while at < bytes.len() {
        let end = match bytes[at] {
            b if b.is_ascii_whitespace() => at + 1,
            b'/' if bytes[at..].starts_with(b"//") => source[at..].find('\n').map_or(bytes.len(), |length| at + length),
            b'/' if bytes[at..].starts_with(b"/*") => block_comment_end(bytes, at),
            b'"' => string_end(bytes, at),
            b'\'' => quote_end(source, at),
            b if is_word(b) => word_end(bytes, at),
            _ => at + source[at..].chars().next().map_or(1, char::len_utf8),
        };
        if is_word(bytes[at]) && is_word(bytes[end - 1]) {
            out.push(Token { text: source[at..end].trim_start_matches("r#"), line });
        } else if bytes[at..].starts_with(b"::") {
            out.push(Token { text: "::", line });
            at += 2;
            continue;
        } else if end == at + 1 && bytes[at].is_ascii_punctuation() && bytes[at] != b'\'' {
            out.push(Token { text: &source[at..end], line });
        }
        line += source[at..end].matches('\n').count();
        at = end;
    }
    out
}

fn is_word(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric()
}

/// Returns the end of a word, or of the literal whose prefix the word is (`b"…"`, `r#"…"#`, `b'x'`).
fn word_end(bytes: &[u8], start: usize) -> usize {
    let word = start + bytes[start..].iter().take_while(|b| is_word(**b)).count();
    let prefix = &bytes[start..word];
    let hashes = bytes[word..].iter().take_while(|b| **b == b'#').count();
    if matches!(prefix, b"r" | b"br" | b"cr") && bytes.get(word + hashes) == Some(&b'"') {
        let close = [b"\"".as_slice(), &vec![b'#'; hashes]].concat();
        let body = word + hashes + 1;
        let length = bytes[body..].windows(close.len()).position(|window| window == close);
        return length.map_or(bytes.len(), |length| body + length + close.len());
    }
    match bytes.get(word) {
        Some(b'"') if matches!(prefix, b"b" | b"c") => string_end(bytes, word),
        Some(b'#') if prefix == b"r" => word_end(bytes, word + 1),
        _ => word,
    }
}

fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

/// Returns the end of a character literal, or of the quote alone if it begins a lifetime.
fn quote_end(source: &str, start: usize) -> usize {
    let mut rest = source[start + 1..].chars();
    let first = rest.next().unwrap_or('\'');
    if first == '\\' {
        let after = start + 2 + rest.next().map_or(0, char::len_utf8);
        return source[after..].find('\'').map_or(source.len(), |length| after + length + 1);
    }
    if rest.next() == Some('\'') { start + 1 + first.len_utf8() + 1 } else { start + 1 }
}

fn block_comment_end(bytes: &[u8], start: usize) -> usize {
    let (mut depth, mut at) = (0, start);
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
        } else {
            at += 1;
        }
        if depth == 0 {
            break;
        }
    }
    at.min(bytes.len())
}

/// The references of a file to other modules.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Mentions {
    /// Paths from the crate's root, as segments, with the line: `crate::a::b`, `super::c` and groups resolved.
    pub(super) paths: Vec<(Vec<String>, usize)>,
    /// Modules declared with `mod x;`, as segments from the crate's root.
    pub(super) children: Vec<Vec<String>>,
}

/// Reads a file that is the module `module` (segments from the crate's root).
pub(super) fn mentions(module: &[String], source: &str) -> Mentions {
    let tokens = tokens(source);
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text);
    let mut found = Mentions::default();
    let mut here = module.to_vec();
    // Inline modules that are open, each with the brace depth at which it ends.
    let (mut open, mut depth) = (Vec::new(), 0_usize);
    for at in 0..tokens.len() {
        match text(at) {
            "{" => depth += 1,
            "}" => {
                depth = depth.saturating_sub(1);
                if open.last() == Some(&depth) {
                    open.pop();
                    here.pop();
                }
            }
            "mod" if text(at + 2) == ";" => {
                found.children.push([here.as_slice(), &[text(at + 1).to_owned()]].concat());
            }
            "mod" if text(at + 2) == "{" => {
                open.push(depth);
                here.push(text(at + 1).to_owned());
            }
            "crate" | "super" | "self" if text(at + 1) == "::" && (at == 0 || text(at - 1) != "::") => {
                path(&tokens, at, &here, &mut found.paths);
            }
            _ => {}
        }
    }
    found
}

/// Reads a path from its first word, with a result for each member of a group. Ends at the first token that is not part
/// of it.
fn path(tokens: &[Token<'_>], start: usize, here: &[String], out: &mut Vec<(Vec<String>, usize)>) -> usize {
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text);
    let (mut at, mut segments) = (start, here.to_vec());
    loop {
        match text(at) {
            "crate" => segments.clear(),
            "self" => {}
            "super" => {
                segments.pop();
            }
            "{" => {
                at += 1;
                while !matches!(text(at), "}" | "") {
                    at = path(tokens, at, &segments, out);
                    // An alias, then the comma.
                    while !matches!(text(at), "," | "}" | "") {
                        at += 1;
                    }
                    at += usize::from(text(at) == ",");
                }
                return at + 1;
            }
            word => segments.push(word.to_owned()),
        }
        if text(at + 1) != "::" {
            out.push((segments, tokens[at].line));
            return at + 1;
        }
        at += 2;
        // A turbofish ends the path.
        if text(at) == "<" {
            out.push((segments, tokens[at].line));
            return at;
        }
    }
}
