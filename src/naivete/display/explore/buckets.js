// Bucket trees: tables over many variables, eliminated one after the other, and the marginals of all of them in two passes.

// Return variables of some scopes in an order of elimination: that with the fewest new neighbors first, then the smallest table.
function eliminationOrder(model, scopes, variables) {
  const graph = new Map(variables.map((v) => [v, new Set()]));
  for (const scope of scopes) {
    for (const v of scope) {
      if (!graph.has(v)) graph.set(v, new Set());
      for (const m of scope) if (m !== v) graph.get(v).add(m);
    }
  }
  const cost = (v) => {
    const near = [...graph.get(v)];
    let missing = 0;
    near.forEach((a, i) => {
      for (let j = i + 1; j < near.length; j++) missing += !graph.get(a).has(near[j]);
    });
    return { missing, cells: product(model.cards([v, ...near])) };
  };
  const costs = new Map(variables.map((v) => [v, cost(v)]));
  const order = [];
  while (costs.size) {
    let best = null;
    for (const [v, { missing, cells }] of costs) {
      const least = best === null ? null : costs.get(best);
      if (best === null || missing < least.missing || (missing === least.missing && cells < least.cells)) best = v;
    }
    const near = [...graph.get(best)];
    const touched = new Set(near);
    for (const a of near) {
      for (const b of near) if (a !== b) graph.get(a).add(b);
      graph.get(a).delete(best);
      if (costs.get(best).missing) graph.get(a).forEach((b) => touched.add(b));
    }
    graph.delete(best);
    costs.delete(best);
    order.push(best);
    for (const v of touched) if (costs.has(v)) costs.set(v, cost(v));
  }
  return order;
}

// The variables of a sum of tables in an order of elimination, each with the tables that it is eliminated from.
class BucketTree {
  // columns: the length of the last axis of all tables, the classes or pairs of classes.
  constructor(model, factors, columns) {
    this.model = model;
    this.columns = columns;
    this.constant = new Array(columns).fill(0);
    for (const { scope, logs } of factors) if (!scope.length) this.constant.forEach((_, c) => (this.constant[c] += logs[c]));
    const tables = factors.filter(({ scope }) => scope.length);
    const scopes = tables.map(({ scope }) => scope);
    this.order = eliminationOrder(model, scopes, [...new Set(scopes.flat())].sort((a, b) => a - b));
    this.place = new Map(this.order.map((v, i) => [v, i]));
    this.messages = new Map();
    this.makeBuckets(scopes);
    for (const { scope, logs } of tables) {
      const bucket = this.buckets.get(this.first(scope));
      this.addTo(bucket.table, bucket.scope, scope, logs);
    }
  }

  // The variable of a scope that is eliminated first, in whose bucket all others are.
  first(scope) {
    return scope.reduce((a, b) => (this.place.get(a) < this.place.get(b) ? a : b));
  }

  makeBuckets(scopes) {
    const waiting = new Map(this.order.map((v) => [v, []]));
    for (const scope of scopes) waiting.get(this.first(scope)).push(scope);
    this.buckets = new Map();
    for (const v of this.order) {
      const others = [...new Set(waiting.get(v).flat())].filter((m) => m !== v);
      const separator = others.sort((a, b) => this.place.get(b) - this.place.get(a));
      const cells = product(this.model.cards([...separator, v])) * this.columns;
      if (cells > MOST_CELLS) throw new TooLarge("too many connected features have to be combined");
      spend(cells);
      const parent = separator.length ? separator.at(-1) : null;
      if (parent !== null) waiting.get(parent).push(separator);
      this.buckets.set(v, { separator, parent, children: [], scope: [...separator, v], table: new Float64Array(cells) });
    }
    for (const [v, { parent }] of this.buckets) if (parent !== null) this.buckets.get(parent).children.push(v);
  }

  // Add a table over some variables of a scope to one over all of them.
  addTo(table, scope, part, logs) {
    const strides = stridesOf(this.model.cards(part));
    const cells = offsets(this.model.cards(scope), scope.map((v) => (part.includes(v) ? strides[part.indexOf(v)] : 0)));
    spend(table.length);
    for (let i = 0, out = 0; i < cells.length; i++) {
      for (let c = 0, at = cells[i] * this.columns; c < this.columns; c++) table[out++] += logs[at + c];
    }
  }

  // Return the table of a bucket with the messages of the buckets below.
  filled(v) {
    const bucket = this.buckets.get(v);
    const table = bucket.table.slice();
    for (const child of bucket.children) this.addTo(table, bucket.scope, this.buckets.get(child).separator, this.messages.get(child));
    return table;
  }

  // Return the sum of the messages of the roots, one number for each column.
  totals() {
    const roots = this.order.filter((v) => this.buckets.get(v).parent === null);
    return this.constant.map((value, c) => value + sum(roots.map((v) => this.messages.get(v)[c])));
  }
}

// The marginals of all variables of a product of factors: messages to the roots and back.
class Calibration extends BucketTree {
  constructor(model, factors) {
    super(model, factors, model.classes);
    const tables = new Map();
    for (const v of this.order) {
      tables.set(v, this.filled(v));
      this.messages.set(v, sumLast(tables.get(v), model.card(v), model.classes));
    }
    this.beliefs = new Map();
    for (const v of [...this.order].reverse()) this.beliefs.set(v, this.belief(v, tables.get(v)));
  }

  // Return the table of a bucket with the messages from below and from above.
  belief(v, table) {
    const { separator, parent, scope } = this.buckets.get(v);
    if (parent === null) return table;
    const above = marginalized(this.model, this.buckets.get(parent).scope, this.beliefs.get(parent), separator);
    const message = this.messages.get(v);
    this.addTo(table, scope, separator, above.map((value, i) => (message[i] === -Infinity ? -Infinity : value - message[i])));
    return table;
  }

  // Return the distribution in each class of some variables that are in a common factor; zeros if the class is impossible.
  shares(variables) {
    const bucket = this.buckets.get(this.first(variables));
    const logs = marginalized(this.model, bucket.scope, this.beliefs.get(this.first(variables)), variables);
    const [classes, result] = [this.model.classes, new Float64Array(logs.length)];
    for (let c = 0; c < classes; c++) {
      const column = Array.from({ length: logs.length / classes }, (_, i) => logs[i * classes + c]);
      const total = logSum(column);
      column.forEach((value, i) => (result[i * classes + c] = total === -Infinity ? 0 : Math.exp(value - total)));
    }
    return result;
  }
}

// Return a table of logarithms with the axis before the last summed over.
function sumLast(table, card, columns) {
  const result = new Float64Array(table.length / card);
  for (let i = 0; i < result.length; i++) {
    const start = Math.floor(i / columns) * card * columns + (i % columns);
    let top = -Infinity;
    for (let s = 0; s < card; s++) top = Math.max(top, table[start + s * columns]);
    let total = 0;
    if (top > -Infinity) for (let s = 0; s < card; s++) total += Math.exp(table[start + s * columns] - top);
    result[i] = top > -Infinity ? Math.log(total) + top : top;
  }
  return result;
}

// Return a table of logarithms over a scope, summed over all variables but some.
function marginalized(model, scope, table, kept) {
  const [cards, classes] = [model.cards(kept), model.classes];
  const strides = stridesOf(cards);
  const cells = offsets(model.cards(scope), scope.map((v) => (kept.includes(v) ? strides[kept.indexOf(v)] : 0)));
  spend(table.length);
  const top = new Float64Array(product(cards) * classes).fill(-Infinity);
  const total = new Float64Array(top.length);
  for (let i = 0; i < table.length; i++) {
    const at = cells[Math.floor(i / classes)] * classes + (i % classes);
    top[at] = Math.max(top[at], table[i]);
  }
  for (let i = 0; i < table.length; i++) {
    const at = cells[Math.floor(i / classes)] * classes + (i % classes);
    if (table[i] > -Infinity) total[at] += Math.exp(table[i] - top[at]);
  }
  return total.map((value, i) => (value > 0 ? Math.log(value) + top[i] : -Infinity));
}

// Return the marginals of the discrete variables without any evidence; where they are too large, this is remembered.
function unconditional(model) {
  if (model.unconditional === undefined) {
    const families = model.order.filter((v) => !model.continuous(v));
    model.unconditional = remembered(() => new Calibration(model, families.map((v) => model.factor(v, new Map()))));
  }
  return model.unconditional();
}

// Return a function that returns the result of a computation, or throws its error, without computing it again.
function remembered(compute) {
  try {
    const result = compute();
    return () => result;
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error;
    return () => {
      throw error;
    };
  }
}

// Return P(members, class) without any evidence, an axis for each of the features and the class last.
function jointDistribution(model, members) {
  const key = members.join();
  if (!model.joints.has(key)) model.joints.set(key, newJointDistribution(model, members));
  return model.joints.get(key);
}

function newJointDistribution(model, members) {
  const prior = priorOf(model);
  if (!members.length) return Float64Array.from(prior);
  try {
    return unconditional(model).shares(members).map((share, i) => share * prior[i % model.classes]);
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error;
    return ancestralDistribution(model, members);
  }
}

// Return the same from the ancestors of the members alone, which may be few enough where all features together are too many.
function ancestralDistribution(model, members) {
  const needed = new Set();
  const waiting = [...members, CLASS];
  while (waiting.length) {
    const v = waiting.pop();
    if (!needed.has(v)) waiting.push(...model.parents.get(v));
    needed.add(v);
  }
  const others = [...needed].filter((v) => v !== CLASS && !members.includes(v));
  const factors = [...needed].map((v) => model.factor(v, new Map()));
  return multiplied(model, eliminated(model, factors, others), members).logs.map(Math.exp);
}
