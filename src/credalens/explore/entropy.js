"use strict";
/** Largest and smallest entropy of a credal set, in bits. */
const Entropy = (() => {
  /** Entropy of a distribution, with 0 log 0 = 0. */
  function entropy(p) {
    let sum = 0;
    for (const value of p) if (value > 0) sum -= value * Math.log2(value);
    return Math.max(sum, 0);
  }

  /** The mixture of the rows of P with weights w. */
  function mixture(P, w) {
    const p = new Array(P[0].length).fill(0);
    for (let m = 0; m < P.length; m++) {
      for (let y = 0; y < p.length; y++) p[y] += w[m] * P[m][y];
    }
    return p;
  }

  /** Solve C x = b for several b, by the Cholesky factorisation of a positive definite C. */
  function solve(C, ...sides) {
    const n = C.length, L = C.map((row) => row.slice());
    for (let j = 0; j < n; j++) {
      for (let k = 0; k < j; k++) for (let i = j; i < n; i++) L[i][j] -= L[i][k] * L[j][k];
      const root = Math.sqrt(Math.max(L[j][j], 1e-300));
      for (let i = j; i < n; i++) L[i][j] /= root;
    }
    return sides.map((side) => {
      const x = side.slice();
      for (let i = 0; i < n; i++) {
        for (let k = 0; k < i; k++) x[i] -= L[i][k] * x[k];
        x[i] /= L[i][i];
      }
      for (let i = n - 1; i >= 0; i--) {
        for (let k = i + 1; k < n; k++) x[i] -= L[k][i] * x[k];
        x[i] /= L[i][i];
      }
      return x;
    });
  }

  const sum = (x) => x.reduce((total, value) => total + value, 0);
  const norm = (...parts) => Math.hypot(...parts.flat());

  /** Gradient g_m = -sum_y P_my ln p_y of the entropy of p = w P, in nats; sum_m w_m g_m = H(p). */
  function gradient(P, p) {
    const logs = p.map((value) => Math.log(Math.max(value, 1e-300)));
    return P.map((row) => -row.reduce((total, value, y) => total + (value > 0 ? value * logs[y] : 0), 0));
  }

  /**
   * The mixture of the rows of P with the largest entropy: a primal-dual interior-point method.
   *
   * max_m g_m - H(p) is a duality gap, because entropy is concave; iterations stop below 1e-11 nats.
   * Returns {value, gap, point, weights}.
   */
  function largest(P) {
    const M = P.length;
    const classes = P[0].map((_, y) => y).filter((y) => P.some((row) => row[y] > 0));
    const R = P.map((row) => classes.map((y) => row[y]));
    let w = new Array(M).fill(1 / M), best = null;
    let g = gradient(R, mixture(R, w));
    let level = Math.max(...g) + 1e-2, z = g.map((value) => level - value);
    for (let step = 0; step < 100; step++) {
      const p = mixture(R, w), value = sum(w.map((weight, m) => weight * g[m]));
      const gap = Math.max(Math.max(...g) - value, 0);
      if (!best || gap < best.gap) best = { gap, w };
      if (gap < 1e-11) break;
      ({ w, z, level, g } = newtonStep(R, p, w, z, level, g));
    }
    const point = mixture(P, best.w);
    return { value: entropy(point), gap: best.gap / Math.LN2, point, weights: best.w };
  }

  /** The matrix of sum_y R_iy R_jy / p_y. */
  function hessian(R, p) {
    const C = R.map(() => new Array(R.length));
    for (let i = 0; i < R.length; i++) {
      for (let j = 0; j <= i; j++) {
        let value = 0;
        for (let y = 0; y < p.length; y++) value += R[i][y] * R[j][y] / p[y];
        C[i][j] = C[j][i] = value;
      }
    }
    return C;
  }

  /** One step towards: level - g_m = z_m, w_m z_m = target, sum w = 1, with w and z positive. */
  function newtonStep(R, p, w, z, level, g) {
    const target = 0.1 * sum(w.map((weight, m) => weight * z[m])) / w.length;
    const residuals = (w, z, level, g) => [
      g.map((value, m) => level - value - z[m]),
      w.map((weight, m) => weight * z[m] - target),
      [sum(w) - 1],
    ];
    const [stationary, complementary, [excess]] = residuals(w, z, level, g);
    const C = hessian(R, p);
    C.forEach((row, i) => { row[i] = (row[i] + z[i] / w[i]) * (1 + 1e-13); }); // members may be equal
    const side = w.map((weight, m) => -stationary[m] - complementary[m] / weight);
    const [u, v] = solve(C, side, w.map(() => 1));
    const dLevel = (sum(u) + excess) / sum(v);
    const dw = u.map((value, m) => value - v[m] * dLevel);
    const dz = dw.map((value, m) => (-complementary[m] - z[m] * value) / w[m]);
    let length = 1;
    for (const [x, dx] of [[w, dw], [z, dz]]) {
      x.forEach((value, m) => { if (dx[m] < 0) length = Math.min(length, -0.99 * value / dx[m]); });
    }
    const before = norm(stationary, complementary, [excess]);
    for (let trial = 0; ; trial++, length /= 2) {
      const next = {
        w: w.map((value, m) => value + length * dw[m]),
        z: z.map((value, m) => value + length * dz[m]),
        level: level + length * dLevel,
      };
      next.g = gradient(R, mixture(R, next.w));
      const after = norm(...residuals(next.w, next.z, next.level, next.g));
      if (after <= (1 - 0.01 * length) * before || trial === 30) return next;
    }
  }

  /** The smallest entropy, which is attained at an extreme point because entropy is concave. */
  function smallest(P) {
    const values = P.map(entropy), value = Math.min(...values);
    return { value, index: values.indexOf(value) };
  }

  return { entropy, mixture, largest, smallest };
})();
