// Flips: the fewest changes of observed values with which another class is predicted, as in model.flip.

// Return the class before and after, the changes and the assumed values of missing features; null if no change gives another class.
function smallestFlip(model, observed) {
  const decided = decidedClass(model, observed);
  const states = model.tree !== null ? treeFlip(model, observed, decided) : networkFlip(model, observed, decided);
  if (states === null) return null;
  const row = new Map([...observed, ...states]);
  const pairs = [...states].sort((a, b) => a[0] - b[0]);
  return {
    before: decided,
    after: winning(posteriorOf(uncalibrated(model), row).posterior.map(Math.log)),
    changes: new Map(pairs.filter(([x, s]) => observed.has(x) && observed.get(x) !== s)),
    assumed: new Map(pairs.filter(([x]) => !observed.has(x))),
  };
}

// The largest log ratios of each rival and the decided class with at most 0, 1, 2, ... changes of observed values.
//
// A message has an axis for the number of changes: (state of each variable of the separator, changes, pair).
class FlipMaxima extends BucketTree {
  constructor(model, rivals, decided, observed, most) {
    super(model, classRatios(model, rivals, decided), rivals.length);
    [this.observed, this.kept, this.size] = [observed, new Set(), most + 1];
    for (const v of this.order) this.messages.set(v, this.message(v));
  }

  // Return the number of changes that a state means, Infinity where it must not be chosen.
  changes(v, state) {
    if (this.observed.get(v) === state) return 0;
    if (state >= this.model.values(v) || this.kept.has(v)) return Infinity;
    return this.observed.has(v) ? 1 : 0;
  }

  message(v) {
    const { table, scope, children } = this.buckets.get(v);
    const [card, block] = [this.model.card(v), this.size * this.columns];
    const below = children.map((child) => ({ message: this.messages.get(child), starts: this.starts(scope, child) }));
    const cells = table.length / this.columns;
    spend(cells * block * (1 + children.length * this.size));
    const result = new Float64Array((cells / card) * block).fill(-Infinity);
    for (let cell = 0; cell < cells; cell++) {
      const changes = this.changes(v, cell % card);
      if (changes >= this.size) continue;
      let sums = Float64Array.from({ length: block }, (_, i) => table[cell * this.columns + (i % this.columns)]);
      for (const { message, starts } of below) sums = this.joined(sums, message, starts[cell] * block);
      const start = Math.floor(cell / card) * block;
      for (let i = changes * this.columns; i < block; i++) {
        result[start + i] = Math.max(result[start + i], sums[i - changes * this.columns]);
      }
    }
    return result;
  }

  // Return the position in the message of a child for each cell of a scope.
  starts(scope, child) {
    const { separator } = this.buckets.get(child);
    const strides = stridesOf(this.model.cards(separator));
    return offsets(this.model.cards(scope), scope.map((m) => (separator.includes(m) ? strides[separator.indexOf(m)] : 0)));
  }

  // Return the maxima of the sum of two terms that share the changes.
  joined(first, second, start) {
    const result = new Float64Array(first.length).fill(-Infinity);
    for (let i = 0; i < first.length; i++) {
      for (let j = i % this.columns; j <= i; j += this.columns) {
        result[i] = Math.max(result[i], first[i - j + (i % this.columns)] + second[start + j]);
      }
    }
    return result;
  }

  // Return the maximum of the whole sum.  (changes, pair)
  totals() {
    const roots = this.order.filter((v) => this.buckets.get(v).parent === null);
    const constant = Float64Array.from({ length: this.size * this.columns }, (_, i) => this.constant[i % this.columns]);
    return roots.reduce((sums, v) => this.joined(sums, this.messages.get(v), 0), constant);
  }

  // Keep the observed value of a feature, or allow changes again, and renew the messages that depend on it.
  keep(x, kept) {
    if (kept) this.kept.add(x);
    else this.kept.delete(x);
    for (let v = x; v !== null; v = this.buckets.get(v).parent) this.messages.set(v, this.message(v));
  }
}

// Return the states of a flip: of the features that change, and of missing ones.
function networkFlip(model, observed, decided) {
  const rivals = range(model.classes).filter((c) => c !== decided);
  if (!rivals.length) return null;
  for (let most = 4; ; most *= 4) {
    const maxima = new FlipMaxima(model, rivals, decided, observed, Math.min(most, observed.size));
    const totals = [...maxima.totals()];
    const first = totals.findIndex((ratio, i) => beats(ratio, rivals[i % rivals.length], decided));
    if (first >= 0) return flippedStates(maxima, rivals, decided, Math.floor(first / rivals.length));
    if (most >= observed.size) return null;
  }
}

// Return the states with this number of changes that have the largest log ratio of a rival.
function flippedStates(maxima, rivals, decided, changes) {
  const { model, observed, columns } = maxima;
  const totals = maxima.totals().slice(changes * columns, (changes + 1) * columns);
  const won = range(columns).filter((p) => beats(totals[p], rivals[p], decided));
  const pair = won.reduce((a, b) => (totals[b] > totals[a] ? b : a));
  const kept = new Map([...observed].filter(([x]) => !maxima.buckets.has(x)));
  for (const [x, code] of [...observed].filter(([v]) => maxima.buckets.has(v))) {
    maxima.keep(x, true);
    if (maxima.totals()[changes * columns + pair] >= totals[pair] - TIE) kept.set(x, code);
    else maxima.keep(x, false);
  }
  const states = new Maxima(model, rivals, decided, kept, true).best(pair);
  return new Map([...states].filter(([x]) => !kept.has(x)));
}

// Return the states of the leaf of another class that needs the fewest changes.
function treeFlip(model, observed, decided) {
  let best = null;
  for (const { winner, path } of treeLeaves(model)) {
    if (winner === decided) continue;
    const states = new Map([...path].map(([x, reaching]) => [x, reachingState(model, observed, x, reaching)]));
    const changes = [...states].filter(([x, s]) => observed.has(x) && observed.get(x) !== s).length;
    if (![...states.values()].includes(-1) && (best === null || changes < best.changes)) best = { states, changes };
  }
  return best === null ? null : best.states;
}

// Return the observed state of a feature if it reaches a leaf, else the first value that does; -1 if none does.
function reachingState(model, observed, x, reaching) {
  const own = observed.get(x);
  return own !== undefined && reaching[own] ? own : reaching.findIndex((reaches, s) => reaches && s < model.values(x));
}

// Whether a complete case is so improbable that fewer than 1 % of the cases drawn from the model are; null if values are missing.
function isUnusual(model, observed) {
  if (model.unusualBelow === null || range(model.inputs).some((x) => model.informative(x) && !observed.has(x))) return null;
  const logs = model.tree !== null ? logProbability(model, observed) : logSum(jointLogs(model, observed));
  return logs + TIE < model.unusualBelow;
}
