"use strict";
/** Matrix games, solved by the simplex method with a certificate. */
const MatrixGame = (() => {
  const SMALL = 1e-12; // smaller reduced costs and pivots are rounding

  /**
   * Solve min over weights w of max over j of (w A)_j, for A with M rows and J columns.
   *
   * With B = A shifted to entries of at least 1, the value of B is 1 / max(sum x) subject to
   * B' x <= 1 and x >= 0, and w = x * value. The basis of slack variables is feasible, so that there
   * is no phase one. The optimum is at most `gap` below `value`: both are computed from A and the two
   * strategies, not from the tableau.
   */
  function minimax(A) {
    const shift = 1 - Math.min(...A.map((row) => Math.min(...row)));
    let best = null, basis = null;
    for (let attempt = 0; attempt < 4; attempt++) {
      const tableau = makeTableau(A, shift);
      if (basis) restore(tableau, basis); // without the rounding errors of the previous attempt
      optimize(tableau, attempt > 1);
      const found = certified(A, tableau);
      if (!best || found.gap < best.gap) best = found;
      if (best.gap < 1e-13) break;
      basis = tableau.rows.filter((label) => label < A.length);
    }
    return best;
  }

  /** Variables 0..M-1 are x, M..M+J-1 the slack variables, which are the first basis. */
  function makeTableau(A, shift) {
    const M = A.length, J = A[0].length, T = [];
    for (let j = 0; j < J; j++) {
      T.push(new Float64Array(M + 1).fill(1));
      for (let m = 0; m < M; m++) T[j][m] = A[m][j] + shift;
    }
    T.push(new Float64Array(M + 1).fill(-1));
    T[J][M] = 0;
    return { T, M, J, rows: A[0].map((_, j) => M + j), columns: A.map((_, m) => m) };
  }

  /** Exchange the basic variable of row r and the other variable of column c. */
  function pivot({ T, rows, columns }, r, c) {
    const row = T[r], inverse = 1 / row[c];
    for (let j = 0; j < row.length; j++) row[j] *= inverse;
    row[c] = inverse;
    for (const other of T) {
      if (other === row || other[c] === 0) continue;
      const factor = other[c];
      for (let j = 0; j < row.length; j++) other[j] -= factor * row[j];
      other[c] = -factor * inverse;
    }
    [rows[r], columns[c]] = [columns[c], rows[r]];
  }

  /** Pivot until no reduced cost is negative; Bland's rule if the objective stays the same for long. */
  function optimize(tableau, bland) {
    const { T, M, J, rows, columns } = tableau;
    let unchanged = 0;
    for (let step = 0; step < 200 * (M + J); step++) {
      const costs = T[J], careful = bland || unchanged > M + J;
      let entering = -1;
      for (let c = 0; c < M; c++) {
        if (costs[c] >= -SMALL) continue;
        const better = entering < 0 || (careful ? columns[c] < columns[entering] : costs[c] < costs[entering]);
        if (better) entering = c;
      }
      if (entering < 0) return;
      let least = Infinity;
      for (let r = 0; r < J; r++) {
        // Harris: ratios may be exceeded by a little, so that a large pivot can be chosen.
        if (T[r][entering] > SMALL) least = Math.min(least, (T[r][M] + SMALL) / T[r][entering]);
      }
      let leaving = -1;
      for (let r = 0; r < J; r++) {
        if (T[r][entering] <= SMALL || T[r][M] / T[r][entering] > least) continue;
        const better = leaving < 0 || (careful ? rows[r] < rows[leaving] : T[r][entering] > T[leaving][entering]);
        if (better) leaving = r;
      }
      const before = T[J][M];
      pivot(tableau, leaving, entering);
      unchanged = T[J][M] > before ? 0 : unchanged + 1;
    }
  }

  /** Make the variables x of `basis` basic in a new tableau, by the largest pivots first. */
  function restore(tableau, basis) {
    const { T, M, J, rows, columns } = tableau, wanted = new Set(basis);
    for (const _ of basis) {
      let r = -1, c = -1, largest = SMALL;
      for (let j = 0; j < M; j++) {
        if (!wanted.has(columns[j])) continue;
        for (let i = 0; i < J; i++) {
          if (rows[i] >= M && Math.abs(T[i][j]) > largest) [r, c, largest] = [i, j, Math.abs(T[i][j])];
        }
      }
      if (r >= 0) pivot(tableau, r, c);
    }
    // Rounding can make the restored basis infeasible: start from the slack variables instead.
    if (T.some((row, i) => i < J && row[M] < -1e-9)) {
      for (let c = 0; c < M; c++) {
        if (columns[c] >= M) pivot(tableau, rows.findIndex((label) => label < M), c);
      }
    }
    for (let i = 0; i < J; i++) T[i][M] = Math.max(T[i][M], 0);
  }

  /** The two strategies of a tableau, the value that w attains and its distance to the bound by q. */
  function certified(A, { T, M, J, rows, columns }) {
    const w = new Float64Array(M), q = new Float64Array(J);
    rows.forEach((label, r) => { if (label < M) w[label] = Math.max(T[r][M], 0); });
    columns.forEach((label, c) => { if (label >= M) q[label - M] = Math.max(T[J][c], 0); });
    const [sumW, sumQ] = [w, q].map((x) => x.reduce((total, value) => total + value, 0));
    const mixed = new Float64Array(J);
    let bound = Infinity;
    for (let m = 0; m < M; m++) {
      let expected = 0;
      for (let j = 0; j < J; j++) {
        mixed[j] += (w[m] / sumW) * A[m][j];
        expected += (q[j] / sumQ) * A[m][j];
      }
      bound = Math.min(bound, expected);
    }
    const value = mixed.reduce((largest, payoff) => Math.max(largest, payoff));
    return { value, gap: Math.max(value - bound, 0), weights: Array.from(w, (weight) => weight / sumW) };
  }

  return { minimax };
})();
