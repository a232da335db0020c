#include "entropy/hull_entropy.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/validate_rows.hpp"
#include "entropy/uniform_mixture.hpp"
#include "simd/instance_per_lane.hpp"
#include "runtime/parallel_for.hpp"
#include "simd/target.hpp"

namespace credalens {
namespace {

// Every p is mixed with this much of the mean member. It moves H by less than rounding, and it
// keeps p_y > 0 for every class of some member: the optimal weight of a member with a class of
// its own can be e^-2000, where p_y would underflow and -ln p_y be infinite.
constexpr double kMixing = 1e-18;

// A class below this in every member carries less than 1e-18 nats: it counts as zero.
constexpr double kNegligible = 1e-20;

// An entry below this is lost in the floor of its class (at least kMixing * kNegligible / M). As
// zero it makes no subnormal products, which are a hundred times slower than others.
constexpr double kTiny = 1e-50;

// Per-diagonal ridge: a global one drowns members whose weight, hence curvature, is off-scale.
constexpr double kRidge = 1e-13;

constexpr double kGoal = 1e-11;       // certified gap aimed at, in nats
constexpr double kEnough = 3e-10;     // accepted once kPatience iterations have gone
constexpr int kPatience = 60;
constexpr int kMaxIterations = 2000;
constexpr double kNoWeight = 1e-15;   // moving this much weight changes H by no more than rounding
constexpr double kShrink = 0.1;       // the share of itself that p_y keeps in one step

#include "simd/log-inl.hpp"

CREDALENS_INLINE double fast_log(double x) { return log_of<double, std::uint64_t>(x); }

// out[j] = a . b_j for four rows at once: four chains of additions hide their latency.
CREDALENS_INLINE void dot4(const double* a, const double* b0, const double* b1, const double* b2,
                           const double* b3, int size, double* out) {
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (int y = 0; y < size; ++y) {
        s0 += a[y] * b0[y];
        s1 += a[y] * b1[y];
        s2 += a[y] * b2[y];
        s3 += a[y] * b3[y];
    }
    out[0] = s0, out[1] = s1, out[2] = s2, out[3] = s3;
}

CREDALENS_INLINE double dot(const double* a, const double* b, int size) {
    double sum = 0;
    for (int y = 0; y < size; ++y) sum += a[y] * b[y];
    return sum;
}

CREDALENS_INLINE double largest_of(const double* values, int count) {
    double best = values[0];
#pragma omp simd reduction(max : best)
    for (int i = 0; i < count; ++i) best = values[i] > best ? values[i] : best;
    return best;
}

// The first place of the largest; 0 if that is a NaN.
CREDALENS_INLINE int place_of_largest(const double* x, int size) {
    const double largest = largest_of(x, size);
    int i = 0;
    while (i < size && x[i] != largest) ++i;
    return i < size ? i : 0;
}

// A distribution, its logarithm and its entropy.
struct Point {
    double *p, *log_p;
    double entropy;
};

// Buffers for instances of one shape, reused from one to the next.
struct Workspace {
    int M, K, stride;                // stride: distance between rows
    int classes = 0, width = 0;      // kept classes of the instance at hand, and the same, padded
    int generators = 0;              // M, or M + 1 with the mean of the members as row M
    int active_count = 0;
    double* rows;                    // (M + 1, stride)
    double *w, *trial_w, *g;         // by generator; weights are zero outside `active`
    double* direction;               // by position in `active`
    double *floor, *inverse_p, *scaled, *step_p, *lowest_p;  // by class
    Point here, there;
    std::vector<int> active, kept;
    std::vector<char> is_active;
    std::vector<double> storage, matrix;

    // Many members of few classes are kept class by class, (K, list), a generator in each place and
    // zeros after the last one; `rows` then holds only those that have been active.
    bool many;
    int list;
    std::vector<double> by_class;

    Workspace(int members, int classes_in)
        : M(members), K(classes_in), stride(whole_steps(classes_in)),
          many(members >= 2 * classes_in), list(whole_steps(members + 1)) {
        const std::size_t row = stride;
        if (many) by_class.resize(static_cast<std::size_t>(K) * list);
        storage.resize((M + 10) * row + 4 * list + kStep);
        void* start = storage.data();
        std::size_t space = storage.size() * sizeof(double);
        double* next = static_cast<double*>(std::align(64, sizeof(double), start, space));
        auto take = [&](std::size_t size) { return next += size, next - size; };
        rows = take((M + 1) * row);
        floor = take(row), inverse_p = take(row), scaled = take(row);
        step_p = take(row), lowest_p = take(row);
        here.p = take(row), here.log_p = take(row), there.p = take(row), there.log_p = take(row);
        w = take(list), trial_w = take(list), g = take(list), direction = take(list);
        active.resize(M + 1), kept.resize(K), is_active.resize(M + 1);
    }

    // For a system of equations.
    void make_room(int size, int columns) {
        const std::size_t need = static_cast<std::size_t>(size) * columns;
        if (matrix.size() < need) matrix.resize(2 * need);
    }

    double* row(int m) { return rows + static_cast<std::size_t>(m) * stride; }
    double* members_of(int y) { return by_class.data() + static_cast<std::size_t>(y) * list; }
};

// Copies an instance into the workspace, renormalised and padded with zeros.
template <class T>
CREDALENS_INLINE void load(Workspace& ws, const T* P) {
    if (ws.many) {
        normalised_by_class(P, ws.M, ws.K, kTiny, ws.by_class.data(), ws.list);
        return;
    }
    for (int m = 0; m < ws.M; ++m) {
        double* row = ws.row(m);
        const T* source = P + static_cast<std::size_t>(m) * ws.K;
        for (int y = 0; y < ws.K; ++y) row[y] = static_cast<double>(source[y]);
        for (int y = ws.K; y < ws.stride; ++y) row[y] = 0;
        const double sum = sum_by_lanes(row, ws.stride), inverse = 1 / sum, tiny = kTiny * sum;
        for (int y = 0; y < ws.stride; ++y) row[y] = row[y] < tiny ? 0 : row[y] * inverse;
    }
}

// Drops the classes that no member gives any mass.
CREDALENS_INLINE void keep_supported_classes(Workspace& ws) {
    double* largest = ws.floor;
    for (int y = 0; y < ws.stride; ++y) largest[y] = 0;
    if (ws.many)
        for (int y = 0; y < ws.K; ++y) largest[y] = largest_of(ws.members_of(y), ws.M);
    else
        for (int m = 0; m < ws.M; ++m) {
            const double* row = ws.row(m);
            for (int y = 0; y < ws.stride; ++y)
                largest[y] = row[y] <= largest[y] ? largest[y] : row[y];  // a NaN stays one
        }
    ws.classes = 0;
    for (int y = 0; y < ws.K; ++y)
        if (!(largest[y] <= kNegligible)) ws.kept[ws.classes++] = y;
    ws.width = whole_steps(ws.classes);
    if (ws.classes == ws.K) return;
    if (ws.many)
        for (int y = 0; y < ws.classes; ++y)
            std::memmove(ws.members_of(y), ws.members_of(ws.kept[y]), ws.list * sizeof(double));
    else
        for (int m = 0; m < ws.M; ++m) {
            double* row = ws.row(m);
            for (int y = 0; y < ws.classes; ++y) row[y] = row[ws.kept[y]];
            for (int y = ws.classes; y < ws.width; ++y) row[y] = 0;
        }
}

// p = sum_m w_m P_m over the members, in groups: a plain sum of equal rows drifts by M ulp / 2.
CREDALENS_INLINE void combine(Workspace& ws, const double* w, double* p) {
    constexpr int group = 16;
    for (int y = 0; y < ws.width; ++y) p[y] = 0;
    if (ws.many) {
        for (int y = 0; y < ws.classes; ++y) p[y] = dot_by_lanes(w, ws.members_of(y), ws.list);
        return;
    }
    for (int first = 0; first < ws.M; first += group) {
        for (int y = 0; y < ws.width; ++y) ws.scaled[y] = 0;
        for (int m = first; m < std::min(first + group, ws.M); ++m)
            if (w[m] > 0) add_scaled(ws.scaled, ws.row(m), w[m], 0, ws.width);
        add_scaled(p, ws.scaled, 1, 0, ws.width);
    }
}

// The mean of the members, as row M, and the floor under p that comes from it.
CREDALENS_INLINE void compute_mean(Workspace& ws) {
    double* mean = ws.row(ws.M);
    for (int m = 0; m < ws.M; ++m) ws.w[m] = 1.0 / ws.M;
    ws.w[ws.M] = 0;
    combine(ws, ws.w, mean);
    for (int y = 0; y < ws.width; ++y) ws.floor[y] = kMixing * mean[y];
    // Padding has p = 1: logarithm 0, reciprocal 1, and no share in any sum.
    for (int y = ws.classes; y < ws.width; ++y) ws.floor[y] = 1;
}

// The point of the weights w (over the active generators).
CREDALENS_INLINE void evaluate(Workspace& ws, const double* w, Point& point) {
    double *CREDALENS_RESTRICT p = point.p, *CREDALENS_RESTRICT log_p = point.log_p;
    std::memcpy(p, ws.floor, ws.width * sizeof(double));
    for (int i = 0; i < ws.active_count; ++i)
        add_scaled(p, ws.row(ws.active[i]), w[ws.active[i]], 0, ws.width);
    double sum = 0;
    for (int y = 0; y < ws.width; ++y) {
        log_p[y] = fast_log(p[y]);
        sum += p[y] * log_p[y];
    }
    point.entropy = -sum;
}

// g_m = -P_m . log_p for every generator; returns the member with the largest.
CREDALENS_INLINE int price(Workspace& ws, const double* log_p) {
    if (ws.many) {
        std::memset(ws.g, 0, ws.list * sizeof(double));
        int y = 0;
        for (; y + 4 <= ws.classes; y += 4) {
            const double *a = ws.members_of(y), *b = a + ws.list;
            const double *c = b + ws.list, *d = c + ws.list;
            double* CREDALENS_RESTRICT g = ws.g;
            for (int block = 0; block < ws.list; block += kStep)
                for (int m = block; m < block + kStep; ++m)
                    g[m] -= (log_p[y] * a[m] + log_p[y + 1] * b[m]) +
                            (log_p[y + 2] * c[m] + log_p[y + 3] * d[m]);
        }
        for (; y < ws.classes; ++y) add_scaled(ws.g, ws.members_of(y), -log_p[y], 0, ws.list);
        return place_of_largest(ws.g, ws.M);
    }
    double out[4];
    int m = 0;
    for (; m + 4 <= ws.generators; m += 4) {
        dot4(log_p, ws.row(m), ws.row(m + 1), ws.row(m + 2), ws.row(m + 3), ws.width, out);
        for (int i = 0; i < 4; ++i) ws.g[m + i] = -out[i];
    }
    for (; m < ws.generators; ++m) ws.g[m] = -dot(log_p, ws.row(m), ws.width);
    return static_cast<int>(std::max_element(ws.g, ws.g + ws.M) - ws.g);
}

CREDALENS_INLINE void activate(Workspace& ws, int m) {
    if (ws.is_active[m]) return;
    ws.is_active[m] = 1;
    ws.active[ws.active_count++] = m;
    if (!ws.many || m == ws.M) return;
    for (int y = 0; y < ws.classes; ++y) ws.row(m)[y] = ws.members_of(y)[m];
    for (int y = ws.classes; y < ws.width; ++y) ws.row(m)[y] = 0;
}

// Takes generators out of the active set: those of weight zero or, before a step, those of no
// weight to speak of that the step would make negative (they would stop it at once). Says whether
// there were any.
CREDALENS_INLINE bool drop_members(Workspace& ws, bool before_step) {
    int left = 0;
    for (int i = 0; i < ws.active_count; ++i) {
        const int m = ws.active[i];
        const double w = ws.w[m];
        if (before_step ? w <= kNoWeight && w + ws.direction[i] < 0 : w == 0)
            ws.is_active[m] = 0, ws.w[m] = ws.trial_w[m] = 0;
        else
            ws.active[left++] = m;
    }
    const bool any = left < ws.active_count;
    ws.active_count = left;
    return any;
}

// The upper triangle of B = P diag(1/p) P^T over the active set, with g - H as one more column.
CREDALENS_INLINE void build_system(Workspace& ws, int size, int columns) {
    ws.make_room(size, columns);
    for (int y = 0; y < ws.width; ++y) ws.inverse_p[y] = 1 / ws.here.p[y];
    const int* active = ws.active.data();
    const int last = size - 1;
    for (int i = 0; i < size; ++i) {
        double* B = ws.matrix.data() + static_cast<std::size_t>(i) * columns;
        const double* P = ws.row(active[i]);
        for (int y = 0; y < ws.width; ++y) ws.scaled[y] = P[y] * ws.inverse_p[y];
        for (int j = i / 4 * 4; j < size; j += 4)
            dot4(ws.scaled, ws.row(active[j]), ws.row(active[std::min(j + 1, last)]),
                 ws.row(active[std::min(j + 2, last)]), ws.row(active[std::min(j + 3, last)]),
                 ws.width, B + j);
        B[i] *= 1 + kRidge;
        for (int j = size; j < columns; ++j) B[j] = 0;
        B[size] = ws.g[active[i]] - ws.here.entropy;
    }
}

// The solution x of B x = g - H gives the Newton direction x - (sum x) w, which keeps the total
// weight because B w = 1.
CREDALENS_INLINE void newton_direction(Workspace& ws) {
    for (;;) {
        const int size = ws.active_count, columns = whole_steps(size + 1);
        build_system(ws, size, columns);
        double* x = ws.direction;
        solve_system(ws.matrix.data(), size, columns, kRidge, x);
        double total = 0;
        for (int i = size - 1; i >= 0; --i) total += x[i];
        for (int i = 0; i < size; ++i) x[i] -= total * ws.w[ws.active[i]];
        if (!drop_members(ws, true)) return;
        evaluate(ws, ws.w, ws.here);
        price(ws, ws.here.log_p);
    }
}

// The quadratic model is worthless where p_y falls by orders of magnitude: a step may not go below
// lowest_p. Classes whose logarithm weighs nothing against the present gap are left free, or each
// of them would hold up all other weights on its way to zero.
CREDALENS_INLINE void limit_fall(Workspace& ws, double gap) {
    const double* mean = ws.row(ws.M);
    for (int y = 0; y < ws.width; ++y)
        ws.lowest_p[y] = 60 * ws.M * mean[y] > gap ? kShrink * ws.here.p[y] : 0;
}

// Evaluates trial_w (over the active set, renormalised here); moves there if H grows as it should.
CREDALENS_INLINE bool try_weights(Workspace& ws) {
    double total = 0, promised = 0;
    for (int i = 0; i < ws.active_count; ++i) total += ws.trial_w[ws.active[i]];
    for (int i = 0; i < ws.active_count; ++i) {
        const int m = ws.active[i];
        ws.trial_w[m] /= total;
        promised += (ws.trial_w[m] - ws.w[m]) * (ws.g[m] - ws.here.entropy);
    }
    if (!(promised > 0)) return false;  // clipping or rounding has spoilt the direction
    evaluate(ws, ws.trial_w, ws.there);
    int fallen = 0;
    for (int y = 0; y < ws.width; ++y) fallen += ws.there.p[y] < 0.99 * ws.lowest_p[y];
    // Close to the optimum the gain is lost in the rounding of H, but the gap still shrinks.
    const double rounding = 4e-15 * (1 + ws.here.entropy);
    if (fallen || !(ws.there.entropy - ws.here.entropy >= 1e-4 * promised - rounding)) return false;
    std::swap(ws.here, ws.there);
    std::swap(ws.w, ws.trial_w);
    drop_members(ws, false);
    return true;
}

// The full Newton step, but no weight falls below `keep` times itself. keep = 0 drops several
// members at once; keep > 0 lets the other weights go on while one is on its way to zero.
CREDALENS_INLINE bool projected_step(Workspace& ws, double keep) {
    for (int i = 0; i < ws.active_count; ++i) {
        const int m = ws.active[i];
        ws.trial_w[m] = std::max(keep * ws.w[m], ws.w[m] + ws.direction[i]);
    }
    return try_weights(ws);
}

// Along the Newton direction to the first weight that becomes zero or the first p_y that reaches
// lowest_p, then backtracking.
CREDALENS_INLINE bool boundary_step(Workspace& ws) {
    double* step_p = ws.step_p;
    for (int y = 0; y < ws.width; ++y) step_p[y] = 0;
    double step = 1;
    int blocking = -1;
    for (int i = 0; i < ws.active_count; ++i) {
        const int m = ws.active[i];
        const double d = ws.direction[i];
        add_scaled(step_p, ws.row(m), d, 0, ws.width);
        if (ws.w[m] + step * d < 0) step = -ws.w[m] / d, blocking = m;
    }
    for (int y = 0; y < ws.width; ++y)
        if (ws.here.p[y] + step * step_p[y] < ws.lowest_p[y])
            step = (ws.lowest_p[y] - ws.here.p[y]) / step_p[y], blocking = -1;
    for (int attempt = 0; attempt < 40; ++attempt, step *= 0.5, blocking = -1) {
        for (int i = 0; i < ws.active_count; ++i) {
            const int m = ws.active[i];
            ws.trial_w[m] = m == blocking ? 0 : std::max(0.0, ws.w[m] + step * ws.direction[i]);
        }
        if (try_weights(ws)) return true;
    }
    return false;
}

// d/dt H(p + t (P_a - P_b)).
CREDALENS_INLINE double pair_slope(const Workspace& ws, const double* Pa, const double* Pb,
                                   double t) {
    double slope = 0;
    for (int y = 0; y < ws.width; ++y) {
        const double change = Pa[y] - Pb[y];
        slope -= change * fast_log(std::max(ws.here.p[y] + t * change, ws.floor[y]));
    }
    return slope;
}

// Fallback when the Newton system is too ill-conditioned to give an ascent direction: moves
// weight from the worst active member to the best one, with a line search to machine precision.
// Such steps converge by themselves, slowly.
CREDALENS_INLINE bool pairwise_step(Workspace& ws, int best) {
    int worst = -1;
    for (int i = 0; i < ws.active_count; ++i) {
        const int m = ws.active[i];
        if (ws.w[m] > 0 && (worst < 0 || ws.g[m] < ws.g[worst])) worst = m;
    }
    if (worst < 0 || !(ws.g[worst] < ws.g[best])) return false;
    const double *Pa = ws.row(best), *Pb = ws.row(worst);
    double high = ws.w[worst], low = high;
    if (pair_slope(ws, Pa, Pb, high) < 0) {
        while (low > 1e-30 && pair_slope(ws, Pa, Pb, low) < 0) high = low, low /= 16;
        for (int i = 0; i < 40; ++i) {
            const double middle = 0.5 * (low + high);
            (pair_slope(ws, Pa, Pb, middle) < 0 ? high : low) = middle;
        }
    }
    activate(ws, best);
    ws.w[best] += low;
    ws.w[worst] = low == ws.w[worst] ? 0 : ws.w[worst] - low;
    evaluate(ws, ws.w, ws.here);
    drop_members(ws, false);
    return true;
}

// Uniform weights, unless M >= K: then most members end with weight zero, and it is faster to let
// members enter from the mean as one generator than to drop them (measured: 5 to 25 times faster
// at (M, K) = (100, 10), a draw at M = K, 2 to 10 times slower for K = 10 M).
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

CREDALENS_INLINE void maximise(Workspace& ws) {
    start(ws);
    for (int iteration = 0; iteration < kMaxIterations; ++iteration) {
        const int best = price(ws, ws.here.log_p);
        const double gap = ws.g[best] - ws.here.entropy;
        if (!(gap > (iteration < kPatience ? kGoal : kEnough))) break;
        activate(ws, best);
        newton_direction(ws);
        limit_fall(ws, gap);
        if (!projected_step(ws, 0) && !projected_step(ws, kShrink) && !boundary_step(ws) &&
            !pairwise_step(ws, best))
            break;
    }
    const double share = ws.generators > ws.M ? ws.w[ws.M] / ws.M : 0;
    if (share > 0)
        for (int m = 0; m < ws.M; ++m) ws.w[m] += share;
    ws.w[ws.M] = 0;
}

// H(p), and log_p, with the library logarithm; `terms` is scratch. Rows and weights sum to 1 up to
// rounding; p is made to, so that certainty is exactly 0.
double library_entropy(double* p, const double* floor, double* log_p, double* terms, int classes,
                       int width) {
    const double mass = sum_by_lanes(p, width);
    for (int y = 0; y < width; ++y) p[y] /= mass;
    for (int y = 0; y < width; ++y) log_p[y] = y < classes ? std::log(p[y] + floor[y]) : 0;
    for (int y = 0; y < width; ++y) terms[y] = -p[y] * log_p[y];
    const double entropy = sum_by_lanes(terms, width);
    return entropy <= 0 ? 0 : entropy;  // p_y = 1 + 1e-16 has none; a NaN stays one
}

// The entropy at p and the duality gap there, from the data and the weights only.
CREDALENS_INLINE void certify(Workspace& ws, double& value, double& gap) {
    combine(ws, ws.w, ws.here.p);
    value = library_entropy(ws.here.p, ws.floor, ws.here.log_p, ws.scaled, ws.classes, ws.width);
    const double best = ws.g[price(ws, ws.here.log_p)];
    gap = best <= value ? 0 : best - value;
}

// The value log K, if even shares are seen to be a mixture.
CREDALENS_INLINE bool even_shares(Workspace& ws, double& value, double& gap) {
    const int K = ws.classes;
    if (!ws.many || K > kMostEven) return false;
    ws.make_room(K, whole_steps(K + 1));
    if (!even_weights(ws.by_class.data(), ws.list, ws.M, K, ws.matrix.data(), ws.direction, ws.w))
        return false;
    certify(ws, value, gap);
    return gap <= kGoal;
}

CREDALENS_CLONES void load_instance(Workspace& ws, const float* P) { load(ws, P); }
CREDALENS_CLONES void load_instance(Workspace& ws, const double* P) { load(ws, P); }

CREDALENS_CLONES void solve_instance(Workspace& ws, double& value, double& gap) {
    keep_supported_classes(ws);
    compute_mean(ws);
    if (even_shares(ws, value, gap)) return;
    maximise(ws);
    certify(ws, value, gap);
}

// Instances a range: worth some tens of microseconds, and enough to share a workspace.
std::size_t grain(std::size_t n, int threads) {
    return std::max<std::size_t>(8, std::min<std::size_t>(512, n / (8 * std::max(threads, 1))));
}

}  // namespace

template <class T>
std::int64_t max_entropy(const T* P, std::size_t n, int M, int K, double* value, double* gap,
                         double* weights, double* distribution, int threads, double tolerance) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    threads = threads_for(threads, n);
    FirstBad bad;
    parallel_for(n, grain(n, threads), threads, [&](std::size_t begin, std::size_t end) {
        Workspace ws(M, K);
        const auto solve = [&](std::size_t first, std::size_t last) {
            for (std::size_t i = first; i < last; ++i) {
                load_instance(ws, P + i * size);
                solve_instance(ws, value[i], gap[i]);
                if (weights) std::copy(ws.w, ws.w + M, weights + i * M);
                if (!distribution) continue;
                double* p = distribution + i * K;
                std::fill(p, p + K, 0.0);
                for (int y = 0; y < ws.classes; ++y) p[ws.kept[y]] = ws.here.p[y];
            }
        };
        checked_in_passing(P, begin, end, M, K, tolerance, bad, solve);
    });
    // A single member has one entropy, to the bit.
    if (M == 1) min_entropy(P, n, M, K, value, nullptr, threads, -1.0);
    return bad.value();
}

template <class T>
std::int64_t min_entropy(const T* P, std::size_t n, int M, int K, double* value,
                         std::int64_t* member, int threads, double tolerance) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    FirstBad bad;
    parallel_for(
        n, Grain::of_lanes((std::size_t{1} << 15) / size), threads,
        [&] { return std::vector<double>(lanes_scratch(static_cast<std::size_t>(K))); },
        [&](std::vector<double>& scratch, std::size_t begin, std::size_t end) {
            const auto find = [&](std::size_t first, std::size_t last) {
                least_entropy(P + first * size, last - first, M, K, value + first,
                              member ? member + first : nullptr, scratch.data());
            };
            checked_in_passing(P, begin, end, M, K, tolerance, bad, find);
        });
    return bad.value();
}

#define CREDALENS_INSTANTIATE(T)                                                              \
    template std::int64_t max_entropy(const T*, std::size_t, int, int, double*, double*,      \
                                      double*, double*, int, double);                         \
    template std::int64_t min_entropy(const T*, std::size_t, int, int, double*,               \
                                      std::int64_t*, int, double);
CREDALENS_INSTANTIATE(float)
CREDALENS_INSTANTIATE(double)
#undef CREDALENS_INSTANTIATE

}  // namespace credalens
