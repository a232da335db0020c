#include "events/capacities.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/first_invalid.hpp"
#include "simd/shuffles.hpp"
#include "runtime/parallel_for.hpp"
#include "events/subset_sums.hpp"

namespace credalens {
namespace {

// Compiled without finite-math flags: a NaN must show.
//
// Events are read eight at a time: classes 0 to 2 are bits of the lane, the others of the vector's
// number. With few classes the row is repeated, as if more classes changed nothing.

constexpr int kLaneClasses = 3;

std::size_t events_of(int K) { return std::size_t{1} << std::max(K, kLaneClasses + 1); }

// Instances that a thread takes at once: some tens of microseconds.
std::size_t grain_of(int K, int work) {
    return 1 + (std::size_t{1} << 17) / (work * events_of(K));
}

// Returns 0, or NaN if a value is not finite.
template <class T>
CREDALENS_INLINE double load_row(const T* values, int K, std::size_t count, double* row) {
    Double8 zeros = {};
    if (K < kLaneClasses) {
        for (int s = 0; s < kLanes; ++s) row[s] = values[s & ((1 << K) - 1)];
        zeros = load8(row) * 0.0;
    }
    const std::size_t given = K < kLaneClasses ? kLanes : std::size_t{1} << K;
    for (std::size_t s = 0; s < given && K >= kLaneClasses; s += kLanes) {
        const Double8 x = load8(values + s);
        zeros += x * 0.0;
        store8(row + s, x);
    }
    for (std::size_t s = given; s < count; s += kLanes) store8(row + s, load8(row + s - given));
    return sum8(zeros);
}

// ---------------------------------------------------------------------------- checks

// The least of what single classes add to events, and of how that grows with another class; 0 where
// nothing is negative. `by[y]` counts only in the lanes that have class y.
struct Least {
    Double8 gain = {}, second = {}, by[kLaneClasses] = {};
};

// f(A + j) - f(A) for so many A without j, a class of the vector's number whose bit is `apart`: the
// least, lane by lane, and all of them in `out` if that is not null. Several runs at once, as a
// minimum waits for the one before.
template <int runs>
CREDALENS_INLINE Double8 run_gains(const double* f, std::size_t count, std::size_t apart,
                                   double* out) {
    const std::size_t length = count / runs;
    Double8 least[runs] = {};
    for (std::size_t t = 0; t < length; t += kLanes) {
#pragma GCC unroll 4
        for (int run = 0; run < runs; ++run) {
            const std::size_t a = t + run * length, at = 2 * a - (a & (apart - 1));
            const Double8 gain = load8(f + at + apart) - load8(f + at);
            if (out != nullptr) store8(out + a, gain);
            least[run] = min8(gain, least[run]);
        }
    }
    for (int run = 1; run < runs; ++run) least[0] = min8(least[run], least[0]);
    return least[0];
}

CREDALENS_INLINE Double8 gains_by(const double* f, std::size_t count, int j, double* out) {
    const std::size_t apart = std::size_t{1} << j;
    return count >= 4 * kLanes ? run_gains<4>(f, count, apart, out)
                               : run_gains<1>(f, count, apart, out);
}

// The same for a class of the lanes. Class 3 takes its place: the classes after it are at bit y and
// above of the lane, and their differences are taken here.
template <int y>
CREDALENS_INLINE void lane_gains(const double* row, std::size_t count, double* gains,
                                 Least& least) {
    Least own = least;
    for (std::size_t s = 0; s < count; s += 2 * kLanes, gains += kLanes) {
        const Double8 g = gains_of<y>(load8(row + s), load8(row + s + kLanes));
        own.gain = min8(g, own.gain);
        if constexpr (y <= 0) own.by[0] = min8(g - flipped<0>(g), own.by[0]);
        if constexpr (y <= 1) own.by[1] = min8(g - flipped<1>(g), own.by[1]);
        own.by[2] = min8(g - flipped<2>(g), own.by[2]);
        store8(gains, g);
    }
    least = own;
}

CREDALENS_INLINE Least least_differences(const double* row, int K, double* gains) {
    const std::size_t count = std::size_t{1} << K;
    Least least;
    for (int i = 0; i < K; ++i) {
        if (i == 0) lane_gains<0>(row, count, gains, least);
        if (i == 1) lane_gains<1>(row, count, gains, least);
        if (i == 2) lane_gains<2>(row, count, gains, least);
        if (i >= kLaneClasses) least.gain = min8(gains_by(row, count / 2, i, gains), least.gain);
        // Without class i the classes after it are one bit lower.
        for (int j = std::max(i, kLaneClasses); j < K - 1; ++j) {
            least.second = min8(gains_by(gains, count / 4, j, nullptr), least.second);
        }
    }
    for (int y = 0; y < kLaneClasses; ++y) {
        least.second = min8(lanes_with(least.by[y], 1 << y), least.second);
    }
    return least;
}

// Whole vectors where there are some: a vector waits long for a single number written into it.
CREDALENS_INLINE void set_ends(double* row, std::size_t size) {
    if (size < kLanes) {
        row[0] = 0.0;
        row[size - 1] = 1.0;
        return;
    }
    store8(row, lanes_from(load8(row), 1));
    const Int8 lane = {0, 1, 2, 3, 4, 5, 6, 7};
    const Double8 last = load8(row + size - kLanes), one = Double8{} + 1.0;
    store8(row + size - kLanes, lane == kLanes - 1 ? one : last);
}

template <class T>
CREDALENS_INLINE void check_all(const T* values, std::size_t begin, std::size_t end, int K,
                                double tolerance, double limit, double* row,
                                std::uint8_t* two_monotone, FirstBad& first) {
    const int wide = std::max(K, kLaneClasses + 1);
    const std::size_t size = std::size_t{1} << K, count = std::size_t{1} << wide;
    for (std::size_t i = begin; i < end; ++i) {
        const bool normal = load_row(values + i * size, K, count, row) == 0.0 &&
                            std::fabs(row[0]) <= tolerance &&
                            std::fabs(row[size - 1] - 1.0) <= tolerance;
        for (std::size_t s = 0; s < count; s += size) set_ends(row + s, size);
        const Least least = least_differences(row, wide, row + count);
        two_monotone[i] = bottom8(least.second) >= -limit;
        if (!normal || !(bottom8(least.gain) >= -tolerance)) first.see(i);
    }
}

CREDALENS_CLONES void check_range(const float* values, std::size_t begin, std::size_t end, int K,
                                  double tolerance, double limit, double* row,
                                  std::uint8_t* two_monotone, FirstBad& first) {
    check_all(values, begin, end, K, tolerance, limit, row, two_monotone, first);
}

CREDALENS_CLONES void check_range(const double* values, std::size_t begin, std::size_t end, int K,
                                  double tolerance, double limit, double* row,
                                  std::uint8_t* two_monotone, FirstBad& first) {
    check_all(values, begin, end, K, tolerance, limit, row, two_monotone, first);
}

// ---------------------------------------------------------------------------- sums over subsets

template <class T>
CREDALENS_INLINE void belief_all(const T* masses, std::size_t begin, std::size_t end, int K,
                                 double* row, T* values) {
    const std::size_t size = std::size_t{1} << K, count = std::max<std::size_t>(size, kLanes);
    for (std::size_t i = begin; i < end; ++i) {
        load_row(masses + i * size, K, count, row);
        for (std::size_t s = 0; s < count; s += kLanes) {
            Double8 x = load8(row + s);
            x += lanes_with(flipped<0>(x), 1);
            x += lanes_with(flipped<1>(x), 2);
            x += lanes_with(flipped<2>(x), 4);
            store8(row + s, x);
        }
        for (std::size_t step = kLanes; step < count; step *= 2) {
            for (std::size_t base = 0; base < count; base += 2 * step) {
                for (std::size_t s = base; s < base + step; s += kLanes) {
                    store8(row + s + step, load8(row + s + step) + load8(row + s));
                }
            }
        }
        T* CREDALENS_RESTRICT own = values + i * size;
        for (std::size_t s = 0; s < size; ++s) {
            own[s] = static_cast<T>(row[s] < 1.0 ? row[s] : 1.0);
        }
        own[size - 1] = 1;
    }
}

CREDALENS_CLONES void belief_range(const float* masses, std::size_t begin, std::size_t end, int K,
                                   double* row, float* values) {
    belief_all(masses, begin, end, K, row, values);
}

CREDALENS_CLONES void belief_range(const double* masses, std::size_t begin, std::size_t end, int K,
                                   double* row, double* values) {
    belief_all(masses, begin, end, K, row, values);
}

// ---------------------------------------------------------------------------- closed forms

template <class T>
CREDALENS_INLINE void dot_all(const T* values, std::size_t begin, std::size_t end, int K,
                              const double* weights, double* sum) {
    const std::size_t size = std::size_t{1} << K;
    for (std::size_t i = begin; i < end; ++i) {
        const T* own = values + i * size;
        Double8 sums[4] = {};
        std::size_t s = 0;
        for (; s + 4 * kLanes <= size; s += 4 * kLanes) {
            for (int part = 0; part < 4; ++part) {
                sums[part] += load8(own + s + part * kLanes) * load8(weights + s + part * kLanes);
            }
        }
        for (; s + kLanes <= size; s += kLanes) sums[0] += load8(own + s) * load8(weights + s);
        double total = sum8((sums[0] + sums[1]) + (sums[2] + sums[3]));
        for (; s < size; ++s) total += own[s] * weights[s];
        sum[i] = total;
    }
}

CREDALENS_CLONES void dot_range(const float* values, std::size_t begin, std::size_t end, int K,
                                const double* weights, double* sum) {
    dot_all(values, begin, end, K, weights, sum);
}

CREDALENS_CLONES void dot_range(const double* values, std::size_t begin, std::size_t end, int K,
                                const double* weights, double* sum) {
    dot_all(values, begin, end, K, weights, sum);
}

template <class T>
CREDALENS_INLINE void widest_all(const T* values, std::size_t begin, std::size_t end, int K,
                                 double* width) {
    const std::size_t size = std::size_t{1} << K;
    for (std::size_t i = begin; i < end; ++i) {
        const T* own = values + i * size;
        // The complement of an event in the first half is in the second; the first is impossible.
        double least = 1.0;
        std::size_t s = 1;
        for (; s < size / 2 && s % kLanes != 0; ++s) {
            const double both = static_cast<double>(own[s]) + own[size - 1 - s];
            least = both < least ? both : least;
        }
        Double8 low = Double8{} + 1.0;
        for (; s < size / 2; s += kLanes) {
            low = min8(load8(own + s) + reversed(load8(own + size - kLanes - s)), low);
        }
        const double vectors = bottom8(low);
        width[i] = 1.0 - (vectors < least ? vectors : least);
    }
}

CREDALENS_CLONES void widest_range(const float* values, std::size_t begin, std::size_t end, int K,
                                   double* width) {
    widest_all(values, begin, end, K, width);
}

CREDALENS_CLONES void widest_range(const double* values, std::size_t begin, std::size_t end, int K,
                                   double* width) {
    widest_all(values, begin, end, K, width);
}

// ---------------------------------------------------------------------------- shortest path

double entropy_term(double p) { return p > 0.0 ? -p * std::log(p) : 0.0; }

class LeastEven {
public:
    explicit LeastEven(int K)
        : K_(K), cost_(std::size_t{1} << K), last_(std::size_t{1} << K) {}

    template <class T>
    double solve(const T* v, double* corner) {
        const std::size_t size = std::size_t{1} << K_;
        for (std::size_t event = 1; event < size; ++event) {
            double best = INFINITY;
            for (int y = 0; y < K_; ++y) {
                const std::size_t before = event ^ (std::size_t{1} << y);
                if (before > event) continue;
                const double step = static_cast<double>(v[event]) - v[before];
                const double through = cost_[before] + entropy_term(step);
                if (through < best) {
                    best = through;
                    last_[event] = static_cast<std::uint8_t>(y);
                }
            }
            cost_[event] = best;
        }
        double entropy = 0.0;
        for (std::size_t event = size - 1; event != 0;) {
            const int y = last_[event];
            const std::size_t before = event ^ (std::size_t{1} << y);
            corner[y] = std::max(static_cast<double>(v[event]) - v[before], 0.0);
            entropy += entropy_term(corner[y]);
            event = before;
        }
        return std::max(entropy, 0.0);
    }

private:
    const int K_;
    std::vector<double> cost_;
    std::vector<std::uint8_t> last_;
};

}  // namespace

template <class T>
std::int64_t check_capacities(const T* values, std::size_t n, int K, double tolerance, double limit,
                              std::uint8_t* two_monotone, int threads) {
    FirstBad first;
    parallel_for(
        n, grain_of(K, std::max(K, 1)), threads,
        [&] { return AlignedBuffer(events_of(K) * 3 / 2); },
        [&](AlignedBuffer& row, std::size_t begin, std::size_t end) {
            check_range(values, begin, end, K, tolerance, limit, row.data(), two_monotone, first);
        });
    return first.value();
}

template <class T>
void belief_values(const T* masses, std::size_t n, int K, T* values, int threads) {
    parallel_for(
        n, grain_of(K, 2), threads, [&] { return AlignedBuffer(events_of(K)); },
        [&](AlignedBuffer& row, std::size_t begin, std::size_t end) {
            belief_range(masses, begin, end, K, row.data(), values);
        });
}

template <class T>
void event_dot(const T* values, std::size_t n, int K, const double* weights, double* sum,
               int threads) {
    parallel_for(n, grain_of(K, 1), threads, [&](std::size_t begin, std::size_t end) {
        dot_range(values, begin, end, K, weights, sum);
    });
}

template <class T>
void max_class_bounds(const T* values, std::size_t n, int K, double* lower, double* upper, int threads) {
    const std::size_t size = std::size_t{1} << K;
    parallel_for(n, 1 + (std::size_t{1} << 14) / K, threads,
                 [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            const T* own = values + i * size;
            T most = own[1], least = own[size - 2];
            for (std::size_t one = 2; one < size; one *= 2) {
                most = std::max(most, own[one]);
                least = std::min(least, own[size - 1 - one]);
            }
            lower[i] = most;
            upper[i] = 1.0 - static_cast<double>(least);
        }
    });
}

template <class T>
void max_event_width(const T* values, std::size_t n, int K, double* width, int threads) {
    parallel_for(n, grain_of(K, 1), threads, [&](std::size_t begin, std::size_t end) {
        widest_range(values, begin, end, K, width);
    });
}

template <class T>
void capacity_min_entropy(const T* values, std::size_t n, int K, double* value, double* corner, int threads) {
    parallel_for(
        n, 1 + (std::size_t{1} << 13) / (events_of(K) * K), threads, [&] { return LeastEven(K); },
        [&](LeastEven& path, std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                value[i] = path.solve(values + (i << K), corner + i * K);
            }
        });
}

template std::int64_t check_capacities(const float*, std::size_t, int, double, double,
                                       std::uint8_t*, int);
template std::int64_t check_capacities(const double*, std::size_t, int, double, double,
                                       std::uint8_t*, int);
template void belief_values(const float*, std::size_t, int, float*, int);
template void belief_values(const double*, std::size_t, int, double*, int);
template void event_dot(const float*, std::size_t, int, const double*, double*, int);
template void event_dot(const double*, std::size_t, int, const double*, double*, int);
template void max_class_bounds(const float*, std::size_t, int, double*, double*, int);
template void max_class_bounds(const double*, std::size_t, int, double*, double*, int);
template void max_event_width(const float*, std::size_t, int, double*, int);
template void max_event_width(const double*, std::size_t, int, double*, int);
template void capacity_min_entropy(const float*, std::size_t, int, double*, double*, int);
template void capacity_min_entropy(const double*, std::size_t, int, double*, double*, int);

}  // namespace credalens
