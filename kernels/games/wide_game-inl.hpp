// Passes over the columns of a wide game, for one target.

constexpr int kBlockVectors = kColumnBlock / kLanes;

// Reads `count` <= kColumnBlock columns of a row from x on; 0 in the lanes after them.
template <class T>
CREDALENS_INLINE void load_columns(const T* x, int count, Vec* row) {
    if (count == kColumnBlock) {
        for (int v = 0; v < kBlockVectors; ++v) row[v] = load(x + v * kLanes);
        return;
    }
    for (int v = 0; v < kBlockVectors; ++v)
        row[v] = load_n(x + v * kLanes, std::max(count - v * kLanes, 0));
}

// Largest column sum of each block, and largest entry of each row with its block, of the columns
// from `begin`, a multiple of kColumnBlock, to `end`.
template <class T>
void survey_columns(const T* A, int M, int K, int begin, int end, WideGame& g) {
    for (int first = begin; first < end; first += kColumnBlock) {
        const int count = std::min(K - first, kColumnBlock);
        Vec sum[kBlockVectors], row[kBlockVectors];
        for (int m = 0; m < M; ++m) {
            load_columns(A + static_cast<std::size_t>(m) * K + first, count, row);
            Vec top = row[0];
            for (int v = 0; v < kBlockVectors; ++v) {
                sum[v] = m == 0 ? row[v] : sum[v] + row[v];
                top = max(row[v], top);
            }
            if (less_bits(broadcast(g.largest[m]), top)) {
                g.largest[m] = reduce_max(top);
                g.largest_column[m] = first;
            }
        }
        Vec peak = sum[0];
        for (int v = 1; v < kBlockVectors; ++v) peak = max(sum[v], peak);
        g.peak[first / kColumnBlock] = reduce_max(peak);
    }
}

// (w^T A)_y of the columns of a block.
template <class T>
void mix_columns(const T* A, int M, int K, int first, const double* w, double* image) {
    const int count = std::min(K - first, kColumnBlock);
    Vec sum[kBlockVectors] = {}, row[kBlockVectors];
    for (int m = 0; m < M; ++m) {
        if (w[m] == 0.0) continue;
        load_columns(A + static_cast<std::size_t>(m) * K + first, count, row);
        for (int v = 0; v < kBlockVectors; ++v) sum[v] += w[m] * row[v];
    }
    for (int v = 0; v < kBlockVectors; ++v) store(image + v * kLanes, sum[v]);
}
