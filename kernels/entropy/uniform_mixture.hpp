// Sums of short rows, small systems of equations, and the weights under which many members mix to even
// shares of the classes. Nothing has more entropy than even shares, nor a smaller largest probability:
// where they are a mixture, they answer both.
#pragma once

#include <cstddef>
#include <cstring>

#include "simd/target.hpp"

namespace credalens {

// y[begin, end) += a x[begin, end), widened to whole vectors.
CREDALENS_INLINE void add_scaled(double* CREDALENS_RESTRICT y, const double* CREDALENS_RESTRICT x,
                                 double a, int begin, int end) {
    for (int block = begin / kStep * kStep; block < end; block += kStep)
        for (int i = 0; i < kStep; ++i) y[block + i] += a * x[block + i];
}

// Partial sums, because a plain one drifts: 4e-13 for 2000 equal terms.
CREDALENS_INLINE double sum_by_lanes(const double* x, int size) {
    double part[kStep] = {};
    for (int block = 0; block < size; block += kStep)
        for (int i = 0; i < kStep; ++i) part[i] += x[block + i];
    return ((part[0] + part[4]) + (part[2] + part[6])) +
           ((part[1] + part[5]) + (part[3] + part[7]));
}

// The same for products.
CREDALENS_INLINE double dot_by_lanes(const double* a, const double* b, int size) {
    double part[kStep] = {};
    for (int block = 0; block < size; block += kStep)
        for (int i = 0; i < kStep; ++i) part[i] += a[block + i] * b[block + i];
    return sum_by_lanes(part, kStep);
}

// Solves a positive definite system by elimination without pivoting: the upper triangle, with the
// right-hand side as one more column, in rows of `columns`. Its diagonal carries a ridge, a share
// of each entry; a pivot below a tenth of that is rounding.
CREDALENS_INLINE void solve_system(double* matrix, int size, int columns, double ridge, double* x) {
    for (int i = 0; i < size; ++i) x[i] = matrix[static_cast<std::size_t>(i) * columns + i];
    for (int j = 0; j < size; ++j) {
        const double* row = matrix + static_cast<std::size_t>(j) * columns;
        const double least = 0.1 * ridge * x[j], inverse = 1 / (row[j] > least ? row[j] : least);
        x[j] = inverse;
        for (int i = j + 1; i < size; ++i)
            add_scaled(matrix + static_cast<std::size_t>(i) * columns, row, -row[i] * inverse, i,
                       size + 1);
    }
    for (int j = size - 1; j >= 0; --j) {
        const double* row = matrix + static_cast<std::size_t>(j) * columns;
        double rest = row[size];
        for (int i = j + 1; i < size; ++i) rest -= row[i] * x[i];
        x[j] *= rest;
    }
}

constexpr int kMostEven = 64;         // classes for which evenness is worth a try
constexpr double kEven = 0.05;        // chi-squared of a mean of the members that is nearly even
constexpr double kEvenRidge = 1e-13;  // ridge of the system

// The least change of equal weights under which the members mix to even shares; false if the
// members are not nearly even on the whole, or a weight would be negative. The members are set out
// class by class, (K, list), whole vectors with zeros after the last; `matrix` holds K rows of
// whole_steps(K + 1) and `x` K numbers of scratch; w has `list` places.
CREDALENS_INLINE bool even_weights(const double* by_class, int list, int M, int K, double* matrix,
                                   double* x, double* w) {
    const int columns = whole_steps(K + 1);
    const double share = 1.0 / K;
    double uneven = 0;
    for (int y = 0; y < K; ++y) {
        double* row = matrix + static_cast<std::size_t>(y) * columns;
        std::memset(row, 0, columns * sizeof(double));
        row[K] = share - sum_by_lanes(by_class + static_cast<std::size_t>(y) * list, list) / M;
        uneven += row[K] * row[K];
    }
    if (!(K * uneven < kEven)) return false;
    for (int y = 0; y < K; ++y) {
        double* row = matrix + static_cast<std::size_t>(y) * columns;
        const double* members = by_class + static_cast<std::size_t>(y) * list;
        for (int z = y; z < K; ++z) {
            const double* others = by_class + static_cast<std::size_t>(z) * list;
            double sum = 0;
#pragma omp simd reduction(+ : sum)
            for (int m = 0; m < list; ++m) sum += members[m] * others[m];
            row[z] = sum;
        }
        row[y] *= 1 + kEvenRidge;
    }
    solve_system(matrix, K, columns, kEvenRidge, x);
    for (int m = 0; m < list; ++m) w[m] = m < M ? 1.0 / M : 0.0;
    for (int y = 0; y < K; ++y)
        add_scaled(w, by_class + static_cast<std::size_t>(y) * list, x[y], 0, list);
    int negative = 0;
    for (int m = 0; m < M; ++m) negative += !(w[m] >= 0);
    for (int m = M; m < list; ++m) w[m] = 0;  // not NaN
    return negative == 0;
}

}  // namespace credalens
