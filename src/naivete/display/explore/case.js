// The values of a case: the code of a typed text, and the case as the fragment of an address.

const LONGEST = 100000; // characters of a fragment that are read

// Return the code of a number: its interval, or its distance from the origin of a continuous feature; null if there is none.
function codeOfNumber(model, x, text) {
  const { cuts, origin } = model.variables[x];
  const number = text.trim() === "" ? NaN : Number(text);
  if (!Number.isFinite(number)) return null;
  if (origin !== null) return number - origin;
  return cuts === null ? null : cuts.filter((cut) => cut < number).length;
}

// Whether values of a feature can be chosen: it is used, and has more than one value.
const isOpen = (model, x) => !model.variables[x].leftOut && model.informative(x);

const isNumeric = (model, x) => model.variables[x].cuts !== null || model.variables[x].origin !== null;

// Return the code and the typed number of a text, which is a label or a number; null if it is neither.
function entryOf(model, x, text) {
  const code = model.variables[x].origin === null ? model.variables[x].labels.indexOf(text) : -1;
  if (code >= 0) return { code, typed: null };
  const number = isNumeric(model, x) ? codeOfNumber(model, x, text) : null;
  return number === null ? null : { code: number, typed: text.trim() };
}

// Return the value of a feature as text.
const textOf = (model, x, entry) => entry.typed ?? model.variables[x].labels[entry.code];

const codesOf = (entries) => new Map([...entries].map(([x, { code }]) => [x, code]));

// Return a case as the fragment of an address: name=value&name=value.
function fragmentOf(model, entries) {
  const pairs = [...entries].sort((a, b) => a[0] - b[0]).map(([x, entry]) => [model.variables[x].name, textOf(model, x, entry)]);
  return pairs.map((pair) => pair.map(encoded).join("=")).join("&");
}

// Return a text as part of an address; half of a surrogate pair, which cannot be encoded, becomes U+FFFD.
const encoded = (text) => encodeURIComponent(text.replace(/\p{Surrogate}/gu, "\ufffd"));

// Return the entries of a fragment by feature, and the number of parts that do not fit the model.
function parsedFragment(model, fragment) {
  const positions = new Map();
  for (let x = model.inputs - 1; x >= 0; x--) if (isOpen(model, x)) positions.set(encoded(model.variables[x].name), x);
  const entries = new Map();
  let ignored = 0;
  for (const part of fragment.slice(0, LONGEST).split("&").filter(Boolean)) {
    const at = part.indexOf("=");
    const [name, value] = [decodedPart(part.slice(0, Math.max(at, 0))), decodedPart(part.slice(at + 1))];
    const x = name === null ? undefined : positions.get(encoded(name));
    const entry = x === undefined || value === null ? null : entryOf(model, x, value);
    if (entry === null) ignored += 1;
    else entries.set(x, entry);
  }
  return { entries, ignored };
}

// Return a decoded part of a fragment, null if it is not valid.
function decodedPart(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
