// Matrix products and squared distances, for one target.

#include "simd/transpose-inl.hpp"
#include "hull/pairs-inl.hpp"

// points[m][k] = sum_y rows[m][y] V[y][k] for kRows rows and kColumns columns, one instance per
// lane.
template <int kRows, int kColumns>
CREDALENS_INLINE void multiply_tile(const Vec* rows, int K, const double* V, int r, Vec* points) {
    Vec sums[kRows][kColumns] = {};
    for (int y = 0; y < K; ++y)
        for (int m = 0; m < kRows; ++m) {
            const Vec x = rows[static_cast<std::size_t>(m) * K + y];
            for (int k = 0; k < kColumns; ++k)
                sums[m][k] += x * V[static_cast<std::size_t>(y) * r + k];
        }
    for (int m = 0; m < kRows; ++m)
        for (int k = 0; k < kColumns; ++k) points[static_cast<std::size_t>(m) * r + k] = sums[m][k];
}

template <int kRows>
void multiply_rows(const Vec* rows, int K, const double* V, int r, Vec* points) {
    int k = 0;
    for (; k + 4 <= r; k += 4) multiply_tile<kRows, 4>(rows, K, V + k, r, points + k);
    for (; k < r; ++k) multiply_tile<kRows, 1>(rows, K, V + k, r, points + k);
}

// `count` instances on one thread. The scratch memory has M (K + r) vectors.
template <class T>
void squared_diameters(const T* P, std::size_t count, int M, int K, const double* V, int r,
                       double* square, double* scratch) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    Vec* rows = reinterpret_cast<Vec*>(scratch);
    Vec* points = rows + size;
    for (std::size_t first = 0; first < count; first += kLanes) {
        const std::size_t left = count - first;
        LanePointers<T>(P + first * size, size, left).load_all(size, rows);
        int m = 0;
        for (; m + 4 <= M; m += 4)
            multiply_rows<4>(rows + static_cast<std::size_t>(m) * K, K, V, r,
                             points + static_cast<std::size_t>(m) * r);
        for (; m < M; ++m)
            multiply_rows<1>(rows + static_cast<std::size_t>(m) * K, K, V, r,
                             points + static_cast<std::size_t>(m) * r);
        store_n(square + first, max_pair(SquaredDifference(), points, M, r), left);
    }
}

// One instance with coordinates in lanes: `points` is (M, padded r), V is (K, padded r).
template <class T>
double squared_diameter(const T* P, int M, int K, const double* V, int r, double* points) {
    for (int first = 0; first < M; first += 4) {  // four rows share what is loaded of V
        const int last = std::min(first + 4, M);
        std::fill(points + static_cast<std::size_t>(first) * r,
                  points + static_cast<std::size_t>(last) * r, 0.0);
        for (int y = 0; y < K; ++y)
            for (int m = first; m < last; ++m) {
                const double x = P[static_cast<std::size_t>(m) * K + y];
                double* point = points + static_cast<std::size_t>(m) * r;
                for (int k = 0; k < r; k += kLanes)
                    store(point + k,
                          load(point + k) + x * load(V + static_cast<std::size_t>(y) * r + k));
            }
    }
    double best = 0;
    for (int i = 0; i < M; ++i) {
        check_interrupt();
        for (int j = i + 1; j < M; ++j) {
            const double* a = points + static_cast<std::size_t>(i) * r;
            const double* b = points + static_cast<std::size_t>(j) * r;
            Vec sum = {};
            for (int k = 0; k < r; k += kLanes) {
                const Vec x = load(a + k) - load(b + k);
                sum += x * x;
            }
            best = std::max(best, reduce_sum(sum));
        }
    }
    return best;
}
