"use strict";
/** The ternary plot of a set over three classes: SVG with movable points. */
const Triangle = (() => {
  const SIDE = 520, LEFT = 60, TOP = 46;
  const HEIGHT = SIDE * Math.sqrt(3) / 2;
  const WIDTH = SIDE + 2 * LEFT;
  const VERTICES = [[LEFT, TOP + HEIGHT], [LEFT + SIDE, TOP + HEIGHT], [LEFT + SIDE / 2, TOP]];
  const [A, B, C] = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
  /** Widths at which the style sheet enlarges the texts of the plot. */
  const NARROW = matchMedia("(max-width: 640px)");
  const MIDDLE = [1 / 3, 1 / 3, 1 / 3];

  function svg(name, attributes = {}, ...children) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    element.append(...children);
    return element;
  }

  const toPlane = (p) => [0, 1].map((axis) => p.reduce((sum, value, y) => sum + value * VERTICES[y][axis], 0));

  /** The position of a pointer in the coordinates of the plot. */
  function position(plot, { clientX, clientY }) {
    const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(plot.getScreenCTM().inverse());
    return [x, y];
  }

  /** The distribution at a point of the plane, or the nearest one if it is outside of the triangle. */
  function toDistribution([x, y]) {
    const at = (x, y) => {
      const top = (VERTICES[0][1] - y) / HEIGHT, right = (x - LEFT) / SIDE - top / 2;
      return [1 - top - right, right, top];
    };
    const p = at(x, y);
    if (p.every((value) => value >= 0)) return p;
    let best = null, least = Infinity;
    for (const [a, b] of [[0, 1], [1, 2], [2, 0]]) { // the nearest point of each side
      const [u, v] = [VERTICES[a], VERTICES[b]], d = [v[0] - u[0], v[1] - u[1]];
      const t = Math.min(Math.max(((x - u[0]) * d[0] + (y - u[1]) * d[1]) / SIDE ** 2, 0), 1);
      const apart = Math.hypot(x - u[0] - t * d[0], y - u[1] - t * d[1]);
      if (apart < least) [best, least] = [[0, 1, 2].map((k) => (k === a ? 1 - t : k === b ? t : 0)), apart];
    }
    return best;
  }

  /** Vertices of the convex hull of points of the plane, in order (Andrew's monotone chain). */
  function outline(points) {
    const sorted = [...points].sort((p, q) => p[0] - q[0] || p[1] - q[1]);
    const turn = (o, p, q) => (p[0] - o[0]) * (q[1] - o[1]) - (p[1] - o[1]) * (q[0] - o[0]);
    const chain = (list) => {
      const found = [];
      for (const p of list) {
        while (found.length > 1 && turn(found.at(-2), found.at(-1), p) <= 1e-9) found.pop();
        found.push(p);
      }
      return found.slice(0, -1);
    };
    const hull = [...chain(sorted), ...chain(sorted.reverse())];
    return hull.length ? hull : points.slice(0, 1);
  }

  const path = (points, close = true) =>
    points.length ? `M${points.map((p) => p.map((x) => x.toFixed(2)).join(" ")).join("L")}${close ? "Z" : ""}` : "";
  const area = (distributions, className) => svg("path", { d: path(distributions.map(toPlane)), class: className });
  const line = (p, q, className) => svg("path", { d: path([toPlane(p), toPlane(q)], false), class: className });

  /** The line p_y = level inside of the triangle. */
  function levelLine(y, level, className) {
    const [a, b] = [0, 1, 2].filter((z) => z !== y);
    const end = (z) => [0, 1, 2].map((k) => (k === y ? level : k === z ? 1 - level : 0));
    return line(end(a), end(b), className);
  }

  const ring = (p, className, r = 15) => {
    const [cx, cy] = toPlane(p);
    return svg("circle", { cx, cy, r, class: className });
  };
  const diamond = (p, className, r = 8) => {
    const [x, y] = toPlane(p);
    return svg("path", { d: path([[x - r, y], [x, y - r], [x + r, y], [x, y + r]]), class: className });
  };

  const short = (name) => (name.length > 16 ? `${name.slice(0, 15)}…` : name);
  /** The middle of the name of class y, next to its vertex. */
  const namePlace = (y) => [VERTICES[y][0], VERTICES[y][1] + (y === 2 ? -22 : 27)];

  // ------------------------------------------------------------ labels that do not overlap
  class Labels {
    /** Texts avoid the names of the classes, the points, and segments between pairs of distributions. */
    constructor(classes, points, segments) {
      this.scale = NARROW.matches ? 1.4 : 1;
      this.boxes = points.map((p) => this.box(toPlane(p), 28 * this.scale, 28 * this.scale));
      classes.forEach((name, y) => this.boxes.push(this.box(namePlace(y), (11 * short(name).length + 8) * this.scale, 26 * this.scale)));
      for (const [p, q] of segments) {
        for (let t = 0; t <= 1; t += 0.05) this.boxes.push(this.box(toPlane(p.map((x, y) => x + t * (q[y] - x))), 9, 9));
      }
    }

    box([x, y], width, height) { return [x - width / 2, y - height / 2, x + width / 2, y + height / 2]; }

    /** A text beside the segment from p to q. */
    beside(text, p, q, className) {
      const [u, v] = [toPlane(p), toPlane(q)], [width, height] = this.size(text);
      const length = Math.hypot(v[0] - u[0], v[1] - u[1]) || 1;
      const normal = [(u[1] - v[1]) / length, (v[0] - u[0]) / length];
      const away = Math.abs(normal[0]) * width / 2 + Math.abs(normal[1]) * height / 2 + 6;
      const places = [0.5, 0.38, 0.62, 0.26, 0.74, 0.12, 0.88].flatMap((t) => [1, -1].map((side) =>
        [0, 1].map((k) => u[k] + t * (v[k] - u[k]) + side * away * normal[k])));
      return this.place(text, places, className);
    }

    /** A text around a distribution. */
    around(text, p, className) {
      const [x, y] = toPlane(p), [width, height] = this.size(text);
      const places = [[1, 0], [-1, 0], [0, -1], [0, 1], [1, -1], [-1, -1], [1, 1], [-1, 1]].map(([right, down]) =>
        [x + right * (width / 2 + 16 * this.scale), y + down * (height / 2 + (right ? 6 : 16 * this.scale))]);
      return this.place(text, places, className);
    }

    size(text) { return [(8.6 * text.length + 8) * this.scale, 20 * this.scale]; }

    /** The text at the place that overlaps least; of equal ones at the first. */
    place(text, places, className) {
      const [width, height] = this.size(text);
      const overlap = (at) => {
        const box = this.box(at, width, height);
        const outside = Math.max(width / 2 - at[0], at[0] + width / 2 - WIDTH, 0);
        return this.boxes.reduce((sum, other) => sum +
          Math.max(Math.min(box[2], other[2]) - Math.max(box[0], other[0]), 0) *
          Math.max(Math.min(box[3], other[3]) - Math.max(box[1], other[1]), 0), 100 * outside);
      };
      const costs = places.map(overlap), at = places[costs.indexOf(Math.min(...costs))];
      this.boxes.push(this.box(at, width, height));
      return svg("text", { x: at[0], y: at[1], class: `value ${className}` }, text);
    }
  }

  // ------------------------------------------------------------ what is drawn for each measure
  const number = (value) => value.toFixed(3);
  const unit = (y) => [A, B, C][y];

  /** The pairs of distributions whose distances are the uncertainties. */
  function segments({ total, aleatoric, epistemic }, points) {
    const [a, b] = epistemic.pair.map((i) => points[i]), { lower, upper } = aleatoric;
    return {
      total: [points[total.index], unit(total.class)],
      lower: [points[lower.index], unit(lower.class)],
      upper: upper.value - lower.value < 5e-4 ? null : [upper.point, unit(upper.class)],
      epistemic: epistemic.value < 5e-4 ? null : [a, b],
    };
  }

  function distances(found, points, ends, labels) {
    const group = (name, ...children) => svg("g", { "data-measure": name }, ...children);
    const { total, aleatoric, epistemic } = found;
    const ambiguous = (end) => ends[end] ? [
      line(...ends[end], `witness aleatoric ${end}`), diamond(ends[end][0], `mark aleatoric ${end}`),
      labels.beside(number(aleatoric[end].value), ...ends[end], "aleatoric"),
    ] : [];
    return [
      group("total",
        levelLine(total.class, 1 - total.value, "level total"), line(...ends.total, "witness total"),
        ring(ends.total[0], "mark total"), ring(ends.total[1], "mark total", 9),
        labels.beside(number(total.value), ...ends.total, "total")),
      group("aleatoric", ...ambiguous("lower"), ...ambiguous("upper")),
      ...(ends.epistemic ? [group("epistemic", line(...ends.epistemic, "witness epistemic"),
        ...ends.epistemic.map((p) => ring(p, "mark epistemic", 18)),
        labels.beside(`2 × ${number(epistemic.value)}`, ...ends.epistemic, "epistemic"))] : []),
    ];
  }

  /** The distributions with this entropy, as a closed curve around the centre. */
  function entropyContour(value, className) {
    const points = [];
    for (let i = 0; i < 180; i++) {
      const angle = i * Math.PI / 90;
      const direction = [Math.cos(angle), Math.cos(angle - 2 * Math.PI / 3), Math.cos(angle + 2 * Math.PI / 3)];
      const end = Math.min(...direction.filter((d) => d < 0).map((d) => -1 / (3 * d)));
      let low = 0, high = end;
      for (let step = 0; step < 30; step++) {
        const middle = (low + high) / 2;
        const p = direction.map((d) => Math.max(1 / 3 + middle * d, 0));
        if (Entropy.entropy(p) > value) low = middle; else high = middle;
      }
      points.push(direction.map((d) => 1 / 3 + low * d));
    }
    return area(points, className);
  }

  function entropies(found, points, labels) {
    const { upperEntropy, lowerEntropy, lower, upper, information } = found;
    const least = points[lowerEntropy.index];
    const parts = [
      svg("g", { "data-measure": "hartley" }, svg("path", {
        d: path(outline(CredalSets.box(lower, upper).map(toPlane))), class: "outer" })),
      svg("g", { "data-measure": "lower-entropy" }, entropyContour(lowerEntropy.value, "contour"),
        ring(least, "mark entropy"), labels.around(number(lowerEntropy.value), least, "entropy")),
      svg("g", { "data-measure": "upper-entropy" }, entropyContour(upperEntropy.value, "contour upper"),
        diamond(upperEntropy.point, "mark entropy", 9), labels.around(number(upperEntropy.value), upperEntropy.point, "entropy")),
    ];
    if (information && information.mutual > 5e-4) {
      parts.push(svg("g", { "data-measure": "mutual" },
        ...points.map((p) => line(information.center, p, "spoke")), ring(information.center, "mark mean", 5)));
    }
    return parts;
  }

  function regions(found, hull) {
    const { maximal, admissible } = found.decisions;
    const parts = [0, 1, 2].map((y) => {
      const status = admissible.includes(y) ? "admissible" : maximal.includes(y) ? "maximal" : "excluded";
      return svg("g", { "data-class": y }, area(CredalSets.bestRegion(y), `region c${y} ${status}`),
        area(CredalSets.preferredTo(y, [0, 1, 2].filter((z) => z !== y), hull), `part c${y}`));
    });
    return [...parts, ...[[0, 1], [1, 2], [2, 0]].map(([y, z]) => {
      const third = 3 - y - z, middle = unit(y).map((value, k) => (value + unit(z)[k]) / 2);
      return line(unit(third), middle, "median");
    })];
  }

  /** Everything below the movable points. */
  function layers(state, found, points, lens) {
    const hull = outline(points.map(toPlane));
    const set = hull.map(toDistribution);
    const grid = [0.25, 0.5, 0.75].flatMap((level) => [0, 1, 2].map((y) => levelLine(y, level, "grid")));
    const ties = [0, 1, 2].map((y) => line(MIDDLE, unit(y).map((value) => (1 - value) / 2), "tie"));
    const ends = segments(found, points), drawn = lens === "distances" ? Object.values(ends).filter(Boolean) : [];
    const labels = new Labels(state.classes, [...state.members, A, B, C], [...drawn, [A, B], [B, C], [C, A]]);
    const shape = svg("path", { d: path(hull), class: hull.length > 2 ? "set" : "set flat" });
    const center = state.set === "hull" || state.members.length === 1 ? [] : [diamond(CredalSets.mean(state.members), "center", 5)];
    const under = lens === "decisions" ? regions(found, set) : [];
    const over = lens === "distances" ? distances(found, points, ends, labels) : lens === "entropy" ? entropies(found, points, labels) : [];
    return [area([A, B, C], "simplex"), ...under, ...grid, ...(lens === "decisions" ? [] : ties), shape, ...center, ...over];
  }

  function vertexLabels(classes) {
    return classes.map((name, y) => {
      const [x, at] = namePlace(y), label = svg("text", { x, y: at, class: "vertex" }, short(name));
      if (name.length > 7 && y < 2) { // long names start and end at the border of the plot
        label.classList.add(y === 0 ? "start" : "end");
        label.setAttribute("x", y === 0 ? 2 : WIDTH - 2);
      }
      label.append(svg("title", {}, name));
      return label;
    });
  }

  return { WIDTH, HEIGHT: HEIGHT + TOP + 46, svg, position, toPlane, toDistribution, layers, vertexLabels };
})();
