// Contributions of the features to the log odds of a class, in bits: exact interventional Shapley values, as in model.explain.

const ZERO = -100; // the logarithm in bits that stands for a probability of zero
const STEPS = 40; // bisections

const bitsOf = (log) => (log === -Infinity ? ZERO : log * BITS);
const relative = (bits) => bits.slice(1).map((value) => value - bits[0]); // scores relative to the first class
const relativePrior = (model) => relative(priorOf(model).map((p) => bitsOf(Math.log(p))));

// The families that give Shapley values: those of discrete variables that contain the class and a feature.
function gameVariables(model) {
  const variables = [...model.features, CLASS];
  return variables.filter((v) => model.parents.get(v).length && model.withClass.get(v) && !model.continuous(v));
}

// Return the distribution of the members of a family and the relative scores of its cells.  (cell), (cell, class - 1)
function gameOf(model, v) {
  if (model.games.has(v)) return model.games.get(v);
  const members = model.members.get(v);
  const logs = model.logs.get(v);
  const cells = logs.length / model.classes;
  const rows = range(cells).map((i) => Array.from(logs.subarray(i * model.classes, (i + 1) * model.classes), bitsOf));
  const game = { members, cards: model.cards(members), scores: rows.map(relative), mean: null, shares: null };
  if (members.some((m) => model.hidden.has(m))) {
    game.mean = new Array(model.classes - 1).fill(0);
  } else {
    const joint = jointDistribution(model, members);
    game.shares = range(cells).map((i) => sum(Array.from(joint.subarray(i * model.classes, (i + 1) * model.classes))));
    game.mean = range(model.classes - 1).map((c) => sum(game.scores.map((score, i) => score[c] * game.shares[i])));
  }
  model.games.set(v, game);
  return game;
}

// Return the mean scores of a family if the members in a coalition have the values of the case, and the others are drawn.
function expectedScores(game, codes, coalition) {
  const { cards, scores, shares } = game;
  const strides = stridesOf(cards);
  const chosen = cards.map((_, i) => (coalition >> i) & 1);
  const free = range(cards.length).filter((i) => !chosen[i]);
  const fixed = range(cards.length).filter((i) => chosen[i]);
  const start = sum(fixed.map((i) => codes[i] * strides[i]));
  const weights = offsets(fixed.map((i) => cards[i]), fixed.map((i) => strides[i])); // summed over the fixed members
  const total = new Array(scores[0].length).fill(0);
  for (const offset of offsets(free.map((i) => cards[i]), free.map((i) => strides[i]))) {
    let share = 0;
    for (const other of weights) share += shares[offset + other];
    scores[start + offset].forEach((score, c) => (total[c] += share * score));
  }
  return total;
}

// Return the Shapley values of the members of a family.  (member, class - 1)
function familyValues(game, codes) {
  const players = codes.length;
  const means = range(1 << players).map((coalition) => expectedScores(game, codes, coalition));
  const factorial = range(players + 1).map((n) => product(range(n).map((i) => i + 1)));
  return range(players).map((j) => {
    const value = new Array(game.mean.length).fill(0);
    for (let coalition = 0; coalition < means.length; coalition++) {
      if ((coalition >> j) & 1) continue;
      const size = range(players).filter((i) => (coalition >> i) & 1).length;
      const weight = (factorial[size] * factorial[players - size - 1]) / factorial[players];
      const joined = means[coalition | (1 << j)];
      value.forEach((_, c) => (value[c] += weight * (joined[c] - means[coalition][c])));
    }
    return value;
  });
}

// Base and parts of the scores of one case, relative to the first class.
class ScoreSums {
  constructor(model) {
    this.base = new Array(model.classes - 1).fill(0);
    this.parts = new Map(model.features.map((x) => [x, new Array(model.classes - 1).fill(0)]));
  }

  addBase(terms, sign = 1) {
    terms.forEach((term, c) => (this.base[c] += sign * term));
  }

  add(x, terms) {
    if (this.parts.has(x)) terms.forEach((term, c) => (this.parts.get(x)[c] += term));
  }

  end(c) {
    return this.base[c] + sum([...this.parts.values()].map((part) => part[c]));
  }
}

// Return the base and the contribution of each feature to the log odds of a class against all others, in bits.
function contributionsOf(model, values, target) {
  const sums = model.tree !== null ? treeScores(model, values) : networkScores(model, values);
  for (const part of [sums.base, ...sums.parts.values()]) part.forEach((_, c) => (part[c] *= model.temperature));
  return logOddsOf(sums, target);
}

// Return the scores of a case in a network of tables and densities.
function networkScores(model, values) {
  const sums = new ScoreSums(model);
  const prior = relativePrior(model);
  if (!model.parents.get(CLASS).length) sums.addBase(prior);
  for (const v of gameVariables(model)) {
    if (model.isComplete(v, values)) {
      const game = gameOf(model, v);
      sums.addBase(game.mean);
      const codes = game.members.map((m) => values.get(m));
      familyValues(game, codes).forEach((value, i) => sums.add(game.members[i], value));
    } else if (v === CLASS) {
      sums.addBase(prior);
    }
  }
  addContinuous(model, values, sums);
  for (const component of components(model, values)) addComponent(model, values, component, sums);
  if (model.hidden.size && isEmpty(model, values)) sums.addBase(relativePosterior(model, values).map((score, c) => score - sums.end(c)));
  return sums;
}

const relativePosterior = (model, values) => relative(posteriorOf(model, values).posterior.map((p) => bitsOf(Math.log(p))));

// Return what a variable adds to the scores.
function added(before, after) {
  return relative(after.map((value, c) => (value > -Infinity ? value - before[c] : before[c] === -Infinity ? 0 : ZERO)));
}

// Add the terms of the observed variables of a component, each given the variables before it, by the chain rule.
function addComponent(model, values, { hidden, touched }, sums) {
  let before = new Array(model.classes).fill(0);
  touched.forEach((v, i) => {
    if (hidden.includes(v)) return;
    const earlier = hidden.filter((h) => model.place.get(h) < model.place.get(v));
    const after = componentLogs(model, values, earlier, touched.slice(0, i + 1)).map((value) => value * BITS);
    if (v === CLASS) addClass(model, values, sums);
    else sums.add(v, added(before, after));
    before = after;
  });
}

// Add the term of the class where one of its parents is missing; the observed features before it share it, in order.
function addClass(model, values, sums) {
  const known = new Map();
  let before = priorOf(model).map((p) => Math.log(p) * BITS);
  for (const v of model.order.slice(0, model.place.get(CLASS))) {
    if (!sums.parts.has(v)) continue;
    if (values.has(v)) known.set(v, values.get(v));
    const after = jointLogs(model, known).map((value) => value * BITS);
    sums.add(v, added(before, after));
    before = after;
  }
}

// Return the log odds of a class as a base and contributions; against several others, with the weights of a mean value.
function logOddsOf(sums, target) {
  const base = [0, ...sums.base];
  const end = [0, ...sums.base.map((_, c) => sums.end(c))];
  if (base.length === 1) return { base: Infinity, values: new Map([...sums.parts.keys()].map((x) => [x, 0])), logOdds: Infinity };
  const others = range(base.length).filter((c) => c !== target);
  const weights = othersWeights(others.map((c) => base[c]), others.map((c) => end[c]));
  const mean = (scores) => sum(others.map((c, i) => weights[i] * scores[c]));
  const start = base[target] - logSum2(others.map((c) => base[c]));
  const values = new Map();
  for (const [x, part] of sums.parts) {
    const scores = [0, ...part];
    values.set(x, scores[target] - mean(scores));
  }
  return { base: start, values, logOdds: start + sum([...values.values()]) };
}

function logSum2(bits) {
  const top = Math.max(...bits);
  return top + Math.log2(sum(bits.map((value) => 2 ** (value - top))));
}

// Return weights with which the mean change of the scores of several classes is the change of the logarithm of their sum.
function othersWeights(base, end) {
  if (base.length === 1) return [1];
  const change = end.map((value, i) => value - base[i]);
  const wanted = logSum2(end) - logSum2(base);
  const at = (t) => {
    const scores = base.map((value, i) => value + t * change[i]);
    const total = logSum2(scores);
    return scores.map((value) => 2 ** (value - total));
  };
  const slope = (shares) => sum(shares.map((share, i) => share * change[i]));
  let [low, high] = [0, 1];
  for (let step = 0; step < STEPS; step++) {
    const middle = (low + high) / 2;
    if (slope(at(middle)) < wanted) low = middle;
    else high = middle;
  }
  const [first, last] = [at(low), at(high)];
  const [lower, upper] = [slope(first), slope(last)];
  const part = upper > lower ? Math.min(1, Math.max(0, (wanted - lower) / (upper - lower))) : 0.5;
  return first.map((share, i) => share + part * (last[i] - share));
}

// Add the contributions of continuous features.
function addContinuous(model, values, sums) {
  const marginalized = isMarginalized(model, values);
  for (const [x, density] of model.densities) {
    if (!density.byClass) continue;
    const complete = !marginalized && values.has(x) && densityParents(density).every((p) => values.has(p));
    if (!complete) continue;
    const terms = relative(densityRow(model, x, values).map((value) => value * BITS));
    const quadratic = density.kernel || density.discrete.length ? null : quadraticOf(model, x);
    const mean = quadratic ? quadratic.mean : density.kernel ? kernelMean(model, density) : terms.map(() => 0);
    const rest = terms.map((term, c) => term - mean[c]);
    sums.addBase(mean);
    if (quadratic) {
      quadraticValues(quadratic, values).forEach((value, i) => {
        if (quadratic.members[i] === x) return;
        sums.add(quadratic.members[i], value);
        value.forEach((term, c) => (rest[c] -= term));
      });
    }
    sums.add(x, rest);
  }
  if (marginalized) addJointNormal(model, values, sums);
}

// Add log f(x | observed continuous features before x, class) where missing ones are marginalized.
function addJointNormal(model, values, sums) {
  const joint = jointNormal(model);
  const observed = range(joint.features.length).filter((i) => values.has(joint.features[i]));
  let before = new Array(model.classes - 1).fill(0);
  observed.forEach((i, count) => {
    const after = relative(normalLogs(joint, observed.slice(0, count + 1), values).map((value) => value * BITS));
    sums.add(joint.features[i], after.map((value, c) => value - before[c]));
    before = after;
  });
}

// Return the mean scores of a kernel density over its points.
function kernelMean(model, density) {
  density.mean ??= (() => {
    const prior = priorOf(model);
    const total = new Array(model.classes).fill(0);
    density.points.forEach((point, i) => {
      const share = sum(prior.map((p, c) => p * density.weights[i * model.classes + c]));
      kernelLogs(model, density, point).forEach((value, c) => (total[c] += share * value * BITS));
    });
    return relative(total);
  })();
  return density.mean;
}

// Return the relative log-density of a family of continuous features as a quadratic function of distances from the means.
function quadraticOf(model, x) {
  const density = model.densities.get(x);
  density.quadratic ??= (() => {
    const joint = jointNormal(model);
    const members = [...density.linked, x].sort((a, b) => a - b);
    const places = members.map((m) => joint.features.indexOf(m));
    const prior = priorOf(model);
    const means = places.map((i) => sum(joint.classes.map((k, c) => prior[c] * k.means[i])));
    const products = (i, j) => sum(joint.classes.map((k, c) => prior[c] * (k.covariance[i][j] + k.means[i] * k.means[j])));
    const covariance = places.map((i, a) => places.map((j, b) => products(i, j) - means[a] * means[b]));
    const classes = range(model.classes).map((c) => {
      const slope = (m) => (m === x ? 1 : -density.slopes[c * density.linked.length + density.linked.indexOf(m)]);
      const slopes = members.map(slope);
      const rest = density.means[c] - sum(slopes.map((s, i) => s * means[i]));
      const scale = BITS / density.variances[c];
      return {
        constant: -0.5 * BITS * Math.log(density.variances[c]) - 0.5 * scale * rest * rest,
        linear: slopes.map((s) => scale * rest * s),
        quadratic: slopes.map((s) => slopes.map((t) => -0.5 * scale * s * t)),
      };
    });
    const others = classes.slice(1);
    const linear = others.map((k) => k.linear.map((value, i) => value - classes[0].linear[i]));
    const quadratic = others.map((k) => k.quadratic.map((row, i) => row.map((value, j) => value - classes[0].quadratic[i][j])));
    const trace = (matrix) => sum(matrix.flatMap((row, i) => row.map((value, j) => value * covariance[i][j])));
    const mean = others.map((k, c) => k.constant - classes[0].constant + trace(quadratic[c]));
    return { members, means, covariance, linear, quadratic, mean };
  })();
  return density.quadratic;
}

// Return the Shapley values of the members: of a product of two distances, each gets half of what it adds alone and with the other.
function quadraticValues({ members, means, covariance, linear, quadratic }, values) {
  const distance = members.map((m, i) => values.get(m) - means[i]);
  return members.map((_, i) =>
    linear.map((coefficients, c) => {
      const row = quadratic[c][i];
      return coefficients[i] * distance[i] + sum(row.map((q, j) => q * (distance[j] * distance[i] - covariance[i][j])));
    }),
  );
}
