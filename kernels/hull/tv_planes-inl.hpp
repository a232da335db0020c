// Total variation of instances whose batch is on the last axis, for one target.

#include "hull/instance_per_lane-inl.hpp"

template <class T>
std::size_t closed_forms_of_planes(const T* P, std::size_t count, int M, int K,
                                   std::ptrdiff_t member_stride, std::ptrdiff_t class_stride,
                                   const ClosedForms& out, double tolerance, double* scratch) {
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
