"""Which sources the weights may rest on. Everything not listed here is left out of training.

Share-alike and unclear sources are left out on purpose: the weights are to be used under Apache-2.0 or MIT without a doubt.
"""

CLEARED_PUBLIC = {
    # MultiNLI: OANC terms (free use, change and sharing); its fiction part is public domain or CC-BY, but for one CC-BY-SA
    # story that the rows do not tell apart. `hans_mnli` and `negation_mnli` re-use its sentences under the same terms.
    "mnli": "OANC and others, see MODEL_CARD.md",
    "hans_mnli": "MIT (HANS) over MultiNLI",
    "negation_mnli": "MultiNLI sentences with negations",
}
"""Public NLI sources in use. Left out: snli, negation_snli, cad, joci, scone (SNLI: CC-BY-SA), vitaminc, conjnli (Wikipedia:
CC-BY-SA), med, help (CC-BY-SA), and commitment_bank, fracas, rte, negation_rte, add_one_rte, scitail (terms unclear)."""

CLEARED_REPOSITORIES = {
    "BurntSushi/ripgrep": "MIT or Unlicense",
    "ClementTsang/bottom": "MIT",
    "Cretezy/lazyjj": "Apache-2.0",
    "DFE-Digital/get-an-identity": "MIT",
    "GSA/data.gov": "CC0 (work of the US government)",
    "MemPalace/mempalace": "MIT",
    "ONSdigital/eq-survey-runner": "MIT",
    "alexpasmantier/television": "MIT",
    "alphagov/digitalmarketplace-aws": "MIT",
    "alphagov/govuk-kubernetes-cluster-user-docs": "MIT",
    "automerge/automerge": "MIT",
    "customerio/customerio-ios": "MIT",
    "derailed/k9s": "Apache-2.0",
    "dlvhdr/gh-dash": "MIT",
    "doobidoo/mcp-memory-service": "Apache-2.0",
    "dragonflyoss/Dragonfly2": "Apache-2.0",
    "elastic/ecs": "Apache-2.0",
    "gitui-org/gitui": "MIT",
    "hypothesis/h": "BSD-2-Clause",
    "idursun/jjui": "MIT",
    "letta-ai/letta": "Apache-2.0",
    "lusingander/serie": "MIT",
    "microsoft/tui-test": "MIT",
    "ministryofjustice/laa-apply-for-legal-aid": "MIT",
    "ministryofjustice/opg-modernising-lpa": "MIT",
    "modelcontextprotocol/servers": "MIT",
    "n0-computer/iroh": "MIT or Apache-2.0",
    "ratatui/ratatui-website": "MIT",
    "ratatui/templates": "MIT",
    "tokio-rs/tokio": "MIT",
    "topoteretes/cognee": "Apache-2.0",
    "transcom/mymove": "MIT",
    "unicode-org/message-format-wg": "Unicode-3.0",
    "zellij-org/zellij": "MIT",
}
"""Repositories whose rule-like sentences are edited and mined. The other repositories of the data (licence share-alike,
copyleft or not established) serve to choose a threshold only: nothing is trained on them."""


def public_source(src: str) -> str:
    """The data set behind a row's ``src``: without the marks for swapped order and random pairing."""
    return src.removesuffix("~").removeprefix("rand_")
