// Part of simd/instance_per_lane-inl.hpp: largest entropies of boxes and balls, an instance at a time with its
// classes in lanes, of which there are at least as many. What is found of as many instances as there
// are lanes is put together, one a lane.

// Adds x to a sum in the lanes where a is less than b, and says in how many.
CREDALENS_INLINE int add_where_less(const Lanes& x, const Lanes& a, const Lanes& b, Lanes& sum) {
#if CREDALENS_LANES == 8
    const __mmask8 mask = _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_LT_OQ);
    const __m512d one = _mm512_set1_pd(hidden_one());
    sum = (Lanes)_mm512_mask3_fmadd_pd((__m512d)x, one, (__m512d)sum, mask);
    return __builtin_popcount(mask);
#else
    const Marks less = a < b;
    sum += less ? x : Lanes{};
    return __builtin_popcount(bits_of(less));
#endif
}

// Appends the lanes with a bit to a list, and returns its end. A vector from there on is written.
CREDALENS_INLINE double* append(const Lanes& v, unsigned bits, double* end) {
#if CREDALENS_LANES == 8
    _mm512_storeu_pd(end, _mm512_maskz_compress_pd(static_cast<__mmask8>(bits), (__m512d)v));
    return end + __builtin_popcount(bits);
#else
    for (int i = 0; i < kWidth; ++i) {
        *end = v[i];
        end += bits >> i & 1;
    }
    return end;
#endif
}

// The sum of p ln p over a list, lane by lane.
CREDALENS_INLINE Lanes p_log_p_of(const double* list, double* end) {
    store(end, Lanes{});
    Lanes sum = {};
    for (; list < end; list += kWidth) sum += p_log_p(load(list));
    return sum;
}

// A box, class by class; the lanes of the last vector that were seen before have no probability.
struct BoxAlong {
    const double *l, *u;
    int K;
    Marks twice;

    CREDALENS_INLINE Lanes clip(const Lanes& t, int y) const {
        if (y + kWidth <= K) return between(t, load(l + y), load(u + y));
        const int at = K - kWidth;
        return without(between(t, load(l + at), load(u + at)), twice);
    }

    CREDALENS_INLINE void write(const Lanes& t, double* to) const {
        for (int y = 0; y < K; y += kWidth) {
            const int at = y + kWidth <= K ? y : K - kWidth;
            store(to + at, between(t, load(l + at), load(u + at)));
        }
    }
};

// A row, class by class; the lanes of the last vector that were seen before compare with nothing.
struct RowAlong {
    const double* x;
    int K;
    Marks twice;

    CREDALENS_INLINE Lanes operator[](int y) const {
        if (y + kWidth <= K) return load(x + y);
        return twice ? Lanes{} + __builtin_nan("") : load(x + K - kWidth);
    }

    CREDALENS_INLINE void write(const Lanes& bottom, const Lanes& top, double* to) const {
        for (int y = 0; y < K; y += kWidth) {
            const int at = y + kWidth <= K ? y : K - kWidth;
            store(to + at, between(load(x + at), bottom, top));
        }
    }
};

void box_max_entropy_along(const double* low, const double* high, std::size_t count, int K,
                           double* value, double* distribution, double* scratch) {
    const std::size_t classes = K;
    const Lanes one = Lanes{} + hidden_one();
    const int lanes = (K + kWidth - 1) / kWidth * kWidth;
    const Marks twice = held_twice(K);
    for (std::size_t first = 0; first < count; first += kWidth) {
        const int here = count - first < kWidth ? static_cast<int>(count - first) : kWidth;
        const double *const lows = low + first * classes, *const highs = high + first * classes;
        Lanes sum[kWidth], open = {};
        ClipLevel level(K);
        for (int i = here; i < kWidth; ++i) level.going[i] = 0;
        for (int step = 0; step < 200 && any(level.going); ++step) {
            for (int i = 0; i < here; ++i) {
                if (!level.going[i]) continue;
                const BoxAlong box{lows + i * classes, highs + i * classes, K, twice};
                const Lanes t = Lanes{} + level.t[i];
                Lanes total = {};
                int equal = 0;
                for (int y = 0; y < K; y += kWidth) {
                    const Lanes p = box.clip(t, y);
                    total = plus(total, p, one);
                    equal += __builtin_popcount(equal_bits(p, t));
                }
                sum[i] = total;
                open[i] = equal;
            }
            if (any(level.going & (open == 0.0))) {
                Lanes low_sum[kWidth], high_sum[kWidth];
                for (int i = 0; i < here; ++i) {
                    const BoxAlong box{lows + i * classes, highs + i * classes, K, twice};
                    low_sum[i] = high_sum[i] = Lanes{};
                    for (int y = 0; y < K; y += kWidth) {
                        low_sum[i] += box.clip(Lanes{}, y);
                        high_sum[i] += box.clip(one, y);
                    }
                }
                level.settle(sums_of(low_sum, here), sums_of(high_sum, here));
            }
            level.step(sums_of(sum, here), open, K);
        }
        Lanes alike = {};
        for (int i = 0; i < here; ++i) {
            const BoxAlong box{lows + i * classes, highs + i * classes, K, twice};
            const Lanes t = Lanes{} + level.t[i];
            double* end = scratch;
            for (int y = 0; y < K; y += kWidth) {
                const Lanes p = box.clip(t, y);
                const unsigned off = equal_bits(p, t) ^ ((1u << kWidth) - 1);
                if (off) end = append(p, off, end);
            }
            alike[i] = static_cast<double>(lanes - (end - scratch));
            sum[i] = p_log_p_of(scratch, end);
            if (distribution) box.write(t, distribution + (first + i) * classes);
        }
        const Lanes entropy = -(sums_of(sum, here) + alike * p_log_p(level.t));
        write(entropy < 0.0 ? Lanes{} : entropy, here, value + first);
    }
}

void ball_max_entropy_along(const double* center, const double* radius, std::size_t count, int K,
                            double* value, double* distribution, double* scratch) {
    const std::size_t classes = K;
    const Marks twice = held_twice(K);
    for (std::size_t first = 0; first < count; first += kWidth) {
        const int here = count - first < kWidth ? static_cast<int>(count - first) : kWidth;
        BallLevels levels(Sources<double>(radius + first, 1, count - first)[0], K);
        Lanes low[kWidth], high[kWidth], below = {}, above = {};
        levels.begin_spread();
        for (int i = here; i < kWidth; ++i) levels.going[i] = 0;
        while (any(levels.going)) {
            for (int i = 0; i < here; ++i) {
                if (!levels.going[i]) continue;
                const RowAlong row{center + (first + i) * classes, K, twice};
                const Lanes bottom = Lanes{} + levels.bottom[i], top = Lanes{} + levels.top[i];
                Lanes held = {}, cut = {};
                int fewer = 0, more = 0;
                for (int y = 0; y < K; y += kWidth) {
                    const Lanes x = row[y];
                    fewer += add_where_less(x, x, bottom, held);
                    more += add_where_less(x, top, x, cut);
                }
                low[i] = held;
                high[i] = cut;
                below[i] = fewer;
                above[i] = more;
            }
            levels.step(sums_of(low, here), below, sums_of(high, here), above);
        }
        const Marks even = levels.bottom >= levels.top;
        levels.bottom = even ? Lanes{} + 1.0 / K : levels.bottom;
        levels.top = even ? levels.bottom : levels.top;
        Lanes inside = {};
        for (int i = 0; i < here; ++i) {
            const RowAlong row{center + (first + i) * classes, K, twice};
            const Lanes bottom = Lanes{} + levels.bottom[i], top = Lanes{} + levels.top[i];
            double* end = scratch;
            for (int y = 0; y < K; y += kWidth) {
                const Lanes x = row[y];
                end = append(x, less_bits(bottom, x) & ~less_bits(top, x), end);
            }
            inside[i] = static_cast<double>(end - scratch);
            low[i] = p_log_p_of(scratch, end);
            if (distribution) row.write(bottom, top, distribution + (first + i) * classes);
        }
        // Where all are alike, it does not matter how many of them were above.
        const Lanes entropy = -(sums_of(low, here) + above * p_log_p(levels.top) +
                                (K - inside - above) * p_log_p(levels.bottom));
        write(entropy < 0.0 ? Lanes{} : entropy, here, value + first);
    }
}
