// How sure a posterior probability is: its interval under the Dirichlet distributions of the tables, by the delta method.

const QUANTILE = 1.959963984540054; // of the normal distribution at 97.5 %

// Return the second derivative of the log-gamma function, infinite at zero.
function trigamma(x) {
  if (!(x > 0)) return Infinity;
  let total = 0;
  for (; x < 20; x++) total += 1 / (x * x);
  const s = 1 / (x * x);
  return total + 1 / x + s / 2 + (s / x) * (1 / 6 - s * (1 / 30 - s * (1 / 42 - s * (1 / 30 - (s * 5) / 66))));
}

// Return the 95 % interval of P(class | case); null if the number of training cases is not known.
function intervalOf(model, observed, target, posterior, logOdds) {
  if (model.training === null) return null;
  const deviation = deviationOf(model, observed, target, posterior) * model.temperature * BITS;
  const width = QUANTILE * deviation;
  if (!Number.isFinite(width)) return [0, 1];
  return [-1, 1].map((sign) => 1 / (1 + 2 ** -(logOdds + sign * width)));
}

// Return the standard deviation of the natural log odds.
function deviationOf(model, observed, target, posterior) {
  const leaves = leavesOf(model, observed);
  const empty = isEmpty(model, observed);
  if ((leaves !== null && (leaves.length > 1 || empty)) || (empty && model.hidden.size)) {
    return dividedDeviation(model, target, posterior, leaves);
  }
  const values = withLeaf(model, observed);
  const slopes = slopesOf(posterior, target);
  let variance = 0;
  const add = (variances) => slopes.forEach((slope, c) => (variance += slope === 0 ? 0 : slope * slope * variances[c]));
  for (const v of model.order) {
    const isKnown = v === CLASS && !model.parents.get(v).length && model.training.knownPrior;
    if (model.withClass.get(v) && !model.continuous(v) && !isKnown && model.isComplete(v, values)) add(cellVariances(model, v, values));
  }
  if (isMarginalized(model, values)) add(jointVariances(model, values));
  else {
    for (const [x, density] of model.densities) {
      const complete = values.has(x) && densityParents(density).every((p) => values.has(p));
      if (density.byClass && complete) add(densityVariances(model, x, density, values));
    }
  }
  for (const { hidden, touched } of components(model, values)) {
    const calibration = new Calibration(model, touched.map((v) => model.factor(v, values)));
    for (const v of touched) variance += incompleteVariance(model, values, v, hidden, calibration, slopes);
  }
  return Math.sqrt(variance);
}

// Return the derivatives of the log odds of a class with respect to log P(case, class).
function slopesOf(posterior, target) {
  const total = sum(posterior.filter((_, c) => c !== target));
  const share = (p) => (total > 0 ? p / total : 1 / Math.max(1, posterior.length - 1));
  return posterior.map((p, c) => (c === target ? 1 : -share(p)));
}

// Return the weights of the cells of a table, and their sums over the states of the variable.  (cell, class or 1)
function weightsOf(model, v) {
  model.weights ??= new Map();
  if (model.weights.has(v)) return model.weights.get(v);
  const members = model.members.get(v);
  const cards = [...model.cards(members), model.classes];
  const joint = jointDistribution(model, members);
  const strides = stridesOf(cards);
  const axis = v === CLASS ? members.length : members.indexOf(v);
  const summedAxes = model.withClass.get(v) ? [axis] : [axis, members.length];
  const share = summedOver(joint, cards, summedAxes);
  const pseudo = v !== CLASS || members.length ? model.pseudo.get(v) : 0;
  const kept = range(cards.length).map((i) => (summedAxes.includes(i) ? 0 : strides[i]));
  const start = offsets(cards, kept);
  const totals = Float64Array.from(start, (offset) => model.training.cases * share.get(offset) + pseudo);
  const cells = model.logs.get(v).map((log, i) => Math.exp(log) * totals[i]);
  const result = { cells, totals };
  model.weights.set(v, result);
  return result;
}

// Return the sums of a table over some axes, by the offset of the cell in which these axes are 0.
function summedOver(table, cards, axes) {
  const strides = stridesOf(cards);
  const kept = offsets(cards, strides.map((stride, i) => (axes.includes(i) ? 0 : stride)));
  const sums = new Map();
  kept.forEach((offset, i) => sums.set(offset, (sums.get(offset) ?? 0) + table[i]));
  return sums;
}

// Return the variance of the logarithm of the cell of a case, in each class.
function cellVariances(model, v, values) {
  if (model.card(v) === 1) return new Array(model.classes).fill(0);
  const { cells, totals } = weightsOf(model, v);
  const members = model.members.get(v);
  const strides = stridesOf(model.cards(members), model.classes);
  const start = sum(members.map((m, i) => strides[i] * values.get(m)));
  return range(model.classes).map((c) => {
    const within = trigamma(cells[start + c]);
    if (v === CLASS || within === Infinity) return within;
    const total = trigamma(totals[start + c]);
    return within - (total === Infinity ? 0 : total);
  });
}

// Return the variance that a family with missing members adds: each cell counts with its probability given the case.
function incompleteVariance(model, values, v, missing, calibration, slopes) {
  const members = model.members.get(v);
  const hidden = members.filter((m) => missing.includes(m));
  const shares = calibration.shares(hidden);
  const { cells, totals } = weightsOf(model, v);
  const strides = stridesOf(model.cards(members), model.classes);
  const start = sum(members.map((m, i) => (values.has(m) ? strides[i] * values.get(m) : 0)));
  const places = offsets(model.cards(hidden), hidden.map((m) => strides[members.indexOf(m)]), start);
  const byClass = model.withClass.get(v);
  const entries = []; // a slope and a cell, for each configuration of the missing members and each class
  places.forEach((place, i) => {
    const row = slopes.map((slope, c) => shares[i * model.classes + c] * slope);
    if (byClass) row.forEach((slope, c) => entries.push({ slope, cell: place + c }));
    else entries.push({ slope: sum(row), cell: place });
  });
  const sums = new Map(); // of the slopes over the states of v, where v is missing or the class
  const stride = v === CLASS ? 1 : strides[members.indexOf(v)];
  const isSummed = v === CLASS || hidden.includes(v);
  for (const { slope, cell } of entries) {
    const first = isSummed ? cell - (Math.floor(cell / stride) % model.card(v)) * stride : cell;
    sums.set(first, (sums.get(first) ?? 0) + slope);
  }
  const total = (pairs) => sum(pairs.map(([slope, weight]) => (slope === 0 ? 0 : slope * slope * trigamma(weight))));
  const variance = total(entries.map(({ slope, cell }) => [slope, cells[cell]])) - total([...sums].map(([cell, slope]) => [slope, totals[cell]]));
  return Math.max(variance, 0);
}

// Return the same for a case that a tree divides among several leaves, and for one without an observed value.
function dividedDeviation(model, target, posterior, leaves) {
  const spread = posterior[target] * (1 - posterior[target]);
  let variance = spread / model.training.cases;
  if (leaves !== null) {
    const { totals } = weightsOf(model, CLASS);
    variance = 0;
    for (const { state, share } of leaves) {
      const p = Math.exp(model.logs.get(CLASS)[state * model.classes + target]);
      variance += (share * share * p * (1 - p)) / (totals[state * model.classes] + 1);
    }
  }
  return spread > 0 ? Math.sqrt(variance) / spread : Infinity;
}

// Return the variance of the log-density of an observed continuous feature, in each class.
function densityVariances(model, x, density, values) {
  const logs = densityRow(model, x, values);
  return classCases(model).map((cases, c) => {
    if (density.kernel) return Math.exp(Math.min(-logs[c], 600)) / (2 * Math.sqrt(Math.PI) * cases * density.widths[c]);
    const peak = -0.5 * Math.log(2 * Math.PI * density.variances[densityCell(model, density, values, c)]);
    const square = Math.max(2 * (peak - logs[c]), 0);
    return (square * leverage(model, density, values, c) + (square - 1) ** 2 / 2) / cases;
  });
}

const classCases = (model) => priorOf(model).map((p) => Math.max(model.training.cases * p, 1));

// Return the variance of the joint log-density of the observed continuous features, the others marginalized, in each class.
function jointVariances(model, values) {
  const { features, classes } = jointNormal(model);
  const observed = range(features.length).filter((i) => values.has(features[i]));
  return classCases(model).map((cases, c) => {
    const square = squaredDistance(classes[c], features, observed, values);
    return (square + (square * square - 2 * square + observed.length) / 2) / cases;
  });
}

// Return the squared Mahalanobis distance of the values of some continuous features from their means.
function squaredDistance({ means, covariance }, features, places, values) {
  const lower = cholesky(submatrix(covariance, places, places));
  return sum(forward(lower, places.map((i) => values.get(features[i]) - means[i])).map((d) => d * d));
}

// Return the variance of the mean of a regression, in units of the variance of the mean of its cases.
function leverage(model, density, values, c) {
  if (!density.linked.length) return 1;
  const { features, classes } = jointNormal(model);
  return 1 + squaredDistance(classes[c], features, density.linked.map((p) => features.indexOf(p)), values);
}
