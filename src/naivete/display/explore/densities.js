// Normal and kernel densities of continuous features. Values are distances from the origin of a feature.

const FAR = 1e6; // distances from the mean are limited to this many standard deviations

function decodedDensity(density) {
  const numbers = (name) => (density[name] === null ? null : decodedNumbers(density[name]));
  const decoded = { discrete: density.discrete, linked: density.linked, byClass: density.byClass, kernel: density.points !== null };
  for (const name of ["means", "variances", "slopes", "points", "weights", "widths"]) decoded[name] = numbers(name);
  return decoded;
}

const clipped = (distance) => Math.min(FAR, Math.max(-FAR, distance));

// Return log f(x | parents, class) of each class; all parents are observed.
function densityRow(model, x, values) {
  const density = model.densities.get(x);
  if (density.kernel) return kernelLogs(model, density, values.get(x));
  return range(model.classes).map((c) => {
    const cell = densityCell(model, density, values, c);
    const deviation = Math.sqrt(density.variances[cell]);
    const distance = clipped((values.get(x) - meanOf(density, cell, values)) / deviation);
    return -0.5 * Math.log(2 * Math.PI * density.variances[cell]) - 0.5 * distance * distance;
  });
}

function densityCell(model, density, values, c) {
  const cell = density.discrete.reduce((index, p) => index * model.card(p) + values.get(p), 0);
  return density.byClass ? cell * model.classes + c : cell;
}

function meanOf(density, cell, values) {
  const slope = (i) => density.slopes[cell * density.linked.length + i];
  return density.means[cell] + sum(density.linked.map((p, i) => slope(i) * values.get(p)));
}

function kernelLogs(model, density, value) {
  return range(model.classes).map((c) => {
    const terms = [];
    density.points.forEach((point, i) => {
      const share = density.weights[i * model.classes + c];
      const distance = clipped((value - point) / density.widths[c]);
      if (share > 0) terms.push(Math.log(share) - 0.5 * distance * distance);
    });
    return logSum(terms) - Math.log(density.widths[c]) - 0.5 * Math.log(2 * Math.PI);
  });
}

const densityParents = (density) => [...density.discrete, ...density.linked];
const isLinked = (model) => [...model.densities.values()].some((density) => density.slopes !== null);

// Whether missing continuous features have to be marginalized, because others depend on them.
function isMarginalized(model, values) {
  return isLinked(model) && [...model.densities.keys()].some((x) => !values.has(x));
}

// Return the sum of the log-densities of the observed continuous features, missing ones marginalized.
function densityLogs(model, values) {
  const logs = new Array(model.classes).fill(0);
  if (isMarginalized(model, values)) {
    const joint = jointNormal(model);
    const observed = range(joint.features.length).filter((i) => values.has(joint.features[i]));
    return observed.length ? normalLogs(joint, observed, values) : logs;
  }
  for (const [x, density] of model.densities) {
    if (values.has(x) && densityParents(density).every((p) => values.has(p))) {
      densityRow(model, x, values).forEach((value, c) => (logs[c] += value));
    }
  }
  return logs;
}

// Return the joint normal density of the continuous features in each class: means and covariances.
function jointNormal(model) {
  if (model.normal) return model.normal;
  const features = model.order.filter((x) => model.continuous(x));
  const count = features.length;
  const classes = range(model.classes).map((c) => {
    const means = new Array(count).fill(0);
    const covariance = range(count).map(() => new Array(count).fill(0));
    features.forEach((x, i) => {
      const density = model.densities.get(x);
      if (density.discrete.length) {
        throw new NotPossible("a continuous feature depends on a discrete feature");
      }
      const cell = density.byClass ? c : 0;
      const parents = density.linked.map((p) => features.indexOf(p));
      const slopes = parents.map((_, j) => density.slopes[cell * parents.length + j]);
      const withOthers = range(count).map((j) => sum(parents.map((p, k) => slopes[k] * covariance[p][j])));
      means[i] = density.means[cell] + sum(parents.map((p, k) => slopes[k] * means[p]));
      for (let j = 0; j < count; j++) covariance[i][j] = covariance[j][i] = withOthers[j];
      covariance[i][i] = density.variances[cell] + sum(parents.map((p, k) => slopes[k] * withOthers[p]));
    });
    return { means, covariance };
  });
  model.normal = { features, classes };
  return model.normal;
}

// Return the lower triangular root of a covariance matrix.
function cholesky(matrix) {
  const lower = matrix.map((row) => row.map(() => 0));
  for (let i = 0; i < matrix.length; i++) {
    for (let j = 0; j <= i; j++) {
      const rest = matrix[i][j] - sum(range(j).map((k) => lower[i][k] * lower[j][k]));
      lower[i][j] = i === j ? Math.sqrt(Math.max(rest, 1e-9 * matrix[i][i], 1e-300)) : rest / lower[j][j];
    }
  }
  return lower;
}

// Return the solution y of lower y = right.
function forward(lower, right) {
  const result = [];
  right.forEach((value, i) => result.push((value - sum(result.map((y, k) => lower[i][k] * y))) / lower[i][i]));
  return result;
}

const submatrix = (matrix, rows, columns) => rows.map((i) => columns.map((j) => matrix[i][j]));

// Return the joint log-density of some continuous features in each class.
function normalLogs(joint, observed, values) {
  return joint.classes.map(({ means, covariance }) => {
    const lower = cholesky(submatrix(covariance, observed, observed));
    const distance = forward(lower, observed.map((i) => values.get(joint.features[i]) - means[i])).map(clipped);
    const size = observed.length * Math.log(2 * Math.PI) + sum(distance.map((d) => d * d));
    return -0.5 * size - sum(lower.map((row, i) => Math.log(row[i])));
  });
}
