// Contamination classes and total variation balls, for one target.

#include "simd/transpose-inl.hpp"
#include "simd/log-inl.hpp"
#include "boxes/levels-inl.hpp"

// kLanes centres, one per lane, and their sizes; K vectors of scratch memory.
struct Centers {
    Vec *x, size;

    CREDALENS_INLINE Centers(const double* center, const double* sizes, std::size_t first,
                             std::size_t left, int K, double* scratch)
        : x(reinterpret_cast<Vec*>(scratch)) {
        LanePointers<double>(center + first * K, static_cast<std::size_t>(K), left)
            .load_all(static_cast<std::size_t>(K), x);
        size = LanePointers<double>(sizes + first, 1, left).gather(0);
    }

    // The most probable class, the first or the last one on a tie.
    template <bool kLast>
    CREDALENS_INLINE Mask argmax(int K) const {
        Vec best = x[0];
        Mask index = {};
        for (int y = 1; y < K; ++y) {
            index = (kLast ? x[y] >= best : x[y] > best) ? Mask{} + y : index;
            best = max(x[y], best);
        }
        return index;
    }

    CREDALENS_INLINE void scale_by_complement(int K) {
        for (int y = 0; y < K; ++y) x[y] *= 1.0 - size;
    }
};

inline void ball_minimax_values(const double* center, const double* radius, std::size_t count,
                                int K, double* value, double* scratch) {
    for (std::size_t first = 0; first < count; first += kLanes) {
        const std::size_t left = count - first;
        const Centers balls(center, radius, first, left, K, scratch);
        const Vec top = -fill_level(balls.x, K, -1.0, balls.size);
        store_n(value + first, max(top, broadcast(1.0 / K)), left);
    }
}

// The largest class, with classes in lanes.
inline void largest_classes(const double* center, std::size_t count, int K, double* top) {
    for (std::size_t i = 0; i < count; ++i, center += K) {
        Vec best = {};
        for (int y = 0; y < K; y += kLanes) best = max(load_n(center + y, K - y), best);
        top[i] = reduce_max(best);
    }
}

inline void largest_classes_in_lanes(const double* center, const double* sizes, std::size_t count,
                                     int K, double* top, double* scratch) {
    for (std::size_t first = 0; first < count; first += kLanes) {
        const std::size_t left = count - first;
        const Centers classes(center, sizes, first, left, K, scratch);
        Vec best = classes.x[0];
        for (int y = 1; y < K; ++y) best = max(classes.x[y], best);
        store_n(top + first, best, left);
    }
}

inline void ball_lower_sums(const double* center, const double* radius, std::size_t count, int K,
                            double* value, double* scratch) {
    for (std::size_t first = 0; first < count; first += kLanes) {
        const std::size_t left = count - first;
        const Centers balls(center, radius, first, left, K, scratch);
        Vec sum = {};
        for (int y = 0; y < K; ++y) sum += max(balls.x[y] - balls.size, Vec{});
        store_n(value + first, sum, left);
    }
}

inline void contamination_max_entropy(const double* center, const double* epsilon,
                                      std::size_t count, int K, double* value, double* distribution,
                                      double* scratch) {
    for (std::size_t first = 0; first < count; first += kLanes) {
        const std::size_t left = count - first;
        Centers classes(center, epsilon, first, left, K, scratch);
        classes.scale_by_complement(K);
        const Vec bottom = fill_level(classes.x, K, 1.0, classes.size);
        EntropySum entropy(distribution, first, left, K);
        for (int y = 0; y < K; ++y) entropy.add(y, max(classes.x[y], bottom));
        entropy.store_to(value + first);
    }
}

inline void contamination_min_entropy(const double* center, const double* epsilon,
                                      std::size_t count, int K, double* value, double* distribution,
                                      double* scratch) {
    for (std::size_t first = 0; first < count; first += kLanes) {
        const std::size_t left = count - first;
        Centers classes(center, epsilon, first, left, K, scratch);
        const Mask top = classes.argmax<false>(K);
        classes.scale_by_complement(K);
        EntropySum entropy(distribution, first, left, K);
        for (int y = 0; y < K; ++y)
            entropy.add(y, top == y ? classes.x[y] + classes.size : classes.x[y]);
        entropy.store_to(value + first);
    }
}

inline void ball_max_entropy_few_classes(const double* center, const double* radius,
                                         std::size_t count, int K, double* value,
                                         double* distribution, double* scratch) {
    for (std::size_t first = 0; first < count; first += kLanes) {
        const std::size_t left = count - first;
        const Centers balls(center, radius, first, left, K, scratch);
        BallLevels levels(balls.size, K);
        while (any(levels.active)) {
            Vec low = {}, high = {};
            Mask below = {}, above = {};
            for (int y = 0; y < K; ++y) {
                const Vec x = balls.x[y];
                add_where_less(x, x, levels.bottom, low, below);
                add_where_less(x, levels.top, x, high, above);
            }
            levels.step(low, __builtin_convertvector(below, Vec), high,
                        __builtin_convertvector(above, Vec));
        }
        levels.finalize();
        EntropySum entropy(distribution, first, left, K);
        for (int y = 0; y < K; ++y) entropy.add(y, clip(balls.x[y], levels.bottom, levels.top));
        entropy.store_to(value + first);
    }
}

// Classes in lanes. The sums of kLanes balls are put into one lane each, so that a Newton step is
// taken for all of them.
inline void ball_max_entropy_many_classes(const double* center, const double* radius,
                                          std::size_t count, int K, double* value,
                                          double* distribution) {
    const std::size_t classes = K;
    const int whole = K / kLanes * kLanes;
    const Mask outside = iota() >= K - whole;
    for (std::size_t first = 0; first < count; first += kLanes) {
        const int here = static_cast<int>(std::min<std::size_t>(count - first, kLanes));
        BallLevels levels(load_n(radius + first, here), K);
        levels.active = iota() < here;
        while (any(levels.active)) {
            Vec low[kLanes], high[kLanes], below = {}, above = {};
            for (int i = 0; i < here; ++i) {
                if (!levels.active[i]) continue;
                const double* row = center + (first + i) * classes;
                const Vec bottom = broadcast(levels.bottom[i]), top = broadcast(levels.top[i]);
                Vec held = {}, cut = {};
                int fewer = 0, more = 0;
                const auto add = [&](const Vec& x) __attribute__((always_inline)) {
                    fewer += add_where_less(x, x, bottom, held);
                    more += add_where_less(x, top, x, cut);
                };
                for (int y = 0; y < whole; y += kLanes) add(load(row + y));
                // Beyond the last class, NaN compares false.
                if (whole < K)
                    add(outside ? broadcast(__builtin_nan("")) : load_n(row + whole, K - whole));
                low[i] = held, high[i] = cut;
                below[i] = fewer, above[i] = more;
            }
            levels.step(row_sums(low, here), below, row_sums(high, here), above);
        }
        levels.finalize();
        Vec entropy[kLanes];
        for (int i = 0; i < here; ++i) {
            const double* row = center + (first + i) * classes;
            const Vec bottom = broadcast(levels.bottom[i]), top = broadcast(levels.top[i]);
            Vec sum = {};
            for (int y = 0; y < K; y += kLanes) {
                const Vec p = clip(load_n(row + y, K - y), bottom, top);
                sum -= y < whole ? xlogx(p) : zero_where(outside, xlogx(p));
                if (distribution) store_n(distribution + (first + i) * classes + y, p, K - y);
            }
            entropy[i] = sum;
        }
        store_n(value + first, clip_negative(row_sums(entropy, here)), here);
    }
}

// The radius is taken from the least probable classes, one after the other, and given to the most
// probable one.
inline void ball_min_entropy(const double* center, const double* radius, std::size_t count, int K,
                             double* value, double* distribution, double* scratch) {
    for (std::size_t first = 0; first < count; first += kLanes) {
        const std::size_t left = count - first;
        const Centers balls(center, radius, first, left, K, scratch);
        const Mask top = balls.argmax<true>(K);
        Vec remaining = balls.size, moved = {};
        for (int step = 1; step < K && any(remaining > 0.0); ++step) {
            Vec smallest = broadcast(__builtin_inf());
            Mask source = ~Mask{};
            for (int y = 0; y < K; ++y) {
                const Vec x = balls.x[y];
                const Mask less = (x > 0.0) & (x < smallest) & (top != y);
                source = less ? Mask{} + y : source;
                smallest = less ? x : smallest;
            }
            const Vec amount = source >= 0 ? min(smallest, remaining) : Vec{};
            for (int y = 0; y < K; ++y) balls.x[y] -= source == y ? amount : Vec{};
            moved += amount;
            remaining = source >= 0 ? remaining - amount : Vec{};
        }
        EntropySum entropy(distribution, first, left, K);
        for (int y = 0; y < K; ++y) entropy.add(y, top == y ? balls.x[y] + moved : balls.x[y]);
        entropy.store_to(value + first);
    }
}
