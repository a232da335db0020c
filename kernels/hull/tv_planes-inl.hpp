// Total variation of instances whose batch is on the last axis, for one target.

#include "hull/instance_per_lane-inl.hpp"

// Sizes as constants, so that the loops over members and classes are unrolled and an instance stays
// in registers.
template <int kM, int kK, class T>
std::size_t closed_forms_of_size(const T* P, std::size_t count, std::ptrdiff_t member_stride,
                                 std::ptrdiff_t class_stride, const ClosedForms& out,
                                 double tolerance) {
    for (std::size_t first = 0; first < count; first += kLanes) {
        const std::size_t left = count - first;
        const int lanes = static_cast<int>(left < kLanes ? left : kLanes);
        Vec rows[kM][kK], half[kM];
        Vec smallest = {}, top[kM];
        Mask valid = Mask{} - 1;
#pragma GCC unroll 16
        for (int m = 0; m < kM; ++m) {
            const T* member = P + first + m * member_stride;
#pragma GCC unroll 8
            for (int y = 0; y < kK; ++y) rows[m][y] = load_n(member + y * class_stride, lanes);
            // The order of sums and maxima is that of `ClassExtremes`.
            Vec sum = rows[m][0];
            top[m] = rows[m][0];
#pragma GCC unroll 8
            for (int y = 1; y < kK; ++y) {
                sum += rows[m][y];
                top[m] = max(rows[m][y], top[m]);
            }
            valid &= near_one(sum, tolerance);
            half[m] = -0.5 * sum;
        }
        Vec max_lower = {};
#pragma GCC unroll 8
        for (int y = 0; y < kK; ++y) {
            Vec low = rows[0][y];
#pragma GCC unroll 16
            for (int m = 1; m < kM; ++m) low = min(rows[m][y], low);
            max_lower = y == 0 ? low : max(low, max_lower);
            smallest = y == 0 ? low : min(low, smallest);
        }
        if (tolerance >= 0) {
            valid &= smallest >= 0.0;
            if (any(~valid))
                for (std::size_t i = 0; i < kLanes && i < left; ++i)
                    if (!valid[i]) return first + i;
        }
        Vec max_upper = top[0], min_upper = top[0];
#pragma GCC unroll 16
        for (int m = 1; m < kM; ++m) {
            max_upper = max(top[m], max_upper);
            min_upper = min(top[m], min_upper);
        }
        store(out.max_lower + first, max_lower);
        store(out.max_upper + first, max_upper);
        store(out.min_upper + first, min_upper);
        if (!out.diameter) continue;
        if constexpr (kK <= 3) {
            store(out.diameter + first, signed_sum_diameter<kK>(&rows[0][0], kM));
            continue;
        }
        Vec largest_sum = {}, widest = {};
#pragma GCC unroll 16
        for (int m = 0; m < kM; ++m) largest_sum = max(-2.0 * half[m], largest_sum);
#pragma GCC unroll 16
        for (int i = 0; i < kM; ++i)
#pragma GCC unroll 16
            for (int j = i + 1; j < kM; ++j) {
                Vec sum = half[i] + half[j];
#pragma GCC unroll 8
                for (int y = 0; y < kK; ++y) sum += max(rows[i][y], rows[j][y]);
                widest = max(2.0 * sum, widest);
            }
        const Mask close = widest < kMinDistanceByMax * largest_sum;
        if (any(close)) {
            Vec exact = {};
            for (int i = 0; i < kM; ++i)
                for (int j = i + 1; j < kM; ++j) {
                    Vec sum = {};
                    for (int y = 0; y < kK; ++y) sum += abs(rows[i][y] - rows[j][y]);
                    exact = max(sum, exact);
                }
            widest = close ? exact : widest;
        }
        store(out.diameter + first, widest);
    }
    return count;
}

// Whether there is a function for this size: ensembles of five folds with few classes.
constexpr int kFixedMembers = 5;

// The results have room for a whole vector at the end.
template <class T>
std::size_t closed_forms_of_planes(const T* P, std::size_t count, int M, int K,
                                   std::ptrdiff_t member_stride, std::ptrdiff_t class_stride,
                                   const ClosedForms& out, double tolerance, double* scratch) {
    if (M == kFixedMembers && K == 2)
        return closed_forms_of_size<kFixedMembers, 2>(P, count, member_stride, class_stride, out,
                                                      tolerance);
    if (M == kFixedMembers && K == 3)
        return closed_forms_of_size<kFixedMembers, 3>(P, count, member_stride, class_stride, out,
                                                      tolerance);
    if (M == kFixedMembers && K == 4)
        return closed_forms_of_size<kFixedMembers, 4>(P, count, member_stride, class_stride, out,
                                                      tolerance);
    const PlanesOfInstances<T> planes{P, M, K, member_stride, class_stride};
    return instances_per_lane(planes, count, M, K, out, tolerance, scratch);
}

// Lists the instances without a saddle point, and returns their number. The value of the game is the
// smallest maximum; `gap` is that on input.
inline std::size_t games_without_saddle(const PlaneScratch& own, std::size_t count,
                                        std::uint32_t* index) {
    std::size_t found = 0;
    for (std::size_t i = 0; i < count; i += kLanes) {
        const Vec top = load(own.gap + i), difference = top - load(own.total + i);
        store(own.upper + i, top);
        store(own.gap + i, clip_negative(difference));
        const Mask open = ~(difference <= kSmallGameGap);
        if (!any(open)) continue;
        for (std::size_t l = 0; l < kLanes && i + l < count; ++l)
            if (open[l]) index[found++] = static_cast<std::uint32_t>(i + l);
    }
    return found;
}

template <class T>
CREDALENS_INLINE void store_rounded(T* to, const Vec& v, std::size_t count) {
    if (count >= kLanes)
        store(to, v);
    else
        for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<T>(v[i]);
}

// Converts extremes, diameter and value of the game to uncertainties.
template <class T>
void write_uncertainty(const PlaneScratch& own, std::size_t count, int K,
                       const PlaneUncertainty<T>& out) {
    const auto complement = [K](const Vec& x) { return K == 1 ? Vec{} : clip_negative(1.0 - x); };
    for (std::size_t i = 0; i < count; i += kLanes) {
        const std::size_t left = count - i;
        const Vec total = load(own.total + i), lower = load(own.lower + i);
        // Rounding must not violate the order of the bounds.
        const Vec upper = min(max(load(own.upper + i), total), lower);
        store_rounded(out.total + i, complement(total), left);
        store_rounded(out.lower + i, complement(lower), left);
        store_rounded(out.upper + i, complement(upper), left);
        store_rounded(out.gap + i, load(own.gap + i), left);
        if (out.epistemic)
            store_rounded(out.epistemic + i, K == 1 ? Vec{} : load(own.epistemic + i) / 4.0, left);
    }
}
