// What to ask next: the expected information about the class of every open feature, in bits, as in model.ask_next.

const REACH = 9; // the range of a normal density, in standard deviations on both sides of its mean
const HALVES = 2; // panels of the quadrature in one standard deviation
const MOST_PANELS = 400; // for the kernel density of one class
const NODES = [0.1834346424956498, 0.525532409916329, 0.7966664774136267, 0.9602898564975363];
const WEIGHTS = [0.362683783378362, 0.3137066458778873, 0.2223810344533745, 0.1012285362903763];

const entropyTerm = (p) => (p > 0 ? -p * Math.log2(p) : 0);

// Return the open features with the bits that their values are expected to give, the most informative first.
function questionsOf(model, observed) {
  const open = range(model.inputs).filter((x) => !observed.has(x) && !model.variables[x].leftOut);
  const tables = model.tree !== null ? treeAnswers(model, observed, open) : networkAnswers(model, observed, open);
  const questions = open.map((x) => ({ feature: x, bits: expectedInformation(tables.get(x).map((row) => tempered(model, row))) }));
  return questions.sort((a, b) => b.bits - a.bits || a.feature - b.feature);
}

// Return the mutual information of the class and a feature, given P(x, class).  (state, class)
function expectedInformation(table) {
  const classes = table[0].map((_, c) => sum(table.map((row) => row[c])));
  const conditional = sum(table.map((row) => sum(row.map(entropyTerm)) - entropyTerm(sum(row))));
  return Math.max(0, sum(classes.map(entropyTerm)) - conditional);
}

// Return probabilities with the same sum, in proportion to powers of the given ones.
function tempered(model, row) {
  if (model.temperature === 1) return row;
  const total = sum(row);
  if (!(total > 0)) return row;
  const raised = row.map((p) => (p / total) ** model.temperature);
  return raised.map((p) => (total * p) / sum(raised));
}

// Return P(x, class | observed values) of the open features of a network of tables and densities.
function networkAnswers(model, observed, open) {
  for (const density of model.densities.values()) {
    if (density.discrete.length) throw new NotPossible("a continuous feature depends on a discrete feature");
  }
  const logs = jointLogs(model, observed);
  if (Math.max(...logs) === -Infinity) throw new NotPossible("these values have probability zero in every class");
  const posterior = normalized(logs);
  const tables = new Map();
  const calibration = calibrated(model, observed);
  for (const x of open) {
    const given = model.continuous(x) ? densityNodes(model, x, observed) : givenClass(model, x, calibration);
    tables.set(x, given.map((row) => row.map((p, c) => p * posterior[c])));
  }
  return tables;
}

// Return the marginals of all missing discrete features.
function calibrated(model, observed) {
  const missing = new Set(missingFeatures(model, observed));
  const touched = model.order.filter((v) => !model.continuous(v) && model.members.get(v).some((m) => missing.has(m)));
  return new Calibration(model, touched.map((v) => model.factor(v, observed)));
}

// Return P(x | observed values, class).  (state, class)
function givenClass(model, x, calibration) {
  if (model.card(x) === 1) return [new Array(model.classes).fill(1)];
  const shares = calibration.shares([x]);
  return range(model.card(x)).map((s) => Array.from(shares.subarray(s * model.classes, (s + 1) * model.classes)));
}

// Return the probability of each answer times the posterior after it, for a tree.
function treeAnswers(model, observed, open) {
  const tables = new Map();
  for (const x of open) {
    const cases = range(model.card(x)).map((s) => new Map([...observed, [x, s]]));
    const shares = normalized(cases.map((values) => logProbability(model, values)));
    tables.set(x, cases.map((values, s) => posteriorOf(model, values).posterior.map((p) => p * shares[s])));
  }
  return tables;
}

// Return P(node | observed values, class) for the nodes of a quadrature over the values of a continuous feature.  (node, class)
function densityNodes(model, x, observed) {
  const density = model.densities.get(x);
  if (density.kernel) {
    density.nodes ??= nodeTable(kernelBounds(model, density), (value) => kernelLogs(model, density, value).map(Math.exp));
    return density.nodes;
  }
  const normals = isLinked(model) ? conditionalNormals(model, x, observed) : range(model.classes).map((c) => plainNormal(density, c));
  const steps = range(2 * REACH * HALVES + 1).map((i) => -REACH + i / HALVES);
  const bounds = normals.flatMap(({ mean, deviation }) => steps.map((step) => mean + deviation * step));
  return nodeTable(bounds, (value) =>
    normals.map(({ mean, deviation }) => Math.exp(-0.5 * ((value - mean) / deviation) ** 2) / deviation),
  );
}

function plainNormal(density, c) {
  const cell = density.byClass ? c : 0;
  return { mean: density.means[cell], deviation: Math.sqrt(density.variances[cell]) };
}

// Return the mean and the deviation of a continuous feature in each class, given the observed continuous features.
function conditionalNormals(model, x, observed) {
  const { features, classes } = jointNormal(model);
  const known = range(features.length).filter((i) => observed.has(features[i]));
  const own = features.indexOf(x);
  return classes.map(({ means, covariance }) => {
    const lower = cholesky(submatrix(covariance, known, known));
    const across = forward(lower, known.map((i) => covariance[own][i]));
    const distance = forward(lower, known.map((i) => observed.get(features[i]) - means[i]));
    const mean = means[own] + sum(across.map((a, i) => a * distance[i]));
    const variance = covariance[own][own] - sum(across.map((a) => a * a));
    return { mean, deviation: Math.sqrt(Math.max(variance, 1e-9 * covariance[own][own])) };
  });
}

// Return the bounds of intervals that cover the points of a kernel density.
function kernelBounds(model, density) {
  return range(model.classes).flatMap((c) => {
    const points = Array.from(density.points).filter((_, i) => density.weights[i * model.classes + c] > 0);
    for (let width = density.widths[c]; ; width *= 2) {
      const reach = Math.max(1, Math.round((REACH * density.widths[c]) / width));
      const near = range(2 * reach + 2).map((i) => i - reach);
      const cells = new Set(points.flatMap((point) => near.map((step) => Math.floor(point / width) + step)));
      if (cells.size <= MOST_PANELS) return [...cells].map((cell) => cell * width);
    }
  });
}

// Return the table of a density at the nodes of Gauss-Legendre quadrature between bounds; each class sums to 1.
function nodeTable(bounds, densities) {
  const sorted = [...new Set(bounds)].sort((a, b) => a - b);
  const rows = [];
  for (let i = 0; i + 1 < sorted.length; i++) {
    const [middle, half] = [(sorted[i] + sorted[i + 1]) / 2, (sorted[i + 1] - sorted[i]) / 2];
    NODES.forEach((node, k) => {
      for (const sign of [-1, 1]) rows.push(densities(middle + sign * node * half).map((p) => p * half * WEIGHTS[k]));
    });
  }
  const totals = rows[0].map((_, c) => sum(rows.map((row) => row[c])));
  return rows.map((row) => row.map((p, c) => p / totals[c]));
}
