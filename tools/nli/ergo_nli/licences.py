"""Which sources the weights may rest on. Everything not listed here is left out of training.

Share-alike and unclear sources are left out on purpose: the weights are to be used under Apache-2.0 or MIT without a doubt.
"""

CLEARED_PUBLIC = {
    # MultiNLI: OANC terms (free use, change and sharing); its fiction part is public domain or CC-BY, but for one CC-BY-SA
    # story that the rows do not tell apart. `hans_mnli` and `negation_mnli` re-use its sentences under the same terms.
    "mnli": "OANC and others, see the model card",
    "hans_mnli": "MIT (HANS) over MultiNLI",
    "negation_mnli": "MultiNLI sentences with negations",
}
"""Public NLI sources in use. Left out: snli, negation_snli, cad, joci, scone (SNLI: CC-BY-SA), vitaminc, conjnli (Wikipedia:
CC-BY-SA), med, help (CC-BY-SA), and commitment_bank, fracas, rte, negation_rte, add_one_rte, scitail (terms unclear)."""

CLEARED_REPOSITORIES = {
    "ClementTsang/bottom": ("MIT", "LICENSE"),
    "Cretezy/lazyjj": ("Apache-2.0", "Cargo.toml"),
    "GSA/data.gov": ("CC0-1.0", "LICENSE.md"),
    "ONSdigital/eq-survey-runner": ("MIT", "LICENSE"),
    "alexpasmantier/television": ("MIT", "LICENSE"),
    "automerge/automerge": ("MIT", "LICENSE"),
    "customerio/customerio-ios": ("MIT", "LICENSE"),
    "derailed/k9s": ("Apache-2.0", "LICENSE"),
    "dlvhdr/gh-dash": ("MIT", "LICENSE.txt"),
    "dragonflyoss/Dragonfly2": ("Apache-2.0", "LICENSE"),
    "lusingander/serie": ("MIT", "LICENSE"),
    "n0-computer/iroh": ("MIT or Apache-2.0", "LICENSE-MIT"),
    "ratatui/ratatui-website": ("MIT", "LICENSE"),
    "tokio-rs/tokio": ("MIT", "tokio/LICENSE"),
    "topoteretes/cognee": ("Apache-2.0", "LICENSE"),
    "transcom/mymove": ("MIT", "LICENSE.md"),
    "unicode-org/message-format-wg": ("Unicode-3.0", "LICENSE"),
    "zellij-org/zellij": ("MIT", "Cargo.toml"),
}
"""Repositories whose rule-like sentences are edited and mined: the licence, and the file of the repository in which it was read.
All others of the data, share-alike, copyleft or not read, serve to choose a threshold only: nothing is trained on them."""


def public_source(src: str) -> str:
    """The data set behind a row's ``src``: without the marks for swapped order and random pairing."""
    return src.removesuffix("~").removeprefix("rand_")
