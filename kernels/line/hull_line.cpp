#include "line/hull_line.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "line/segment_minimum.hpp"
#include "runtime/parallel_for.hpp"

namespace credalens {
namespace {

// One thread's memory: for each rank the largest expected distance of a member, and the sums of one
// member; for each member its expected distance from one rank and its slopes on both sides.
struct LineWorkspace {
    LineWorkspace(int M, int K) : largest(K), tails(K), value(M), left(M), right(M) {}

    std::vector<double> largest, tails, value, left, right;
};

// The smallest over ranks of the largest expected distance, its rank, and the smallest of all.
template <class T>
int risks(const T* P, int M, const Line& line, LineWorkspace& ws, double& total, double& lower) {
    const int K = line.size;
    const double* x = line.position;
    std::fill_n(ws.largest.begin(), K, 0.0);
    lower = std::numeric_limits<double>::infinity();
    for (int m = 0; m < M; ++m) {
        const T* row = P + static_cast<std::size_t>(m) * K;
        // Sums of lengths times the mass beyond, from both ends: nothing cancels.
        double mass = 0, cost = 0;
        for (int k = K - 1; k >= 0; --k) {
            if (k + 1 < K) cost += mass * (x[k + 1] - x[k]);
            ws.tails[k] = cost;
            mass += row[line.order[k]];
        }
        mass = cost = 0;
        for (int k = 0; k < K; ++k) {
            if (k > 0) cost += mass * (x[k] - x[k - 1]);
            const double here = cost + ws.tails[k];
            ws.largest[k] = std::max(ws.largest[k], here);
            lower = std::min(lower, here);
            mass += row[line.order[k]];
        }
    }
    const auto best = std::min_element(ws.largest.begin(), ws.largest.begin() + K);
    total = *best;
    return static_cast<int>(best - ws.largest.begin());
}

// Expected distance of every member from some ranks at one position, and its slopes before and
// after them.
template <class T>
void lines_at(const T* P, int M, const Line& line, RankRange at, LineWorkspace& ws) {
    const int K = line.size;
    const double here = line.position[at.first];
    for (int m = 0; m < M; ++m) {
        const T* row = P + static_cast<std::size_t>(m) * K;
        double before = 0, own = 0, after = 0, value = 0;
        for (int k = 0; k < at.first; ++k) {
            const double mass = row[line.order[k]];
            before += mass;
            value += mass * (here - line.position[k]);
        }
        for (int k = at.first; k <= at.last; ++k) own += row[line.order[k]];
        for (int k = at.last + 1; k < K; ++k) {
            const double mass = row[line.order[k]];
            after += mass;
            value += mass * (line.position[k] - here);
        }
        ws.value[m] = value;
        ws.left[m] = before - (own + after);
        ws.right[m] = (before + own) - after;
    }
}

// The member with the largest value at distance t from rank j; of ties, that of the largest sign *
// slope.
int largest_at(const LineWorkspace& ws, const std::vector<double>& slope, double t, double sign) {
    int best = 0;
    double value = ws.value[0] + slope[0] * t;
    for (std::size_t m = 1; m < ws.value.size(); ++m) {
        const double here = ws.value[m] + slope[m] * t;
        if (here < value || (here == value && sign * (slope[m] - slope[best]) <= 0)) continue;
        value = here;
        best = static_cast<int>(m);
    }
    return best;
}

SegmentMinimum on_segment(const LineWorkspace& ws, const std::vector<double>& slope, double a,
                          double b) {
    return minimum_on_segment(a, b, [&](double t) {
        // At the ends the slope that points into the segment decides.
        const int m = largest_at(ws, slope, t, t == b ? -1.0 : 1.0);
        return Cut{t, ws.value[m] + slope[m] * t, slope[m], m};
    });
}

// Weights of two members with slopes of opposite signs for which the mixture has slope 0.
void mix(double* w, int first, double slope_first, int second, double slope_second) {
    const double share =
        slope_second == slope_first ? 1.0 : slope_second / (slope_second - slope_first);
    w[first] += share;
    w[second] += 1 - share;
}

// Weights for which no decision is better than those ranks: the slope of the mixture is not positive
// before it, and not negative after it.
void weights_at_rank(const LineWorkspace& ws, double* w) {
    const int up = largest_at(ws, ws.right, 0.0, 1.0), down = largest_at(ws, ws.left, 0.0, -1.0);
    if (ws.left[up] <= 0)
        w[up] = 1;
    else if (ws.right[down] >= 0)
        w[down] = 1;
    else
        mix(w, down, ws.right[down], up, ws.right[up]);
}

}  // namespace

template <class T>
void hull_line(const T* P, std::size_t n, int M, const Line& line, const LineResults& results,
               const LineMixture& mixture, int threads) {
    const int K = line.size;
    const std::size_t size = static_cast<std::size_t>(M) * K;
    const double* x = line.position;
    parallel_for(
        n, Grain::of_duration(20.0 + 4.0 * static_cast<double>(size)), threads,
        [&] { return LineWorkspace(M, K); },
        [&](LineWorkspace& ws, std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                double total, lower;
                const int j = risks(P + i * size, M, line, ws, total, lower);
                if (results.total) results.total[i] = total;
                if (results.lower) results.lower[i] = lower;
                if (!results.upper) continue;
                const RankRange at = equal_positions(line, j);
                lines_at(P + i * size, M, line, at, ws);
                SegmentMinimum best{total, total, 0.0, {}, {}};
                double most = total;
                const auto keep = [&](const SegmentMinimum& found) {
                    if (found.lower < best.lower) best = found;
                    most = std::min(most, found.upper);
                };
                if (at.first > 0) keep(on_segment(ws, ws.left, x[at.first - 1] - x[j], 0.0));
                if (at.last + 1 < K) keep(on_segment(ws, ws.right, 0.0, x[at.last + 1] - x[j]));
                results.upper[i] = std::max(best.lower, lower);
                results.gap[i] = std::max(most - best.lower, 0.0);
                if (mixture.decision) mixture.decision[i] = x[j] + best.at;
                if (!mixture.weights) continue;
                double* w = mixture.weights + i * M;
                std::fill_n(w, M, 0.0);
                if (best.lower < total)
                    mix(w, best.left.index, best.left.slope, best.right.index, best.right.slope);
                else
                    weights_at_rank(ws, w);
            }
        });
}

template <class T>
void tree_costs(const T* P, std::size_t rows, int K, const EdgeList& edges, double* costs,
                int threads) {
    parallel_for(
        rows, Grain::of_duration(20.0 + 6.0 * K), threads,
        [&] { return std::vector<double>(2 * static_cast<std::size_t>(K) + 2); },
        [&](std::vector<double>& scratch, std::size_t begin, std::size_t end) {
            double *sums = scratch.data(), *steps = sums + K + 1;
            for (std::size_t i = begin; i < end; ++i) {
                const T* row = P + i * K;
                sums[0] = 0;
                for (int y = 0; y < K; ++y) sums[y + 1] = sums[y] + row[edges.order[y]];
                std::fill_n(steps, K + 1, 0.0);
                double outside = 0;  // the cost of a class that is on the side of no edge
                for (int e = 0; e < edges.size; ++e) {
                    const std::int64_t start = edges.start[e], stop = edges.stop[e];
                    const double side =
                        stop == start + 1 ? row[edges.order[start]] : sums[stop] - sums[start];
                    outside += edges.length[e] * side;
                    const double change = edges.length[e] * (sums[K] - 2 * side);
                    steps[start] += change;
                    steps[stop] -= change;
                }
                double cost = outside;
                for (int y = 0; y < K; ++y) {
                    cost += steps[y];
                    costs[i * K + edges.order[y]] = std::max(cost, 0.0);
                }
            }
        });
}

template void hull_line(const float*, std::size_t, int, const Line&, const LineResults&,
                        const LineMixture&, int);
template void hull_line(const double*, std::size_t, int, const Line&, const LineResults&,
                        const LineMixture&, int);
template void tree_costs(const float*, std::size_t, int, const EdgeList&, double*, int);
template void tree_costs(const double*, std::size_t, int, const EdgeList&, double*, int);

}  // namespace credalens
