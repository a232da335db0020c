// L1 diameters of large instances, one after the other: part of closed_forms-inl.hpp. Rows are
// padded with zeros to `vectors` vectors, with classes in lanes.

CREDALENS_INLINE double l1_distance(const Vec* a, const Vec* b, int vectors) {
    Vec sum = {};
    for (int v = 0; v < vectors; ++v) sum += abs(a[v] - b[v]);
    return reduce_sum(sum);
}

// --------------------------------------------------------------------------------- all pairs

// The largest sum over lanes, and the index i M + j of its pair.
struct ArgmaxOverLanes {
    int M, count = 0;
    Vec best = {}, buffer[kLanes];
    Mask argmax = {}, indices = {};

    CREDALENS_INLINE explicit ArgmaxOverLanes(int M) : M(M) {}
    CREDALENS_INLINE void prefetch_next() {}
    CREDALENS_INLINE void consume(const Vec& sum, int i, int j) {
        buffer[count] = sum;
        indices[count] = static_cast<std::int64_t>(i) * M + j;
        if (++count == kLanes) flush();
    }

    // Stores the pair unless it is nullptr.
    CREDALENS_INLINE double result(std::int64_t* pair) {
        if (count) flush();
        const double largest = reduce_max(best);
        // The first lane: those after the last sum repeat it, and their indices are undefined.
        for (int l = kLanes - 1; pair && l >= 0; --l)
            if (best[l] == largest) pair[0] = argmax[l] / M, pair[1] = argmax[l] % M;
        return largest;
    }

private:
    CREDALENS_INLINE void flush() {
        const Vec sums = row_sums(buffer, count);
        argmax = sums > best ? indices : argmax;
        best = max(sums, best);
        count = 0;
    }
};

// `half_sums` has M vectors of scratch memory.
inline double all_pairs_diameter(const Vec* rows, int M, int vectors, Vec* half_sums,
                                 std::int64_t* pair) {
    if (!pair && M >= kMinMembersByMax) {
        double largest_sum = 0;
        for (int m = 0; m < M; ++m) {
            Vec sum = {};
            for (int v = 0; v < vectors; ++v)
                sum += rows[static_cast<std::size_t>(m) * vectors + v];
            half_sums[m] = -0.5 * sum;
            largest_sum = std::max(largest_sum, reduce_sum(sum));
        }
        ArgmaxOverLanes largest(M);
        accumulate_pairs(DifferenceByMax{half_sums}, rows, M, vectors, largest);
        const double diameter = largest.result(nullptr);
        if (!(diameter < kMinDistanceByMax * largest_sum)) return diameter;
    }
    ArgmaxOverLanes largest(M);
    accumulate_pairs(AbsoluteDifference(), rows, M, vectors, largest);
    return largest.result(pair);
}

// ------------------------------------------------------------------------------ sorted pairs

// With r the distance to the centroid, d(i, j) <= r_i + r_j: members are sorted by decreasing r,
// and the loop over j ends when r_i + r_j cannot exceed the largest distance so far. Unless
// `forced`, all pairs are computed if the first members show that too few pairs would be skipped.
inline double sorted_diameter(const Vec* rows, int M, int vectors, bool forced, Vec* half_sums,
                              DiameterWorkspace& ws, std::int64_t* pair) {
    Vec* centroid = reinterpret_cast<Vec*>(ws.centroid.data());
    double* radius = ws.radius.data();
    const auto row = [&](int m) { return rows + static_cast<std::size_t>(m) * vectors; };
    for (int v = 0; v < vectors; ++v) {
        Vec sum = {};
        for (int m = 0; m < M; ++m) sum += row(m)[v];
        centroid[v] = sum / static_cast<double>(M);
    }
    for (int m = 0; m < M; ++m)  // rounded up
        radius[m] = l1_distance(row(m), centroid, vectors) * (1 + 1e-12);
    sort_by_radius(radius, M, ws.order.data());
    const int* order = ws.order.data();
    double best = 0;
    const auto compare = [&](int i, int j) {
        const double distance = l1_distance(row(order[i]), row(order[j]), vectors);
        if (distance <= best) return;
        best = distance;
        if (pair) pair[0] = order[i], pair[1] = order[j];
    };
    const int probed = std::min(M, kProbedMembers);
    for (int i = 0; i < probed; ++i)
        for (int j = i + 1; j < probed; ++j) compare(i, j);
    if (!forced && share_of_pairs_above(best, radius, order, M) > kMaxSortedShare)
        return all_pairs_diameter(rows, M, vectors, half_sums, pair);
    for (int i = 0; i < M; ++i) {
        check_interrupt();
        for (int j = i + 1; j < M && radius[order[i]] + radius[order[j]] > best; ++j) compare(i, j);
    }
    return best;
}

// -------------------------------------------------------------------------------- sign form

// Extends [low[0], high[0]] by s + r and [low[1], high[1]] by s - r over the members.
CREDALENS_INLINE void extend_ranges(const double* s, const double* r, int members, double* high,
                                    double* low) {
    Vec high_plus = broadcast(high[0]), low_plus = broadcast(low[0]);
    Vec high_minus = broadcast(high[1]), low_minus = broadcast(low[1]);
    for (int m = 0; m < members; m += kLanes) {
        const Vec plus = load(s + m) + load(r + m), minus = load(s + m) - load(r + m);
        high_plus = max(plus, high_plus);
        low_plus = min(plus, low_plus);
        high_minus = max(minus, high_minus);
        low_minus = min(minus, low_minus);
    }
    high[0] = reduce_max(high_plus), low[0] = reduce_min(low_plus);
    high[1] = reduce_max(high_minus), low[1] = reduce_min(low_minus);
}

// |x|_1 is the maximum over signs s of s.x, so the diameter is the largest range of s.P_m over the
// 2^(K-1) sign vectors whose first sign is +: O(M 2^K) in place of O(M^2 K). Unlike the form with
// events, this holds for any row sums. Partial sums are kept in a stack, one level per class, so
// that rounding errors do not accumulate; members are processed in blocks whose stack fits into the
// first-level cache. `pattern` enumerates the signs of classes 1 to K - 2; the last class is
// processed with both signs. high and low hold the range of s.P_m for each sign vector.
template <class T>
double sign_diameter(const T* P, int M, int K, DiameterWorkspace& ws, std::int64_t* pair) {
    const int depth = K - 2;
    const std::size_t signs = std::size_t{1} << (K - 1);
    double *high = ws.high.data(), *low = ws.low.data();
    double *columns = ws.columns.data(), *levels = ws.levels.data();
    constexpr double kLargest = std::numeric_limits<double>::max();
    std::fill(high, high + signs, -kLargest);
    std::fill(low, low + signs, kLargest);
    for (int first = 0; first < M; first += kSignMembers) {
        const int members = padded_size(std::min(kSignMembers, M - first));
        for (int y = 0; y < K; ++y)
            for (int m = 0; m < members; ++m)  // padded with the last member
                columns[y * kSignMembers + m] =
                    P[static_cast<std::size_t>(std::min(first + m, M - 1)) * K + y];
        std::copy_n(columns, members, levels);
        check_interrupt();
        for (unsigned pattern = 0; pattern < (1u << depth); ++pattern) {
            // Bit 0 of the pattern is the sign of the deepest level: only the levels below the
            // highest bit that changed are computed again.
            const int changed = pattern == 0 ? depth : __builtin_ctz(pattern) + 1;
            for (int level = depth - changed + 1; level <= depth; ++level) {
                const double sign = (pattern >> (depth - level)) & 1u ? -1.0 : 1.0;
                const double* above = levels + (level - 1) * kSignMembers;
                const double* column = columns + level * kSignMembers;
                double* here = levels + level * kSignMembers;
                for (int m = 0; m < members; m += kLanes)
                    store(here + m, load(above + m) + sign * load(column + m));
            }
            extend_ranges(levels + depth * kSignMembers, columns + (K - 1) * kSignMembers, members,
                          high + 2 * pattern, low + 2 * pattern);
        }
    }
    std::size_t best = 0;
    for (std::size_t s = 1; s < signs; ++s)
        if (high[s] - low[s] > high[best] - low[best]) best = s;
    if (pair) find_sign_pair(P, M, K, best, pair);
    return high[best] - low[best];
}

// ----------------------------------------------------------------------------- all instances

// The diameters of `count` instances on one thread.
template <class T>
void large_diameters(const T* P, std::size_t count, int M, int K, const ClosedForms& out,
                     PairMethod method, bool forced, DiameterWorkspace& ws) {
    const int vectors = (K + kLanes - 1) / kLanes;
    Vec* rows = reinterpret_cast<Vec*>(ws.rows.data());
    Vec* half_sums = reinterpret_cast<Vec*>(ws.extremes.data());
    for (std::size_t i = 0; i < count; ++i, P += static_cast<std::size_t>(M) * K) {
        std::int64_t* pair = out.pairs ? out.pairs + 2 * i : nullptr;
        if (pair) pair[0] = pair[1] = 0;
        if (M < 2) {
            out.diameter[i] = 0;
        } else if (method == PairMethod::signs) {
            out.diameter[i] = K == 1 ? range(P, M, pair) : sign_diameter(P, M, K, ws, pair);
        } else {
            for (int m = 0; m < M; ++m)
                for (int v = 0; v < vectors; ++v)
                    rows[static_cast<std::size_t>(m) * vectors + v] =
                        load_n(P + static_cast<std::size_t>(m) * K + v * kLanes, K - v * kLanes);
            out.diameter[i] = method == PairMethod::sorted
                                  ? sorted_diameter(rows, M, vectors, forced, half_sums, ws, pair)
                                  : all_pairs_diameter(rows, M, vectors, half_sums, pair);
        }
    }
}
