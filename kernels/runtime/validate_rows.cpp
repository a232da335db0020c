#include "runtime/validate_rows.hpp"

#include "runtime/parallel_for.hpp"

#define CREDALENS_TARGET_INCLUDE "runtime/validate_rows-inl.hpp"
#include "simd/foreach_target.hpp"

namespace credalens {

template <class T>
std::size_t first_invalid_row_serial(const T* P, std::size_t rows, int K, double tolerance) {
    return CREDALENS_DISPATCH(first_invalid, P, rows, K, tolerance);
}

template <class T>
std::int64_t first_invalid_row(const T* P, std::size_t rows, int K, double tolerance, int threads) {
    FirstInvalid invalid;
    const auto grain = Grain::multiple_of_lanes((std::size_t{1} << 18) / K);
    parallel_for(rows, grain, threads, [&](std::size_t begin, std::size_t end) {
        if (invalid.found_up_to(begin)) return;
        const std::size_t row =
            begin + first_invalid_row_serial(P + begin * K, end - begin, K, tolerance);
        if (row < end) invalid.record(row);
    });
    return invalid.value();
}

template std::size_t first_invalid_row_serial(const float*, std::size_t, int, double);
template std::size_t first_invalid_row_serial(const double*, std::size_t, int, double);
template std::int64_t first_invalid_row(const float*, std::size_t, int, double, int);
template std::int64_t first_invalid_row(const double*, std::size_t, int, double, int);

}  // namespace credalens
