// Sums over the subsets of the classes: lower probabilities of all events, and the generalized
// Hartley measure of a hull of M distributions, exactly or by sampling.
//
// P is (n, M, K), row-major, finite and non-negative with positive row sums; rows are normalised
// in float64 here. Values are in bits. A value depends on its own instance only: it has the same
// bits whatever the batch and the number of threads. Templates exist for float and double.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "simd/target.hpp"

namespace credalens {

// The weights of GH = log2 K - sum_{0<|B|<K} w[|B|] lower(B), into K + 1 entries:
//     w[b] = 1 / ln 2  int_0^inf e^{-bt} (1 - e^{-t})^{K-b} / t dt    for 0 < b < K,
// and w[0] = w[K] = 0. From about K = 1000 on, the smallest ones fall below the normal range of a
// double; log_v (may be null) does not: ln(w[b] C(K, b)), K + 1 entries, the ends unused (0).
// They satisfy sum_b b/K w[b] C(K, b) = log2 K. About 100 evaluations of the integrand for each b:
// 2 ms at K = 1000; keep the result.
void hartley_weights(int K, double* w, double* log_v);

// The generalized Hartley measure, exactly, for K <= 30; w from hartley_weights. O(M 2^K).
// Zero, exactly, when all members are equal. Threads share an instance when K > 15, so that they
// also help when n = 1.
template <class T>
void hartley_exact(const T* P, std::size_t n, int M, int K, const double* w, double* value,
                   int threads);

// The generalized Hartley measure by sampling, for any K: unbiased, with its standard error over
// n_pairs >= 2 pairs of a random permutation and its reverse, O(M K) a pair. log_v from
// hartley_weights.
//
// n_pairs = 0 is adaptive: 32 pairs, then twice as many in total, and so on, until
// standard_error <= max(rtol * value, atol) or max_pairs are used. All instances see the same
// permutations: the estimate depends on the instance, the seed and the number of pairs
// alone, but the errors of two instances are correlated. Stopping at the first small enough
// error favours small values, by up to a tenth of the error in trials. Equal members give 0
// with error 0.
template <class T>
void hartley_sample(const T* P, std::size_t n, int M, int K, const double* log_v,
                    std::uint64_t seed, std::int64_t n_pairs, double rtol, double atol,
                    std::int64_t max_pairs, double* value, double* standard_error, int threads);

// lower(B) = min_m P_m(B) for every event B, into (n, 2^K) values: class y is bit y of the index.
// lower(empty) = 0 and lower(all) = 1 exactly, and B in C implies lower(B) <= lower(C).
template <class T>
void lower_probabilities(const T* P, std::size_t n, int M, int K, double* values, int threads);

// Zeroed doubles on a 64-byte boundary. The alignment is for speed and for reproducibility: a
// vectorised sum may be ordered by where its data start.
class AlignedBuffer {
public:
    explicit AlignedBuffer(std::size_t size) : storage_(size + 7) {
        const auto address = reinterpret_cast<std::uintptr_t>(storage_.data());
        data_ = storage_.data() + (64 - address % 64) % 64 / sizeof(double);
    }
    AlignedBuffer(const AlignedBuffer&) = delete;
    AlignedBuffer& operator=(const AlignedBuffer&) = delete;
    double* data() { return data_; }
    const double* data() const { return data_; }

private:
    std::vector<double> storage_;
    double* data_;
};

// Copies one instance to float64, each row normalised and padded with zeros to whole_steps(K).
// Summing the aligned copy, not the input, makes equal rows equal to the last bit.
template <class T>
void normalised_rows(const T* P, int M, int K, double* rows) {
    const std::size_t stride = whole_steps(K);
    for (int m = 0; m < M; ++m) {
        double* row = rows + m * stride;
        const T* source = P + static_cast<std::size_t>(m) * K;
        for (int y = 0; y < K; ++y) row[y] = static_cast<double>(source[y]);
        double sum = 0.0;
        for (std::size_t y = 0; y < stride; ++y) sum += row[y];
        for (int y = 0; y < K; ++y) row[y] /= sum;
    }
}

}  // namespace credalens
