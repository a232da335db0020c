// Ordered classes: total, aleatoric and epistemic uncertainty of 2-monotone sets under the
// Wasserstein distance on a line and the Kolmogorov distance.
//
// A 2-monotone set has a member that attains the lower probabilities of all events of a chain. The
// initial sections of the order are a chain, and so are the intervals of classes round a point y:
//
//     largest d(p, q) on the line  =  sum_k length_k (upper(<= k) - lower(<= k)),
//     largest E_p|x - y|           =  sum_i d_i (lower(N_i) - lower(N_{i-1})),
//
// where N_i are the i classes nearest to y and d_i are their distances. The upper aleatoric end
// max_p min_y E_p|x - y| is the minimum over all *real* y of the largest E_p|x - y|: a mixture of
// decisions is no better than the decision at its mean (Jensen), which between two neighbouring
// classes is the mixture of these two.
#pragma once

#include <cstddef>
#include <cstdint>

namespace credalens {

// Classes on a line: rank k is class order[k] at position[k], which does not decrease.
struct Line {
    const std::int64_t* order;
    const double* position;
    int size;
};

struct RankRange {
    int first, last;
};

// The ranks at the position of rank j.
inline RankRange equal_positions(const Line& line, int j) {
    RankRange same{j, j};
    while (same.first > 0 && line.position[same.first - 1] == line.position[j]) --same.first;
    while (same.last + 1 < line.size && line.position[same.last + 1] == line.position[j])
        ++same.last;
    return same;
}

// Results of n instances, each (n) or nullptr. The upper end is at most `gap` below the maximum.
struct LineResults {
    double *total, *lower, *upper, *gap, *diameter;
};

enum class LineDistance { wasserstein, kolmogorov };

// Probability intervals, (n, K) each, reachable.
void box_line(LineDistance distance, const double* low, const double* high, std::size_t n,
              const Line& line, const LineResults& results, int threads);

// Contamination models or, if `is_ball`, total variation balls: centers (n, K) and sizes (n).
void neighbourhood_line(LineDistance distance, bool is_ball, const double* center,
                        const double* size, std::size_t n, const Line& line,
                        const LineResults& results, int threads);

// Possibility distributions (n, K).
void possibility_line(LineDistance distance, const double* contour, std::size_t n, const Line& line,
                      const LineResults& results, int threads);

// 2-monotone lower probabilities of all events, (n, 2^K).
void events_line(LineDistance distance, const double* values, std::size_t n, const Line& line,
                 const LineResults& results, int threads);

}  // namespace credalens
