"use strict";
/** Uncertainty of the convex hull of points, with the distributions at which each value is attained. */
const Measures = (() => {
  /** Differences of expected costs below this are rounding, as in the library. */
  const TIE = 1e-12;
  const column = (P, y) => P.map((row) => row[y]);
  const argmax = (x) => x.indexOf(Math.max(...x));
  const distance = (p, q) => p.reduce((sum, value, y) => sum + Math.abs(value - q[y]), 0) / 2;

  /** Total variation: TU, both ends of AU, EU. */
  function totalVariation(P) {
    const lower = P[0].map((_, y) => Math.min(...column(P, y)));
    const upper = P[0].map((_, y) => Math.max(...column(P, y)));
    const safest = argmax(lower), likeliest = argmax(upper);
    const game = MatrixGame.minimax(P);
    const ambiguous = Entropy.mixture(P, game.weights);
    let pair = [0, 0], diameter = 0;
    for (let a = 0; a < P.length; a++) {
      for (let b = a + 1; b < P.length; b++) {
        const apart = distance(P[a], P[b]);
        if (apart > diameter) [pair, diameter] = [[a, b], apart];
      }
    }
    return {
      lower,
      upper,
      total: { value: 1 - lower[safest], class: safest, index: column(P, safest).indexOf(lower[safest]) },
      aleatoric: {
        lower: { value: 1 - upper[likeliest], class: likeliest, index: column(P, likeliest).indexOf(upper[likeliest]) },
        upper: { value: 1 - game.value, class: argmax(ambiguous), point: ambiguous, gap: game.gap },
      },
      epistemic: { value: diameter / 2, pair },
    };
  }

  /** Decisions with 0-1 costs: the Gamma-minimax class, and the maximal and E-admissible ones. */
  function decisions(P) {
    const classes = P[0].map((_, y) => y);
    const risks = classes.map((y) => 1 - Math.min(...column(P, y)));
    const least = Math.min(...risks);
    const beats = (z, y) => P.every((row) => row[z] - row[y] > TIE);
    const maximal = classes.filter((y) => !classes.some((z) => beats(z, y)));
    const admissible = maximal.filter((y) => {
      if (P.some((row) => row[y] >= Math.max(...row) - TIE)) return true;
      // A class that is not maximal is never the best one, so that only maximal classes compete.
      const advantage = MatrixGame.minimax(P.map((row) => maximal.map((z) => row[z] - row[y])));
      return advantage.value - advantage.gap <= TIE;
    });
    return { minimax: risks.findIndex((risk) => risk <= least + TIE), maximal, admissible };
  }

  /** Entropy of the mean, and its difference to the mean entropy; of members, not of a set. */
  function information(members) {
    const center = Entropy.mixture(members, members.map(() => 1 / members.length));
    const mean = members.reduce((sum, row) => sum + Entropy.entropy(row), 0) / members.length;
    const value = Entropy.entropy(center);
    return { center, entropy: value, mutual: Math.max(value - mean, 0) };
  }

  /** All numbers of a set with these extreme points; `members` are null if it is not their hull. */
  function measure(points, members = points) {
    return {
      ...totalVariation(points),
      upperEntropy: Entropy.largest(points),
      lowerEntropy: Entropy.smallest(points),
      hartley: Hartley.hartley(points),
      information: members && information(members),
      decisions: decisions(points),
    };
  }

  return { measure, distance };
})();
