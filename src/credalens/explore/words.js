"use strict";
/** The numbers in sentences. */
const Words = (() => {
  const number = (value) => value.toFixed(3);
  const strong = (text) => Bars.element("strong", "", Bars.isolated(text));

  function total(state, { total: { value, class: y } }) {
    return ["If one class must be chosen now, ", strong(state.classes[y]), ` is the safest. Its probability of error is at most ${number(value)}.`];
  }

  function aleatoric(found) {
    const { lower, upper } = found.aleatoric;
    const range = upper.value - lower.value < 5e-4 ? number(lower.value) : `between ${number(lower.value)} and ${number(upper.value)}`;
    return [`If the true probabilities were known, the best class would still be wrong with probability ${range}.`];
  }

  function epistemic(state, { epistemic: { value, pair } }, name) {
    if (value < 5e-10) return ["The set is a single distribution: there is nothing to disagree about."];
    const twice = number(2 * value);
    if (state.set !== "hull") return [`Two distributions of the set are ${twice} apart: some event is more probable by this much in one of them. Half of it is the uncertainty.`];
    return [`${name(pair[0])} and ${name(pair[1])} are farthest apart: some event is more probable by ${twice} for one of them. Half of it is the uncertainty.`];
  }

  /** The kind of a prediction, by the rule of `credalens.kinds`. */
  function verdict(found, data, single) {
    const ambiguous = found.aleatoric.lower.value >= data.threshold - 1e-12;
    const unknown = found.epistemic.value >= data.threshold / 2 - 1e-12;
    const kind = data.kinds[Number(ambiguous) + 2 * Number(unknown)];
    return { name: kind.name, text: `${single ? kind.meaning_of_one : kind.meaning}. ${kind.advice}` };
  }

  /** What is drawn, for three classes and for other numbers of classes. */
  const LEGENDS = {
    triangle: {
      distances: [
        ["total", "Total: from the farthest point of the set to the nearest vertex"],
        ["aleatoric", "Aleatoric: from the least (dotted) and the most ambiguous point to the vertex nearest to it"],
        ["epistemic", "Epistemic: between the two points that are farthest apart"],
      ],
      entropy: [
        ["entropy", "Circle and diamond: smallest and largest entropy, with curves of equal entropy"],
        ["outer", "Dashed: all that the lower probabilities allow, which generalized Hartley measures"],
        ["mean", "Dot: the mean, from which mutual information measures the spread"],
      ],
      decisions: [
        ["region", "Tinted: the set allows this class to be the best choice, so it is E-admissible"],
        ["maximal", "Dashed outline: maximal, but not E-admissible"],
        ["excluded", "Grey: another class is better for every distribution of the set"],
      ],
    },
    bars: {
      distances: [
        ["total", "Total: from the lower probability of the safest class to 1"],
        ["aleatoric", "Aleatoric: from the largest probability to 1; diamonds: the most ambiguous distribution"],
        ["epistemic", "Epistemic: where the two farthest models differ; a quarter of the total length"],
      ],
      entropy: [
        ["entropy", "Diamonds: the distribution with the largest entropy"],
        ["mean", "Dots: the mean, from which mutual information measures the spread"],
      ],
      decisions: [
        ["bold", "Bold: maximal classes; for the others, a class is better for every distribution of the set"],
      ],
    },
  };

  /** What a screen reader announces after a change. */
  function announcement(state, found, name) {
    const { total, aleatoric, epistemic } = found;
    const p = state.members[state.selected];
    const shown = state.classes.length > 10 ? [] : state.classes.map((label, y) => `${label} ${number(p[y])}`);
    return `${name(state.selected)}: ${shown.join(", ")}. Total ${number(total.value)}, aleatoric ${number(aleatoric.lower.value)} ` +
      `to ${number(aleatoric.upper.value)}, epistemic ${number(epistemic.value)}.`;
  }

  /** Code that computes the same numbers. */
  function python(state) {
    const rows = state.members.map((p) => `[${p.map((value) => Number(value.toFixed(6))).join(", ")}]`);
    const center = CredalSets.mean(state.members).map((value) => Number(value.toFixed(6))).join(", ");
    const members = `members = [\n    ${rows.join(",\n    ")},\n]`;
    const sets = {
      hull: `${members}\nQ = cl.ConvexHull(members)`,
      box: `${members}\nQ = cl.ProbabilityIntervals.from_members(members)`,
      contamination: `Q = cl.Contamination([${center}], ${state.radius})`,
      ball: `Q = cl.TotalVariationBall([${center}], ${state.radius})`,
    };
    return `import credalens as cl\n\n${sets[state.set]}\ncl.quantify(Q)\ncl.upper_entropy(Q), cl.generalized_hartley(Q)\ncl.admissible(Q, rule="maximal")`;
  }

  return { LEGENDS, number, total, aleatoric, epistemic, verdict, announcement, python };
})();
