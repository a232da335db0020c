#include "runtime/validate_rows.hpp"

#include "runtime/parallel_for.hpp"

namespace credalens {

template <class T>
std::int64_t first_invalid_row(const T* P, std::size_t rows, int K, double tolerance, int threads) {
    FirstBad first;
    const auto grain = Grain::of_lanes((std::size_t{1} << 18) / K);
    parallel_for(rows, grain, threads, [&](std::size_t begin, std::size_t end) {
        if (first.before(begin)) return;
        const std::size_t bad =
            begin + first_bad_in_lanes(P + begin * K, end - begin, K, tolerance);
        if (bad < end) first.see(bad);
    });
    return first.value();
}

template std::int64_t first_invalid_row(const float*, std::size_t, int, double, int);
template std::int64_t first_invalid_row(const double*, std::size_t, int, double, int);

}  // namespace credalens
