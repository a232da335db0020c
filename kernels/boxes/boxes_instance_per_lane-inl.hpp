// Part of simd/instance_per_lane-inl.hpp: boxes and neighbourhoods, an instance a lane.

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

// Adds x to a sum in the lanes where a is less than b, and counts it in a number for each.
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
