"use strict";
/** The generalized Hartley measure of a convex hull, in bits. */
const Hartley = (() => {
  /** Events are enumerated up to this number of classes. */
  const MAX_CLASSES = 14;
  const cache = new Map();

  /**
   * Weights w(b) of events of b of K classes: the integral of exp(-b t) (1 - exp(-t))^(K - b) / t
   * over t > 0, divided by ln 2; trapezoid rule in ln t.
   */
  function weights(K) {
    if (!cache.has(K)) {
      const steps = 1600, h = 53 / steps, w = new Array(K).fill(0);
      for (let i = 0; i <= steps; i++) {
        const t = Math.exp(-45 + i * h), share = i % steps ? 1 : 0.5;
        for (let b = 1; b < K; b++) w[b] += share * h * Math.exp(-b * t + (K - b) * Math.log(-Math.expm1(-t)));
      }
      cache.set(K, w.map((value) => value / Math.LN2));
    }
    return cache.get(K);
  }

  /**
   * GH = log2 K - sum over events 0 < |B| < K of w(|B|) min_m P_m(B). Events are paired with their
   * complements, and probabilities taken relative to the first member, so that all terms are positive:
   * sum over B without the last class of w(K - |B|) max_m D_m(B) - w(|B|) min_m D_m(B), D_m = P_m - P_0.
   * O(M 2^(K-1)); null above MAX_CLASSES.
   */
  function hartley(P) {
    const K = P[0].length;
    if (K > MAX_CLASSES) return null;
    const w = weights(K), events = 1 << (K - 1);
    const high = new Float64Array(events), low = new Float64Array(events), sums = new Float64Array(events);
    const sizes = new Uint8Array(events);
    for (let B = 1; B < events; B++) sizes[B] = sizes[B & (B - 1)] + 1;
    for (const row of P) {
      for (let B = 1; B < events; B++) {
        const first = 31 - Math.clz32(B & -B);
        sums[B] = sums[B & (B - 1)] + row[first] - P[0][first];
        if (sums[B] > high[B]) high[B] = sums[B];
        if (sums[B] < low[B]) low[B] = sums[B];
      }
    }
    let total = 0;
    for (let B = 1; B < events; B++) total += w[K - sizes[B]] * high[B] - w[sizes[B]] * low[B];
    return total;
  }

  return { hartley, MAX_CLASSES };
})();
