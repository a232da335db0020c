// Part of lanes_body.hpp: boxes and neighbourhoods, an instance a lane but where it is said.

CREDALENS_INLINE Lanes between(const Lanes& x, const Lanes& low, const Lanes& high) {
    return larger(smaller(x, high), low);
}

// t with sum clip(t, l, u) = 1 of boxes, one a lane. The sum is increasing but neither convex nor
// concave: Newton inside a bracket, bisection where a step would leave it. A lane that has its t
// keeps it.
struct ClipLevel {
    Lanes t, low = {}, high = Lanes{} + 1.0;
    Marks going = ~Marks{};

    CREDALENS_INLINE explicit ClipLevel(int K) : t(Lanes{} + 1.0 / K) {}

    // Where the sums of the ends are on the wrong side of 1, all are at that end.
    CREDALENS_INLINE void settle(const Lanes& lows, const Lanes& highs) {
        t = going & (highs <= 1.0) ? Lanes{} + 1.0 : t;
        t = going & (lows >= 1.0) ? Lanes{} : t;
        going &= (lows < 1.0) & (highs > 1.0);
    }

    // `sum` is that of clip(t, l, u), `open` says how many of them are t.
    CREDALENS_INLINE void step(const Lanes& sum, const Lanes& open, int K) {
        const Lanes excess = sum - 1.0;
        const Marks flat = open == 0.0;  // no other t near by has another sum
        going &= magnitude(excess) > (flat ? Lanes{} + K * 0x1p-52 : Lanes{} + 0x1p-52);
        low = going & (excess < 0.0) ? t : low;
        high = going & (excess > 0.0) ? t : high;
        const Lanes middle = 0.5 * (low + high);
        Lanes next = flat ? middle : t - excess / open;
        going &= next != t;
        next = (next > low) & (next < high) ? next : middle;
        going &= (next > low) & (next < high);
        t = going ? next : t;
    }
};

// Two vectors of boxes are looked at: while a step of one waits for its sum, the other's is formed.
constexpr int kBoxes = 2;

void box_max_entropy(const double* low, const double* high, std::size_t count, int K,
                     double* value, double* distribution, double* scratch) {
    const std::size_t size = K;
    const Lanes one = Lanes{} + hidden_one();
    Lanes *l = reinterpret_cast<Lanes*>(scratch), *u = l + kBoxes * K;
    for (std::size_t first = 0; first < count; first += kBoxes * kWidth) {
        ClipLevel level[kBoxes] = {ClipLevel(K), ClipLevel(K)};
        for (int b = 0; b < kBoxes; ++b) {
            const std::size_t own = first + b * kWidth, at = own < count ? own : first;
            Sources<double>(low + at * size, size, count - at).all(size, l + b * K);
            Sources<double>(high + at * size, size, count - at).all(size, u + b * K);
        }
        for (int step = 0; step < 200 && any(level[0].going | level[1].going); ++step) {
            Lanes sum[kBoxes] = {}, open[kBoxes] = {};
            for (int y = 0; y < K; ++y)
                for (int b = 0; b < kBoxes; ++b) {
                    const Lanes t = level[b].t, p = between(t, l[b * K + y], u[b * K + y]);
                    sum[b] = plus(sum[b], p, one);
                    open[b] = p == t ? open[b] + 1.0 : open[b];
                }
            for (int b = 0; b < kBoxes; ++b) {
                if (any(level[b].going & (open[b] == 0.0))) {
                    Lanes lows = {}, highs = {};
                    for (int y = 0; y < K; ++y) {
                        lows += l[b * K + y];
                        highs += u[b * K + y];
                    }
                    level[b].settle(lows, highs);
                }
                level[b].step(sum[b], open[b], K);
            }
        }
        for (int b = 0; b < kBoxes && first + b * kWidth < count; ++b) {
            const std::size_t at = first + b * kWidth, left = count - at;
            EntropySum entropy(distribution, at, left, K, level[b].t);
            for (int y = 0; y < K; ++y)
                entropy.add(y, between(level[b].t, l[b * K + y], u[b * K + y]));
            entropy.finish(value + at);
        }
    }
}

// ---- An instance at a time, with its classes in lanes, of which there are at least as many. What
// is found of as many instances as there are lanes is put together, one a lane.

#if CREDALENS_LANES < 8
CREDALENS_INLINE unsigned bits_of(const Marks& marks) {
#if CREDALENS_LANES == 4
    return _mm256_movemask_pd((__m256d)marks);
#else
    return (marks[0] & 1) | (marks[1] & 2);
#endif
}
#endif

// Which lanes of a are less than, or equal to, those of b: a bit each.
CREDALENS_INLINE unsigned less_bits(const Lanes& a, const Lanes& b) {
#if CREDALENS_LANES == 8
    return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_LT_OQ);
#else
    return bits_of(a < b);
#endif
}
CREDALENS_INLINE unsigned equal_bits(const Lanes& a, const Lanes& b) {
#if CREDALENS_LANES == 8
    return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_EQ_OQ);
#else
    return bits_of(a == b);
#endif
}

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

// The same, with a number of its own for every lane.
CREDALENS_INLINE void add_where_less(const Lanes& x, const Lanes& a, const Lanes& b, Lanes& sum,
                                     Marks& number) {
#if CREDALENS_LANES == 8
    const __mmask8 mask = _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_LT_OQ);
    const __m512d one = _mm512_set1_pd(hidden_one());
    sum = (Lanes)_mm512_mask3_fmadd_pd((__m512d)x, one, (__m512d)sum, mask);
    number = (Marks)_mm512_mask_add_epi64((__m512i)number, mask, (__m512i)number,
                                          _mm512_set1_epi64(1));
#else
    const Marks less = a < b;
    sum += less ? x : Lanes{};
    number -= less;
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

// t with sum max(0, t - sign x) = amount; the smallest of them for amount 0. Newton's steps from the
// right never pass the solution of a convex function, and end once the same entries are below t.
CREDALENS_INLINE Lanes fill_level(const Lanes* x, int K, double sign, const Lanes& amount) {
    Lanes sum = amount;
    for (int y = 0; y < K; ++y) sum += sign * x[y];
    Lanes t = sum / static_cast<double>(K);
    for (int step = 0; step < K; ++step) {
        Lanes held = amount, below = {};
        for (int y = 0; y < K; ++y) {
            const Lanes at = sign * x[y];
            const Marks under = at < t;
            held += under ? at : Lanes{};
            below += under ? Lanes{} + 1.0 : Lanes{};
        }
        const Lanes next = held / below;
        const Marks lower = next < t;
        if (!any(lower)) break;
        t = lower ? next : t;
    }
    return t;
}

// t with sum min(u, t) = 1: what the sum of u has above 1 is cut from the top.
void box_minimax(const double* lows, const double* highs, std::size_t count, int K, double* value,
                 double* scratch) {
    const std::size_t size = K;
    Lanes *l = reinterpret_cast<Lanes*>(scratch), *u = l + K;
    for (std::size_t first = 0; first < count; first += kWidth) {
        const std::size_t left = count - first;
        Sources<double>(lows + first * size, size, left).all(size, l);
        Sources<double>(highs + first * size, size, left).all(size, u);
        Lanes sum = {}, low = l[0], high = u[0];
        for (int y = 0; y < K; ++y) {
            sum += u[y];
            low = larger(l[y], low);
            high = larger(u[y], high);
        }
        const Lanes top = -fill_level(u, K, -1.0, larger(sum - 1.0, Lanes{}));
        write(larger(smaller(top, high), low), left, value + first);
    }
}

// A vector of centres, and their sizes.
struct Neighbours {
    Lanes *x, size;

    CREDALENS_INLINE Neighbours(const double* center, const double* sizes, std::size_t first,
                                std::size_t left, int K, double* scratch)
        : x(reinterpret_cast<Lanes*>(scratch)) {
        Sources<double>(center + first * K, static_cast<std::size_t>(K), left)
            .all(static_cast<std::size_t>(K), x);
        size = Sources<double>(sizes + first, 1, left)[0];
    }

    // The most probable class: of equal ones the first, or the last.
    template <bool kLast>
    CREDALENS_INLINE Marks top(int K) const {
        Lanes best = x[0];
        Marks place = {};
        for (int y = 1; y < K; ++y) {
            place = (kLast ? x[y] >= best : x[y] > best) ? Marks{} + y : place;
            best = larger(x[y], best);
        }
        return place;
    }

    CREDALENS_INLINE void shrink(int K) {
        for (int y = 0; y < K; ++y) x[y] *= 1.0 - size;
    }
};

void ball_minimax(const double* center, const double* radius, std::size_t count, int K,
                  double* value, double* scratch) {
    for (std::size_t first = 0; first < count; first += kWidth) {
        const std::size_t left = count - first;
        const Neighbours ball(center, radius, first, left, K, scratch);
        const Lanes top = -fill_level(ball.x, K, -1.0, ball.size);
        write(larger(top, Lanes{} + 1.0 / K), left, value + first);
    }
}

void ball_lower_sum(const double* center, const double* radius, std::size_t count, int K,
                    double* value, double* scratch) {
    for (std::size_t first = 0; first < count; first += kWidth) {
        const std::size_t left = count - first;
        const Neighbours ball(center, radius, first, left, K, scratch);
        Lanes sum = {};
        for (int y = 0; y < K; ++y) sum += larger(ball.x[y] - ball.size, Lanes{});
        write(sum, left, value + first);
    }
}

void contamination_max_entropy(const double* center, const double* epsilon, std::size_t count,
                               int K, double* value, double* distribution, double* scratch) {
    for (std::size_t first = 0; first < count; first += kWidth) {
        const std::size_t left = count - first;
        Neighbours near(center, epsilon, first, left, K, scratch);
        near.shrink(K);
        const Lanes bottom = fill_level(near.x, K, 1.0, near.size);
        EntropySum entropy(distribution, first, left, K, bottom);
        for (int y = 0; y < K; ++y) entropy.add(y, larger(near.x[y], bottom));
        entropy.finish(value + first);
    }
}

CREDALENS_INLINE Lanes root_of(const Lanes& v) {
#if CREDALENS_LANES == 8
    return (Lanes)_mm512_sqrt_pd((__m512d)v);
#elif CREDALENS_LANES == 4
    return (Lanes)_mm256_sqrt_pd((__m256d)v);
#else
    return Lanes{__builtin_sqrt(v[0]), __builtin_sqrt(v[1])};
#endif
}

// The levels up to which a radius fills up the smallest classes of centres, one a lane, and down to
// which it cuts off the largest: t with sum max(0, t - x) = r, and with sum max(0, x - t) = r.
// Newton's steps on a convex function never pass its solution, but for the first one.
struct BallLevels {
    Lanes radius, bottom, top;
    double K;
    int steps = 0;
    Marks going = ~Marks{};

    CREDALENS_INLINE BallLevels(const Lanes& radius, int K)
        : radius(radius), bottom((1.0 + radius) / K), top((1.0 - radius) / K), K(K) {}

    // Begins where the levels are if classes are spread like the gaps between random points, which
    // spares many classes some steps.
    CREDALENS_INLINE void begin_spread() {
        top = log_of<Lanes, Bits>(larger(radius, Lanes{} + 1e-300)) / -K;
        bottom = root_of(2.0 * radius) / K;
    }

    // From the sums and the numbers of the classes below the one and above the other.
    CREDALENS_INLINE void step(const Lanes& low, const Lanes& below, const Lanes& high,
                               const Lanes& above) {
        // Where there are none, from the mean.
        const Lanes down = below > 0.0 ? (low + radius) / below : (1.0 + radius) / K;
        const Lanes up = above > 0.0 ? (high - radius) / above : (1.0 - radius) / K;
        const bool free = ++steps <= 2;
        const Marks falls = going & (free ? down != bottom : down < bottom);
        const Marks rises = going & (free ? up != top : up > top);
        bottom = falls ? down : bottom;
        top = rises ? up : top;
        going = falls | rises;
    }
};

void ball_max_entropy(const double* center, const double* radius, std::size_t count, int K,
                      double* value, double* distribution, double* scratch) {
    for (std::size_t first = 0; first < count; first += kWidth) {
        const std::size_t left = count - first;
        const Neighbours ball(center, radius, first, left, K, scratch);
        BallLevels levels(ball.size, K);
        while (any(levels.going)) {
            Lanes low = {}, high = {};
            Marks below = {}, above = {};
            for (int y = 0; y < K; ++y) {
                const Lanes x = ball.x[y];
                add_where_less(x, x, levels.bottom, low, below);
                add_where_less(x, levels.top, x, high, above);
            }
            levels.step(low, __builtin_convertvector(below, Lanes), high,
                        __builtin_convertvector(above, Lanes));
        }
        const Marks even = levels.bottom >= levels.top;
        EntropySum entropy(distribution, first, left, K, levels.bottom);
        for (int y = 0; y < K; ++y)
            entropy.add(y, even ? Lanes{} + 1.0 / K
                                : between(ball.x[y], levels.bottom, levels.top));
        entropy.finish(value + first);
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

void contamination_min_entropy(const double* center, const double* epsilon, std::size_t count,
                               int K, double* value, double* distribution, double* scratch) {
    for (std::size_t first = 0; first < count; first += kWidth) {
        const std::size_t left = count - first;
        Neighbours near(center, epsilon, first, left, K, scratch);
        const Marks top = near.top<false>(K);
        near.shrink(K);
        EntropySum entropy(distribution, first, left, K, Lanes{});
        for (int y = 0; y < K; ++y)
            entropy.add(y, top == y ? near.x[y] + near.size : near.x[y]);
        entropy.finish(value + first);
    }
}

// The radius is taken from the least probable classes, one after the other, and given to the most
// probable one.
void ball_min_entropy(const double* center, const double* radius, std::size_t count, int K,
                      double* value, double* distribution, double* scratch) {
    for (std::size_t first = 0; first < count; first += kWidth) {
        const std::size_t left = count - first;
        const Neighbours ball(center, radius, first, left, K, scratch);
        const Marks top = ball.top<true>(K);
        Lanes wanted = ball.size, given = {};
        for (int step = 1; step < K && any(wanted > 0.0); ++step) {
            Lanes least = Lanes{} + __builtin_inf();
            Marks from = ~Marks{};
            for (int y = 0; y < K; ++y) {
                const Lanes x = ball.x[y];
                const Marks less = (x > 0.0) & (x < least) & (top != y);
                from = less ? Marks{} + y : from;
                least = less ? x : least;
            }
            const Lanes taken = from >= 0 ? smaller(least, wanted) : Lanes{};
            for (int y = 0; y < K; ++y) ball.x[y] -= from == y ? taken : Lanes{};
            given += taken;
            wanted = from >= 0 ? wanted - taken : Lanes{};
        }
        EntropySum entropy(distribution, first, left, K, Lanes{});
        for (int y = 0; y < K; ++y)
            entropy.add(y, top == y ? ball.x[y] + given : ball.x[y]);
        entropy.finish(value + first);
    }
}

// A NaN stays where a comparison with it fails, reaches the sums, and fails there.
CREDALENS_INLINE Lanes in_unit(const Lanes& x) {
    return smaller(Lanes{} + 1.0, larger(Lanes{}, x));
}

template <class T>
std::size_t reachable_bounds(const T* low, const T* high, std::size_t count, int K, double slack,
                             double tolerance, T* lower, T* upper, T* tops, double* scratch) {
    const std::size_t classes = K;
    const Lanes one = Lanes{} + 1.0;
    Lanes *l = reinterpret_cast<Lanes*>(scratch), *u = l + K;
    std::size_t first_bad = count;
    for (std::size_t first = 0; first < count; first += kWidth) {
        const std::size_t left = count - first;
        Sources<T>(low + first * classes, classes, left).all(classes, l);
        Sources<T>(high + first * classes, classes, left).all(classes, u);
        Lanes lows = {}, highs = {}, worst = {};
        for (int y = 0; y < K; ++y) {
            worst = larger(larger(larger(l[y] - u[y], -l[y]), u[y] - 1.0), worst);
            lows += l[y] = in_unit(l[y]);
            highs += u[y] = larger(l[y], in_unit(u[y]));
        }
        const Marks good =
            (worst <= slack) & (lows <= 1.0 + tolerance) & (highs >= 1.0 - tolerance);
        for (std::size_t i = 0; i < kWidth && i < left && first_bad == count; ++i)
            if (!good[i]) first_bad = first + i;
        if (any(~((lows <= 1.0) & (highs >= 1.0)))) {
            // By rounding: the bounds meet there. Dividing by 1 leaves the other lanes as they are.
            const Lanes shrink = larger(lows, one), grow = smaller(highs, one);
            lows = highs = Lanes{};
            for (int y = 0; y < K; ++y) {
                lows += l[y] /= shrink;
                highs += u[y] /= grow;
            }
        }
        Lanes most_low = {}, most_high = {};
        for (int y = 0; y < K; ++y) {
            const Lanes own = l[y];
            l[y] = smaller(larger(own, 1.0 - (highs - u[y])), u[y]);
            u[y] = larger(smaller(u[y], 1.0 - (lows - own)), l[y]);
            most_low = larger(l[y], most_low);
            most_high = larger(u[y], most_high);
        }
        write_rows(l, K, left, classes, lower + first * classes);
        write_rows(u, K, left, classes, upper + first * classes);
        write_member(most_low, left, 2, tops + 2 * first);
        write_member(most_high, left, 2, tops + 2 * first + 1);
    }
    return first_bad;
}

// As `sums_of`.
CREDALENS_INLINE Lanes largest_of(const Lanes* v, int count) {
    Lanes part[kWidth];
    Sources<double>(reinterpret_cast<const double*>(v), kWidth, count).block(0, part);
    for (int i = 1; i < kWidth; ++i) part[0] = larger(part[i], part[0]);
    return part[0];
}

// What bounds are checked for, an instance a lane or, to be put together, a row.
struct BoundsSeen {
    Lanes lows = {}, highs = {}, top_low = {}, top_high = {}, widest = {}, least = {};

    CREDALENS_INLINE void extremes(const Lanes& l, const Lanes& u) {
        const Lanes width = u - l;
        top_low = larger(l, top_low);
        top_high = larger(u, top_high);
        widest = larger(width, widest);
        least = smaller(smaller(l, width), least);
    }

    CREDALENS_INLINE Marks good(double slack, double tolerance) const {
        return (least >= -slack) & (top_high <= 1.0 + slack) & (lows <= 1.0 + tolerance) &
               (highs >= 1.0 - tolerance);
    }

    // Up to slack: a class can be at both of its bounds if the others leave room for its width.
    CREDALENS_INLINE Marks reachable(double slack) const {
        return (least >= 0.0) & (top_high <= 1.0) & (lows <= 1.0 + slack) &
               (highs >= 1.0 - slack) & (widest <= smaller(highs - 1.0, 1.0 - lows) + slack);
    }
};

template <class T>
std::size_t check_bounds(const T* low, const T* high, std::size_t count, int K, double slack,
                         double tolerance, T* tops, std::uint8_t* loose, double* scratch) {
    const std::size_t classes = K;
    Lanes *l = reinterpret_cast<Lanes*>(scratch), *u = l + K;
    std::size_t first_bad = count;
    for (std::size_t first = 0; first < count; first += kWidth) {
        const std::size_t left = count - first;
        const T *const lows = low + first * classes, *const highs = high + first * classes;
        BoundsSeen all;
        if (K < kMinAlong) {
            Sources<T>(lows, classes, left).all(classes, l);
            Sources<T>(highs, classes, left).all(classes, u);
            for (int y = 0; y < K; ++y) {
                all.extremes(l[y], u[y]);
                all.lows += l[y];
                all.highs += u[y];
            }
        } else {
            const int here = left < kWidth ? static_cast<int>(left) : kWidth;
            const Marks twice = held_twice(K);
            Lanes parts[6][kWidth];
            for (int i = 0; i < here; ++i) {
                const T *const l = lows + i * classes, *const u = highs + i * classes;
                BoundsSeen own;
                int y = 0;
                for (; y + kWidth <= K; y += kWidth) {
                    const Lanes x = load(l + y), z = load(u + y);
                    own.extremes(x, z);
                    own.lows += x;
                    own.highs += z;
                }
                if (y < K) {
                    const Lanes x = load(l + K - kWidth), z = load(u + K - kWidth);
                    own.extremes(x, z);
                    own.lows += without(x, twice);
                    own.highs += without(z, twice);
                }
                parts[0][i] = own.lows;
                parts[1][i] = own.highs;
                parts[2][i] = own.top_low;
                parts[3][i] = own.top_high;
                parts[4][i] = own.widest;
                parts[5][i] = -own.least;
            }
            all = {sums_of(parts[0], here),    sums_of(parts[1], here),
                   largest_of(parts[2], here), largest_of(parts[3], here),
                   largest_of(parts[4], here), -largest_of(parts[5], here)};
        }
        const Marks good = all.good(slack, tolerance);
        for (std::size_t i = 0; any(~good) && i < kWidth && i < left && first_bad == count; ++i)
            if (!good[i]) first_bad = first + i;
        write_member(all.reachable(slack) + 1, left, 1, loose + first);
        write_member(all.top_low, left, 2, tops + 2 * first);
        write_member(all.top_high, left, 2, tops + 2 * first + 1);
    }
    return first_bad;
}
