#include "hull/closed_forms.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "runtime/first_invalid.hpp"
#include "simd/instance_per_lane.hpp"
#include "runtime/parallel_for.hpp"
#include "simd/vector8.hpp"

namespace credalens {
namespace {

// Largest K for which the sign form is considered: its table holds 2^(K-1) leaves an instance.
constexpr int kMaxSignClasses = 20;
// Members whose stack of partial sums is kept in the first-level cache.
constexpr int kSignMembers = 128;
// Fewer members than this are not worth sorting.
constexpr int kMinSortedMembers = 200;
// Members compared first, to guess whether sorting will spare most pairs.
constexpr int kProbe = 16;
// So many classes fill vectors well enough to be worth a sum over the lanes for each pair, if there
// are not too many pairs. Instances of more than kMostInLanes entries are always gone through so.
constexpr int kMinAlong = 96;
constexpr int kMostMembersAlong = 128;
// Up to so many entries, extremes alone are found with an instance a lane; more fill vectors by
// themselves, but for rows that are shorter than a vector.
constexpr std::size_t kMostExtremesInLanes = 512;
constexpr std::size_t kMostShortRowsInLanes = 2048;
// Fewer instances leave most lanes empty. Extremes of numbers are the same there; sums would be added
// up in another order, and of a NaN, which only a check keeps out, other things are said.
constexpr std::size_t kMinExtremesInLanes = 4;

// Scratch memory of one thread, sized once for (M, K).
template <class T>
struct Workspace {
    Workspace(int M, int K, PairMethod method, bool pairs) : ends(lanes_scratch(M + 2 * K)) {
        if (!pairs) return;
        rows.resize(static_cast<std::size_t>(M) * whole_steps(K));
        if (method == PairMethod::signs) {
            const int width = std::min(M, kSignMembers);
            columns.resize(static_cast<std::size_t>(K) * width);
            levels.resize(static_cast<std::size_t>(K) * width);
            high.resize(std::size_t{1} << (K - 1));
            low.resize(std::size_t{1} << (K - 1));
        }
        if (method == PairMethod::sorted) {
            centroid.resize(whole_steps(K));
            radius.resize(M);
            order.resize(M);
        }
    }
    std::vector<double> ends;      // for extremes
    std::vector<T> rows;           // an instance, each row padded with zeros to whole vectors
    std::vector<double> columns;   // some members, transposed, for the sign form
    std::vector<double> levels;    // partial sums of the sign form, one row a depth
    std::vector<double> high, low;  // ends of each signed sum
    std::vector<double> centroid, radius;
    std::vector<int> order;
};

// Plain loops, vectorised in each clone: vector types would be split up for the baseline before they
// are inlined into a clone that could hold them whole.
template <class S, class T>
CREDALENS_INLINE double l1(const S* a, const T* b, int K) {
    double sum = 0;
    for (int y = 0; y < K; ++y)
        sum += std::fabs(static_cast<double>(a[y]) - static_cast<double>(b[y]));
    return sum;
}

// Largest of the four distances between rows {a, b} and {c, d}: four loads for four sums.
template <class T>
CREDALENS_INLINE double l1_tile(const T* a, const T* b, const T* c, const T* d, int K) {
    double ac = 0, ad = 0, bc = 0, bd = 0;
    for (int y = 0; y < K; ++y) {
        const double va = a[y], vb = b[y], vc = c[y], vd = d[y];
        ac += std::fabs(va - vc);
        ad += std::fabs(va - vd);
        bc += std::fabs(vb - vc);
        bd += std::fabs(vb - vd);
    }
    return std::max(std::max(ac, ad), std::max(bc, bd));
}

// All pairs, two by two rows at a time. K is a whole number of vectors.
template <class T>
CREDALENS_INLINE double plain_diameter(const T* rows, int M, int K) {
    const std::size_t stride = K;
    double best = 0;
    for (int i = 0; i < M; i += 2) {
        const T* a = rows + i * stride;
        if (i + 1 == M) break;
        const T* b = a + stride;
        best = std::max(best, l1(a, b, K));
        int j = i + 2;
        for (; j + 1 < M; j += 2)
            best = std::max(best, l1_tile(a, b, rows + j * stride, rows + (j + 1) * stride, K));
        if (j < M) {
            best = std::max(best, l1(a, rows + j * stride, K));
            best = std::max(best, l1(b, rows + j * stride, K));
        }
    }
    return best;
}

// The sign form for one class: nothing to choose.
template <class T>
CREDALENS_INLINE double spread(const T* P, int M, std::int64_t* pair) {
    const T *top = std::max_element(P, P + M), *bottom = std::min_element(P, P + M);
    if (pair) pair[0] = top - P, pair[1] = bottom - P;
    return static_cast<double>(*top) - *bottom;
}

// The members at the two ends of the signed sum that belongs to a leaf of the sign form.
template <class T>
CREDALENS_INLINE void sign_pair(const T* P, int M, int K, std::size_t leaf, std::int64_t* pair) {
    double high = 0, low = 0;
    for (int m = 0; m < M; ++m) {
        const T* row = P + static_cast<std::size_t>(m) * K;
        double sum = row[0];
        // The sign of the last class is bit 0 of the leaf, that of class 1 its highest one.
        for (int y = 1; y < K; ++y) sum += (leaf >> (K - 1 - y)) & 1u ? -row[y] : row[y];
        if (m == 0 || sum > high) high = sum, pair[0] = m;
        if (m == 0 || sum < low) low = sum, pair[1] = m;
    }
}

// Widens [low, high] by s + r and [low + 1, high + 1] by s - r over M members.
CREDALENS_INLINE void sign_leaf(const double* s, const double* r, int M, double* high,
                                double* low) {
    double high_plus = high[0], low_plus = low[0], high_minus = high[1], low_minus = low[1];
    for (int m = 0; m < M; ++m) {
        const double plus = s[m] + r[m], minus = s[m] - r[m];
        high_plus = plus > high_plus ? plus : high_plus;
        low_plus = plus < low_plus ? plus : low_plus;
        high_minus = minus > high_minus ? minus : high_minus;
        low_minus = minus < low_minus ? minus : low_minus;
    }
    high[0] = high_plus, low[0] = low_plus, high[1] = high_minus, low[1] = low_minus;
}

// |x|_1 = max over signs s of s.x, so the diameter is the largest spread of s.P_m over the
// 2^(K-1) sign vectors with first sign +: O(M 2^K) in place of O(M^2 K). Unlike the form with
// events, this holds whatever the rows sum to. The partial sums are kept in a stack, one row a
// class, so that no rounding piles up; members come in blocks whose stack stays in the first-level
// cache. `pattern` walks the signs of classes 1 .. K-2; the last class is done both ways in the
// leaf. high and low hold the ends of s.P_m for each sign vector.
template <class T>
CREDALENS_INLINE double sign_diameter(const T* P, int M, int K, Workspace<T>& ws,
                                      std::int64_t* pair) {
    const int depth = K - 2;
    const std::size_t leaves = std::size_t{1} << (K - 1);
    double *high = ws.high.data(), *low = ws.low.data();
    double *columns = ws.columns.data(), *levels = ws.levels.data();
    constexpr double kLargest = std::numeric_limits<double>::max();
    std::fill(high, high + leaves, -kLargest);
    std::fill(low, low + leaves, kLargest);
    for (int first = 0; first < M; first += kSignMembers) {
        const int width = std::min(kSignMembers, M - first);
        for (int y = 0; y < K; ++y)
            for (int m = 0; m < width; ++m)
                columns[y * width + m] = P[static_cast<std::size_t>(first + m) * K + y];
        std::memcpy(levels, columns, sizeof(double) * width);
        for (unsigned pattern = 0; pattern < (1u << depth); ++pattern) {
            // Only the levels below the highest sign that changed are computed anew; bit 0 of the
            // pattern belongs to the deepest level.
            const int changed = pattern == 0 ? depth : __builtin_ctz(pattern) + 1;
            for (int level = depth - changed + 1; level <= depth; ++level) {
                const double sign = (pattern >> (depth - level)) & 1u ? -1.0 : 1.0;
                const double* CREDALENS_RESTRICT above = levels + (level - 1) * width;
                const double* CREDALENS_RESTRICT column = columns + level * width;
                double* CREDALENS_RESTRICT here = levels + level * width;
                for (int m = 0; m < width; ++m) here[m] = above[m] + sign * column[m];
            }
            sign_leaf(levels + depth * width, columns + (K - 1) * width, width,
                      high + 2 * pattern, low + 2 * pattern);
        }
    }
    double best = 0;
    for (std::size_t leaf = 0; leaf < leaves; ++leaf)
        best = std::max(best, high[leaf] - low[leaf]);
    if (pair) {
        std::size_t leaf = 0;
        while (leaf + 1 < leaves && high[leaf] - low[leaf] < best) ++leaf;
        sign_pair(P, M, K, leaf, pair);
    }
    return best;
}

// Pairs from the outside in: with r the distance to the centroid, d(i, j) <= r_i + r_j, so a row
// of pairs ends as soon as that cannot beat the best. Falls back to all pairs when a probe says
// that too few would be spared.
template <class T>
CREDALENS_INLINE double sorted_diameter(const T* rows, int M, int K, bool insist,
                                        Workspace<T>& ws, std::int64_t* pair) {
    const std::size_t stride = K;
    double* centroid = ws.centroid.data();
    std::fill(centroid, centroid + K, 0.0);
    for (int m = 0; m < M; ++m)
        for (int y = 0; y < K; ++y) centroid[y] += static_cast<double>(rows[m * stride + y]) / M;
    for (int m = 0; m < M; ++m) {
        // Never below the true distance.
        ws.radius[m] = l1(rows + m * stride, centroid, K) * (1 + 1e-12);
        ws.order[m] = m;
    }
    const double* radius = ws.radius.data();
    std::sort(ws.order.begin(), ws.order.end(), [radius](int a, int b) {
        return radius[a] != radius[b] ? radius[a] > radius[b] : a < b;
    });
    const int* order = ws.order.data();
    double best = 0;
    for (int i = 0; i < std::min(M, kProbe); ++i)
        for (int j = i + 1; j < std::min(M, kProbe); ++j)
            best = std::max(best, l1(rows + order[i] * stride, rows + order[j] * stride, K));
    if (!insist) {
        double left = 0;
        for (int i = 0, j = M - 1; i < M; ++i) {
            while (j >= 0 && radius[order[i]] + radius[order[j]] <= best) --j;
            left += std::max(0, j - i);
        }
        // A tile of the plain loop is about twice as fast a pair as this loop.
        if (left > 0.35 * (0.5 * M * (M - 1.0))) return plain_diameter(rows, M, K);
    }
    if (pair) pair[0] = pair[1] = 0, best = 0;  // the probe did not say which pair it was
    for (int i = 0; i < M; ++i)
        for (int j = i + 1; j < M && radius[order[i]] + radius[order[j]] > best; ++j) {
            const double here = l1(rows + order[i] * stride, rows + order[j] * stride, K);
            if (pair && here > best) pair[0] = order[i], pair[1] = order[j];
            best = std::max(best, here);
        }
    return best;
}

template <class T>
CREDALENS_INLINE double diameter_of(const T* P, int M, int K, PairMethod method, bool insist,
                                    Workspace<T>& ws, std::int64_t* pair) {
    if (pair) pair[0] = pair[1] = 0;
    if (M < 2) return 0;
    if (method == PairMethod::signs)
        return K == 1 ? spread(P, M, pair) : sign_diameter(P, M, K, ws, pair);
    const int width = whole_steps(K);
    const T* rows = P;
    if (width != K) {
        for (int m = 0; m < M; ++m)
            std::memcpy(ws.rows.data() + static_cast<std::size_t>(m) * width,
                        P + static_cast<std::size_t>(m) * K, sizeof(T) * K);
        rows = ws.rows.data();
    }
    if (method == PairMethod::sorted)
        return sorted_diameter(rows, M, width, insist || pair, ws, pair);
    return plain_diameter(rows, M, width);
}

template <class T>
CREDALENS_INLINE void process(const T* P, std::size_t count, int M, int K, const ClosedForms& out,
                              PairMethod method, bool insist, Workspace<T>& ws) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    for (std::size_t i = 0; i < count; ++i)
        out.diameter[i] = diameter_of(P + i * size, M, K, method, insist, ws,
                                      out.pairs ? out.pairs + 2 * i : nullptr);
}

CREDALENS_CLONES void process_range(const float* P, std::size_t count, int M, int K,
                                    const ClosedForms& out, PairMethod method, bool insist,
                                    Workspace<float>& ws) {
    process(P, count, M, K, out, method, insist, ws);
}

CREDALENS_CLONES void process_range(const double* P, std::size_t count, int M, int K,
                                    const ClosedForms& out, PairMethod method, bool insist,
                                    Workspace<double>& ws) {
    process(P, count, M, K, out, method, insist, ws);
}

// Measured crossings: a leaf of the sign form costs about as much as four entries of a pair, and as
// seventeen of pairs in lanes.
PairMethod choose(int M, int K) {
    const bool many = M >= kMinSortedMembers;
    const double share = many ? 0.25 : 0.06;
    if (K <= kMaxSignClasses && (1 << (K - 1)) < share * M * K) return PairMethod::signs;
    return many ? PairMethod::sorted : PairMethod::plain;
}

}  // namespace

template <class T>
std::int64_t closed_forms(const T* P, std::size_t n, int M, int K, const ClosedForms& out,
                          PairMethod method, int threads, double tolerance) {
    const bool insist = method != PairMethod::automatic;
    if (!insist) method = choose(M, K);
    // The loop over all pairs that is there to be compared with does not say which is the widest.
    if (insist && out.pairs && method == PairMethod::plain) method = PairMethod::sorted;
    const std::size_t size = static_cast<std::size_t>(M) * K;
    FirstBad first;
    const bool small = size <= (K < kLanes ? kMostShortRowsInLanes : kMostExtremesInLanes) &&
                       (n >= kMinExtremesInLanes || out.lower_sum || tolerance < 0);
    if (out.diameter ? !insist && method == PairMethod::plain : small) {
        const bool along = out.diameter && (size > kMostInLanes ||
                                            (K >= kMinAlong && M <= kMostMembersAlong));
        const std::size_t load = size * (out.diameter ? 4 + M / 2 : 4);
        const std::size_t worth = (std::size_t{1} << 20) / load;
        parallel_for(
            n, along ? Grain(1 + worth, 1 + worth / 8) : Grain::of_lanes(worth), threads,
            [&] {
                return std::vector<double>(along ? along_scratch(M, K) : lanes_scratch(size + M));
            },
            [&](std::vector<double>& scratch, std::size_t begin, std::size_t end) {
                if (first.before(begin)) return;
                const auto run = along ? closed_forms_along<T> : closed_forms_in_lanes<T>;
                const std::size_t bad = begin + run(P + begin * size, end - begin, M, K,
                                                    out.from(begin), tolerance, scratch.data());
                if (bad < end) first.see(bad);
            });
        return first.value();
    }
    const std::size_t work = size * (out.diameter ? 1 + M / 4 : 1);
    const std::size_t grain = 1 + (std::size_t{1} << 17) / work;
    // Few enough that what was checked is still in the cache when it is used.
    const std::size_t few = 1 + (std::size_t{1} << 18) / (size * sizeof(T));
    const bool ends = out.ends() || tolerance >= 0;
    parallel_for(
        n, grain, threads,
        [&] { return Workspace<T>(M, K, method, out.diameter != nullptr); },
        [&](Workspace<T>& ws, std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end && !first.before(i); i += few) {
                const std::size_t count = std::min(few, end - i);
                const T* here = P + i * size;
                if (ends) {
                    const std::size_t bad = extremes_in_lanes(here, count, M, K, out.from(i),
                                                              tolerance, ws.ends.data());
                    if (bad < count) return first.see(i + bad);
                }
                if (out.diameter)
                    process_range(here, count, M, K, out.from(i), method, insist, ws);
            }
        });
    return first.value();
}

template std::int64_t closed_forms(const float*, std::size_t, int, int, const ClosedForms&,
                                   PairMethod, int, double);
template std::int64_t closed_forms(const double*, std::size_t, int, int, const ClosedForms&,
                                   PairMethod, int, double);

}  // namespace credalens
