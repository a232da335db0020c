// Closed forms over the members of a hull: extreme class probabilities and the L1 diameter.
#pragma once

#include <cstddef>
#include <cstdint>

namespace credalens {

// Algorithm for the diameter; `automatic` selects by shape, the others serve tests and benchmarks.
// All are exact.
enum class PairMethod { automatic = 0, all_pairs = 1, signs = 2, sorted = 3 };

// A function that is called, for each instance, with the number of classes that have been read of
// all its rows: the last ones are still in the first-level cache. Only one-pass algorithms with
// classes in lanes call it.
struct ReadObserver {
    void (*function)(void* context, int classes) = nullptr;
    void* context = nullptr;
};

// Results for n instances P (n, M, K), C-contiguous:
//   max_lower  (n): max_y min_m P_my
//   max_upper  (n): max_y max_m P_my
//   diameter   (n): max_{m<m'} sum_y |P_my - P_m'y|
//   lower_sum  (n): sum_y min_m P_my
//   min_upper  (n): min_m max_y P_my; for instances of at most kMaxInstancePerLane entries
//   pairs      (n, 2): the members m, m' that attain the diameter; requires `diameter`
// An output that is nullptr is not computed.
struct ClosedForms {
    double *max_lower, *max_upper, *diameter, *lower_sum = nullptr;
    std::int64_t* pairs = nullptr;
    double* min_upper = nullptr;
    ReadObserver observer = {};

    bool has_bounds() const { return max_lower || max_upper || lower_sum || min_upper; }

    ClosedForms from(std::size_t begin) const {
        const auto moved = [begin](double* out) { return out ? out + begin : nullptr; };
        return {moved(max_lower), moved(max_upper), moved(diameter), moved(lower_sum),
                pairs ? pairs + 2 * begin : nullptr, moved(min_upper), observer};
    }
};

// Rows are validated in the same pass unless `tolerance` is negative: returns the first instance
// with an invalid row, or -1. The results of it and of later instances are then undefined.
template <class T>
std::int64_t closed_forms(const T* P, std::size_t n, int M, int K, const ClosedForms& out,
                          PairMethod method, int threads, double tolerance = -1);

}  // namespace credalens
