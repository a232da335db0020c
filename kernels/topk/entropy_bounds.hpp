// Bounds of entropies of truncated predictions, from what is known of the tails. The proofs are in
// the documentation, "Top-k predictions".
#pragma once

#include <algorithm>
#include <cmath>

#include "topk/lumped_instance.hpp"

namespace credalens {

// -x ln x, 0 for 0.
inline double surprisal(double x) {
    return x > 0.0 ? -x * std::log(x) : 0.0;
}

// The entropy of a member: with the rest as one class, and the smallest and the largest that its
// tail allows, which is concentrated on as few classes as the cap admits, or uniform.
struct MemberEntropy {
    double lumped, lower, upper;
};

inline MemberEntropy member_entropy(const LumpedInstance& x, int m) {
    double listed = 0.0;
    const double *row = x.lower(m), rest = x.rest[m], cap = x.cap[m];
    for (int y = 0; y < x.size; ++y) listed += surprisal(row[y]);
    const double lumped = listed + surprisal(rest);
    if (!(rest > 0.0)) return {lumped, lumped, lumped};
    double least = surprisal(rest);
    if (cap > 0.0) {
        const double full = std::floor(rest / cap);
        least = full * surprisal(cap) + surprisal(std::max(rest - full * cap, 0.0));
    }
    const double unlisted = static_cast<double>(x.K - x.listed[m]);
    return {lumped, listed + least, lumped + rest * std::log(unlisted)};
}

// The tails of a mixture of the members with the weights w.
struct MixtureTail {
    double rest = 0.0;      // its mass, R
    double spread = 0.0;    // R ln N, where N classes are not listed by all members
    double focus = 0.0;     // R ln(R / c), where no class has more than c of it
    double overlap = 0.0;   // largest H(listed or not | class): 0 if all members list the same
    double identity = 0.0;  // R times the entropy of the member that a draw of the tail is from

    MixtureTail(const LumpedInstance& x, const double* w) {
        double cap = 0.0, inside = 0.0, partly = 0.0, common = 0.0;
        for (int m = 0; m < x.M; ++m) {
            const double own = w[m] * x.rest[m];
            rest += own;
            cap += w[m] * x.cap[m];
            identity += surprisal(own);
            const double others = static_cast<double>(x.size - x.listed[m]);
            inside += w[m] * std::min(x.rest[m], others * x.cap[m]);
        }
        if (!(rest > 0.0)) {
            identity = 0.0;
            return;
        }
        for (int y = 0; y < x.size; ++y) {
            if (x.times[y] == x.M) {
                common += 1.0;
                continue;
            }
            for (int m = 0; m < x.M; ++m) partly += w[m] * x.lower(m)[y];
        }
        spread = rest * std::log(std::max(static_cast<double>(x.K) - common, 1.0));
        focus = cap > 0.0 ? std::max(rest * std::log(rest / cap), 0.0) : 0.0;
        identity = std::max(identity - surprisal(rest), 0.0);
        overlap =
            std::max(surprisal(partly) + surprisal(inside) - surprisal(partly + inside), 0.0);
    }
};

// The largest distance of a value from the ends of an interval.
inline double distance_to_ends(double value, double lower, double upper) {
    return std::max(std::max(upper - value, value - lower), 0.0);
}

}  // namespace credalens
