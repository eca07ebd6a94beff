// The model as the page holds it, and tables of logarithms with an axis for each feature and one for the classes.

const CLASS = -1;
const BITS = 1 / Math.LN2;
const MOST_CELLS = 1 << 22; // the largest table that is computed

class TooLarge extends Error {}
class NotPossible extends Error {}

let workLeft = Infinity;

// Limit the number of cells that are computed from now on.
function limitWork(cells) {
  workLeft = cells;
}

function spend(cells) {
  workLeft -= cells;
  if (workLeft < 0) throw new TooLarge("the computation takes too long in a page");
}

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// Return the numbers of a base64 text of little-endian doubles.
function decodedNumbers(text) {
  const length = text.replace(/=+$/, "").length;
  const bytes = new Uint8Array(Math.floor((length * 3) / 4));
  for (let i = 0, bits = 0, held = 0, out = 0; i < length; i++) {
    held = ((held << 6) | DIGITS.indexOf(text[i])) & 0xffffff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes[out++] = (held >> bits) & 255;
    }
  }
  const view = new DataView(bytes.buffer);
  return Float64Array.from({ length: bytes.length / 8 }, (_, i) => view.getFloat64(8 * i, true));
}

const product = (numbers) => numbers.reduce((a, b) => a * b, 1);
const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
const range = (count) => Array.from({ length: count }, (_, i) => i);

// Return the distance between two states of each axis of a table, of which the last axis changes quickest.
function stridesOf(cards, last = 1) {
  const strides = new Array(cards.length);
  for (let i = cards.length - 1, step = last; i >= 0; i--) {
    strides[i] = step;
    step *= cards[i];
  }
  return strides;
}

// Return the offset in a table of every configuration of some axes; an axis that the table does not have has stride 0.
function offsets(cards, strides, start = 0) {
  const cells = product(cards);
  const result = new Int32Array(cells);
  const state = new Array(cards.length).fill(0);
  for (let cell = 0, offset = start; cell < cells; cell++) {
    result[cell] = offset;
    for (let axis = cards.length - 1; axis >= 0; axis--) {
      offset += strides[axis];
      if (++state[axis] < cards[axis]) break;
      offset -= cards[axis] * strides[axis];
      state[axis] = 0;
    }
  }
  return result;
}

function logSum(logs) {
  const top = Math.max(...logs);
  return top === -Infinity ? top : top + Math.log(sum(logs.map((value) => Math.exp(value - top))));
}

// Return probabilities in proportion to exp(logs).
function normalized(logs) {
  const total = logSum(logs);
  return logs.map((value) => Math.exp(value - total));
}

// The position of the most probable class, the first of exactly equal ones.
const largest = (numbers) => numbers.indexOf(Math.max(...numbers));

// The network of a classifier: variables, parents, tables and densities. Values of a case are a Map from features to codes.
class Model {
  constructor(data) {
    this.variables = data.variables;
    this.labels = data.classes;
    this.classes = data.classes.length;
    this.inputs = data.inputs;
    this.temperature = data.temperature;
    this.training = data.training;
    this.hidden = new Set(data.hidden);
    this.order = data.order;
    this.place = new Map(data.order.map((v, i) => [v, i]));
    this.parents = new Map(data.families.map((family) => [family.variable, family.parents]));
    this.pseudo = new Map(data.families.map((family) => [family.variable, family.pseudo]));
    this.withClass = new Map(data.order.map((v) => [v, v === CLASS || this.parents.get(v).includes(CLASS)]));
    this.members = new Map(); // the features of each family, increasing
    this.logs = new Map(); // with the class as the last axis, also where the family does not contain it
    this.children = new Map(data.order.map((v) => [v, []]));
    for (const { variable, parents, table } of data.families) this.addFamily(variable, parents, decodedNumbers(table));
    this.densities = new Map(data.densities.map((density) => [density.variable, decodedDensity(density)]));
    this.tree = data.tree;
    this.unusualBelow = data.unusualBelow;
    this.games = new Map();
    this.joints = new Map();
  }

  addFamily(v, parents, table) {
    const members = [...parents, v].filter((m) => m !== CLASS).sort((a, b) => a - b);
    const repeat = this.withClass.get(v) ? 1 : this.classes;
    this.members.set(v, members);
    this.logs.set(v, Float64Array.from({ length: table.length * repeat }, (_, i) => Math.log(table[Math.floor(i / repeat)])));
    for (const p of parents) this.children.get(p).push(v);
  }

  card(v) {
    return v === CLASS ? this.classes : this.variables[v].card;
  }

  // The number of states that are values, and not a missing value or one that did not occur in training.
  values(x) {
    return this.variables[x].values;
  }

  cards(variables) {
    return variables.map((v) => this.card(v));
  }

  continuous(v) {
    return this.densities.has(v);
  }

  // The features to which contributions are given: the columns of a table.
  get features() {
    return range(this.inputs);
  }

  informative(x) {
    return this.card(x) > 1 || this.continuous(x);
  }

  isComplete(v, values) {
    return this.members.get(v).every((m) => values.has(m));
  }

  // Return the row of a table for the values of its members, one logarithm for each class.
  row(v, values) {
    const members = this.members.get(v);
    const strides = stridesOf(this.cards(members), this.classes);
    const start = sum(members.map((m, i) => strides[i] * values.get(m)));
    return Array.from(this.logs.get(v).subarray(start, start + this.classes));
  }

  // Return the table of a family as a factor: observed members fixed, the others as axes.
  factor(v, values) {
    const members = this.members.get(v);
    const strides = stridesOf(this.cards(members), this.classes);
    const free = members.filter((m) => !values.has(m));
    const start = sum(members.map((m, i) => (values.has(m) ? strides[i] * values.get(m) : 0)));
    const logs = this.logs.get(v);
    const cells = offsets(this.cards(free), free.map((m) => strides[members.indexOf(m)]), start);
    const result = new Float64Array(cells.length * this.classes);
    cells.forEach((offset, i) => result.set(logs.subarray(offset, offset + this.classes), i * this.classes));
    return { scope: free, logs: result };
  }
}

// Return the product of factors as one table: an axis for each variable of the scope, the class last.
function multiplied(model, factors, scope) {
  const cards = model.cards(scope);
  const size = product(cards) * model.classes;
  if (size > MOST_CELLS) throw new TooLarge("too many connected features have to be combined");
  spend(size * (factors.length + 1));
  const result = new Float64Array(size);
  for (const factor of factors) {
    const strides = stridesOf(model.cards(factor.scope));
    const cells = offsets(cards, scope.map((v) => (factor.scope.includes(v) ? strides[factor.scope.indexOf(v)] : 0)));
    for (let i = 0, out = 0; i < cells.length; i++) {
      for (let c = 0, at = cells[i] * model.classes; c < model.classes; c++) result[out++] += factor.logs[at + c];
    }
  }
  return { scope, logs: result };
}

// Return the product of factors with some variables summed out.
function eliminated(model, factors, variables) {
  for (const h of eliminationOrder(model, factors.map(({ scope }) => scope), variables)) {
    const used = factors.filter(({ scope }) => scope.includes(h));
    const scope = [...new Set(used.flatMap((factor) => factor.scope))].filter((v) => v !== h).sort((a, b) => a - b);
    const logs = sumLast(multiplied(model, used, [...scope, h]).logs, model.card(h), model.classes);
    factors = [...factors.filter((factor) => !used.includes(factor)), { scope, logs }];
  }
  return factors;
}
