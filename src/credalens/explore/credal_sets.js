"use strict";
/** Credal sets over three classes as polygons, and operations on points of the simplex. */
const CredalSets = (() => {
  /** Bounds are widened by this much, so that sets without an interior are not empty. */
  const SLACK = 1e-12;

  /** The representations that are offered for three classes. */
  const KINDS = {
    hull: "Convex hull of the models",
    box: "Probability intervals of the models",
    contamination: "Contamination of their mean",
    ball: "Total variation ball around their mean",
  };

  const mean = (members) => Entropy.mixture(members, members.map(() => 1 / members.length));

  /** The part of a convex polygon of distributions where sum_y normal_y p_y >= offset. */
  function clip(polygon, normal, offset) {
    const side = (p) => p.reduce((sum, value, y) => sum + value * normal[y], 0) - offset;
    const kept = [];
    polygon.forEach((p, i) => {
      const q = polygon[(i + 1) % polygon.length], a = side(p), b = side(q);
      if (a >= 0) kept.push(p);
      if (a * b < 0) kept.push(p.map((value, y) => value + (q[y] - value) * a / (a - b)));
    });
    return kept;
  }

  const unit = (y) => [0, 1, 2].map((z) => Number(y === z));

  /** Extreme points of the distributions with lower <= p <= upper. */
  function box(lower, upper) {
    let polygon = [unit(0), unit(1), unit(2)];
    for (let y = 0; y < 3; y++) {
      polygon = clip(polygon, unit(y), lower[y] - SLACK);
      polygon = clip(polygon, unit(y).map((value) => -value), -upper[y] - SLACK);
    }
    return distinct(polygon.map(normalized));
  }

  function distinct(points) {
    return points.filter((p, i) => points.findIndex((q) => Measures.distance(p, q) < 1e-9) === i);
  }

  /** Extreme points of a set that is made from the members; the members themselves for a hull. */
  function extremePoints(kind, members, radius) {
    const center = mean(members);
    if (kind === "box") {
      const ends = (f) => center.map((_, y) => f(...members.map((row) => row[y])));
      return box(ends(Math.min), ends(Math.max));
    }
    if (kind === "contamination") {
      return center.map((_, y) => center.map((value, z) => (1 - radius) * value + (y === z ? radius : 0)));
    }
    if (kind === "ball") {
      // With three classes, the total variation distance is the largest difference of a class.
      return box(center.map((value) => Math.max(value - radius, 0)), center.map((value) => Math.min(value + radius, 1)));
    }
    return members;
  }

  /** The region in which class y is the most probable one. */
  const bestRegion = (y) => preferredTo(y, [0, 1, 2].filter((z) => z !== y));

  /** The part of the simplex, or of a polygon, in which class y is at least as probable as `others`. */
  function preferredTo(y, others, polygon = [unit(0), unit(1), unit(2)]) {
    return others.reduce((part, z) => clip(part, unit(y).map((value, k) => value - unit(z)[k]), 0), polygon);
  }

  /** The distribution without rounding errors: no negative entries, and a sum of 1. */
  function normalized(p) {
    const positive = p.map((value) => Math.max(value, 0));
    const total = positive.reduce((sum, value) => sum + value, 0);
    return total > 0 ? positive.map((value) => value / total) : p.map(() => 1 / p.length);
  }

  /** Probabilities in steps of 0.001; the remainder is added to the largest entry. */
  function rounded(p) {
    const steps = normalized(p).map((value) => Math.round(1000 * value));
    const largest = steps.indexOf(Math.max(...steps));
    steps[largest] += 1000 - steps.reduce((sum, value) => sum + value, 0);
    return steps.map((value) => value / 1000);
  }

  /** The distribution in which class y has probability `value`, and the others keep their ratios. */
  function withClass(p, y, value) {
    const rest = 1 - p[y];
    if (p.length === 1) return [1];
    return p.map((other, z) => {
      if (z === y) return value;
      return rest > 1e-9 ? other * (1 - value) / rest : (1 - value) / (p.length - 1);
    });
  }

  return { KINDS, extremePoints, bestRegion, preferredTo, clip, box, normalized, rounded, withClass, mean };
})();
