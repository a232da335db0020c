// Entropies of rows with one instance per lane, for one target.

#include "simd/transpose-inl.hpp"
#include "simd/log-inl.hpp"

// Entropies of one row per lane, divided by their sums: exactly 0 for a Dirac distribution.
template <class T>
CREDALENS_INLINE Vec normalized_entropy(const LanePointers<T>& rows, int K, Vec* entries) {
    rows.load_all(static_cast<std::size_t>(K), entries);
    Vec sum = {}, entropy = {};
    for (int y = 0; y < K; ++y) sum += entries[y];
    for (int y = 0; y < K; ++y) entropy -= xlogx(entries[y] / sum);
    return clip_negative(entropy);
}

// `count` instances on one thread; K vectors of scratch memory. The members are compared by
// ln(sum) - (sum of p ln p) / sum, which needs no division by class; the value is computed again.
template <class T>
void min_entropies(const T* P, std::size_t count, int M, int K, double* value, std::int64_t* member,
                   double* scratch) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    Vec* entries = reinterpret_cast<Vec*>(scratch);
    for (std::size_t first = 0; first < count; first += kLanes) {
        const std::size_t left = count - first;
        const LanePointers<T> instances(P + first * size, size, left);
        LanePointers<T> rows = instances;
        Vec smallest = {};
        Mask argmin = {};
        for (int m = 0; m < M && M > 1; ++m, rows.advance(K)) {
            rows.load_all(static_cast<std::size_t>(K), entries);
            Vec sum = {}, logs = {};
            for (int y = 0; y < K; ++y) {
                sum += entries[y];
                logs += xlogx(entries[y]);
            }
            const Vec entropy = fast_log(sum) - logs / sum;
            if (m == 0) smallest = entropy;
            argmin = entropy < smallest ? Mask{} + m : argmin;
            smallest = min(entropy, smallest);
        }
        rows = instances;
        for (int i = 0; i < kLanes; ++i) rows.row[i] += static_cast<std::size_t>(argmin[i]) * K;
        store_n(value + first, normalized_entropy(rows, K, entries), left);
        if (member) store_strided(member + first, argmin, left, 1);
    }
}
