"""The JavaScript of the page of `naivete explore` in an engine without a document."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import quickjs

from naivete.display.explore import inference_script
from naivete.display.explore.data import model_values, script_json
from naivete.inference.certainty import Training
from naivete.network.network import Network

__all__ = ["Engine"]

FUNCTIONS = """
let model = null;

function attempted(compute) {
  try {
    return compute();
  } catch (error) {
    if (!(error instanceof TooLarge || error instanceof NotPossible)) throw error;
    return error.message;
  }
}

function pairsOf(map) {
  return map === null ? null : [...map];
}

function probabilities(pairs) {
  return posteriorOf(model, new Map(pairs));
}

function explained(pairs, target) {
  const values = new Map(pairs);
  const { posterior } = posteriorOf(model, values);
  const { base, values: contributions, logOdds } = contributionsOf(model, values, target);
  const interval = intervalOf(model, values, target, posterior, logOdds);
  return { base, contributions: [...contributions.values()], interval };
}

function asked(pairs) {
  return attempted(() => questionsOf(model, new Map(pairs)).map(({ feature, bits }) => [feature, bits]));
}

function reasoned(pairs) {
  return attempted(() => {
    const { decided, features, counterexample } = sufficientReason(model, new Map(pairs));
    return { decided, features, counterexample: pairsOf(counterexample) };
  });
}

function flipped(pairs) {
  return attempted(() => {
    const flip = smallestFlip(model, new Map(pairs));
    return flip === null ? null : { ...flip, changes: pairsOf(flip.changes), assumed: pairsOf(flip.assumed) };
  });
}

function unusual(pairs) {
  return isUnusual(model, new Map(pairs));
}

function read(fragment) {
  const { entries, ignored } = parsedFragment(model, fragment);
  return { codes: pairsOf(codesOf(entries)), ignored, fragment: fragmentOf(model, entries) };
}
"""


class Engine:
    """The scripts of the page without `page.js`, with a model.

    Parameters
    ----------
    network, training, temperature : as of `naivete.display.explore.explore_page`.
    """

    def __init__(self, network: Network, training: Training | None = None, temperature: float = 1.0) -> None:
        self.context = quickjs.Context()
        self.context.eval(f'"use strict";\n{inference_script()}\n{FUNCTIONS}')
        self.context.set("text", script_json(model_values(network, training, temperature)))
        self.context.eval("model = new Model(JSON.parse(text)); null")

    def call(self, function: str, *arguments: Any) -> Any:
        """Return the result of a function; arguments and result are JSON, a mapping is passed as pairs."""
        plain = [list(a.items()) if isinstance(a, Mapping) else a for a in arguments]
        text = self.context.eval(f"JSON.stringify({function}(...{json.dumps(plain)}))")
        return None if text is None else json.loads(text)
