// Classification trees: the leaves that a case reaches, sufficient reasons, and Shapley values of the features.

// Return the leaves of a tree that a case reaches, with its share in each; null if the model is not a tree.
function leavesOf(model, values) {
  if (model.tree === null) return null;
  const { features, weights } = model.tree;
  const shares = new Map();
  const waiting = [[0, 1]];
  while (waiting.length) {
    const [node, share] = waiting.pop();
    const x = features[node];
    if (x < 0) {
      shares.set(node, (shares.get(node) ?? 0) + share);
    } else if (values.has(x)) {
      waiting.push([model.tree.children[node][values.get(x)], share]);
    } else {
      const distinct = [...new Set(model.tree.children[node])];
      const total = sum(distinct.map((child) => weights[child]));
      const part = (child) => (total > 0 ? weights[child] / total : 1 / distinct.length);
      distinct.filter((child) => part(child) > 0).forEach((child) => waiting.push([child, share * part(child)]));
    }
  }
  return [...shares].map(([node, share]) => ({ node, state: model.tree.states[node], share }));
}

// Return the values with the leaf of a tree where the case reaches a single one.
function withLeaf(model, values) {
  const leaves = leavesOf(model, values);
  return leaves === null || leaves.length > 1 ? values : new Map([...values, [model.inputs, leaves[0].state]]);
}

// Return P(class | observed values): the mean of those of the leaves; and whether a value has probability zero.
function treePosterior(model, values) {
  const posterior = new Array(model.classes).fill(0);
  for (const { state, share } of leavesOf(model, values)) {
    for (let c = 0; c < model.classes; c++) posterior[c] += share * Math.exp(model.logs.get(CLASS)[state * model.classes + c]);
  }
  return { posterior, impossible: logProbability(model, values) === -Infinity };
}

// Return the logarithm of the probability of the values, which are independent of each other.
const logProbability = (model, values) => sum([...values.keys()].map((x) => model.row(x, values)[0]));

// Return the leaves of a tree that some case reaches: its state, the class that wins there, the way to it.
function treeLeaves(model) {
  const { features, children, states } = model.tree;
  const result = [];
  const waiting = [[0, new Map()]];
  while (waiting.length) {
    const [node, path] = waiting.pop();
    const x = features[node];
    if (x < 0) {
      const start = states[node] * model.classes;
      const winner = winning(Array.from(model.logs.get(CLASS).subarray(start, start + model.classes)));
      result.push({ state: states[node], winner, path });
      continue;
    }
    for (const child of [...new Set(children[node])].sort((a, b) => a - b)) {
      const reaching = children[node].map((c, s) => c === child && (path.get(x)?.[s] ?? true));
      if (reaching.some(Boolean)) waiting.push([child, new Map([...path, [x, reaching]])]);
    }
  }
  return result;
}

function treeReason(model, observed, decided) {
  const excluding = []; // for each leaf with another class the observed features that exclude it
  for (const { winner, path } of treeLeaves(model)) {
    if (winner === decided) continue;
    const features = [...path].filter(([x, reaching]) => observed.has(x) && !reaching[observed.get(x)]).map(([x]) => x);
    if (!features.length) {
      const row = [...path].filter(([x]) => !observed.has(x)).sort((a, b) => a[0] - b[0]);
      const counterexample = new Map(row.map(([x, reaching]) => [x, reaching.indexOf(true)]));
      return { features: [...observed.keys()].sort((a, b) => a - b), counterexample };
    }
    excluding.push(features);
  }
  const kept = new Set(excluding.flat());
  const count = (x) => excluding.filter((features) => features.includes(x)).length;
  for (const x of [...kept].sort((a, b) => count(a) - count(b) || a - b)) {
    if (excluding.every((features) => features.some((other) => other !== x && kept.has(other)))) kept.delete(x);
  }
  return { features: [...kept].sort((a, b) => a - b), counterexample: null };
}

// Return the scores of a case in a tree: Shapley values over the rows of the background.
//
// Where a tested feature is missing, the base is the prediction without the tested features, and these have the changes of the
// scores when their values become known one after the other, in the order of the nodes.
function treeScores(model, observed) {
  const sums = new ScoreSums(model);
  const tested = [...new Set(model.tree.features)].filter((x) => x >= 0);
  if (isEmpty(model, observed) || tested.some((x) => !observed.has(x))) {
    const known = new Map([...observed].filter(([x]) => !tested.includes(x)));
    let before = relativePosterior(model, known);
    sums.addBase(before);
    for (const x of tested) {
      if (observed.has(x)) known.set(x, observed.get(x));
      const after = relativePosterior(model, known);
      sums.add(x, after.map((score, c) => score - before[c]));
      before = after;
    }
    return sums;
  }
  for (const { features, allowed, scores, patterns, reached } of scoredLeaves(model)) {
    sums.addBase(scores.map((score) => score * reached));
    const met = features.map((x, i) => allowed[i][observed.get(x)]);
    const weights = new Array(features.length).fill(0);
    for (const { others, share } of patterns) addWeights(weights, met, others, share);
    features.forEach((x, i) => sums.add(x, scores.map((score) => score * weights[i])));
  }
  return sums;
}

// Return the leaves with their scores, and which conditions on the way to a leaf the rows of the background meet.
function scoredLeaves(model) {
  model.leaves ??= treeLeaves(model).map(({ state, path }) => {
    const [features, allowed] = [[...path.keys()], [...path.values()]];
    const { columns, shares } = model.tree.background;
    const patterns = new Map();
    shares.forEach((share, row) => {
      const others = features.map((x, i) => allowed[i][columns[x][row]]);
      const key = others.map(Number).join("");
      patterns.set(key, { others, share: share + (patterns.get(key)?.share ?? 0) });
    });
    const logs = Array.from(model.logs.get(CLASS).subarray(state * model.classes, (state + 1) * model.classes));
    const all = [...patterns.values()];
    const reached = sum(all.filter(({ others }) => others.every(Boolean)).map(({ share }) => share));
    return { features, allowed, scores: relative(logs.map(bitsOf)), patterns: all, reached };
  });
  return model.leaves;
}

// Add the weights with which the features share the score of a leaf: those whose condition only the case meets gain, and those whose
// condition only a row of the background meets lose.
function addWeights(weights, met, others, share) {
  if (met.some((own, i) => !own && !others[i])) return;
  const a = met.filter((own, i) => own && !others[i]).length;
  const b = met.filter((own, i) => !own && others[i]).length;
  met.forEach((own, i) => {
    if (own && !others[i]) weights[i] += share * beta(a - 1, b);
    if (!own && others[i]) weights[i] -= share * beta(a, b - 1);
  });
}

// Return a! b! / (a + b + 1)!.
function beta(a, b) {
  let result = 1 / (a + b + 1);
  for (let i = 1; i <= b; i++) result *= i / (a + i);
  return result;
}
