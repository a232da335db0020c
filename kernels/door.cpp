#include "door.hpp"

#include <cmath>

#include "first_bad.hpp"
#include "lanes.hpp"
#include "parallel.hpp"
#include "vectors.hpp"

namespace credalens {
namespace {

// Rows of fewer classes are read several at a time.
constexpr int kShortRow = 24;

// Compiled without finite-math flags: a NaN or an infinity must reach the comparison, where it
// shows as a sum that is not near 1.
template <class T>
CREDALENS_INLINE bool is_distribution(const T* row, int K, double tolerance) {
    Double8 sums = {}, least = {};
    int y = 0;
    for (; y + kLanes <= K; y += kLanes) {
        const Double8 x = load8(row + y);
        sums += x;
        least = min8(x, least);
    }
    double sum = sum8(sums);
    double smallest = smallest8(least);
    for (; y < K; ++y) {
        const double x = row[y];
        sum += x;
        smallest = x < smallest ? x : smallest;
    }
    return smallest >= 0.0 && std::fabs(sum - 1.0) <= tolerance;
}

template <class T>
CREDALENS_INLINE std::size_t scan(const T* P, std::size_t begin, std::size_t end, int K,
                                  double tolerance) {
    for (std::size_t row = begin; row < end; ++row)
        if (!is_distribution(P + row * K, K, tolerance)) return row;
    return end;
}

CREDALENS_CLONES std::size_t scan_range(const float* P, std::size_t begin, std::size_t end, int K,
                                        double tolerance) {
    return scan(P, begin, end, K, tolerance);
}

CREDALENS_CLONES std::size_t scan_range(const double* P, std::size_t begin, std::size_t end, int K,
                                        double tolerance) {
    return scan(P, begin, end, K, tolerance);
}

}  // namespace

template <class T>
std::int64_t first_bad_row(const T* P, std::size_t rows, int K, double tolerance, int threads) {
    FirstBad first;
    const std::size_t grain = 1 + (std::size_t{1} << 18) / K;
    parallel_for(rows, grain, threads, [&](std::size_t begin, std::size_t end) {
        if (first.before(begin)) return;
        if (K < kShortRow) begin += good_rows(P + begin * K, end - begin, K, tolerance);
        const std::size_t bad = scan_range(P, begin, end, K, tolerance);
        if (bad < end) first.see(bad);
    });
    return first.value();
}

template std::int64_t first_bad_row(const float*, std::size_t, int, double, int);
template std::int64_t first_bad_row(const double*, std::size_t, int, double, int);

}  // namespace credalens
