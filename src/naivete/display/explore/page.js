// The page: the fields of the case, and the results, renewed after every change. All text is set as text, never as markup.

const MOST_WORK = 1e8; // cells of tables that are computed for one result, some seconds
const MOST_CLASSES = 8;
const MOST_TERMS = 14; // contributions that are listed one by one
const MOST_QUESTIONS = 8;
const SMALLEST = 0.005; // bits

const byId = (id) => document.getElementById(id);

// Return an element with attributes and children; a child that is a text stays text.
function element(tag, attributes = {}, ...children) {
  const result = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null) result.setAttribute(name, value);
  result.append(...children);
  return result;
}

// Return a name or a value, which may be right-to-left text, isolated from the text around it.
const isolated = (text) => element("bdi", {}, text.trim() === "" ? "(blank)" : text);

const signed = (bits) => `${bits < 0 ? "\u2212" : "+"}${Math.abs(bits).toFixed(2)}`;

// Return a probability as text that is never rounded to 0 or 1.
function share(p) {
  if (p > 0.999 && p < 1) return "> 0.999";
  return p > 0 && p < 0.001 ? "< 0.001" : p.toFixed(3);
}

class Explorer {
  constructor(data) {
    this.model = new Model(data);
    this.data = data;
    this.entries = new Map();
    this.version = 0;
    this.fields = new Map();
    for (let x = 0; x < this.model.inputs; x++) if (isOpen(this.model, x)) this.addField(x);
    this.setUpTools();
    this.setUpDrawing();
    this.readFragment();
    window.addEventListener("hashchange", () => this.readFragment());
  }

  // The fields.

  addField(x) {
    const { name, labels, origin } = this.model.variables[x];
    const field = { box: element("div", { class: "field" }), select: null, number: null };
    field.box.append(element("label", { for: `f${x}` }, isolated(name)));
    const inputs = element("div", { class: "inputs" });
    if (origin === null) {
      field.select = element("select", { id: `f${x}` }, element("option", { value: "" }, "open"));
      labels.forEach((label, code) => field.select.append(element("option", { value: code }, label.trim() === "" ? "(blank)" : label)));
      field.select.addEventListener("change", () => this.choose(x, field.select.value));
      inputs.append(field.select);
    }
    if (isNumeric(this.model, x)) {
      const own = origin === null ? { id: `n${x}`, "aria-label": `${name}: number`, placeholder: "number" } : { id: `f${x}`, placeholder: "open" };
      field.number = element("input", { type: "text", inputmode: "decimal", autocomplete: "off", ...own });
      field.number.addEventListener("input", () => this.type(x, field.number.value));
      inputs.append(field.number);
    }
    field.box.append(inputs);
    byId("fields").append(field.box);
    this.fields.set(x, field);
  }

  choose(x, value) {
    if (value === "") this.entries.delete(x);
    else this.entries.set(x, { code: Number(value), typed: null });
    this.changed();
  }

  type(x, text) {
    const code = codeOfNumber(this.model, x, text);
    if (code === null) this.entries.delete(x);
    else this.entries.set(x, { code, typed: text.trim() });
    this.fields.get(x).number.setAttribute("aria-invalid", String(code === null && text.trim() !== ""));
    this.changed(x);
  }

  // Show the entries in the fields; the number that is being typed stays as it is.
  showEntries(typing = null) {
    for (const [x, { box, select, number }] of this.fields) {
      const entry = this.entries.get(x);
      box.classList.toggle("set", entry !== undefined);
      if (select !== null) select.value = entry === undefined ? "" : String(entry.code);
      if (number !== null && x !== typing) {
        number.value = entry?.typed ?? "";
        number.setAttribute("aria-invalid", "false");
      }
    }
    byId("count").textContent = `${this.entries.size} of ${this.fields.size} features have a value`;
  }

  setUpTools() {
    byId("clear").addEventListener("click", () => {
      this.entries.clear();
      this.changed();
    });
    byId("share").addEventListener("click", () => this.share());
    byId("filter").addEventListener("input", () => this.filter(byId("filter").value));
    byId("tools").classList.toggle("few", this.fields.size <= 12);
    const chosen = byId("explained");
    this.model.labels.forEach((label, c) => chosen.append(element("option", { value: c }, label)));
    chosen.addEventListener("change", () => this.renew());
  }

  filter(text) {
    const wanted = text.trim().toLowerCase();
    for (const [x, { box }] of this.fields) box.hidden = !this.model.variables[x].name.toLowerCase().includes(wanted);
  }

  async share() {
    try {
      await navigator.clipboard.writeText(location.href);
      this.say("The link to this case has been copied.");
    } catch {
      this.say("The address of this page is the link to this case: copy it.");
    }
  }

  say(text) {
    byId("status").textContent = text;
  }

  readFragment() {
    const { entries, ignored } = parsedFragment(this.model, location.hash.slice(1));
    this.entries = entries;
    this.say(ignored ? `${ignored === 1 ? "An entry" : `${ignored} entries`} of the link did not fit this model.` : "");
    this.showEntries();
    this.renew();
  }

  changed(typing = null) {
    const fragment = fragmentOf(this.model, this.entries);
    history.replaceState(null, "", fragment ? `#${fragment}` : location.pathname + location.search);
    this.say("");
    this.showEntries(typing);
    this.renew();
  }

  // The results.

  // Renew all results: the posterior at once, what takes longer one after the other.
  renew() {
    const version = ++this.version;
    const values = codesOf(this.entries);
    const found = this.predicted(values);
    if (found === null) return;
    const { posterior, impossible } = found;
    const chosen = byId("explained").value;
    const target = chosen === "" ? largest(posterior) : Number(chosen);
    const steps = [
      () => this.showWhy(values, posterior, target),
      () => this.showQuestions(values),
      () => this.showReason(values),
      () => this.showFlip(values),
    ];
    this.showPosterior(posterior, impossible, target);
    limitWork(MOST_WORK);
    byId("unusual").hidden = impossible || !isUnusual(this.model, values);
    this.markDrawing(values, posterior);
    const next = () => {
      if (version !== this.version || !steps.length) return;
      steps.shift()();
      setTimeout(next, 0);
    };
    setTimeout(next, 0);
  }

  // Return the posterior; null where it takes too long, which the page reports instead of all results.
  predicted(values) {
    limitWork(MOST_WORK);
    try {
      return posteriorOf(this.model, values);
    } catch (error) {
      if (!(error instanceof TooLarge || error instanceof NotPossible)) throw error;
      for (const id of ["posterior", "interval", "why", "questions", "reason", "flip"]) byId(id).replaceChildren();
      byId("unusual").hidden = true;
      byId("prediction").textContent = byId("bar").textContent = `Not available: ${error.message}. Give more values.`;
      return null;
    }
  }

  // Fill a panel; where the computation is not possible, the panel has the reason.
  fill(id, content) {
    const panel = byId(id);
    limitWork(MOST_WORK);
    try {
      panel.replaceChildren(...content());
    } catch (error) {
      if (!(error instanceof TooLarge || error instanceof NotPossible)) throw error;
      panel.replaceChildren(element("p", { class: "muted" }, `Not available: ${error.message}.`));
    }
  }

  showPosterior(posterior, impossible, target) {
    const best = largest(posterior);
    byId("prediction").replaceChildren(
      isolated(this.data.target),
      " is ",
      element("strong", {}, isolated(this.model.labels[best])),
      ` with probability ${share(posterior[best])}.`,
    );
    byId("bar").replaceChildren(isolated(this.model.labels[best]), ` ${share(posterior[best])}`);
    byId("impossible").hidden = !impossible;
    byId("interval").textContent = "";
    this.tracks = new Map();
    const order = posterior.length <= MOST_CLASSES ? range(posterior.length) : range(posterior.length).sort((a, b) => posterior[b] - posterior[a]);
    const shown = order.filter((c, i) => i < MOST_CLASSES || c === target);
    const rows = shown.map((c) => {
      const track = element("span", { class: "track", "aria-hidden": "true" }, bar(0, posterior[c], c === best ? "class" : "feature"));
      this.tracks.set(c, track);
      return tableRow([isolated(this.model.labels[c])], track, share(posterior[c]), c === target ? "explained" : null);
    });
    const others = posterior.filter((_, c) => !shown.includes(c));
    if (others.length) rows.push(tableRow([`${others.length} other classes`], "", share(sum(others)), "total"));
    byId("posterior").replaceChildren(...rows);
  }

  showWhy(values, posterior, target) {
    const label = this.model.labels[target];
    this.fill("why", () => {
      if (this.model.classes === 1) return [element("p", { class: "muted" }, "There is only one class.")];
      const found = contributionsOf(this.model, values, target);
      this.showInterval(values, posterior, target, found.logOdds);
      const terms = [...found.values].filter(([, bits]) => Math.abs(bits) >= SMALLEST).sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
      const rest = terms.slice(MOST_TERMS);
      const rows = terms.slice(0, MOST_TERMS).map(([x, bits]) => [this.named(x), bits]);
      if (rest.length) rows.push([[`${rest.length} others`], sum(rest.map(([, bits]) => bits))]);
      const top = Math.max(...rows.map(([, bits]) => Math.abs(bits)), Math.abs(found.base), Math.abs(found.logOdds), 1e-9);
      const all = [[["base"], found.base, "total"], ...rows, [["log odds"], found.logOdds, "total"]];
      const table = element("table", {}, element("tbody", {}, ...all.map(([name, bits, kind]) => termRow(name, bits, top, kind))));
      const text = ["Contributions to the log odds of ", isolated(label), ", in bits; one bit doubles the odds. With the base they add up to the log odds."];
      return [element("p", { class: "muted" }, ...text), table];
    });
  }

  showInterval(values, posterior, target, logOdds) {
    this.fill("interval", () => {
      const interval = intervalOf(this.model, values, target, posterior, logOdds);
      if (interval === null) return [];
      const text = `: 95 % interval ${share(interval[0])} to ${share(interval[1])}, by the number of training cases.`;
      const line = element("i", { class: "interval" });
      line.style.left = `${100 * interval[0]}%`;
      line.style.width = `${100 * (interval[1] - interval[0])}%`;
      this.tracks.get(target).append(line);
      return ["Probability of ", isolated(this.model.labels[target]), text];
    });
  }

  // Return the name of a feature and its value.
  named(x) {
    const name = isolated(this.model.variables[x].name);
    return this.entries.has(x) ? [name, " = ", isolated(textOf(this.model, x, this.entries.get(x)))] : [name];
  }

  showQuestions(values) {
    this.fill("questions", () => {
      const questions = questionsOf(this.model, values).filter(({ feature, bits }) => bits >= 0.00005 && this.fields.has(feature));
      if (!questions.length) return [element("p", { class: "muted" }, "No open feature carries information about the class.")];
      const top = questions[0].bits;
      const rows = questions.slice(0, MOST_QUESTIONS).map(({ feature, bits }) => {
        const button = element("button", { type: "button", class: "link" }, isolated(this.model.variables[feature].name));
        button.addEventListener("click", () => this.focus(feature));
        const track = element("span", { class: "track", "aria-hidden": "true" }, bar(0, bits / top, "feature"));
        return tableRow([button], track, bits.toFixed(4));
      });
      const more = questions.length - rows.length;
      const note = `Expected information about the class, in bits${more > 0 ? `; ${more} more features` : ""}.`;
      return [element("p", { class: "muted" }, note), element("table", {}, element("tbody", {}, ...rows))];
    });
  }

  focus(x) {
    const { box } = this.fields.get(x);
    box.hidden = false;
    byId(`f${x}`).focus();
    box.scrollIntoView({ block: "center" });
  }

  showReason(values) {
    this.fill("reason", () => {
      const { decided, features, counterexample } = sufficientReason(this.model, values);
      const label = isolated(this.model.labels[decided]);
      if (counterexample !== null) {
        const changes = [...counterexample].map(([x, code]) => this.state(x, code));
        const other = largest(posteriorOf(this.model, new Map([...values, ...counterexample])).posterior);
        const text = ["The values do not decide the class: it is ", isolated(this.model.labels[other]), " instead of ", label, " with"];
        return [element("p", {}, ...text), listed(changes.slice(0, MOST_TERMS)), ...moreThan(changes.length - MOST_TERMS)];
      }
      if (!features.length) return [element("p", {}, "The class is ", label, ", whatever the values are.")];
      const text = [`${features.length} of ${values.size} values decide that the class is `, label, ", whatever all other features are:"];
      return [element("p", {}, ...text), listed(features.map((x) => this.named(x)))];
    });
  }

  // Return a feature with one of its states.
  state(x, code) {
    return [isolated(this.model.variables[x].name), " = ", isolated(this.model.variables[x].labels[code])];
  }

  showFlip(values) {
    this.fill("flip", () => {
      const flip = smallestFlip(this.model, values);
      if (flip === null) return [element("p", {}, "No values give another class.")];
      const changed = [...flip.changes].map(([x, code]) => [...this.state(x, code), " instead of ", isolated(textOf(this.model, x, this.entries.get(x)))]);
      const assumed = [...flip.assumed].map(([x, code]) => this.state(x, code));
      const result = [element("p", {}, "The class is ", isolated(this.model.labels[flip.after]), " after the fewest changes of values:")];
      if (changed.length) result.push(listed(changed));
      else result[0] = element("p", {}, "No value has to change: open features can give ", isolated(this.model.labels[flip.after]), ".");
      if (changed.length && assumed.length) {
        result.push(element("p", {}, "if open features are"), listed(assumed.slice(0, MOST_TERMS)), ...moreThan(assumed.length - MOST_TERMS));
      }
      return result;
    });
  }

  // The drawing.

  setUpDrawing() {
    for (const styled of document.querySelectorAll("#drawing [data-style]")) styled.style.cssText = styled.dataset.style;
    this.nodes = new Map();
    for (const node of document.querySelectorAll("#drawing [data-variable]")) {
      const x = Number(node.dataset.variable);
      const texts = node.querySelectorAll("text");
      this.nodes.set(x, { node, value: texts[1], text: texts[1].textContent, width: Number(node.querySelector("rect").getAttribute("width")) });
      if (this.fields.has(x)) {
        node.classList.add("active");
        node.addEventListener("click", () => this.focus(x));
      }
    }
    const drawing = byId("drawing");
    drawing.scrollLeft = this.data.outline === null ? (drawing.scrollWidth - drawing.clientWidth) / 2 : 0;
    this.outline = this.data.outline === null ? [] : [...document.querySelectorAll("#drawing .nv-node, #drawing .nv-leaf")];
  }

  markDrawing(values, posterior) {
    const best = largest(posterior);
    for (const [x, { node, value, text, width }] of this.nodes) {
      const entry = this.entries.get(x);
      const shown = x === CLASS ? `${this.model.labels[best]}: ${share(posterior[best])}` : entry && `= ${textOf(this.model, x, entry)}`;
      node.classList.toggle("observed", entry !== undefined);
      value.textContent = shown === undefined ? text : shortened(shown, Math.floor((width - 12) / 6));
    }
    const reached = [];
    this.outline.forEach((node, i) => {
      const { parent, states } = this.data.outline[i];
      const tested = parent < 0 ? null : this.data.outline[parent].feature;
      reached.push(parent < 0 || (reached[parent] && (!values.has(tested) || states.includes(values.get(tested)))));
      node.classList.toggle("observed", reached[i]);
      node.classList.toggle("passed-by", !reached[i]);
    });
  }
}

const listed = (pairs) => element("ul", {}, ...pairs.map((parts) => element("li", {}, ...parts)));
const moreThan = (count) => (count > 0 ? [element("p", { class: "muted" }, `and ${count} more`)] : []);

// Return a text of at most `most` characters.
function shortened(text, most) {
  const characters = [...text];
  return characters.length <= most ? text : `${characters.slice(0, Math.max(1, most - 1)).join("")}\u2026`;
}

// Return a bar from one share of the track to another.
function bar(from, to, color) {
  const result = element("i", { class: color });
  result.style.left = `${100 * Math.min(from, to)}%`;
  result.style.width = `${100 * Math.abs(to - from)}%`;
  return result;
}

// Return the row of a contribution: its name, a bar to the left or to the right of zero, the bits.
function termRow(name, bits, top, kind = null) {
  const track = element("span", { class: "track middle", "aria-hidden": "true" }, bar(0.5, 0.5 + bits / top / 2, bits < 0 ? "class" : "feature"));
  return tableRow(name, track, signed(bits), kind);
}

// Return the row of a table: a name, a bar and a number.
function tableRow(name, track, number, kind = null) {
  const cells = [element("td", { class: "wide" }, track), element("td", { class: "num" }, number)];
  return element("tr", { class: kind }, element("th", { scope: "row" }, ...name), ...cells);
}

new Explorer(JSON.parse(byId("model").textContent));
