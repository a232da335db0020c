// Set functions, for one target. Events are loaded kLanes at a time: the first kLaneClasses classes
// are bits of the lane, the others bits of the index of the vector. With fewer classes the row is
// repeated, as if further classes changed nothing.

#include "events/event_lanes-inl.hpp"

// Copies a row, repeated up to `count` events, to float64. Returns 0, or NaN if a value is not
// finite.
template <class T>
CREDALENS_INLINE double load_row(const T* values, int K, std::size_t count, double* row) {
    const std::size_t size = std::size_t{1} << K;
    const std::size_t given = size < kLanes ? kLanes : size;
    Vec zeros = {};
    for (std::size_t s = 0; s < given; s += kLanes) {
        Vec x;
        if (size < kLanes)
            for (std::size_t i = 0; i < kLanes; ++i) x[i] = values[i & (size - 1)];
        else
            x = load(values + s);
        zeros += x * 0.0;
        store(row + s, x);
    }
    for (std::size_t s = given; s < count; s += kLanes) store(row + s, load(row + s - given));
    return reduce_sum(zeros);
}

// --------------------------------------------------------------------------------- validation

// The smallest first and second differences, at most 0. by[y] counts only in the lanes with class
// y.
struct MinDifferences {
    Vec first = {}, second = {}, by[kLaneClasses] = {};
};

// f(A + j) - f(A) for `count` events A without j, a class of the index of the vector: the minimum
// by lane and, if `out` is not null, all of them.
CREDALENS_INLINE Vec differences_by(const double* f, std::size_t count, int j, double* out) {
    const std::size_t distance = std::size_t{1} << j;
    Vec smallest = {};
    for (std::size_t a = 0; a < count; a += kLanes) {
        const std::size_t without = 2 * a - (a & (distance - 1));
        const Vec difference = load(f + without + distance) - load(f + without);
        if (out != nullptr) store(out + a, difference);
        smallest = min(difference, smallest);
    }
    return smallest;
}

// The same for class y of the lanes. Class kLaneClasses moves into the lane, and the second
// differences with the lane classes after y are taken here.
template <int y>
CREDALENS_INLINE void differences_in_lanes(const double* row, std::size_t count, double* out,
                                           MinDifferences& smallest) {
    MinDifferences own = smallest;
    for (std::size_t s = 0; s < count; s += 2 * kLanes, out += kLanes) {
        const Vec d = lane_differences<y>(load(row + s), load(row + s + kLanes));
        own.first = min(d, own.first);
        if constexpr (y == 0) own.by[0] = min(d - flip<0>(d), own.by[0]);
        if constexpr (y <= 1 && kLaneClasses > 1) own.by[1] = min(d - flip<1>(d), own.by[1]);
        if constexpr (kLaneClasses > 2) own.by[2] = min(d - flip<2>(d), own.by[2]);
        store(out, d);
    }
    smallest = own;
}

// `differences` has 2^(K-1) entries of scratch memory.
CREDALENS_INLINE MinDifferences min_differences(const double* row, int K, double* differences) {
    const std::size_t count = std::size_t{1} << K;
    MinDifferences smallest;
    for (int i = 0; i < K; ++i) {
        if (i == 0) differences_in_lanes<0>(row, count, differences, smallest);
        if constexpr (kLaneClasses > 1)
            if (i == 1) differences_in_lanes<1>(row, count, differences, smallest);
        if constexpr (kLaneClasses > 2)
            if (i == 2) differences_in_lanes<2>(row, count, differences, smallest);
        if (i >= kLaneClasses)
            smallest.first = min(differences_by(row, count / 2, i, differences), smallest.first);
        // Without class i the classes after it are one bit lower.
        for (int j = std::max(i, kLaneClasses); j < K - 1; ++j)
            smallest.second =
                min(differences_by(differences, count / 4, j, nullptr), smallest.second);
    }
    for (int y = 0; y < kLaneClasses; ++y)
        smallest.second = min(lanes_with(y, smallest.by[y]), smallest.second);
    return smallest;
}

// Sets v(empty) = 0 and v(all) = 1. Whole vectors are stored, because they are loaded next: a
// scalar store would prevent store forwarding.
CREDALENS_INLINE void set_trivial_events(double* row, std::size_t size) {
    if (size < kLanes) {
        row[0] = 0.0;
        row[size - 1] = 1.0;
        return;
    }
    store(row, lanes_from(1, load(row)));
    const Vec last = load(row + size - kLanes);
    store(row + size - kLanes, iota() == kLanes - 1 ? broadcast(1.0) : last);
}

// Instances begin to end; `row` has 3/2 2^max(K, 4) entries of scratch memory.
template <class T>
void check_range(const T* values, std::size_t begin, std::size_t end, int K, double tolerance,
                 double limit, double* row, std::uint8_t* two_monotone, FirstInvalid& invalid) {
    const int classes = std::max(K, kLaneClasses + 1);
    const std::size_t size = std::size_t{1} << K, count = std::size_t{1} << classes;
    for (std::size_t i = begin; i < end; ++i) {
        const bool normalized = load_row(values + i * size, K, count, row) == 0.0 &&
                                std::fabs(row[0]) <= tolerance &&
                                std::fabs(row[size - 1] - 1.0) <= tolerance;
        for (std::size_t s = 0; s < count; s += size) set_trivial_events(row + s, size);
        const MinDifferences smallest = min_differences(row, classes, row + count);
        two_monotone[i] = reduce_min(smallest.second) >= -limit;
        if (!normalized || !(reduce_min(smallest.first) >= -tolerance)) invalid.record(i);
    }
}

// ------------------------------------------------------------------------------ closed forms

template <int y>
CREDALENS_INLINE void add_subsets_in_lanes(Vec& v) {
    v += lanes_with(y, flip<y>(v));
    if constexpr (y + 1 < kLaneClasses) add_subsets_in_lanes<y + 1>(v);
}

template <class T>
void belief_range(const T* masses, std::size_t begin, std::size_t end, int K, double* row,
                  T* values) {
    const std::size_t size = std::size_t{1} << K, count = std::max<std::size_t>(size, kLanes);
    for (std::size_t i = begin; i < end; ++i) {
        load_row(masses + i * size, K, count, row);
        for (std::size_t s = 0; s < count; s += kLanes) {
            Vec v = load(row + s);
            add_subsets_in_lanes<0>(v);
            store(row + s, v);
        }
        for (std::size_t step = kLanes; step < count; step *= 2)
            for (std::size_t base = 0; base < count; base += 2 * step)
                for (std::size_t s = base; s < base + step; s += kLanes)
                    store(row + s + step, load(row + s + step) + load(row + s));
        T* CREDALENS_RESTRICT own = values + i * size;
        for (std::size_t s = 0; s < size; ++s) own[s] = static_cast<T>(row[s] < 1.0 ? row[s] : 1.0);
        own[size - 1] = 1;
    }
}

template <class T>
void dot_range(const T* values, std::size_t begin, std::size_t end, int K, const double* weights,
               double* sum) {
    const std::size_t size = std::size_t{1} << K;
    for (std::size_t i = begin; i < end; ++i) {
        const T* own = values + i * size;
        Vec sums[4] = {};
        std::size_t s = 0;
        for (; s + 4 * kLanes <= size; s += 4 * kLanes)
            for (int part = 0; part < 4; ++part)
                sums[part] += load(own + s + part * kLanes) * load(weights + s + part * kLanes);
        for (; s + kLanes <= size; s += kLanes) sums[0] += load(own + s) * load(weights + s);
        double total = reduce_sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
        for (; s < size; ++s) total += own[s] * weights[s];
        sum[i] = total;
    }
}

template <class T>
void width_range(const T* values, std::size_t begin, std::size_t end, int K, double* width) {
    const std::size_t size = std::size_t{1} << K;
    for (std::size_t i = begin; i < end; ++i) {
        const T* own = values + i * size;
        // The complement of an event of the first half is in the second half; event 0 is empty.
        double smallest = 1.0;
        std::size_t s = 1;
        for (; s < size / 2 && s % kLanes != 0; ++s)
            smallest = std::min(smallest, static_cast<double>(own[s]) + own[size - 1 - s]);
        Vec low = broadcast(smallest);
        for (; s < size / 2; s += kLanes)
            low = min(load(own + s) + reverse(load(own + size - kLanes - s)), low);
        width[i] = 1.0 - reduce_min(low);
    }
}
