// Posterior probabilities of the classes, exact for any pattern of missing values, by variable elimination.

// Return the features without a value, without continuous ones, which have densities instead of tables.
function missingFeatures(model, values) {
  return range(model.variables.length).filter((x) => !values.has(x) && !model.continuous(x));
}

// Return the missing features that matter: those with an observed descendant that has more than one state.
function relevantFeatures(model, absent, values) {
  const hidden = new Set(absent);
  const observed = (v) => v === CLASS || values.has(v);
  for (const v of [...model.order].reverse()) {
    if (hidden.has(v) && !model.children.get(v).some((c) => hidden.has(c) || (observed(c) && model.card(c) > 1))) hidden.delete(v);
  }
  return hidden;
}

// Return the relevant missing features in groups connected by families, each with the variables of these families in order.
function components(model, values) {
  const hidden = relevantFeatures(model, missingFeatures(model, values), values);
  const isUsed = (v) => hidden.has(v) || ((v === CLASS || values.has(v)) && model.card(v) > 1);
  const result = [];
  while (hidden.size) {
    const [connected, touched, waiting] = [new Set(), new Set(), [Math.min(...hidden)]];
    while (waiting.length) {
      const h = waiting.pop();
      if (connected.has(h)) continue;
      connected.add(h);
      for (const v of [h, ...model.children.get(h)].filter(isUsed)) {
        touched.add(v);
        waiting.push(...model.members.get(v).filter((m) => hidden.has(m)));
      }
    }
    const variables = [...touched].sort((a, b) => model.place.get(a) - model.place.get(b));
    result.push({ hidden: [...connected].sort((a, b) => a - b), touched: variables });
    connected.forEach((h) => hidden.delete(h));
  }
  return result;
}

// Return the logarithms of the product of the families of a component, its hidden features summed out.
function componentLogs(model, values, hidden, touched) {
  const factors = touched.map((v) => model.factor(v, values));
  return Array.from(multiplied(model, eliminated(model, factors, hidden), []).logs);
}

// Return log P(observed values, class).
function jointLogs(model, values) {
  const logs = new Array(model.classes).fill(0);
  const add = (terms) => terms.forEach((term, c) => (logs[c] += term));
  for (const v of model.order) {
    if (!model.continuous(v) && model.isComplete(v, values)) add(model.row(v, values));
  }
  add(densityLogs(model, values));
  for (const { hidden, touched } of components(model, values)) add(componentLogs(model, values, hidden, touched));
  return logs;
}

function priorOf(model) {
  return model.parents.get(CLASS).length ? normalized(jointLogs(model, new Map())) : Array.from(model.logs.get(CLASS), Math.exp);
}

// Whether no feature with more than one value is observed.
const isEmpty = (model, values) => !range(model.inputs).some((x) => model.informative(x) && values.has(x));

// Return P(class | observed values), and whether the values have probability zero in every class.
function posteriorOf(model, values) {
  const empty = isEmpty(model, values);
  if (empty && (model.tree !== null || model.hidden.size)) return { posterior: priorOf(model), impossible: false };
  return model.tree !== null ? treePosterior(model, values) : networkPosterior(model, values, empty);
}

function networkPosterior(model, values, empty) {
  if (empty && !model.parents.get(CLASS).length) {
    return { posterior: normalized(priorOf(model).map((p) => model.temperature * Math.log(p))), impossible: false };
  }
  const logs = jointLogs(model, values);
  const impossible = Math.max(...logs) === -Infinity;
  const used = impossible ? fallback(model, values) : logs;
  return { posterior: normalized(used.map((value) => (value === -Infinity ? value : model.temperature * value))), impossible };
}

// Return the logarithms of the prior of the classes with the fewest impossible factors; a feature with one state is always known.
function fallback(model, observed) {
  const single = range(model.inputs).filter((x) => !model.informative(x) && !model.continuous(x));
  const values = new Map([...observed, ...single.map((x) => [x, 0])]);
  const zeros = new Array(model.classes).fill(0);
  for (const v of model.order) {
    if (model.withClass.get(v) && !model.continuous(v) && model.isComplete(v, values)) {
      model.row(v, values).forEach((value, c) => (zeros[c] += value === -Infinity));
    }
  }
  const fewest = Math.min(...zeros);
  const prior = priorOf(model).map(Math.log);
  const logs = zeros.map((count, c) => (count === fewest ? prior[c] : -Infinity));
  return Math.max(...logs) > -Infinity ? logs : zeros.map((count) => (count === fewest ? 0 : -Infinity));
}
