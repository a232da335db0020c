// Part of lanes_body.hpp: boxes and neighbourhoods, an instance a lane.

CREDALENS_INLINE Lanes between(const Lanes& x, const Lanes& low, const Lanes& high) {
    return larger(smaller(x, high), low);
}

// Boxes are looked at in two vectors: while a step of one waits for its sum, the other's is formed.
constexpr int kBoxes = 2;

// t with sum clip(t, l, u) = 1, of each vector of boxes. The sum is increasing but neither convex
// nor concave: Newton inside a bracket, bisection where a step would leave it. A lane that has its t
// keeps it.
CREDALENS_INLINE void clip_levels(const Lanes* l, const Lanes* u, int K, Lanes* t) {
    const Lanes one = Lanes{} + hidden_one();
    Lanes low[kBoxes] = {}, high[kBoxes];
    Marks going[kBoxes];
    for (int b = 0; b < kBoxes; ++b) {
        t[b] = Lanes{} + 1.0 / K;
        high[b] = Lanes{} + 1.0;
        going[b] = ~Marks{};
    }
    for (int step = 0; step < 200 && any(going[0] | going[1]); ++step) {
        Lanes sum[kBoxes] = {}, open[kBoxes] = {};
        for (int y = 0; y < K; ++y)
            for (int b = 0; b < kBoxes; ++b) {
                const int at = 2 * K * b + y;
                const Lanes p = between(t[b], l[at], u[at]);
                sum[b] = plus(sum[b], p, one);
                open[b] = p == t[b] ? open[b] + 1.0 : open[b];
            }
        for (int b = 0; b < kBoxes; ++b) {
            const Lanes excess = sum[b] - 1.0;
            const Marks flat = open[b] == 0.0;  // no other t near by has another sum
            going[b] &= magnitude(excess) > (flat ? Lanes{} + K * 0x1p-52 : Lanes{} + 0x1p-52);
            low[b] = going[b] & (excess < 0.0) ? t[b] : low[b];
            high[b] = going[b] & (excess > 0.0) ? t[b] : high[b];
            const Lanes middle = 0.5 * (low[b] + high[b]);
            Lanes next = flat ? middle : t[b] - excess / open[b];
            going[b] &= next != t[b];
            next = (next > low[b]) & (next < high[b]) ? next : middle;
            going[b] &= (next > low[b]) & (next < high[b]);
            t[b] = going[b] ? next : t[b];
        }
    }
}

void box_max_entropy(const double* bounds, std::size_t count, int K, double* value,
                     double* distribution, double* scratch) {
    const std::size_t size = 2 * static_cast<std::size_t>(K);
    Lanes *l = reinterpret_cast<Lanes*>(scratch), *u = l + K;
    for (std::size_t first = 0; first < count; first += kBoxes * kWidth) {
        for (int b = 0; b < kBoxes; ++b) {
            const std::size_t own = first + b * kWidth, at = own < count ? own : first;
            Sources<double>(bounds + at * size, size, count - at).all(size, l + size * b);
        }
        Lanes t[kBoxes];
        clip_levels(l, u, K, t);
        for (int b = 0; b < kBoxes && first + b * kWidth < count; ++b) {
            const std::size_t at = first + b * kWidth, left = count - at;
            EntropySum entropy(distribution, at, left, K, t[b]);
            for (int y = 0; y < K; ++y)
                entropy.add(y, between(t[b], l[size * b + y], u[size * b + y]));
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
void box_minimax(const double* bounds, std::size_t count, int K, double* value, double* scratch) {
    const std::size_t size = 2 * static_cast<std::size_t>(K);
    Lanes *l = reinterpret_cast<Lanes*>(scratch), *u = l + K;
    for (std::size_t first = 0; first < count; first += kWidth) {
        const std::size_t left = count - first;
        Sources<double>(bounds + first * size, size, left).all(size, l);
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

void ball_max_entropy(const double* center, const double* radius, std::size_t count, int K,
                      double* value, double* distribution, double* scratch) {
    for (std::size_t first = 0; first < count; first += kWidth) {
        const std::size_t left = count - first;
        const Neighbours ball(center, radius, first, left, K, scratch);
        const Lanes bottom = fill_level(ball.x, K, 1.0, ball.size);
        const Lanes top = -fill_level(ball.x, K, -1.0, ball.size);
        const Marks even = bottom >= top;
        EntropySum entropy(distribution, first, left, K, bottom);
        for (int y = 0; y < K; ++y)
            entropy.add(y, even ? Lanes{} + 1.0 / K : between(ball.x[y], bottom, top));
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

// A NaN stays where a comparison with it fails, reaches the sums, and fails there.
CREDALENS_INLINE Lanes in_unit(const Lanes& x) {
    return smaller(Lanes{} + 1.0, larger(Lanes{}, x));
}

template <class T>
std::size_t reachable_bounds(const T* low, const T* high, std::size_t count, int K, double slack,
                             double tolerance, T* bounds, T* tops, double* scratch) {
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
        T* const here = bounds + 2 * first * classes;
        write_rows(l, K, left, 2 * classes, here);
        write_rows(u, K, left, 2 * classes, here + K);
        write_member(most_low, left, 2, tops + 2 * first);
        write_member(most_high, left, 2, tops + 2 * first + 1);
    }
    return first_bad;
}
