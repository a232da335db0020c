// The first largest entry of each row, and votes of small instances, for one target.

#include "simd/transpose-inl.hpp"


typedef std::int32_t Int32Vec __attribute__((vector_size(4 * CREDALENS_LANES)));

// Rows of K classes, one per lane.
template <class T>
CREDALENS_INLINE Int32Vec argmax_short_rows(const LanePointers<T>& rows, int K) {
    Vec best = broadcast(-__builtin_inf());
    Mask index = {};
    const auto add = [&](const Vec& x, int y) {
        const Mask larger = x > best;
        index = larger ? Mask{} + y : index;
        best = larger ? x : best;
    };
    const auto add_block = [&](int first) {
        Vec v[kLanes];
        rows.load_block(first, v);
        for (int j = 0; j < kLanes; ++j) add(v[j], first + j);
    };
    int y = 0;
    for (; y + kLanes <= K; y += kLanes) add_block(y);
    if (y < K && K >= kLanes)
        add_block(K - kLanes);  // classes that were read before are not larger than the largest
    else
        for (; y < K; ++y) add(rows.gather(y), y);
    return __builtin_convertvector(index, Int32Vec);
}

// As many entries of one row as fit into a vector: twice as many floats as doubles.
template <class T>
struct RowVec {
    typedef T Type __attribute__((vector_size(8 * CREDALENS_LANES)));
    static constexpr int kEntries = 8 * kLanes / sizeof(T);
};

template <class T>
CREDALENS_INLINE typename RowVec<T>::Type load_entries(const T* x) {
    typename RowVec<T>::Type v;
    __builtin_memcpy(&v, x, sizeof v);
    return v;
}

// As `max`, whose vectors are of doubles.
template <class T>
CREDALENS_INLINE typename RowVec<T>::Type larger_entries(const typename RowVec<T>::Type& a,
                                                         const typename RowVec<T>::Type& b) {
    if constexpr (sizeof(T) == sizeof(double)) return max(a, b);
#if CREDALENS_LANES == 8
    else return (typename RowVec<T>::Type)_mm512_max_ps((__m512)a, (__m512)b);
#elif CREDALENS_LANES == 4
    else return (typename RowVec<T>::Type)_mm256_max_ps((__m256)a, (__m256)b);
#else
    else return a > b ? a : b;
#endif
}

template <class T>
CREDALENS_INLINE double largest_entry(const typename RowVec<T>::Type& v) {
    T entries[RowVec<T>::kEntries];
    __builtin_memcpy(entries, &v, sizeof v);
    Vec best = load(entries);
    for (int i = kLanes; i < RowVec<T>::kEntries; i += kLanes) best = max(load(entries + i), best);
    return reduce_max(best);
}

// The first entry of a row of at least kLanes that equals `largest`; the next row is prefetched.
template <class T>
CREDALENS_INLINE int index_in_row(const T* row, int K, double largest) {
    constexpr int kEntries = RowVec<T>::kEntries;
    const auto wanted = static_cast<T>(largest) - typename RowVec<T>::Type{};
    int y = 0;
    for (; y + 4 * kEntries <= K; y += 4 * kEntries) {
        auto equal = load_entries(row + y) == wanted;
        for (int i = 1; i < 4; ++i) equal |= load_entries(row + y + i * kEntries) == wanted;
        for (int i = 0; i < 4; ++i) prefetch(row + K + y + i * kEntries);
        if (any((Mask)equal)) break;
    }
    const Vec same = broadcast(largest);
    y = y < K - kLanes ? y : K - kLanes;  // fewer than kLanes entries may be left
    for (;; y = y + 2 * kLanes <= K ? y + kLanes : K - kLanes) {
        const unsigned bits = equal_bits(load(row + y), same);
        if (bits) return y + __builtin_ctz(bits);
        if (y + kLanes >= K) return 0;  // a NaN
    }
}

// One row: the largest entry, and then the first entry that equals it.
template <class T>
CREDALENS_INLINE int argmax_long_row(const T* row, int K) {
    constexpr int kEntries = RowVec<T>::kEntries;
    typename RowVec<T>::Type best[4];
    for (int i = 0; i < 4; ++i) best[i] = load_entries(row);
    const auto add = [&](int i, int y) {
        best[i] = larger_entries<T>(load_entries(row + y), best[i]);
    };
    int y = 0;
    for (; y + 4 * kEntries <= K; y += 4 * kEntries)
        for (int i = 0; i < 4; ++i) add(i, y + i * kEntries);
    for (; y + kEntries <= K; y += kEntries) add(0, y);
    add(1, K - kEntries);
    for (int i = 1; i < 4; ++i) best[0] = larger_entries<T>(best[i], best[0]);
    return index_in_row(row, K, largest_entry<T>(best[0]));
}

// The first largest entry of each of `rows` rows of K classes.
template <class T>
void argmax_rows(const T* P, std::size_t rows, int K, std::int32_t* out) {
    if (K >= kMinLongRow) {
        for (std::size_t i = 0; i < rows; ++i) out[i] = argmax_long_row(P + i * K, K);
        return;
    }
    for (std::size_t first = 0; first < rows; first += kLanes) {
        const std::size_t left = rows - first;
        const LanePointers<T> pointers(P + first * K, static_cast<std::size_t>(K), left);
        const Int32Vec index = argmax_short_rows(pointers, K);
        if (left >= kLanes)
            __builtin_memcpy(out + first, &index, sizeof index);
        else
            for (std::size_t i = 0; i < left; ++i) out[first + i] = index[i];
    }
}

// Votes with one instance per lane; M K + 2 M + K vectors of scratch memory. Lists the instances in
// which the sums of tied classes are too close to compare, and returns their number.
template <class T>
std::size_t votes_in_lanes(const T* P, std::size_t n, int M, int K, std::int64_t* vote,
                           double* scratch, std::size_t* unclear) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    Vec* rows = reinterpret_cast<Vec*>(scratch);
    Vec *total = rows + size, *index = total + K, *sum = index + M;
    std::size_t count = 0;
    for (std::size_t first = 0; first < n; first += kLanes) {
        const std::size_t left = n - first;
        LanePointers<T>(P + first * size, size, left).load_all(size, rows, kLanes * size);
        for (int y = 0; y < K; ++y) {
            total[y] = rows[y];
            for (int m = 1; m < M; ++m) total[y] += rows[m * K + y];
        }
        for (int m = 0; m < M; ++m) {
            const Vec* row = rows + m * K;
            Vec best = row[0], at = {}, of_class = total[0];
            for (int y = 1; y < K; ++y) {
                const Mask larger = row[y] > best;
                best = larger ? row[y] : best;
                at = larger ? broadcast(y) : at;
                of_class = larger ? total[y] : of_class;
            }
            index[m] = at;
            sum[m] = of_class;
        }
        // A class with more votes, or with as many and a larger sum, replaces the winner.
        Vec winner = {}, most = {}, largest = {};
        Mask close = {};
        for (int m = 0; m < M; ++m) {
            Vec votes = {};
            for (int i = 0; i < M; ++i) votes += index[i] == index[m] ? broadcast(1.0) : Vec{};
            const Mask equal = votes == most, other = index[m] != winner;
            const Mask near = abs(sum[m] - largest) <= kClearDifference * largest;
            const Mask replaces = (votes > most) | (equal & (sum[m] > largest));
            close = votes > most ? Mask{} : close | (equal & other & near);
            winner = replaces ? index[m] : winner;
            largest = replaces ? sum[m] : largest;
            most = max(votes, most);
        }
        for (std::size_t i = 0; i < kLanes && i < left; ++i) {
            vote[first + i] = static_cast<std::int64_t>(winner[i]);
            if (close[i]) unclear[count++] = first + i;
        }
    }
    return count;
}
