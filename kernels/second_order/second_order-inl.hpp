// Part of simd/instance_per_lane-inl.hpp: the members as a sample of distributions. Instances of few classes go
// through one per lane, those of many one after the other, with classes in lanes.

// Rows of so many classes fill vectors, and a sum over their lanes costs little in comparison.
constexpr int kMinAlong = 48;

CREDALENS_INLINE Lanes square_root(Lanes v) {
    for (int i = 0; i < kWidth; ++i) v[i] = __builtin_sqrt(v[i]);
    return v;
}

// A difference that rounding may have left below 0; a NaN stays one.
CREDALENS_INLINE Lanes not_negative(const Lanes& v) { return v < 0.0 ? Lanes{} : v; }

// Adds a class to the sum of p and to what G(p) of second_order.hpp is a function of.
template <Loss kLoss>
CREDALENS_INLINE void add_class(const Lanes& p, Lanes& sum, Lanes& part) {
    if (kLoss == Loss::log) sum += p, part += p_log_p(p);
    if (kLoss == Loss::brier || kLoss == Loss::spherical) part += p * p;
    if (kLoss == Loss::zero_one) part = larger(p, part);
}

// G(p), and the factor that normalises p.
template <Loss kLoss>
CREDALENS_INLINE Lanes finish(const Lanes& sum, const Lanes& part, Lanes& scale) {
    scale = Lanes{} + 1.0;
    if (kLoss != Loss::log)
        return not_negative(1.0 - (kLoss == Loss::spherical ? square_root(part) : part));
    scale /= sum;
    return not_negative(log_of<Lanes, Bits>(sum) - part * scale);
}

template <Loss kLoss>
CREDALENS_INLINE Lanes generalised_entropy(const Lanes* p, int K, Lanes& scale) {
    Lanes sum = {}, part = {};
    for (int y = 0; y < K; ++y) add_class<kLoss>(p[y], sum, part);
    return finish<kLoss>(sum, part, scale);
}

// The first so many entries of a row, all lanes if that is more; 0 in the others.
template <class T>
CREDALENS_INLINE Lanes load_some(const T* p, int count) {
    if (count >= kWidth) return load(p);
    Lanes v = {};
    for (int i = 0; i < kWidth; ++i)
        if (i < count) v[i] = p[i];
    return v;
}

// Whether no entry is negative, and their sum is near 1.
CREDALENS_INLINE bool is_valid(const Lanes& least, double sum, double tolerance) {
    return !any(least < 0.0) && any(near_one(Lanes{} + sum, tolerance));
}

// G of the mean of one instance, with classes in lanes; the mean is padded with zeros.
template <Loss kLoss>
CREDALENS_INLINE double generalised_entropy_along(const double* mean, int K) {
    Lanes sum = {}, part = {}, scale;
    for (int y = 0; y < K; y += kWidth) add_class<kLoss>(load(mean + y), sum, part);
    sum = Lanes{} + sum_of(sum);
    part = Lanes{} + (kLoss == Loss::zero_one ? largest_lane(part) : sum_of(part));
    return finish<kLoss>(sum, part, scale)[0];
}

// One instance after the other, with classes in lanes. Returns the first with an invalid row, `count`
// if there is none. The first loop over a row gives its sum, which the second one needs.
template <Loss kLoss, class T>
CREDALENS_INLINE std::size_t second_order_along(const T* P, const double* weights,
                                                std::size_t count, int M, int K,
                                                const SecondOrder& out, double tolerance,
                                                double* mean) {
    const int whole = K / kWidth * kWidth, rest = K - whole;
    for (std::size_t i = 0; i < count; ++i) {
        double expected = 0;
        Lanes parts = {};
        for (int y = 0; y < K; y += kWidth) store(mean + y, Lanes{});
        for (int m = 0; m < M; ++m, P += K) {
            const double weight = weights ? weights[i * M + m] : 1.0 / M;
            const Lanes last = load_some(P + whole, rest);
            Lanes sums = last, least = last, part = {}, unused = {};
            for (int y = 0; y < whole; y += kWidth) {
                const Lanes p = load(P + y);
                sums += p;
                least = smaller(p, least);
            }
            const double sum = sum_of(sums);
            if (tolerance >= 0 && !is_valid(least, sum, tolerance)) return i;
            const Lanes share = Lanes{} + (kLoss == Loss::log ? weight / sum : weight);
            for (int y = 0; y < whole; y += kWidth) {
                const Lanes p = load(P + y);
                add_class<kLoss>(p, unused, part);
                store(mean + y, load(mean + y) + share * p);
            }
            if (rest) {
                add_class<kLoss>(last, unused, part);
                store(mean + whole, load(mean + whole) + share * last);
            }
            if (kLoss == Loss::log)
                parts += share * part, expected += weight * log_of<double, std::uint64_t>(sum);
            else if (kLoss == Loss::brier)
                parts += share * part;
            else if (kLoss == Loss::spherical)
                expected += weight * __builtin_sqrt(sum_of(part));
            else
                expected += weight * largest_lane(part);
        }
        expected = kLoss == Loss::log ? expected - sum_of(parts) : 1 - expected - sum_of(parts);
        expected = expected < 0 ? 0 : expected;
        const double total = generalised_entropy_along<kLoss>(mean, K);
        if (out.total) out.total[i] = total;
        if (out.aleatoric) out.aleatoric[i] = expected;
        if (out.epistemic) out.epistemic[i] = total < expected ? 0 : total - expected;
    }
    return count;
}

// The weight of member m in each lane.
CREDALENS_INLINE Lanes weight_of(const double* weights, int M, int m, std::size_t left) {
    if (!weights) return Lanes{} + 1.0 / M;
    return Sources<double>(weights, static_cast<std::size_t>(M), left)[m];
}

template <Loss kLoss, class T>
CREDALENS_INLINE void second_order_of(const T* P, const double* weights, std::size_t count, int M,
                                      int K, const SecondOrder& out, double* scratch) {
    const std::size_t size = static_cast<std::size_t>(M) * K, row = static_cast<std::size_t>(K);
    Lanes *entries = reinterpret_cast<Lanes*>(scratch), *mean = entries + K, scale;
    for (std::size_t first = 0; first < count; first += kWidth) {
        const std::size_t left = count - first;
        const double* own = weights ? weights + first * M : nullptr;
        Sources<T> rows(P + first * size, size, left);
        Lanes expected = {};
        for (int y = 0; y < K; ++y) mean[y] = Lanes{};
        for (int m = 0; m < M; ++m) {
            rows.all(row, entries);
            const Lanes weight = weight_of(own, M, m, left);
            expected += weight * generalised_entropy<kLoss>(entries, K, scale);
            const Lanes share = weight * scale;
            for (int y = 0; y < K; ++y) mean[y] += share * entries[y];
            for (int i = 0; i < kWidth; ++i) rows.from[i] += K;
        }
        const Lanes total = generalised_entropy<kLoss>(mean, K, scale);
        if (out.total) write(total, left, out.total + first);
        if (out.aleatoric) write(expected, left, out.aleatoric + first);
        if (out.epistemic) write(not_negative(total - expected), left, out.epistemic + first);
    }
}

// The first instance with an invalid row, `count` if there is none or `tolerance` is negative.
template <class T>
CREDALENS_INLINE std::size_t first_invalid(const T* P, std::size_t count, int M, int K,
                                           double tolerance) {
    return tolerance < 0 ? count : first_bad(P, count * M, K, tolerance) / M;
}

template <Loss kLoss, class T>
CREDALENS_INLINE std::size_t validated_second_order(const T* P, const double* weights,
                                                    std::size_t count, int M, int K,
                                                    const SecondOrder& out, double tolerance,
                                                    double* scratch) {
    if (K >= kMinAlong)
        return second_order_along<kLoss>(P, weights, count, M, K, out, tolerance, scratch);
    const std::size_t valid = first_invalid(P, count, M, K, tolerance);
    if (valid == count) second_order_of<kLoss>(P, weights, count, M, K, out, scratch);
    return valid;
}

template <class T>
std::size_t second_order(Loss loss, const T* P, const double* weights, std::size_t count, int M,
                         int K, const SecondOrder& out, double tolerance, double* scratch) {
    switch (loss) {
        case Loss::log:
            return validated_second_order<Loss::log>(P, weights, count, M, K, out, tolerance,
                                                     scratch);
        case Loss::brier:
            return validated_second_order<Loss::brier>(P, weights, count, M, K, out, tolerance,
                                                       scratch);
        case Loss::spherical:
            return validated_second_order<Loss::spherical>(P, weights, count, M, K, out, tolerance,
                                                           scratch);
        default:
            return validated_second_order<Loss::zero_one>(P, weights, count, M, K, out, tolerance,
                                                          scratch);
    }
}

// G of (p, 1 - p); rounding may have left p above 1.
template <bool kEntropy>
CREDALENS_INLINE Lanes binary_entropy(const Lanes& p) {
    const Lanes rest = not_negative(1.0 - p);
    if (!kEntropy) return p * rest;
    return not_negative(0.0 - p_log_p(p > 1.0 ? Lanes{} + 1.0 : p) - p_log_p(rest));
}

template <bool kEntropy, class T>
CREDALENS_INLINE void labelwise_of(const T* P, const double* weights, std::size_t count, int M,
                                   int K, const SecondOrder& out, double* scratch) {
    const std::size_t size = static_cast<std::size_t>(M) * K, row = static_cast<std::size_t>(K);
    Lanes* entries = reinterpret_cast<Lanes*>(scratch);
    Lanes *mean = entries + K, *expected = mean + K;
    for (std::size_t first = 0; first < count; first += kWidth) {
        const std::size_t left = count - first;
        const double* own = weights ? weights + first * M : nullptr;
        Sources<T> rows(P + first * size, size, left);
        for (int y = 0; y < K; ++y) mean[y] = expected[y] = Lanes{};
        for (int m = 0; m < M; ++m) {
            rows.all(row, entries);
            const Lanes weight = weight_of(own, M, m, left);
            for (int y = 0; y < K; ++y) {
                mean[y] += weight * entries[y];
                expected[y] += weight * binary_entropy<kEntropy>(entries[y]);
            }
            for (int i = 0; i < kWidth; ++i) rows.from[i] += K;
        }
        for (int y = 0; y < K; ++y) entries[y] = binary_entropy<kEntropy>(mean[y]);
        if (out.total) write_rows(entries, K, left, row, out.total + first * row);
        if (out.aleatoric) write_rows(expected, K, left, row, out.aleatoric + first * row);
        for (int y = 0; y < K; ++y) entries[y] = not_negative(entries[y] - expected[y]);
        if (out.epistemic) write_rows(entries, K, left, row, out.epistemic + first * row);
    }
}

template <class T>
std::size_t labelwise(Loss loss, const T* P, const double* weights, std::size_t count, int M,
                      int K, const SecondOrder& out, double tolerance, double* scratch) {
    const std::size_t valid = first_invalid(P, count, M, K, tolerance);
    if (valid < count) return valid;
    if (loss == Loss::log)
        labelwise_of<true>(P, weights, count, M, K, out, scratch);
    else
        labelwise_of<false>(P, weights, count, M, K, out, scratch);
    return count;
}

// Sorts the n vectors at x, x + stride, ... in each lane: Batcher's merge exchange (Knuth, The Art of
// Computer Programming, volume 3, algorithm 5.2.2M), whose comparisons do not depend on the data.
CREDALENS_INLINE void sort_lanes(Lanes* x, int n, std::size_t stride) {
    int top = 1;
    while (2 * top < n) top *= 2;
    for (int p = n > 1 ? top : 0; p > 0; p /= 2)
        for (int q = top, r = 0, d = p;; d = q - p, q /= 2, r = p) {
            for (int i = 0; i + d < n; ++i)
                if ((i & p) == r) {
                    Lanes &a = x[i * stride], &b = x[(i + d) * stride];
                    const Lanes low = smaller(b, a), high = larger(a, b);
                    a = low, b = high;
                }
            if (q == p) break;
        }
}

// As `median_distance` of second_order.hpp with equal weights: all classes have the same slopes, so
// that only the sums over the classes of their j-th smallest values matter.
template <class T>
void median_distance(const T* P, std::size_t count, int M, int K, double* value, double* scratch) {
    const std::size_t size = static_cast<std::size_t>(M) * K, row = static_cast<std::size_t>(K);
    Lanes* entries = reinterpret_cast<Lanes*>(scratch);
    for (std::size_t first = 0; first < count; first += kWidth) {
        const std::size_t left = count - first;
        Sources<T>(P + first * size, size, left).all(size, entries);
        Lanes mass = {}, before = {}, distance = {};
        for (int y = 0; y < K; ++y) sort_lanes(entries + y, M, row);
        for (std::size_t e = 0; e < size; ++e) mass += entries[e];
        mass /= static_cast<double>(M);
        for (int j = 0; j < M; ++j) {
            Lanes sum = {};
            for (int y = 0; y < K; ++y) sum += entries[j * row + y];
            sum = smaller(sum, mass);  // no farther than to the mass of q
            const double slope = static_cast<double>(j) / M - 0.5;
            distance = j == 0 ? 0.5 * (mass - sum) : distance + slope * (sum - before);
            before = sum;
        }
        write(not_negative(distance), left, value + first);
    }
}
