#include "events/subset_sums.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/parallel_for.hpp"
#include "simd/target.hpp"

namespace credalens {
namespace {

// ---------------------------------------------------------------------------------- weights

// The integral of w[b], over its largest value e^{phi}: the trapezoid rule in s = ln(t / peak),
// the peak being at e^{-t} = b/K. The integrand is close to a Gaussian of variance 1/curvature in
// s, whose width shrinks like 1/sqrt(K): a step that is a fraction of it is accurate for every K
// (0.4 already reaches rounding level), where any fixed step fails beyond some K. Near the peak,
// everything is a difference from the peak, so that nothing of size K cancels.
double peak_integral(int K, int b) {
    const double peak = std::log1p(static_cast<double>(K - b) / b);
    const double odds = static_cast<double>(b) / (K - b);
    const double curvature = peak * peak * odds * K;
    const double step = 0.35 / std::sqrt(std::max(curvature, 16.0));
    auto integrand = [&](double s) {
        const double shift = peak * std::expm1(s);        // t - peak
        const double ratio = -odds * std::expm1(-shift);  // (1 - e^{-t}) / (1 - b/K) - 1
        const double log_ratio =
            ratio > -0.5 ? std::log1p(ratio)
                         : std::log(-std::expm1(-peak * std::exp(s)) * K / (K - b));
        return std::exp(-b * shift + (K - b) * log_ratio);
    };
    double sum = 1.0;
    for (const double direction : {-step, step}) {
        double term = 1.0;
        for (int j = 1; term > 1e-18; ++j) sum += term = integrand(j * direction);
    }
    return sum * step;
}

// ------------------------------------------------------------------------------ subset sums

constexpr int max_low_bits = 9;
constexpr std::size_t max_width = std::size_t{1} << max_low_bits;

// The classes are split: the sums over the subsets of the `low` first ones are tabulated for each
// row; the subsets of the `high` others are walked through, in chunks that threads may share.
// It depends on the shape of the problem only, never on the threads or the batch.
struct Split {
    int low, high;
    std::size_t width;   // of the table: 2^low, but at least one vector
    std::size_t chunks;  // of equal size
    std::size_t chunk;   // number of high subsets in a chunk

    Split(int classes, int rows) {
        // 20 KB of tables leave room in the L1 cache for weights and results.
        low = max_low_bits;
        while (low > 5 && (static_cast<std::size_t>(rows) << low) > 2560) --low;
        low = std::min(low, classes);
        high = classes - low;
        width = std::max<std::size_t>(std::size_t{1} << low, 8);
        // About 2^14 subsets make the rebuilding of the table for each chunk a trifle.
        const int chunk_bits = std::min(high, std::max(14 - low, high - 8));
        chunk = std::size_t{1} << chunk_bits;
        chunks = std::size_t{1} << (high - chunk_bits);
    }

    // Tasks that are worth some 100 microseconds together.
    std::size_t grain(int rows) const { return (std::size_t{1} << 20) / (rows * chunk * width); }
};

// Walks the subsets of the high classes in the order of their bit masks and keeps the sum of
// every row over the current one. Level j holds the sums over the members of the subset that are
// >= j, so that a step changes two levels on average and rounding errors do not accumulate.
class HighSums {
public:
    HighSums(int high, int rows)
        : high_(high), stride_(whole_steps(rows)), levels_((high + 1) * stride_) {}

    const double* sums() const { return levels_.data(); }

    // by_class: (high, rows), the stride of a class being whole_steps(rows).
    void start(const double* by_class, std::size_t subset) { fill(by_class, subset, high_); }

    // To `subset` from its predecessor: the bits that changed are the trailing zeros and the
    // first one.
    void next(const double* by_class, std::size_t subset) {
        int changed = 1;
        for (std::size_t rest = subset; (rest & 1) == 0 && changed < high_; rest >>= 1) ++changed;
        fill(by_class, subset, changed);
    }

private:
    void fill(const double* by_class, std::size_t subset, int levels) {
        for (int j = levels - 1; j >= 0; --j) {
            const double taken = static_cast<double>(subset >> j & 1);
            const double* values = by_class + j * stride_;
            double* level = levels_.data() + j * stride_;
            for (std::size_t m = 0; m < stride_; ++m) {
                level[m] = level[m + stride_] + taken * values[m];
            }
        }
    }

    int high_;
    std::size_t stride_;
    AlignedBuffer levels_;
};

// One instance, ready for the walk.
struct Tables {
    Tables(const Split& split, int rows, int K)
        : rows(rows),
          normalised((rows + 1) * whole_steps(std::max(K, 8))),
          low(rows * split.width),
          high(std::max(split.high, 1) * whole_steps(rows)),
          walk(split.high, rows) {}

    int rows;
    AlignedBuffer normalised, low, high;
    HighSums walk;
};

int popcount(std::size_t x) {
    int count = 0;
    for (; x != 0; x &= x - 1) ++count;
    return count;
}

CREDALENS_CLONES void fill_low_table(const double* values, std::size_t stride, int rows,
                                     std::size_t width, double* table) {
    for (int m = 0; m < rows; ++m) {
        const double* row = values + m * stride;
        double* CREDALENS_RESTRICT sums = table + m * width;
        sums[0] = 0.0;
        for (std::size_t half = 1; half < width; half *= 2) {
            const double value = *row++;
            for (std::size_t i = 0; i < half; ++i) sums[half + i] = sums[i] + value;
        }
    }
}

void fill_tables(const double* values, std::size_t stride, const Split& split, Tables& tables) {
    fill_low_table(values, stride, tables.rows, split.width, tables.low.data());
    const std::size_t by_class = whole_steps(tables.rows);
    for (int j = 0; j < split.high; ++j) {
        for (int m = 0; m < tables.rows; ++m) {
            tables.high.data()[j * by_class + m] = values[m * stride + split.low + j];
        }
    }
}

// --------------------------------------------------------------------------- Hartley, exact

// Widens [least, most] by the subset sums of G rows. Groups of eight keep the running ends in
// registers; a loop over the rows inside would not be vectorised over the subsets.
template <int G>
CREDALENS_INLINE void widen(const double* CREDALENS_RESTRICT table,
                            const double* CREDALENS_RESTRICT offset, std::size_t width,
                            double* CREDALENS_RESTRICT most, double* CREDALENS_RESTRICT least) {
    const double one = hidden_one();
    for (std::size_t i = 0; i < width; ++i) {
        double high = most[i], low = least[i];
#pragma GCC unroll 8
        for (int g = 0; g < G; ++g) {
            const double sum = table[g * width + i] * one + offset[g];
            high = high < sum ? sum : high;
            low = sum < low ? sum : low;
        }
        most[i] = high;
        least[i] = low;
    }
}

template <int G>
CREDALENS_INLINE void widen_rest(const double* table, const double* offset, int rows,
                                 std::size_t width, double* most, double* least) {
    if constexpr (G > 0) {
        if (rows == G) {
            widen<G>(table, offset, width, most, least);
        } else {
            widen_rest<G - 1>(table, offset, rows, width, most, least);
        }
    }
}

// The terms of GH for one high subset and all low ones, for G rows: everything stays in registers.
// The ends start from 0, the row of differences of member 0 from itself.
template <int G>
CREDALENS_INLINE double terms_of(const double* CREDALENS_RESTRICT table,
                                 const double* CREDALENS_RESTRICT offset, std::size_t width,
                                 const double* CREDALENS_RESTRICT w_most,
                                 const double* CREDALENS_RESTRICT w_least) {
    const double one = hidden_one();
    double sum = 0.0;
    for (std::size_t i = 0; i < width; ++i) {
        double high = 0.0, low = 0.0;
#pragma GCC unroll 12
        for (int g = 0; g < G; ++g) {
            const double value = table[g * width + i] * one + offset[g];
            high = high < value ? value : high;
            low = value < low ? value : low;
        }
        sum += w_most[i] * high - w_least[i] * low;
    }
    return sum;
}

constexpr int kFewRows = 12;

template <int G>
CREDALENS_INLINE double few_rows(const double* table, const double* offset, int rows,
                                 std::size_t width, const double* w_most, const double* w_least) {
    if constexpr (G > 0) {
        if (rows < G) return few_rows<G - 1>(table, offset, rows, width, w_most, w_least);
        return terms_of<G>(table, offset, width, w_most, w_least);
    }
    return 0.0;
}

// The same for any number of rows, eight at a time.
CREDALENS_CLONES double hartley_terms(const double* table, const double* offset, int rows,
                                      std::size_t width, const double* CREDALENS_RESTRICT w_most,
                                      const double* CREDALENS_RESTRICT w_least) {
    if (rows <= kFewRows) return few_rows<kFewRows>(table, offset, rows, width, w_most, w_least);
    alignas(64) double most[max_width], least[max_width];
    for (std::size_t i = 0; i < width; ++i) most[i] = least[i] = 0.0;
    int m = 0;
    for (; m + 8 <= rows; m += 8) widen<8>(table + m * width, offset + m, width, most, least);
    widen_rest<7>(table + m * width, offset + m, rows - m, width, most, least);
    double sum = 0.0;
    for (std::size_t i = 0; i < width; ++i) sum += w_most[i] * most[i] - w_least[i] * least[i];
    return sum;
}

// For each size p of the high subset, the weights of the maxima (w[K - b], the complement's) and
// of the minima (w[b]) at every low subset, b = p + popcount; 0 where the table is padded.
struct SubsetWeights {
    SubsetWeights(int K, const double* w, const Split& split)
        : most((split.high + 1) * split.width), least((split.high + 1) * split.width) {
        for (int p = 0; p <= split.high; ++p) {
            for (std::size_t i = 0; i < std::size_t{1} << split.low; ++i) {
                const int b = p + popcount(i);
                most.data()[p * split.width + i] = b == 0 ? 0.0 : w[K - b];
                least.data()[p * split.width + i] = b == 0 ? 0.0 : w[b];
            }
        }
    }

    AlignedBuffer most, least;
};

// D_m = P_m - P_0 for m > 0, in place of the rows; row 0 is skipped.
template <class T>
void difference_tables(const T* P, int M, int K, const Split& split, Tables& tables) {
    const std::size_t stride = whole_steps(K);
    double* rows = tables.normalised.data();
    normalised_rows(P, M, K, rows);
    for (int m = 1; m < M; ++m) {
        for (int y = 0; y < K; ++y) rows[m * stride + y] -= rows[y];
    }
    fill_tables(rows + stride, stride, split, tables);
}

double hartley_chunk(Tables& tables, const Split& split, const SubsetWeights& weights,
                     std::size_t chunk) {
    const std::size_t begin = chunk * split.chunk, end = begin + split.chunk;
    double total = 0.0, sum = 0.0;
    tables.walk.start(tables.high.data(), begin);
    for (std::size_t subset = begin; subset < end; ++subset) {
        if (subset > begin) tables.walk.next(tables.high.data(), subset);
        const std::size_t at = popcount(subset) * split.width;
        sum += hartley_terms(tables.low.data(), tables.walk.sums(), tables.rows, split.width,
                             weights.most.data() + at, weights.least.data() + at);
        if (subset % 256 == 255) {  // two levels: 2^15 small terms would cost three digits
            total += sum;
            sum = 0.0;
        }
    }
    return total + sum;
}

}  // namespace

void hartley_weights(int K, double* w, double* log_v) {
    const double ln2 = std::log(2.0);
    w[0] = w[K] = 0.0;
    if (log_v != nullptr) log_v[0] = log_v[K] = 0.0;
    // Long doubles, once per size: phi and ln C(K, b) are of the order of K and nearly cancel.
    long double log_binomial = 0.0L;
    for (int b = 1; b < K; ++b) {
        const long double phi = b * std::log(static_cast<long double>(b) / K) +
                                (K - b) * std::log(static_cast<long double>(K - b) / K);
        const double integral = peak_integral(K, b) / ln2;
        log_binomial += std::log(static_cast<long double>(K - b + 1) / b);
        w[b] = static_cast<double>(std::exp(phi) * integral);
        if (log_v != nullptr) {
            log_v[b] = static_cast<double>(phi + log_binomial) + std::log(integral);
        }
    }
}

template <class T>
void hartley_exact(const T* P, std::size_t n, int M, int K, const double* w, double* value,
                   int threads) {
    std::fill(value, value + n, 0.0);
    if (M == 1 || K == 1) return;
    const int rows = M - 1;
    const Split split(K - 1, rows);
    const SubsetWeights weights(K, w, split);
    const std::size_t size = static_cast<std::size_t>(M) * K;
    // The chunks' sums are kept apart and added in order; a limited number of instances at a time
    // bounds their memory.
    const std::size_t block = split.chunks == 1 ? n : std::size_t{1} << 12;
    std::vector<double> partial(std::min(block, n) * split.chunks);
    for (std::size_t first = 0; first < n; first += block) {
        const std::size_t count = std::min(block, n - first);
        parallel_for(count * split.chunks, split.grain(rows), threads,
                     [&](std::size_t begin, std::size_t end) {
            Tables tables(split, rows, K);
            for (std::size_t task = begin; task < end; ++task) {
                const std::size_t instance = first + task / split.chunks;
                if (task == begin || task % split.chunks == 0) {
                    difference_tables(P + instance * size, M, K, split, tables);
                }
                partial[task] = hartley_chunk(tables, split, weights, task % split.chunks);
            }
        });
        for (std::size_t task = 0; task < count * split.chunks; ++task) {
            value[first + task / split.chunks] += partial[task];
        }
    }
}

// ------------------------------------------------------------------------ lower probabilities

namespace {

// Starting from 1 removes the rounding errors of sums over nearly all classes.
CREDALENS_CLONES void lower_terms(const double* table, const double* CREDALENS_RESTRICT offset,
                                  int rows, std::size_t width, std::size_t count,
                                  double* CREDALENS_RESTRICT lower) {
    for (std::size_t i = 0; i < count; ++i) lower[i] = 1.0;
    for (int m = 0; m < rows; ++m) {
        const double* CREDALENS_RESTRICT row = table + m * width;
        for (std::size_t i = 0; i < count; ++i) {
            const double sum = row[i] + offset[m];
            lower[i] = sum < lower[i] ? sum : lower[i];
        }
    }
}

void lower_chunk(Tables& tables, const Split& split, std::size_t chunk, double* values) {
    const std::size_t begin = chunk * split.chunk, end = begin + split.chunk;
    const std::size_t count = std::size_t{1} << split.low;
    tables.walk.start(tables.high.data(), begin);
    for (std::size_t subset = begin; subset < end; ++subset) {
        if (subset > begin) tables.walk.next(tables.high.data(), subset);
        lower_terms(tables.low.data(), tables.walk.sums(), tables.rows, split.width, count,
                    values + subset * count);
    }
    if (begin == 0) values[0] = 0.0;
    if (chunk + 1 == split.chunks) values[end * count - 1] = 1.0;
}

}  // namespace

template <class T>
void lower_probabilities(const T* P, std::size_t n, int M, int K, double* values, int threads) {
    const Split split(K, M);
    parallel_for(n * split.chunks, split.grain(M), threads,
                 [&](std::size_t begin, std::size_t end) {
        Tables tables(split, M, K);
        for (std::size_t task = begin; task < end; ++task) {
            const std::size_t instance = task / split.chunks;
            if (task == begin || task % split.chunks == 0) {
                double* rows = tables.normalised.data();
                normalised_rows(P + instance * M * K, M, K, rows);
                fill_tables(rows, whole_steps(K), split, tables);
            }
            lower_chunk(tables, split, task % split.chunks, values + (instance << K));
        }
    });
}

template void hartley_exact(const float*, std::size_t, int, int, const double*, double*, int);
template void hartley_exact(const double*, std::size_t, int, int, const double*, double*, int);
template void lower_probabilities(const float*, std::size_t, int, int, double*, int);
template void lower_probabilities(const double*, std::size_t, int, int, double*, int);

}  // namespace credalens
