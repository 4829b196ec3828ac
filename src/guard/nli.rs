//! Language inference, as the guard sees it. The models that answer live elsewhere.

/// What language inference says about a pair of statements; the three sum to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Inference {
    /// The second follows from the first.
    pub entailment: f32,
    /// Neither.
    pub neutral: f32,
    /// They cannot both hold.
    pub contradiction: f32,
}

/// A source of language inference.
pub trait Nli: Send + Sync {
    /// Its name, for verdicts: a model's name, or `none`.
    fn name(&self) -> &str;

    /// Infers, or says in words why it cannot.
    fn infer(&self, premise: &str, hypothesis: &str) -> Result<Inference, String>;
}

/// No model: says so.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoNli;

impl Nli for NoNli {
    fn name(&self) -> &'static str {
        "none"
    }

    fn infer(&self, _premise: &str, _hypothesis: &str) -> Result<Inference, String> {
        Err("language inference is not available: no model is installed".into())
    }
}
