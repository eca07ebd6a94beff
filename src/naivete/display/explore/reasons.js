// Sufficient reasons: observed values that decide the class whatever all others are, as in model.sufficient_reason.

const TIE = 1e-9; // classes whose log probabilities differ by no more than this are tied; the first of them wins
const IMPOSSIBLE = 1e9; // the log ratio of a possible class and an impossible one

const winning = (logs) => logs.findIndex((value) => value >= Math.max(...logs) - TIE);
const beats = (ratio, rival, decided) => ratio > TIE || (ratio >= -TIE && rival < decided);

// Return the decided class, the features of the reason, and a counterexample where the observed values do not decide the class.
function sufficientReason(model, observed) {
  const decided = decidedClass(model, observed);
  const reason = model.tree !== null ? treeReason(model, observed, decided) : networkReason(model, observed, decided);
  return { decided, ...reason };
}

// Return the predicted class; sufficient reasons and flips of some models are not possible.
function decidedClass(model, observed) {
  if (model.densities.size) throw new NotPossible("continuous features have no finite list of values");
  if (model.hidden.size) throw new NotPossible("the model has hidden variables");
  const { posterior, impossible } = posteriorOf(uncalibrated(model), observed);
  if (impossible) throw new NotPossible("these values have probability zero in every class");
  return winning(posterior.map(Math.log));
}

// Return the same model without calibration, which does not change the order of the classes.
const uncalibrated = (model) => Object.assign(Object.create(Object.getPrototypeOf(model)), model, { temperature: 1 });

// The log ratios of each rival and the decided class as a sum of tables, maximized by bucket elimination.
class Maxima extends BucketTree {
  // onlyValues: whether states that are no values, such as a missing one, are left out.
  constructor(model, rivals, decided, values, onlyValues = false) {
    const ratios = classRatios(model, rivals, decided);
    super(model, ratios, rivals.length);
    [this.ratios, this.onlyValues] = [ratios, onlyValues];
    this.values = new Map([...values].filter(([x]) => this.buckets.has(x)));
    for (const v of this.order) this.messages.set(v, this.message(v));
  }

  // Return the states that a variable may have.
  allowed(v) {
    return this.values.has(v) ? [this.values.get(v)] : range(this.onlyValues ? this.model.values(v) : this.model.card(v));
  }

  // Return the maximum over one variable, which has its observed value or any, given those of its separator.
  message(v) {
    const [table, card] = [this.filled(v), this.model.card(v)];
    const states = this.allowed(v);
    const result = new Float64Array(table.length / card);
    for (let i = 0; i < result.length; i++) {
      const start = Math.floor(i / this.columns) * card * this.columns + (i % this.columns);
      result[i] = states.reduce((top, s) => Math.max(top, table[start + s * this.columns]), -Infinity);
    }
    return result;
  }

  // Give up an observed value, or set it again, and renew the messages that depend on it.
  change(v, value) {
    if (value === null) this.values.delete(v);
    else this.values.set(v, value);
    for (let bucket = v; bucket !== null; bucket = this.buckets.get(bucket).parent) this.messages.set(bucket, this.message(bucket));
  }

  // Return the states with the largest log ratio of one pair.
  best(pair) {
    const states = new Map();
    for (const v of [...this.order].reverse()) {
      const { separator } = this.buckets.get(v);
      const [table, card] = [this.filled(v), this.model.card(v)];
      const strides = stridesOf(this.model.cards(separator));
      const start = sum(separator.map((m, i) => strides[i] * states.get(m))) * card;
      const value = (s) => table[(start + s) * this.columns + pair];
      states.set(v, this.allowed(v).reduce((top, s) => (value(s) > value(top) ? s : top)));
    }
    return states;
  }
}

// Return the terms of the log ratios that make a difference.
const classRatios = (model, rivals, decided) =>
  model.order.map((v) => ratioOf(model, v, rivals, decided)).filter((ratio) => ratio !== null);

// Return log P(v | parents, rival) - log P(v | parents, decided) of one family; null if it makes no difference.
function ratioOf(model, v, rivals, decided) {
  const logs = model.logs.get(v);
  const byClass = model.withClass.get(v);
  if (!byClass && !logs.includes(-Infinity)) return null;
  const cells = logs.length / model.classes;
  const result = new Float64Array(cells * rivals.length);
  for (let i = 0; i < cells; i++) {
    rivals.forEach((rival, p) => {
      const [first, second] = [logs[i * model.classes + rival], logs[i * model.classes + decided]];
      const ratio = !byClass ? 0 : second === -Infinity ? IMPOSSIBLE : first - second;
      result[i * rivals.length + p] = first === -Infinity ? -Infinity : ratio;
    });
  }
  return { scope: model.members.get(v).filter((m) => model.card(m) > 1), logs: result };
}

function networkReason(model, observed, decided) {
  const rivals = range(model.classes).filter((c) => c !== decided);
  if (!rivals.length) return { features: [], counterexample: null };
  const maxima = new Maxima(model, rivals, decided, observed);
  const winner = () => maxima.totals().findIndex((ratio, i) => beats(ratio, rivals[i], decided));
  if (winner() >= 0) {
    const row = [...maxima.best(winner())].filter(([x]) => !observed.has(x)).sort((a, b) => a[0] - b[0]);
    return { features: [...observed.keys()].sort((a, b) => a - b), counterexample: new Map(row) };
  }
  const kept = [];
  for (const x of leastImportantFirst(maxima, observed)) {
    maxima.change(x, null);
    if (winner() >= 0) {
      maxima.change(x, observed.get(x));
      kept.push(x);
    }
  }
  return { features: kept.sort((a, b) => a - b), counterexample: null };
}

// Return the observed features by the share of the distance to a rival that one of them can take away by itself.
function leastImportantFirst(maxima, observed) {
  const row = new Map([...(maxima.order.some((x) => !observed.has(x)) ? maxima.best(0) : []), ...observed]);
  const distance = maxima.totals().map((ratio) => Math.max(-ratio, TIE));
  const terms = new Map(); // (state, pair)
  for (const { scope, logs } of maxima.ratios) {
    const strides = stridesOf(maxima.model.cards(scope));
    scope.forEach((x, axis) => {
      if (!observed.has(x)) return;
      const start = sum(scope.map((m, i) => (m === x ? 0 : strides[i] * (row.get(m) ?? 0))));
      const cells = terms.get(x) ?? range(maxima.model.card(x)).map(() => new Array(maxima.columns).fill(0));
      cells.forEach((cell, s) => cell.forEach((_, p) => (cell[p] += logs[(start + s * strides[axis]) * maxima.columns + p])));
      terms.set(x, cells);
    });
  }
  const importance = (x) => {
    const cells = terms.get(x);
    const now = cells[observed.get(x)];
    const gains = now.map((value, p) => (Number.isFinite(value) ? Math.max(...cells.map((cell) => cell[p])) - value : IMPOSSIBLE));
    return Math.max(...gains.map((gain, p) => gain / distance[p]));
  };
  const importances = new Map([...terms.keys()].map((x) => [x, importance(x)]));
  return [...terms.keys()].sort((a, b) => importances.get(a) - importances.get(b) || a - b);
}
