// Total variation of one lumped instance, for one target. Classes are in lanes.

#include "simd/transpose-inl.hpp"

// Largest lower and upper bound of min_m p_my over all classes, the largest entry of each member,
// and the largest of each class. The padding stands for a class that no member lists.
CREDALENS_INLINE void class_extremes(const LumpedInstance& x, TvWorkspace& ws, double& max_lower,
                                     double& max_upper) {
    Vec best_lower = {}, best_upper = {};
    Vec* const tops = reinterpret_cast<Vec*>(ws.vectors.data());
    for (int m = 0; m < x.M; ++m) tops[m] = Vec{};
    for (int y = 0; y < x.stride; y += kLanes) {
        Vec low = load(x.lower(0) + y), high = max(low, broadcast(x.cap[0])), top = low;
        tops[0] = max(low, tops[0]);
        for (int m = 1; m < x.M; ++m) {
            const Vec p = load(x.lower(m) + y);
            low = min(p, low);
            high = min(max(p, broadcast(x.cap[m])), high);
            top = max(p, top);
            tops[m] = max(p, tops[m]);
        }
        best_lower = max(low, best_lower);
        best_upper = max(high, best_upper);
        store(ws.column_max.data() + y, top);
    }
    for (int m = 0; m < x.M; m += kLanes)
        store_n(ws.largest.data() + m, row_maxima(tops + m, x.M - m), x.M - m);
    max_lower = reduce_max(best_lower);
    max_upper = std::max(reduce_max(best_upper), *std::min_element(x.cap.begin(), x.cap.end()));
}

// The largest sum_m w_m p_my of a class.
CREDALENS_INLINE double largest_mixture(const LumpedInstance& x, const double* w) {
    Vec best = {};
    double outside = 0.0;
    for (int m = 0; m < x.M; ++m) outside += w[m] * x.cap[m];
    for (int y = 0; y < x.stride; y += kLanes) {
        Vec sum = {};
        for (int m = 0; m < x.M; ++m) sum += w[m] * max(load(x.lower(m) + y), broadcast(x.cap[m]));
        best = max(sum, best);
    }
    return std::max(reduce_max(best), outside);
}

// The largest total variation distance of two lumped members, and bounds of that of two members.
struct PairDistances {
    double value = 0.0, lower = 0.0, upper = 0.0;
};

// |p - q| of each pair of members, summed over the classes.
CREDALENS_INLINE void sum_differences(const LumpedInstance& x, double* scratch) {
    Vec* sums = reinterpret_cast<Vec*>(scratch);
    int pairs = 0;
    for (int i = 1; i < x.M; ++i) {
        const double* p = x.lower(i);
        for (int j = 0; j < i; ++j) {
            const double* q = x.lower(j);
            Vec sum = {};
            for (int y = 0; y < x.stride; y += kLanes) sum += abs(load(p + y) - load(q + y));
            sums[pairs++] = sum;
        }
    }
    for (int first = 0; first < pairs; first += kLanes) {
        const Vec sum = row_sums(sums + first, pairs - first);
        store_n(scratch + first, sum, pairs - first);
    }
}

// How far the distance of members i and j may be below that of the lumped ones, where `difference`
// is the sum above. With S the listed classes, p and q overlap by sum_y min(p_y, q_y): by `both` on
// S_p and S_q; by at most b on S_p alone, where q has at most its cap and in total its rest s; by at
// most c on S_q alone; and by at most what is left of both rests elsewhere.
CREDALENS_INLINE double largest_excess(const LumpedInstance& x, int i, int j, double difference) {
    const double *p = x.lower(i), *q = x.lower(j), r = x.rest[i], s = x.rest[j];
    const Vec p_cap = broadcast(x.cap[i]), q_cap = broadcast(x.cap[j]);
    Vec p_shared = {}, q_shared = {};
    for (int y = 0; y < x.stride; y += kLanes) {
        const Vec a = load(p + y), b = load(q + y);
        p_shared += min(a, max(b, q_cap));
        q_shared += min(b, max(a, p_cap));
    }
    const double both = 0.5 * ((1.0 - r) + (1.0 - s) - difference);
    const double b = std::min(std::max(reduce_sum(p_shared) - both, 0.0), s);
    const double c = std::min(std::max(reduce_sum(q_shared) - both, 0.0), r);
    return std::min(s + c, r + b) - std::min(r, s);
}

CREDALENS_INLINE PairDistances pair_distances(const LumpedInstance& x, double* scratch) {
    sum_differences(x, scratch);
    PairDistances found;
    const double* difference = scratch;
    for (int i = 1; i < x.M; ++i) {
        for (int j = 0; j < i; ++j) {
            const double r = x.rest[i], s = x.rest[j];
            const double distance = 0.5 * (*difference++ + std::fabs(r - s));
            found.value = std::max(found.value, distance);
            found.upper = std::max(found.upper, std::min(distance + std::min(r, s), 1.0));
        }
    }
    found.lower = x.truncated ? 0.0 : found.value;
    // From the pairs of the largest distances on, until the others cannot increase the bound.
    for (double limit = found.value; x.truncated && limit > found.lower;) {
        double next = 0.0;
        difference = scratch;
        for (int i = 1; i < x.M; ++i) {
            for (int j = 0; j < i; ++j, ++difference) {
                const double distance = 0.5 * (*difference + std::fabs(x.rest[i] - x.rest[j]));
                if (distance == limit)
                    found.lower = std::max(
                        found.lower, distance - largest_excess(x, i, j, *difference));
                else if (distance < limit)
                    next = std::max(next, distance);
            }
        }
        limit = next;
    }
    return found;
}

inline void solve_tv(const LumpedInstance& x, TvWorkspace& ws, const TopkTv& out) {
    if (x.K == 1) {  // whatever its rows sum to
        *out.total = *out.lower = *out.upper = *out.epistemic = 0.0;
        *out.total_error = *out.upper_error = *out.epistemic_error = 0.0;
        return;
    }
    double max_lower, max_upper;
    class_extremes(x, ws, max_lower, max_upper);
    const auto [least, most] = std::minmax_element(ws.largest.begin(), ws.largest.end());
    double value = *least, error = 0.0;
    if (value - max_lower > kSaddle) {
        double gap;
        const int columns = pack_contested(x, max_lower, ws);
        solve_single_games(ws.payoff.data(), 1, x.M, columns, &value, &gap, ws.weights.data(),
                           nullptr, 1);
        const double bound = largest_mixture(x, ws.weights.data());
        // No p has a largest probability below max_lower, and the member `least` attains its own.
        error = std::max(std::min(bound, *least) - value, gap);
        value = std::min(std::max(value, max_lower), *most);
    }
    *out.total = std::max(1.0 - max_lower, 0.0);
    *out.total_error = std::max(max_upper - max_lower, 0.0);
    *out.lower = std::max(1.0 - *most, 0.0);
    *out.upper = std::max(1.0 - value, 0.0);
    *out.upper_error = std::max(error, 0.0);
    const PairDistances pairs = pair_distances(x, ws.vectors.data());
    *out.epistemic = 0.5 * pairs.value;
    *out.epistemic_error = 0.5 * std::max(pairs.upper - pairs.value, pairs.value - pairs.lower);
}
