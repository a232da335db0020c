// Closed forms over the members of a hull: extreme class probabilities and the widest pair.
#pragma once

#include <cstddef>
#include <cstdint>

namespace credalens {

// How the widest pair is found; `automatic` picks by shape (see hull/closed_forms.cpp), the others are there
// for tests and benchmarks. All are exact.
enum class PairMethod { automatic = 0, plain = 1, signs = 2, sorted = 3 };

// What is found of each of n instances P (n, M, K), C-contiguous:
//   max_lower = max_y min_m P_my,  max_upper = max_y max_m P_my,
//   diameter  = max_{m<m'} sum_y |P_my - P_m'y|,
//   lower_sum = sum_y min_m P_my,
//   pairs     = the members m, m' of a widest pair, (n, 2); only together with the diameter.
// An output that is not wanted is nullptr and costs nothing.
struct ClosedForms {
    double *max_lower, *max_upper, *diameter, *lower_sum = nullptr;
    std::int64_t* pairs = nullptr;

    bool ends() const { return max_lower || max_upper || lower_sum; }

    ClosedForms from(std::size_t begin) const {
        const auto moved = [begin](double* out) { return out ? out + begin : nullptr; };
        return {moved(max_lower), moved(max_upper), moved(diameter), moved(lower_sum),
                pairs ? pairs + 2 * begin : nullptr};
    }
};

// With a tolerance that is not negative, rows are checked by the way, as at the door: returns the
// first instance with a row that is no distribution, -1 if there is none. What is found of the
// instances after it is not to be used.
template <class T>
std::int64_t closed_forms(const T* P, std::size_t n, int M, int K, const ClosedForms& out,
                          PairMethod method, int threads, double tolerance = -1);

}  // namespace credalens
