// Second-order measures, for one target. Instances of few classes are processed with one instance
// per lane, those of many classes one after the other with classes in lanes.

#include "simd/transpose-inl.hpp"
#include "simd/log-inl.hpp"

// Adds a class to the sum of p and to the argument of the generalised entropy G(p).
template <Loss kLoss>
CREDALENS_INLINE void add_class(const Vec& p, Vec& sum, Vec& part) {
    if (kLoss == Loss::log) sum += p, part += xlogx(p);
    if (kLoss == Loss::brier || kLoss == Loss::spherical) part += p * p;
    if (kLoss == Loss::zero_one) part = max(p, part);
}

// G(p), and the factor that normalizes p.
template <Loss kLoss>
CREDALENS_INLINE Vec entropy_of_sums(const Vec& sum, const Vec& part, Vec& scale) {
    scale = broadcast(1.0);
    if (kLoss != Loss::log)
        return clip_negative(1.0 - (kLoss == Loss::spherical ? sqrt(part) : part));
    scale /= sum;
    return clip_negative(fast_log(sum) - part * scale);
}

template <Loss kLoss>
CREDALENS_INLINE Vec generalized_entropy(const Vec* p, int K, Vec& scale) {
    Vec sum = {}, part = {};
    for (int y = 0; y < K; ++y) add_class<kLoss>(p[y], sum, part);
    return entropy_of_sums<kLoss>(sum, part, scale);
}

// ------------------------------------------------------------------------- classes in lanes

// G of the mean of one instance, padded with zeros.
template <Loss kLoss>
CREDALENS_INLINE double entropy_of_mean(const double* mean, int K) {
    Vec sum = {}, part = {}, scale;
    for (int y = 0; y < K; y += kLanes) add_class<kLoss>(load(mean + y), sum, part);
    sum = broadcast(reduce_sum(sum));
    part = broadcast(kLoss == Loss::zero_one ? reduce_max(part) : reduce_sum(part));
    return entropy_of_sums<kLoss>(sum, part, scale)[0];
}

// `count` instances on one thread; returns the first with an invalid row, or `count`. The first
// loop over a row gives its sum, which the second one needs. `mean` has K entries, padded.
template <Loss kLoss, class T>
CREDALENS_INLINE std::size_t class_per_lane(const T* P, const double* weights, std::size_t count,
                                            int M, int K, const SecondOrder& out, double tolerance,
                                            double* mean) {
    const int whole = K / kLanes * kLanes;
    for (std::size_t i = 0; i < count; ++i) {
        double expected = 0;
        Vec parts = {};
        for (int y = 0; y < K; y += kLanes) store(mean + y, Vec{});
        for (int m = 0; m < M; ++m, P += K) {
            const Vec tail = load_n(P + whole, K - whole);
            Vec sums = tail, smallest = tail;
            for (int y = 0; y < whole; y += kLanes) {
                const Vec p = load(P + y);
                sums += p;
                smallest = min(p, smallest);
            }
            const double sum = reduce_sum(sums);
            if (tolerance >= 0 && (any(smallest < 0.0) || !(std::fabs(sum - 1) <= tolerance)))
                return i;
            const double weight = weights ? weights[i * M + m] : 1.0 / M;
            const Vec share = broadcast(kLoss == Loss::log ? weight / sum : weight);
            Vec part = {}, unused = {};
            for (int y = 0; y < whole; y += kLanes) {
                const Vec p = load(P + y);
                add_class<kLoss>(p, unused, part);
                store(mean + y, load(mean + y) + share * p);
            }
            if (whole < K) {
                add_class<kLoss>(tail, unused, part);
                store(mean + whole, load(mean + whole) + share * tail);
            }
            if (kLoss == Loss::log)
                parts += share * part, expected += weight * fast_log(sum);
            else if (kLoss == Loss::brier)
                parts += share * part;
            else if (kLoss == Loss::spherical)
                expected += weight * std::sqrt(reduce_sum(part));
            else
                expected += weight * reduce_max(part);
        }
        const double rest = reduce_sum(parts);
        expected = std::max(kLoss == Loss::log ? expected - rest : 1 - expected - rest, 0.0);
        const double total = entropy_of_mean<kLoss>(mean, K);
        if (out.total) out.total[i] = total;
        if (out.aleatoric) out.aleatoric[i] = expected;
        if (out.epistemic) out.epistemic[i] = std::max(total - expected, 0.0);
    }
    return count;
}

// ----------------------------------------------------------------------- one instance per lane

// The weight of member m in each lane.
CREDALENS_INLINE Vec member_weight(const double* weights, int M, int m, std::size_t left) {
    if (!weights) return broadcast(1.0 / M);
    return LanePointers<double>(weights, static_cast<std::size_t>(M), left).gather(m);
}

// 2 K vectors of scratch memory.
template <Loss kLoss, class T>
CREDALENS_INLINE void instance_per_lane(const T* P, const double* weights, std::size_t count, int M,
                                        int K, const SecondOrder& out, double* scratch) {
    const std::size_t size = static_cast<std::size_t>(M) * K, row = static_cast<std::size_t>(K);
    Vec *entries = reinterpret_cast<Vec*>(scratch), *mean = entries + K, scale;
    for (std::size_t first = 0; first < count; first += kLanes) {
        const std::size_t left = count - first;
        const double* own = weights ? weights + first * M : nullptr;
        LanePointers<T> rows(P + first * size, size, left);
        Vec expected = {};
        for (int y = 0; y < K; ++y) mean[y] = Vec{};
        for (int m = 0; m < M; ++m, rows.advance(row)) {
            rows.load_all(row, entries);
            const Vec weight = member_weight(own, M, m, left);
            expected += weight * generalized_entropy<kLoss>(entries, K, scale);
            const Vec share = weight * scale;
            for (int y = 0; y < K; ++y) mean[y] += share * entries[y];
        }
        const Vec total = generalized_entropy<kLoss>(mean, K, scale);
        if (out.total) store_n(out.total + first, total, left);
        if (out.aleatoric) store_n(out.aleatoric + first, expected, left);
        if (out.epistemic) store_n(out.epistemic + first, clip_negative(total - expected), left);
    }
}

// Calls `body` with the loss as a template argument.
template <class Body>
CREDALENS_INLINE auto with_loss(Loss loss, const Body& body) {
    switch (loss) {
        case Loss::log: return body(std::integral_constant<Loss, Loss::log>());
        case Loss::brier: return body(std::integral_constant<Loss, Loss::brier>());
        case Loss::spherical: return body(std::integral_constant<Loss, Loss::spherical>());
        default: return body(std::integral_constant<Loss, Loss::zero_one>());
    }
}

template <class T>
std::size_t second_order_many_classes(Loss loss, const T* P, const double* weights,
                                      std::size_t count, int M, int K, const SecondOrder& out,
                                      double tolerance, double* scratch) {
    return with_loss(loss, [&](auto constant) {
        return class_per_lane<constant.value>(P, weights, count, M, K, out, tolerance, scratch);
    });
}

template <class T>
void second_order_few_classes(Loss loss, const T* P, const double* weights, std::size_t count,
                              int M, int K, const SecondOrder& out, double* scratch) {
    with_loss(loss, [&](auto constant) {
        instance_per_lane<constant.value>(P, weights, count, M, K, out, scratch);
    });
}

// ------------------------------------------------------------------------------- label-wise

// G of (p, 1 - p); rounding may have left p above 1.
template <bool kEntropy>
CREDALENS_INLINE Vec binary_entropy(const Vec& p) {
    const Vec rest = clip_negative(1.0 - p);
    if (!kEntropy) return p * rest;
    return clip_negative(0.0 - xlogx(p > 1.0 ? broadcast(1.0) : p) - xlogx(rest));
}

// 3 K vectors of scratch memory.
template <bool kEntropy, class T>
CREDALENS_INLINE void labelwise_of(const T* P, const double* weights, std::size_t count, int M,
                                   int K, const SecondOrder& out, double* scratch) {
    const std::size_t size = static_cast<std::size_t>(M) * K, row = static_cast<std::size_t>(K);
    Vec* entries = reinterpret_cast<Vec*>(scratch);
    Vec *mean = entries + K, *expected = mean + K;
    for (std::size_t first = 0; first < count; first += kLanes) {
        const std::size_t left = count - first;
        const double* own = weights ? weights + first * M : nullptr;
        LanePointers<T> rows(P + first * size, size, left);
        for (int y = 0; y < K; ++y) mean[y] = expected[y] = Vec{};
        for (int m = 0; m < M; ++m, rows.advance(row)) {
            rows.load_all(row, entries);
            const Vec weight = member_weight(own, M, m, left);
            for (int y = 0; y < K; ++y) {
                mean[y] += weight * entries[y];
                expected[y] += weight * binary_entropy<kEntropy>(entries[y]);
            }
        }
        for (int y = 0; y < K; ++y) entries[y] = binary_entropy<kEntropy>(mean[y]);
        if (out.total) store_transposed(out.total + first * row, entries, K, left, row);
        if (out.aleatoric) store_transposed(out.aleatoric + first * row, expected, K, left, row);
        for (int y = 0; y < K; ++y) entries[y] = clip_negative(entries[y] - expected[y]);
        if (out.epistemic) store_transposed(out.epistemic + first * row, entries, K, left, row);
    }
}

template <class T>
void labelwise_instances(Loss loss, const T* P, const double* weights, std::size_t count, int M,
                         int K, const SecondOrder& out, double* scratch) {
    if (loss == Loss::log)
        labelwise_of<true>(P, weights, count, M, K, out, scratch);
    else
        labelwise_of<false>(P, weights, count, M, K, out, scratch);
}

// ---------------------------------------------------------------------------------- medians

// Sorts the n vectors at x, x + stride, ... in each lane: Batcher's merge exchange (Knuth, The Art
// of Computer Programming, volume 3, algorithm 5.2.2M), whose comparisons do not depend on the
// data.
CREDALENS_INLINE void sort_lanes(Vec* x, int n, std::size_t stride) {
    int top = 1;
    while (2 * top < n) top *= 2;
    for (int p = n > 1 ? top : 0; p > 0; p /= 2)
        for (int q = top, r = 0, d = p;; d = q - p, q /= 2, r = p) {
            for (int i = 0; i + d < n; ++i)
                if ((i & p) == r) {
                    Vec &a = x[i * stride], &b = x[(i + d) * stride];
                    const Vec low = min(b, a), high = max(a, b);
                    a = low, b = high;
                }
            if (q == p) break;
        }
}

// Equal weights: all classes have the same slopes, so that only the sums over the classes of their
// j-th smallest values matter. M K vectors of scratch memory.
template <class T>
void median_distances(const T* P, std::size_t count, int M, int K, double* value, double* scratch) {
    const std::size_t size = static_cast<std::size_t>(M) * K, row = static_cast<std::size_t>(K);
    Vec* entries = reinterpret_cast<Vec*>(scratch);
    for (std::size_t first = 0; first < count; first += kLanes) {
        const std::size_t left = count - first;
        LanePointers<T>(P + first * size, size, left).load_all(size, entries);
        Vec mass = {}, before = {}, distance = {};
        for (int y = 0; y < K; ++y) sort_lanes(entries + y, M, row);
        for (std::size_t e = 0; e < size; ++e) mass += entries[e];
        mass /= static_cast<double>(M);
        for (int j = 0; j < M; ++j) {
            Vec sum = {};
            for (int y = 0; y < K; ++y) sum += entries[j * row + y];
            sum = min(sum, mass);  // not beyond the mass of q
            const double slope = static_cast<double>(j) / M - 0.5;
            distance = j == 0 ? 0.5 * (mass - sum) : distance + slope * (sum - before);
            before = sum;
        }
        store_n(value + first, clip_negative(distance), left);
    }
}
