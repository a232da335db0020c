// Boxes, for one target.

#include "simd/transpose-inl.hpp"
#include "simd/log-inl.hpp"
#include "boxes/levels-inl.hpp"

// ----------------------------------------------------------------------- one instance per lane

// t with sum min(u, t) = 1: the excess of sum u is taken from the largest. 2 K vectors of scratch
// memory. `value` is that of the game, or the other outputs are those of total variation.
inline void minimax_values(const double* low, const double* high, std::size_t count, int K,
                           double* value, double* total, double* lower, double* upper,
                           double* scratch) {
    const std::size_t size = K;
    Vec *l = reinterpret_cast<Vec*>(scratch), *u = l + K;
    for (std::size_t first = 0; first < count; first += kLanes) {
        const std::size_t left = count - first;
        LanePointers<double>(low + first * size, size, left).load_all(size, l);
        LanePointers<double>(high + first * size, size, left).load_all(size, u);
        Vec sum = {}, max_lower = l[0], max_upper = u[0];
        for (int y = 0; y < K; ++y) {
            sum += u[y];
            max_lower = max(l[y], max_lower);
            max_upper = max(u[y], max_upper);
        }
        const Vec t = -fill_level(u, K, -1.0, max(sum - 1.0, Vec{}));
        const Vec game = max(min(t, max_upper), max_lower);
        if (value) {
            store_n(value + first, game, left);
            continue;
        }
        const Vec most = max(1.0 - max_lower, Vec{}), least = max(1.0 - max_upper, Vec{});
        store_n(total + first, most, left);
        store_n(lower + first, least, left);
        store_n(upper + first, clip(max(1.0 - game, Vec{}), least, most), left);
    }
}

// 2 K vectors of scratch memory.
inline void max_entropy_few_classes(const double* low, const double* high, std::size_t count, int K,
                                    double* value, double* distribution, double* scratch) {
    const std::size_t size = K;
    Vec *l = reinterpret_cast<Vec*>(scratch), *u = l + K;
    for (std::size_t first = 0; first < count; first += kLanes) {
        const std::size_t left = count - first;
        LanePointers<double>(low + first * size, size, left).load_all(size, l);
        LanePointers<double>(high + first * size, size, left).load_all(size, u);
        BoxLevel level(K);
        for (int step = 0; step < kMaxLevelSteps && any(level.active); ++step) {
            Vec sum = {}, inside = {};
            for (int y = 0; y < K; ++y) {
                const Vec p = clip(level.t, l[y], u[y]);
                sum += p;
                inside = p == level.t ? inside + 1.0 : inside;
            }
            if (any(level.active & (inside == 0.0))) {
                Vec lower_sum = {}, upper_sum = {};
                for (int y = 0; y < K; ++y) {
                    lower_sum += l[y];
                    upper_sum += u[y];
                }
                level.finalize(lower_sum, upper_sum);
            }
            level.step(sum, inside, K);
        }
        EntropySum entropy(distribution, first, left, K);
        for (int y = 0; y < K; ++y) entropy.add(y, clip(level.t, l[y], u[y]));
        entropy.store_to(value + first);
    }
}

// ---------------------------------------------------------------------------- classes in lanes

inline void max_entropy_many_classes(const double* low, const double* high, std::size_t count,
                                     int K, double* value, double* distribution) {
    for (std::size_t i = 0; i < count; ++i, low += K, high += K) {
        BoxLevel level(K);
        const auto p = [&](int y) {  // 0 beyond the last class
            return clip(level.t, load_n(low + y, K - y), load_n(high + y, K - y));
        };
        for (int step = 0; step < kMaxLevelSteps && any(level.active); ++step) {
            Vec sum = {};
            int inside = 0;
            for (int y = 0; y < K; y += kLanes) {
                const Vec x = p(y);
                sum += x;
                inside += __builtin_popcount(equal_bits(x, level.t));
            }
            if (inside == 0) {
                Vec lower_sum = {}, upper_sum = {};
                for (int y = 0; y < K; y += kLanes) {
                    lower_sum += load_n(low + y, K - y);
                    upper_sum += load_n(high + y, K - y);
                }
                level.finalize(broadcast(reduce_sum(lower_sum)), broadcast(reduce_sum(upper_sum)));
            }
            level.step(broadcast(reduce_sum(sum)), broadcast(inside), K);
        }
        Vec entropy = {};
        for (int y = 0; y < K; y += kLanes) {
            const Vec x = p(y);
            entropy -= xlogx(x);
            if (distribution) store_n(distribution + i * K + y, x, K - y);
        }
        value[i] = std::max(reduce_sum(entropy), 0.0);
    }
}
