"use strict";
/** Interval bars: one row per class with the members, and a slider for the selected one. */
const Bars = (() => {
  /** Classes that are listed before the button that lists all. */
  const LISTED = 12;

  function element(name, className, ...children) {
    const made = document.createElement(name);
    if (className) made.className = className;
    made.append(...children);
    return made;
  }

  /** User text, isolated from the direction of the surrounding text. */
  const isolated = (text) => element("bdi", "", text);
  const percent = (value) => `${(100 * value).toFixed(3)}%`;

  /** A mark of the track from probability `from` to `to`. */
  function mark(className, from, to = from) {
    const made = element("i", className);
    made.style.left = percent(Math.min(from, to));
    if (to !== from) made.style.width = percent(Math.abs(to - from));
    return made;
  }

  /** The classes that are listed: all, or those of largest upper probability, in their order. */
  function listed(found, all) {
    const classes = found.upper.map((_, y) => y);
    if (all || classes.length <= LISTED) return classes;
    const kept = [...classes].sort((y, z) => found.upper[z] - found.upper[y] || y - z).slice(0, LISTED);
    return kept.sort((y, z) => y - z);
  }

  /** Marks of the measures in the row of class y. */
  function overlays(y, state, found, points, lens) {
    const { total, aleatoric, epistemic, upperEntropy, information } = found;
    if (lens === "entropy") {
      return [mark("point entropy", upperEntropy.point[y]), ...(information ? [mark("point mean", information.center[y])] : [])];
    }
    if (lens !== "distances") return [];
    const made = [], [a, b] = epistemic.pair;
    if (y === total.class) made.push(mark("span total", found.lower[y], 1));
    if (y === aleatoric.lower.class) made.push(mark("span aleatoric", found.upper[y], 1));
    made.push(mark("point aleatoric", aleatoric.upper.point[y]));
    if (a !== b && Math.abs(points[a][y] - points[b][y]) > 1e-6) made.push(mark("span epistemic", points[a][y], points[b][y]));
    return made;
  }

  /** Rebuild the rows if the classes changed, then move everything to the current values. */
  function update(place, state, found, points, lens, all, actions) {
    const classes = listed(found, all), key = JSON.stringify([classes, state.classes]);
    if (place.dataset.key !== key) {
      place.replaceChildren(...classes.map((y) => createRow(y, state.classes[y], actions)));
      place.dataset.key = key;
    }
    classes.forEach((y, i) => {
      const row = place.children[i], slider = row.querySelector("input"), p = state.members[state.selected];
      row.className = ["bar-row", ...status(y, found)].join(" ");
      if (Number(slider.value) !== p[y]) slider.value = p[y];
      slider.setAttribute("aria-label", `${state.classes[y]}, ${actions.name(state.selected)}`);
      slider.setAttribute("aria-valuetext", p[y].toFixed(3));
      row.querySelector(".marks").replaceChildren(
        mark("interval", found.lower[y], found.upper[y] > found.lower[y] ? found.upper[y] : found.lower[y] + 1e-6),
        ...state.members.map((member, m) => mark(m === state.selected ? "tick selected" : "tick", member[y])),
        ...overlays(y, state, found, points, lens),
      );
      row.querySelector(".bar-range").textContent = range(found.lower[y], found.upper[y]);
    });
  }

  const range = (low, high) => (high - low < 5e-4 ? low.toFixed(3) : `${low.toFixed(3)} to ${high.toFixed(3)}`);

  function status(y, { decisions }) {
    return [
      ...(y === decisions.minimax ? ["minimax"] : []), ...(decisions.maximal.includes(y) ? [] : ["excluded"]),
    ];
  }

  function createRow(y, name, actions) {
    const slider = element("input");
    Object.assign(slider, { type: "range", min: 0, max: 1, step: "any" });
    slider.addEventListener("input", () => actions.slide(y, Math.round(1000 * Number(slider.value)) / 1000));
    slider.addEventListener("change", () => actions.done());
    slider.addEventListener("keydown", (event) => {
      const steps = { ArrowRight: 0.01, ArrowUp: 0.01, ArrowLeft: -0.01, ArrowDown: -0.01, PageUp: 0.1, PageDown: -0.1 };
      if (!(event.key in steps)) return;
      event.preventDefault();
      const value = Number(slider.value) + steps[event.key] * (event.shiftKey ? 10 : 1);
      actions.slide(y, Math.min(Math.max(Math.round(1000 * value) / 1000, 0), 1));
      actions.done();
    });
    const label = element("span", "bar-name", isolated(name));
    label.title = name;
    return element("div", "bar-row", label, element("div", "track", element("div", "marks"), slider), element("span", "bar-range"));
  }

  return { LISTED, update, element, isolated, percent };
})();
