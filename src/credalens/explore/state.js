"use strict";
/** What the page shows: members, classes and set; the examples; and the fragment of the address. */
const State = (() => {
  const NAMES = ["cat", "dog", "fox", "owl", "bee", "elk", "cod", "hen", "ant", "yak"];
  const MAX_CLASSES = NAMES.length, MAX_MEMBERS = 40;
  /** Largest table of probabilities that is written to the address. */
  const MAX_LINK = 1000;

  const EXAMPLES = {
    mixed: {
      name: "Mixed",
      text: "No model is sure, and they do not agree. A part of the uncertainty is in every prediction, a part is in their disagreement.",
      members: [[0.6, 0.3, 0.1], [0.2, 0.44, 0.36], [0.34, 0.58, 0.08]],
    },
    clear: {
      name: "Clear",
      text: "The models agree, and each of them is nearly sure: a small set near a vertex.",
      members: [[0.95, 0.03, 0.02], [0.9, 0.06, 0.04], [0.92, 0.02, 0.06]],
    },
    ambiguous: {
      name: "Ambiguous",
      text: "The models agree that the input could be a cat or a dog. More models or more training will hardly help: the uncertainty is aleatoric.",
      members: [[0.48, 0.48, 0.04], [0.44, 0.51, 0.05], [0.52, 0.42, 0.06]],
    },
    unknown: {
      name: "Unknown",
      text: "Each model is sure of another class. They cannot all be right, and the set does not say which one is: the uncertainty is epistemic.",
      members: [[0.9, 0.06, 0.04], [0.05, 0.9, 0.05], [0.08, 0.1, 0.82]],
    },
    spoiler: {
      name: "Spoiler",
      text: "Four models agree, and one contradicts them. A set contains what any model says, so that one faulty model spoils it: drag it back, or remove it.",
      members: [[0.9, 0.06, 0.04], [0.86, 0.1, 0.04], [0.92, 0.03, 0.05], [0.85, 0.06, 0.09], [0.06, 0.12, 0.82]],
      selected: 4,
    },
    box: {
      name: "Box",
      text: "Only the smallest and largest probability of each class are kept. The box contains distributions that are no mixture of the models, so that it is larger than their hull.",
      members: [[0.68, 0.22, 0.1], [0.42, 0.3, 0.28], [0.46, 0.46, 0.08]],
      set: "box",
    },
    contamination: {
      name: "Contamination",
      text: "One prediction, and a share of 0.25 that may be anything: a smaller copy of the triangle around the prediction.",
      members: [[0.55, 0.3, 0.15]],
      set: "contamination",
      radius: 0.25,
    },
    ball: {
      name: "Ball",
      text: "One prediction, and all distributions within a total variation distance of 0.15: a hexagon, unless the border of the triangle cuts it off.",
      members: [[0.54, 0.3, 0.16]],
      set: "ball",
      radius: 0.15,
    },
  };

  const make = (members, classes, extra = {}) => ({
    members: members.map(CredalSets.normalized), classes, names: null, set: "hull", radius: 0.15, selected: 0,
    // Where the members come from, and whether they have been changed since.
    row: null, example: null, moved: false, ...extra,
  });

  function fromExample(key) {
    const { members, set = "hull", radius = 0.15, selected = 0 } = EXAMPLES[key];
    return make(members, NAMES.slice(0, 3), { set, radius, selected, example: key });
  }

  function fromRow(data, index) {
    const row = data.rows[index], K = row.members[0].length;
    const classes = data.classes ?? Array.from({ length: K }, (_, y) => String(y));
    return make(row.members, classes, { names: data.models, row: index });
  }

  /** The state with one class more or less; the last class is added or removed. */
  function withClasses(state, K) {
    const { classes, members } = state, grow = K > classes.length;
    const unused = [...NAMES, ...Array.from({ length: K }, (_, y) => `class ${y}`)].find((name) => !classes.includes(name));
    return {
      ...state,
      set: K === 3 ? state.set : "hull",
      moved: true,
      classes: grow ? [...classes, unused] : classes.slice(0, -1),
      members: members.map((p) => CredalSets.rounded(grow ? [...p.map((value) => 0.9 * value), 0.1] : p.slice(0, -1))),
    };
  }

  // ------------------------------------------------------------ the fragment of the address
  /** Fragment such as p=0.7,0.2,0.1;0.4,0.3,0.3&classes=cat,dog,fox; "" if the state is too large. */
  function toFragment(state) {
    const { members, classes, set, radius, example, row, moved } = state;
    if (example && !moved) return `example=${example}`;
    if (row !== null && !moved) return `row=${row}`;
    if (members.length * classes.length > MAX_LINK) return "";
    const parts = [
      `p=${members.map((p) => p.map((value) => Number(value.toFixed(6))).join(",")).join(";")}`,
      `classes=${classes.map(encodeURIComponent).join(",")}`,
    ];
    if (set !== "hull") parts.push(`set=${set}`);
    if (set === "ball" || set === "contamination") parts.push(`radius=${radius}`);
    return parts.join("&");
  }

  /** The state of a fragment, null if it has none; throws an Error with a message if it is invalid. */
  function fromFragment(fragment, data) {
    const found = new Map(fragment.split("&").map((part) => {
      const at = part.indexOf("=");
      return at < 0 ? [part, ""] : [part.slice(0, at), part.slice(at + 1)];
    }));
    if (found.has("example") && Object.hasOwn(EXAMPLES, found.get("example"))) return fromExample(found.get("example"));
    if (found.has("row")) {
      const row = Number(found.get("row"));
      if (!data.rows[row]) throw new Error(`This page has no row ${found.get("row")}; it has ${data.rows.length}.`);
      return fromRow(data, row);
    }
    if (!found.has("p")) return null;
    const members = parse(found.get("p").replaceAll(";", "\n"));
    const given = found.get("classes")?.split(",").map(decodeURIComponent);
    if (given && given.length !== members[0].length) {
      throw new Error(`The address has ${given.length} names for ${members[0].length} classes.`);
    }
    const classes = given ?? Array.from(members[0], (_, y) => NAMES[y] ?? String(y));
    const set = Object.hasOwn(CredalSets.KINDS, found.get("set") ?? "") && classes.length === 3 ? found.get("set") : "hull";
    const radius = Number(found.get("radius"));
    return make(members, classes, { set, radius: radius > 0 && radius <= 1 ? radius : 0.15 });
  }

  /** Members as text: one line per model, numbers separated by commas or spaces. */
  function parse(text) {
    const lines = text.split("\n").map((line) => line.trim()).filter(Boolean);
    if (!lines.length) throw new Error("There are no probabilities; write one line per model.");
    const rows = lines.map((line, i) => line.split(/[\s,]+/).filter(Boolean).map((word) => {
      const value = Number(word);
      if (!Number.isFinite(value) || value < 0) throw new Error(`Line ${i + 1}: ${word} is not a probability.`);
      return value;
    }));
    rows.forEach((row, i) => {
      const total = row.reduce((sum, value) => sum + value, 0);
      if (row.length !== rows[0].length) {
        throw new Error(`Line ${i + 1} has ${row.length} numbers, line 1 has ${rows[0].length}; write one per class.`);
      }
      if (Math.abs(total - 1) > 1e-3) throw new Error(`Line ${i + 1} sums to ${Number(total.toPrecision(6))}, not to 1.`);
    });
    return rows.map(CredalSets.normalized);
  }

  const format = (members) => members.map((p) => p.map((value) => Number(value.toFixed(6))).join(", ")).join("\n");

  return {
    EXAMPLES, MAX_CLASSES, MAX_MEMBERS, fromExample, fromRow, make, withClasses, toFragment, fromFragment, parse, format,
  };
})();
