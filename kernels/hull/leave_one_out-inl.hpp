// Every member left out, for one target.

#include "simd/transpose-inl.hpp"
#include "hull/pairs-inl.hpp"

// ------------------------------------------------------------------------ one instance per lane

// Finds the two smallest entries of kClasses classes and the member with the smallest, the first
// one on a tie. Returns the largest minimum; raised[m] is at least the second smallest entry of the
// classes in which m has the smallest.
template <int kClasses>
CREDALENS_INLINE Vec two_smallest(const Vec* rows, int M, int K, Vec* raised) {
    Vec low[kClasses], next[kClasses];
    Mask member[kClasses] = {};
    for (int i = 0; i < kClasses; ++i) {
        low[i] = rows[i];
        next[i] = broadcast(__builtin_inf());
    }
    for (int m = 1; m < M; ++m)
        for (int i = 0; i < kClasses; ++i) {
            const Vec x = rows[static_cast<std::size_t>(m) * K + i];
            next[i] = min(max(x, low[i]), next[i]);
            member[i] = x < low[i] ? Mask{} + m : member[i];
            low[i] = min(x, low[i]);
        }
    Vec best = low[0];
    for (int i = 1; i < kClasses; ++i) best = max(low[i], best);
    for (int m = 0; m < M; ++m)
        for (int i = 0; i < kClasses; ++i)
            raised[m] = member[i] == m ? max(next[i], raised[m]) : raised[m];
    return best;
}

CREDALENS_INLINE void describe_members(const Vec* rows, int M, int K, std::size_t left,
                                       const LeaveOneOut& out) {
    for (int m = 0; m < M; ++m) {
        const Vec* row = rows + static_cast<std::size_t>(m) * K;
        Vec squares = row[0] * row[0], best = row[0];
        Mask argmax = {};
        for (int y = 1; y < K; ++y) {
            const Vec x = row[y];
            squares += x * x;
            argmax = x > best ? Mask{} + y : argmax;
            best = max(x, best);
        }
        store_strided(out.square_norm + m, squares, left, M);
        store_strided(out.argmax + m, argmax, left, M);
    }
}

// `raised` has M vectors.
CREDALENS_INLINE void lower_without_members(const Vec* rows, int M, int K, std::size_t left,
                                            Vec* raised, const LeaveOneOut& out) {
    for (int m = 0; m < M; ++m) raised[m] = Vec{};
    Vec best = broadcast(-__builtin_inf());
    int y = 0;
    for (; y + 4 <= K; y += 4) best = max(two_smallest<4>(rows + y, M, K, raised), best);
    for (; y < K; ++y) best = max(two_smallest<1>(rows + y, M, K, raised), best);
    store_n(out.max_lower, best, left);
    for (int m = 0; m < M; ++m)
        store_strided(out.max_lower_increase + m, M > 1 ? max(raised[m], best) - best : Vec{}, left,
                      M);
}

// Only a member of all widest pairs decreases the diameter when it is left out. `distance` is (M,
// M) and `ties` has M vectors.
CREDALENS_INLINE void diameter_without_members(const Vec* rows, int M, int K, std::size_t left,
                                               Vec* distance, Vec* ties, const LeaveOneOut& out) {
    PairMatrix matrix(M, distance);
    accumulate_pairs(AbsoluteDifference(), rows, M, K, matrix);
    const Vec largest = matrix.best;
    store_n(out.diameter, largest, left);
    Vec pairs = {};
    for (int m = 0; m < M; ++m) ties[m] = Vec{};
    for (int i = 0; i < M; ++i)
        for (int j = i + 1; j < M; ++j) {
            const Vec d = distance[static_cast<std::size_t>(i) * M + j];
            const Mask tied = (d >= kTie * largest) & (largest > 0.0);
            const Vec one = tied ? broadcast(1.0) : Vec{};
            pairs += one;
            ties[i] += one;
            ties[j] += one;
        }
    for (int m = 0; m < M; ++m) {
        const Mask in_all = (ties[m] == pairs) & (pairs > 0.0);
        Vec decrease = {};
        if (any(in_all)) {
            Vec rest = {};
            for (int i = 0; i < M; ++i)
                for (int j = i + 1; j < M; ++j)
                    if (i != m && j != m)
                        rest = max(distance[static_cast<std::size_t>(i) * M + j], rest);
            decrease = in_all ? largest - rest : decrease;
        }
        store_strided(out.diameter_decrease + m, decrease, left, M);
        store_strided(out.in_widest_pair + m, ties[m] > 0.0 ? broadcast(1.0) : Vec{}, left, M);
    }
}

// `count` instances on one thread. The scratch memory has M (K + M + 1) vectors.
template <class T>
void small_instances(const T* P, std::size_t count, int M, int K, const LeaveOneOut& out,
                     double* scratch) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    Vec* by_member = reinterpret_cast<Vec*>(scratch);
    Vec* distance = by_member + M;
    Vec* rows = distance + static_cast<std::size_t>(M) * M;
    for (std::size_t first = 0; first < count; first += kLanes) {
        const std::size_t left = count - first;
        const LeaveOneOut own = out.from(first, M);
        LanePointers<T>(P + first * size, size, left).load_all(size, rows);
        describe_members(rows, M, K, left, own);
        lower_without_members(rows, M, K, left, by_member, own);
        diameter_without_members(rows, M, K, left, distance, by_member, own);
    }
}

// ------------------------------------------------------------------ one instance after the other

// The first largest entry of each row, and the sum of its squares.
template <class T>
CREDALENS_INLINE void describe_rows(const T* P, int M, int K, double* square_norm,
                                    std::int32_t* argmax) {
    for (int m = 0; m < M; ++m) {
        const T* row = P + static_cast<std::size_t>(m) * K;
        Vec sum = {}, best = broadcast(row[0]);
        for (int y = 0; y < K; y += kLanes) {
            const Vec x = load_n(row + y, K - y);
            sum += x * x;
            best = max(x, best);
        }
        const double largest = reduce_max(best);
        int first = 0;
        while (row[first] != largest) ++first;
        argmax[m] = first;
        square_norm[m] = reduce_sum(sum);
    }
}

// The two smallest entries of each class, and the member with the smallest: without this member the
// minimum of the class increases to the second smallest entry. Returns max_lower.
template <class T>
CREDALENS_INLINE double lower_without(const T* P, int M, int K, double* increase) {
    Vec largest = {};
    std::fill(increase, increase + M, 0.0);
    for (int y = 0; y < K; y += kLanes) {
        Vec low = load_n(P + y, K - y), next = broadcast(__builtin_inf());
        Mask member = {};
        for (int m = 1; m < M; ++m) {
            const Vec x = load_n(P + static_cast<std::size_t>(m) * K + y, K - y);
            next = min(max(x, low), next);
            member = x < low ? Mask{} + m : member;
            low = min(x, low);
        }
        largest = max(low, largest);
        for (int i = 0; i < kLanes && y + i < K; ++i)
            increase[member[i]] = std::max(increase[member[i]], next[i]);
    }
    const double best = reduce_max(largest);
    for (int m = 0; m < M; ++m) increase[m] = std::max(increase[m] - best, 0.0);
    return best;
}

// Distances of kRows rows to the kLanes members of one block, (K) vectors.
template <int kRows, class T>
CREDALENS_INLINE void distance_tile(const T* rows, int K, const Vec* block, double* distance,
                                    std::size_t stride) {
    Vec sums[kRows] = {};
    for (int y = 0; y < K; ++y)
        for (int r = 0; r < kRows; ++r) {
            const double p = rows[static_cast<std::size_t>(r) * K + y];
            sums[r] += abs(p - block[y]);
        }
    for (int r = 0; r < kRows; ++r) store(distance + r * stride, sums[r]);
}

// The matrix of distances (M, padded M) above its diagonal; `block` has K vectors.
template <class T>
CREDALENS_INLINE void all_distances(const T* P, int M, int K, Vec* block, double* distance) {
    const std::size_t stride = padded_size(M), row = K;
    for (int j = 0; j < M; j += kLanes) {
        check_interrupt();
        LanePointers<T>(P + j * row, row, static_cast<std::size_t>(M - j)).load_all(row, block);
        const int rows = std::min(M, j + kLanes);
        int i = 0;
        for (; i + 4 <= rows; i += 4)
            distance_tile<4>(P + i * row, K, block, distance + i * stride + j, stride);
        for (; i < rows; ++i)
            distance_tile<1>(P + i * row, K, block, distance + i * stride + j, stride);
    }
}

// Largest distance of two members other than `left_out`. Entries of the block of the diagonal are
// distances, too; those of the padding are masked.
CREDALENS_INLINE double max_distance(const double* distance, int M, int left_out) {
    Vec best = {};
    for (int i = 0; i < M; ++i) {
        if (i == left_out) continue;
        const double* row = distance + static_cast<std::size_t>(i) * padded_size(M);
        for (int j = i / kLanes * kLanes; j < M; j += kLanes) {
            const Mask masked = (iota() == left_out - j) | (iota() >= M - j);
            best = max(zero_where(masked, load(row + j)), best);
        }
    }
    return reduce_max(best);
}

// Returns the diameter. Only a member of all widest pairs decreases it when it is left out.
CREDALENS_INLINE double diameter_without(const double* distance, int M, double* decrease,
                                         std::uint8_t* widest) {
    const double diameter = max_distance(distance, M, M);
    int pairs = 0;
    std::fill(decrease, decrease + M, 0.0);
    std::fill(widest, widest + M, 0);
    if (!(diameter > 0)) return 0;
    for (int i = 0; i < M; ++i) {
        const double* row = distance + static_cast<std::size_t>(i) * padded_size(M);
        for (int j = i / kLanes * kLanes; j < M; j += kLanes) {
            const unsigned below = less_bits(load(row + j), broadcast(kTie * diameter));
            if (below == (1u << kLanes) - 1) continue;
            for (int l = 0; l < kLanes; ++l) {
                if ((below >> l & 1) || j + l <= i || j + l >= M) continue;
                widest[i] = widest[j + l] = 1;
                decrease[i] += 1, decrease[j + l] += 1;
                ++pairs;
            }
        }
    }
    for (int m = 0; m < M; ++m)
        decrease[m] = decrease[m] == pairs ? diameter - max_distance(distance, M, m) : 0;
    return diameter;
}

// One instance of at least two members. The scratch memory has K vectors and M * padded M doubles.
template <class T>
void large_instance(const T* P, int M, int K, const LeaveOneOut& out, double* scratch) {
    Vec* block = reinterpret_cast<Vec*>(scratch);
    double* distance = scratch + static_cast<std::size_t>(K) * kLanes;
    describe_rows(P, M, K, out.square_norm, out.argmax);
    *out.max_lower = lower_without(P, M, K, out.max_lower_increase);
    all_distances(P, M, K, block, distance);
    *out.diameter = diameter_without(distance, M, out.diameter_decrease, out.in_widest_pair);
}
