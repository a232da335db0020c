#include "edges.hpp"

#include <algorithm>
#include <vector>

#include "pairs.hpp"
#include "parallel.hpp"
#include "vectors.hpp"

namespace credalens {
namespace {

// Lanes moved up by 1, 2 or 4 places, zeros behind them.
CREDALENS_INLINE Double8 up1(const Double8& v) {
    return __builtin_shufflevector(v, Double8{}, 8, 0, 1, 2, 3, 4, 5, 6);
}
CREDALENS_INLINE Double8 up2(const Double8& v) {
    return __builtin_shufflevector(v, Double8{}, 8, 8, 0, 1, 2, 3, 4, 5);
}
CREDALENS_INLINE Double8 up4(const Double8& v) {
    return __builtin_shufflevector(v, Double8{}, 8, 8, 8, 8, 0, 1, 2, 3);
}

// sums[y] = row[0] + .. + row[y - 1] for y = 0 .. K: eight at a time, so that the additions of a
// vector do not wait for each other.
template <class T>
CREDALENS_INLINE void running_sums(const T* row, int K, double* sums) {
    sums[0] = 0;
    Double8 carry = {};
    int y = 0;
    for (; y + kLanes <= K; y += kLanes) {
        Double8 v = load8(row + y);
        v += up1(v);
        v += up2(v);
        v += up4(v);
        v += carry;
        store8(sums + y + 1, v);
        carry = __builtin_shufflevector(v, v, 7, 7, 7, 7, 7, 7, 7, 7);
    }
    for (; y < K; ++y) sums[y + 1] = sums[y] + row[y];
}

// The parts of an edge list that need less work than edges at large.
struct Shape {
    explicit Shape(const EdgeList& edges, int K)
        : width((edges.size + kLanes - 1) / kLanes * kLanes),
          in_order(true),
          line(edges.size == K - 1) {
        for (int y = 0; y < K; ++y) in_order = in_order && edges.order[y] == y;
        for (int e = 0; e < edges.size; ++e)
            line = line && edges.start[e] == 0 && edges.stop[e] == e + 1;
        leaves = 0;
        while (leaves < edges.size && edges.start[leaves] == leaves &&
               edges.stop[leaves] == leaves + 1)
            ++leaves;
    }
    int width;      // number of edges, padded to whole vectors
    bool in_order;  // the classes need not be moved
    bool line;      // edge e has the first e + 1 classes on one side
    int leaves;     // the first edges e have class e alone on one side
};

// across[e] = length_e * P(side e) for one row; `moved` and `sums` are scratch, (K) and (K + 1).
template <class T>
CREDALENS_INLINE void send(const T* row, int K, const EdgeList& edges, const Shape& shape, T* moved,
                           double* sums, double* across) {
    if (!shape.in_order) {
        for (int y = 0; y < K; ++y) moved[y] = row[edges.order[y]];
        row = moved;
    }
    running_sums(row, K, sums);
    for (int e = edges.size; e < shape.width; ++e) across[e] = 0;
    if (shape.line) {
        for (int e = 0; e < edges.size; ++e) across[e] = edges.length[e] * sums[e + 1];
        return;
    }
    int e = 0;
    for (; e < shape.leaves; ++e) across[e] = edges.length[e] * row[e];
    for (; e < edges.size; ++e)
        across[e] = edges.length[e] * (sums[edges.stop[e]] - sums[edges.start[e]]);
}

template <class T>
CREDALENS_INLINE void send_all(const T* P, std::size_t rows, int K, const EdgeList& edges,
                               const Shape& shape, T* moved, double* sums, double* across) {
    for (std::size_t row = 0; row < rows; ++row)
        send(P + row * K, K, edges, shape, moved, sums, across + row * shape.width);
}

CREDALENS_CLONES void send_rows(const float* P, std::size_t rows, int K, const EdgeList& edges,
                                const Shape& shape, float* moved, double* sums, double* across) {
    send_all(P, rows, K, edges, shape, moved, sums, across);
}

CREDALENS_CLONES void send_rows(const double* P, std::size_t rows, int K, const EdgeList& edges,
                                const Shape& shape, double* moved, double* sums, double* across) {
    send_all(P, rows, K, edges, shape, moved, sums, across);
}

// Scratch memory of one thread.
template <class T>
struct Workspace {
    Workspace(std::size_t rows, int K, int width) : moved(K), sums(K + 1), across(rows * width) {}
    std::vector<T> moved;
    std::vector<double> sums, across;
};

}  // namespace

template <class T>
void edge_diameter(const T* P, std::size_t n, int M, int K, const EdgeList& edges,
                   double* diameter, int threads) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    const Shape shape(edges, K);
    // What a range sends across the edges stays in the second-level cache for the pairs.
    const std::size_t grain = 1 + (std::size_t{1} << 15) / size;
    const std::size_t most = std::min(n, grain) * M;
    parallel_for(
        n, grain, threads, [&] { return Workspace<T>(most, K, shape.width); },
        [&](Workspace<T>& ws, std::size_t begin, std::size_t end) {
            double* across = ws.across.data();
            send_rows(P + begin * size, (end - begin) * M, K, edges, shape, ws.moved.data(),
                      ws.sums.data(), across);
            closed_forms(across, end - begin, M, shape.width, static_cast<double*>(nullptr),
                         static_cast<double*>(nullptr), diameter + begin, PairMethod::automatic, 1);
        });
}

template void edge_diameter(const float*, std::size_t, int, int, const EdgeList&, double*, int);
template void edge_diameter(const double*, std::size_t, int, int, const EdgeList&, double*, int);

}  // namespace credalens
