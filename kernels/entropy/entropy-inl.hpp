// Part of simd/instance_per_lane-inl.hpp: entropies, an instance a lane.

#include "simd/log-inl.hpp"

CREDALENS_INLINE Lanes p_log_p(const Lanes& p) {
    return p * log_of<Lanes, Bits>(larger(p, Lanes{} + 1e-300));
}

// The entropies of rows, one a lane, divided by their sums: certainty is exactly 0.
template <class T>
CREDALENS_INLINE Lanes entropy_of(const Sources<T>& row, int K, Lanes* entries) {
    row.all(static_cast<std::size_t>(K), entries);
    Lanes sum = {}, entropy = {};
    for (int y = 0; y < K; ++y) sum += entries[y];
    for (int y = 0; y < K; ++y) entropy -= p_log_p(entries[y] / sum);
    return entropy < 0.0 ? Lanes{} : entropy;  // p = 1 + 1e-16 has none; a NaN stays one
}

template <class T>
void least_entropy(const T* P, std::size_t count, int M, int K, double* value,
                   std::int64_t* member, double* scratch) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    Lanes* entries = reinterpret_cast<Lanes*>(scratch);
    for (std::size_t first = 0; first < count; first += kWidth) {
        const std::size_t left = count - first;
        Sources<T> rows(P + first * size, size, left);
        Lanes least = {};
        Marks place = {};
        for (int m = 0; m < M && M > 1; ++m) {
            Sources<T> row = rows;
            for (int i = 0; i < kWidth; ++i) row.from[i] += static_cast<std::size_t>(m) * K;
            row.all(static_cast<std::size_t>(K), entries);
            Lanes sum = {}, logs = {};
            for (int y = 0; y < K; ++y) {
                sum += entries[y];
                logs += p_log_p(entries[y]);
            }
            const Lanes here = log_of<Lanes, Bits>(sum) - logs / sum;
            if (m == 0) least = here;
            place = here < least ? Marks{} + m : place;
            least = smaller(here, least);
        }
        for (int i = 0; i < kWidth; ++i) rows.from[i] += static_cast<std::size_t>(place[i]) * K;
        write(entropy_of(rows, K, entries), left, value + first);
        for (std::size_t i = 0; member && i < kWidth && i < left; ++i) member[first + i] = place[i];
    }
}

// Collects the entropies of distributions class by class and, unless it is nullptr, the
// distributions (count, K). Where many classes have the same probability, its logarithm is known.
struct EntropySum {
    double* where;
    std::size_t count;
    int K;
    Lanes level, of_level, sum = {};

    CREDALENS_INLINE EntropySum(double* distribution, std::size_t first, std::size_t left, int K,
                                const Lanes& level)
        : where(distribution ? distribution + first * K : nullptr), count(left), K(K),
          level(level), of_level(p_log_p(level)) {}

    CREDALENS_INLINE void add(int y, const Lanes& p) {
        const Marks off = p != level;
        sum -= any(off) ? (off ? p_log_p(p) : of_level) : of_level;
        if (where) write_member(p, count, K, where + y);
    }
    CREDALENS_INLINE void finish(double* value) const {
        write(sum < 0.0 ? Lanes{} : sum, count, value);  // p = 1 + 1e-16 has none
    }
};
