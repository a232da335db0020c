// Active-set Newton for the upper entropy, for one target.

#include "simd/transpose-inl.hpp"
#include "simd/log-inl.hpp"
#include "simd/padded_rows-inl.hpp"
#include "entropy/uniform_mixture-inl.hpp"

using Workspace = MaxEntropyWorkspace;

// Index of the first largest value; 0 if there is none, because of a NaN. The values are padded.
CREDALENS_INLINE int argmax(const double* x, int size) {
    Vec best = broadcast(x[0]);
    for (int i = 0; i < size; i += kLanes) best = max(iota() < size - i ? load(x + i) : best, best);
    const Vec largest = broadcast(reduce_max(best));
    for (int i = 0; i < size; i += kLanes)
        if (const unsigned bits = equal_bits(load(x + i), largest)) return i + __builtin_ctz(bits);
    return 0;
}

// ------------------------------------------------------------------------------ the instance

// Class by class, with rows divided by their sums and tiny entries set to zero.
template <class T>
CREDALENS_INLINE void load_by_class(const T* P, Workspace& ws) {
    const int M = ws.M, K = ws.K, list = ws.list;
    for (int m = 0; m < M; m += kLanes) {
        const LanePointers<T> rows(P + static_cast<std::size_t>(m) * K, static_cast<std::size_t>(K),
                                   static_cast<std::size_t>(M - m));
        double* const column = ws.by_class.data() + m;
        Vec part[8] = {};  // in the order of sum_padded
        const auto keep = [&](int y, const Vec& x) {
            part[y % 8] += x;
            store(column + static_cast<std::size_t>(y) * list, x);
        };
        int y = 0;
        for (; y + kLanes <= K; y += kLanes) {
            Vec v[kLanes];
            rows.load_block(y, v);
            for (int i = 0; i < kLanes; ++i) keep(y + i, v[i]);
        }
        for (; y < K; ++y) keep(y, rows.gather(y));
        const Vec sum = ((part[0] + part[4]) + (part[2] + part[6])) +
                        ((part[1] + part[5]) + (part[3] + part[7]));
        const Vec inverse = 1.0 / sum, tiny = kTiny * sum;
        for (y = 0; y < K; ++y) {
            double* const at = column + static_cast<std::size_t>(y) * list;
            const Vec x = load(at);
            store(at, x < tiny ? Vec{} : x * inverse);
        }
    }
    for (int y = 0; y < K; ++y)
        for (int m = M; m < list; ++m) ws.members_of(y)[m] = 0;
}

// The same row by row, padded with zeros.
template <class T>
CREDALENS_INLINE void load_rows(const T* P, Workspace& ws) {
    for (int m = 0; m < ws.M; ++m, P += ws.K) {
        double* row = ws.row(m);
        for (int y = 0; y < ws.stride; y += kLanes)
            store(row + y, load_n(P + y, std::max(ws.K - y, 0)));
        const double sum = sum_padded(row, ws.stride), inverse = 1 / sum, tiny = kTiny * sum;
        for (int y = 0; y < ws.stride; y += kLanes) {
            const Vec x = load(row + y);
            store(row + y, x < tiny ? Vec{} : x * inverse);
        }
    }
}

// Drops the classes that no member gives any mass.
CREDALENS_INLINE void keep_supported_classes(Workspace& ws) {
    double* largest = ws.floor;
    std::fill(largest, largest + ws.stride, 0.0);
    if (ws.many) {
        for (int y = 0; y < ws.K; ++y) {
            Vec best = {};
            for (int m = 0; m < ws.list; m += kLanes) {
                const Vec x = load(ws.members_of(y) + m);
                best = x <= best ? best : x;
            }
            largest[y] = any(best != best) ? __builtin_nan("") : reduce_max(best);
        }
    } else {
        for (int m = 0; m < ws.M; ++m)
            for (int y = 0; y < ws.stride; y += kLanes) {
                const Vec x = load(ws.row(m) + y), other = load(largest + y);
                store(largest + y, x <= other ? other : x);  // a NaN is kept
            }
    }
    ws.classes = 0;
    for (int y = 0; y < ws.K; ++y)
        if (!(largest[y] <= kNegligible)) ws.kept[ws.classes++] = y;
    ws.width = padded_size(ws.classes);
    if (ws.classes == ws.K) return;
    if (ws.many) {
        for (int y = 0; y < ws.classes; ++y)
            __builtin_memmove(ws.members_of(y), ws.members_of(ws.kept[y]),
                              ws.list * sizeof(double));
        return;
    }
    for (int m = 0; m < ws.M; ++m) {
        double* row = ws.row(m);
        for (int y = 0; y < ws.classes; ++y) row[y] = row[ws.kept[y]];
        for (int y = ws.classes; y < ws.width; ++y) row[y] = 0;
    }
}

// p = sum_m w_m P_m over the members, in groups: a single sum of equal rows drifts by M ulp / 2.
CREDALENS_INLINE void combine(Workspace& ws, const double* w, double* p) {
    constexpr int kGroup = 16;
    std::fill(p, p + ws.width, 0.0);
    if (ws.many) {
        for (int y = 0; y < ws.classes; ++y) p[y] = dot_padded(w, ws.members_of(y), ws.list);
        return;
    }
    for (int first = 0; first < ws.M; first += kGroup) {
        std::fill(ws.scaled, ws.scaled + ws.width, 0.0);
        for (int m = first; m < std::min(first + kGroup, ws.M); ++m)
            if (w[m] > 0) add_scaled(ws.scaled, ws.row(m), w[m], 0, ws.width);
        add_scaled(p, ws.scaled, 1, 0, ws.width);
    }
}

// The mean of the members, as row M, and the floor of p, a share of it.
CREDALENS_INLINE void compute_mean(Workspace& ws) {
    double* mean = ws.row(ws.M);
    for (int m = 0; m < ws.M; ++m) ws.w[m] = 1.0 / ws.M;
    ws.w[ws.M] = 0;
    combine(ws, ws.w, mean);
    for (int y = 0; y < ws.width; ++y) ws.floor[y] = kMixing * mean[y];
    // Padding has p = 1: its logarithm is 0, its reciprocal 1, and it adds nothing to any sum.
    for (int y = ws.classes; y < ws.width; ++y) ws.floor[y] = 1;
}

// -------------------------------------------------------------------------------- evaluation

// The point of the weights w of the active generators.
CREDALENS_INLINE void evaluate(Workspace& ws, const double* w, Point& point) {
    __builtin_memcpy(point.p, ws.floor, ws.width * sizeof(double));
    for (int i = 0; i < ws.active_count; ++i)
        add_scaled(point.p, ws.row(ws.active[i]), w[ws.active[i]], 0, ws.width);
    Vec sum = {};
    for (int y = 0; y < ws.width; y += kLanes) {
        const Vec p = load(point.p + y), log_p = fast_log(p);
        store(point.log_p + y, log_p);
        sum += p * log_p;
    }
    point.entropy = -reduce_sum(sum);
}

CREDALENS_INLINE int price_by_class(Workspace& ws, const double* log_p) {
    double* g = ws.g;
    std::fill(g, g + ws.list, 0.0);
    int y = 0;
    for (; y + 4 <= ws.classes; y += 4) {
        const double *a = ws.members_of(y), *b = a + ws.list, *c = b + ws.list, *d = c + ws.list;
        for (int m = 0; m < ws.list; m += kLanes)
            store(g + m, load(g + m) - ((log_p[y] * load(a + m) + log_p[y + 1] * load(b + m)) +
                                        (log_p[y + 2] * load(c + m) + log_p[y + 3] * load(d + m))));
    }
    for (; y < ws.classes; ++y) add_scaled(g, ws.members_of(y), -log_p[y], 0, ws.list);
    return argmax(g, ws.M);
}

// g_m = -P_m . log_p for every generator; returns the member with the largest.
CREDALENS_INLINE int price(Workspace& ws, const double* log_p) {
    if (ws.many) return price_by_class(ws, log_p);
    double out[4];
    const int last = ws.generators - 1;
    for (int m = 0; m < ws.generators; m += 4) {
        dot4(log_p, ws.row(m), ws.row(std::min(m + 1, last)), ws.row(std::min(m + 2, last)),
             ws.row(std::min(m + 3, last)), ws.width, out);
        for (int i = 0; i < 4 && m + i <= last; ++i) ws.g[m + i] = -out[i];
    }
    return argmax(ws.g, ws.M);
}

CREDALENS_INLINE void activate(Workspace& ws, int m) {
    if (ws.is_active[m]) return;
    ws.is_active[m] = 1;
    ws.active[ws.active_count++] = m;
    if (!ws.many || m == ws.M) return;
    for (int y = 0; y < ws.classes; ++y) ws.row(m)[y] = ws.members_of(y)[m];
    for (int y = ws.classes; y < ws.width; ++y) ws.row(m)[y] = 0;
}

// Removes generators from the active set: those of weight zero or, before a step, those of
// negligible weight that the step would make negative, since they would limit it to nothing.
// Returns whether there were any.
CREDALENS_INLINE bool deactivate(Workspace& ws, bool before_step) {
    int left = 0;
    for (int i = 0; i < ws.active_count; ++i) {
        const int m = ws.active[i];
        const double w = ws.w[m];
        if (before_step ? w <= kNoWeight && w + ws.direction[i] < 0 : w == 0)
            ws.is_active[m] = 0, ws.w[m] = ws.trial_w[m] = 0;
        else
            ws.active[left++] = m;
    }
    const bool removed = left < ws.active_count;
    ws.active_count = left;
    return removed;
}

// Entropy and duality gap at the weights, from the data.
CREDALENS_INLINE void certify(Workspace& ws, double& value, double& gap) {
    combine(ws, ws.w, ws.here.p);
    const double mass = sum_padded(ws.here.p, ws.width);
    for (int y = 0; y < ws.width; ++y) ws.here.p[y] /= mass;  // exactly 1 for a Dirac distribution
    entropy_terms(ws);
    const double entropy = sum_padded(ws.scaled, ws.width);
    value = entropy <= 0 ? 0 : entropy;  // p_y = 1 + 1e-16 has a negative one; a NaN is kept
    const double bound = ws.g[price(ws, ws.here.log_p)];
    gap = bound <= value ? 0 : bound - value;
}

#include "entropy/max_entropy_steps-inl.hpp"

// ------------------------------------------------------------------------------------ solver

// Starts from uniform weights or, for M >= K, from the mean as one generator: most members then end
// with weight zero, and it is faster to let members enter than to drop them (5 to 25 times at
// (M, K) = (100, 10), equal at M = K, 2 to 10 times slower for K = 10 M).
CREDALENS_INLINE void start(Workspace& ws) {
    const bool from_mean = ws.M >= ws.K;
    ws.generators = ws.M + from_mean;
    ws.active_count = 0;
    for (int m = 0; m <= ws.M; ++m) ws.w[m] = ws.trial_w[m] = 0, ws.is_active[m] = 0;
    if (ws.many)
        for (int y = 0; y < ws.classes; ++y) ws.members_of(y)[ws.M] = ws.row(ws.M)[y];
    for (int m = from_mean ? ws.M : 0; m < ws.generators; ++m) {
        ws.w[m] = from_mean ? 1 : 1.0 / ws.M;
        activate(ws, m);
    }
    evaluate(ws, ws.w, ws.here);
}

CREDALENS_INLINE void maximize(Workspace& ws) {
    start(ws);
    for (int iteration = 0; iteration < kMaxIterations; ++iteration) {
        if (iteration % 4 == 3) check_interrupt();
        const int best = price(ws, ws.here.log_p);
        const double gap = ws.g[best] - ws.here.entropy;
        if (!(gap > (iteration < kGoalIterations ? kGapGoal : kAcceptedGap))) break;
        activate(ws, best);
        newton_direction(ws);
        limit_decrease(ws, gap);
        if (!projected_step(ws, 0) && !projected_step(ws, kMaxDecrease) && !boundary_step(ws) &&
            !pairwise_step(ws, best))
            break;
    }
    // The weight of the mean is distributed over the members.
    const double share = ws.generators > ws.M ? ws.w[ws.M] / ws.M : 0;
    if (share > 0)
        for (int m = 0; m < ws.M; ++m) ws.w[m] += share;
    ws.w[ws.M] = 0;
}

// Whether the uniform distribution is a mixture of the members.
CREDALENS_INLINE bool is_uniform_mixture(Workspace& ws, double& value, double& gap) {
    const int K = ws.classes;
    if (!ws.many || K > kMaxUniformClasses) return false;
    ws.reserve_matrix(K, padded_size(K + 1));
    if (!uniform_mixture(ws.by_class.data(), ws.list, ws.M, K, ws.matrix.data(), ws.direction,
                         ws.w))
        return false;
    certify(ws, value, gap);
    return gap <= kGapGoal;
}

template <class T>
void solve_max_entropy(const T* P, Workspace& ws, double& value, double& gap) {
    if (ws.many)
        load_by_class(P, ws);
    else
        load_rows(P, ws);
    keep_supported_classes(ws);
    compute_mean(ws);
    if (is_uniform_mixture(ws, value, gap)) return;
    maximize(ws);
    certify(ws, value, gap);
}
