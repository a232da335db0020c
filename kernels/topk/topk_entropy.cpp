#include "topk/topk_entropy.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "entropy/max_entropy.hpp"
#include "entropy/min_entropy.hpp"
#include "runtime/parallel_for.hpp"
#include "second_order/second_order.hpp"
#include "topk/entropy_bounds.hpp"

namespace credalens {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// A share of the mean that keeps the logarithm of a mixture finite; see entropy/max_entropy.
constexpr double kMixing = 1e-18;

// Scratch memory of one thread.
struct EntropyWorkspace {
    EntropyWorkspace(int M, int k, std::int64_t K) : instance(M, k, K), weights(M), bounds(M) {}
    LumpedInstance instance;
    std::vector<double> weights;        // (M)
    std::vector<MemberEntropy> bounds;  // (M)
    std::vector<double> members;        // (M, width): the lumped distributions
    std::vector<double> logs;           // (width)

    void pack() {
        members.resize(static_cast<std::size_t>(instance.M) * instance.width());
        instance.pack(members.data(), instance.width(), true);
    }

    void bound_members() {
        for (int m = 0; m < instance.M; ++m) bounds[m] = member_entropy(instance, m);
    }
};

// Calls body(workspace, i) for every instance, which is loaded with its classes in the order of
// their ids, so that the result does not depend on the order of a list.
template <class Id, class T, class Body>
void for_each_instance(const Topk<Id, T>& P, double nanoseconds, int threads, const Body& body) {
    parallel_for(
        P.n, Grain::of_duration(nanoseconds), threads,
        [&] { return EntropyWorkspace(P.M, P.k, P.K); },
        [&](EntropyWorkspace& ws, std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                ws.instance.load_sorted(P.ids + i * P.size(), P.probs + i * P.size());
                body(ws, i);
            }
        });
}

// max_m (-sum_y P_my ln q_y + r_m ln N) with the lumped mixture q of the weights: an upper bound of
// the entropy of every mixture.
double dual_bound(EntropyWorkspace& ws, double log_classes) {
    const LumpedInstance& x = ws.instance;
    const int M = x.M, width = x.width();
    ws.logs.assign(width, 0.0);
    for (int m = 0; m < M; ++m) {
        const double* row = ws.members.data() + static_cast<std::size_t>(m) * width;
        const double weight = ws.weights[m] + kMixing / M;
        for (int y = 0; y < width; ++y) ws.logs[y] += weight * row[y];
    }
    for (double& q : ws.logs) q = q > 0.0 ? std::log(q) : 0.0;
    double bound = 0.0;
    for (int m = 0; m < M; ++m) {
        const double* row = ws.members.data() + static_cast<std::size_t>(m) * width;
        double sum = x.rest[m] * log_classes;
        for (int y = 0; y < width; ++y) sum -= row[y] * ws.logs[y];
        bound = std::max(bound, sum);
    }
    return bound;
}

// As many nanoseconds as an instance takes at most, for a logarithm of each listed entry.
template <class Id, class T>
double logarithms(const Topk<Id, T>& P) {
    return 20.0 * static_cast<double>(P.size()) + 200.0;
}

const double* weights_of(EntropyWorkspace& ws, const double* weights, std::size_t i) {
    const int M = ws.instance.M;
    if (weights) return weights + i * M;
    std::fill(ws.weights.begin(), ws.weights.end(), 1.0 / M);
    return ws.weights.data();
}

}  // namespace

template <class Id, class T>
void topk_max_entropy(const Topk<Id, T>& P, double* value, double* error, int threads) {
    for_each_instance(P, 5 * logarithms(P), threads, [&](EntropyWorkspace& ws, std::size_t i) {
        const LumpedInstance& x = ws.instance;
        ws.pack();
        max_entropy(ws.members.data(), 1, x.M, x.width(), value + i, error + i, ws.weights.data(),
                    nullptr, 1, -1.0);
        if (!x.truncated) return;
        ws.bound_members();
        const MixtureTail tail(x, ws.weights.data());
        double lower = value[i] - tail.overlap + tail.focus, upper = 0.0;
        for (const MemberEntropy& own : ws.bounds) lower = std::max(lower, own.lower);
        if (x.M == 1) {
            upper = ws.bounds[0].upper;
        } else {
            double common = 0.0;
            for (int y = 0; y < x.size; ++y) common += x.times[y] == x.M;
            upper = dual_bound(ws, std::log(std::max(static_cast<double>(x.K) - common, 1.0)));
        }
        upper = std::min(upper, std::log(static_cast<double>(x.K)));
        error[i] = std::max(error[i], distance_to_ends(value[i], lower, upper));
    });
}

template <class Id, class T>
void topk_min_entropy(const Topk<Id, T>& P, double* value, double* error, int threads) {
    for_each_instance(P, 2 * logarithms(P), threads, [&](EntropyWorkspace& ws, std::size_t i) {
        const LumpedInstance& x = ws.instance;
        ws.pack();
        min_entropy(ws.members.data(), 1, x.M, x.width(), value + i, nullptr, 1, -1.0);
        error[i] = 0.0;
        if (!x.truncated) return;
        ws.bound_members();
        double lower = kInfinity, upper = kInfinity;
        for (const MemberEntropy& own : ws.bounds) {
            lower = std::min(lower, own.lower);
            upper = std::min(upper, own.upper);
        }
        error[i] = distance_to_ends(value[i], lower, upper);
    });
}

template <class Id, class T>
void topk_information(const Topk<Id, T>& P, const double* weights, const TopkSecondOrder& out,
                      int threads) {
    for_each_instance(P, 3 * logarithms(P), threads, [&](EntropyWorkspace& ws, std::size_t i) {
        const LumpedInstance& x = ws.instance;
        const double* w = weights_of(ws, weights, i);
        ws.pack();
        const SecondOrder one{out.total + i, out.aleatoric + i, out.epistemic + i};
        second_order(Loss::log, ws.members.data(), w, 1, x.M, x.width(), one, 1, -1.0);
        out.total_error[i] = out.aleatoric_error[i] = out.epistemic_error[i] = 0.0;
        if (!x.truncated) return;
        ws.bound_members();
        const MixtureTail tail(x, w);
        double least = 0.0, most = 0.0, spread = 0.0;
        for (int m = 0; m < x.M; ++m) {
            least += w[m] * ws.bounds[m].lower;
            most += w[m] * ws.bounds[m].upper;
            spread += surprisal(w[m]);
        }
        const double total = out.total[i], information = out.epistemic[i];
        const double largest = std::log(static_cast<double>(x.K));
        out.aleatoric_error[i] = distance_to_ends(out.aleatoric[i], least, most);
        out.total_error[i] =
            distance_to_ends(total, std::max(least, total - tail.overlap + tail.focus),
                             std::min(total + tail.spread, largest));
        out.epistemic_error[i] =
            distance_to_ends(information, std::max(information - tail.overlap, 0.0),
                             std::min(information + tail.identity, spread));
    });
}

template <class Id, class T>
void topk_zero_one(const Topk<Id, T>& P, const double* weights, const TopkSecondOrder& out,
                   int threads) {
    for_each_instance(P, logarithms(P), threads, [&](EntropyWorkspace& ws, std::size_t i) {
        const LumpedInstance& x = ws.instance;
        const double* w = weights_of(ws, weights, i);
        double largest = 0.0, bound = 0.0, mean = 0.0;
        for (int y = 0; y < x.size; ++y) {
            double low = 0.0, high = 0.0;
            for (int m = 0; m < x.M; ++m) {
                low += w[m] * x.lower(m)[y];
                high += w[m] * std::max(x.lower(m)[y], x.cap[m]);
            }
            largest = std::max(largest, low);
            bound = std::max(bound, high);
        }
        double outside = 0.0;
        for (int m = 0; m < x.M; ++m) {
            mean += w[m] * *std::max_element(x.lower(m), x.lower(m) + x.size);
            if (x.size < x.K) outside += w[m] * x.cap[m];
        }
        const double error = std::max(std::max(bound, outside) - largest, 0.0);
        out.total[i] = x.K == 1 ? 0.0 : std::max(1.0 - largest, 0.0);
        out.aleatoric[i] = x.K == 1 ? 0.0 : std::max(1.0 - mean, 0.0);
        out.epistemic[i] = std::max(out.total[i] - out.aleatoric[i], 0.0);
        out.total_error[i] = out.epistemic_error[i] = error;
        out.aleatoric_error[i] = 0.0;
    });
}

#define CREDALENS_INSTANTIATE(Id, T)                                                            \
    template void topk_max_entropy(const Topk<Id, T>&, double*, double*, int);                  \
    template void topk_min_entropy(const Topk<Id, T>&, double*, double*, int);                  \
    template void topk_information(const Topk<Id, T>&, const double*, const TopkSecondOrder&,   \
                                   int);                                                        \
    template void topk_zero_one(const Topk<Id, T>&, const double*, const TopkSecondOrder&, int);
CREDALENS_INSTANTIATE(std::int32_t, float)
CREDALENS_INSTANTIATE(std::int32_t, double)
CREDALENS_INSTANTIATE(std::int64_t, float)
CREDALENS_INSTANTIATE(std::int64_t, double)
#undef CREDALENS_INSTANTIATE

}  // namespace credalens
