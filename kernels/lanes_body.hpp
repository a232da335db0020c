// What lanes.hpp declares, for one instruction set: included by lanes.cpp inside a namespace, with
// the width of its vectors in CREDALENS_LANES. Nothing of the standard library is called: what it
// would instantiate here might be linked into code for lesser machines.

constexpr int kWidth = CREDALENS_LANES;
typedef double Lanes __attribute__((vector_size(8 * CREDALENS_LANES)));
typedef float Floats __attribute__((vector_size(4 * CREDALENS_LANES)));
typedef std::uint64_t Bits __attribute__((vector_size(8 * CREDALENS_LANES)));
typedef std::int64_t Marks __attribute__((vector_size(8 * CREDALENS_LANES)));

CREDALENS_INLINE Lanes magnitude(const Lanes& v) { return (Lanes)((Marks)v & INT64_MAX); }
CREDALENS_INLINE Lanes larger(const Lanes& a, const Lanes& b) { return a > b ? a : b; }
CREDALENS_INLINE Lanes smaller(const Lanes& a, const Lanes& b) { return a < b ? a : b; }

// What each lane reads: an instance of its own or, where there are fewer, the last one.
template <class T>
struct Sources {
    const T* P;
    std::size_t stride, count;

    CREDALENS_INLINE Lanes operator[](std::size_t at) const {
        Lanes v;
        if (count >= kWidth)
            for (int i = 0; i < kWidth; ++i) v[i] = P[i * stride + at];
        else
            for (std::size_t i = 0; i < kWidth; ++i)
                v[i] = P[(i < count ? i : count - 1) * stride + at];
        return v;
    }
};

void write(const Lanes& v, std::size_t count, double* out) {
    for (std::size_t i = 0; i < kWidth && i < count; ++i) out[i] = v[i];
}

void extremes(const Lanes* lanes, int M, int K, std::size_t count, double* max_lower,
              double* max_upper) {
    Lanes best = lanes[0], top = lanes[0];
    for (int y = 0; y < K; ++y) {
        Lanes low = lanes[y], high = lanes[y];
        for (int m = 1; m < M; ++m) {
            const Lanes x = lanes[static_cast<std::size_t>(m) * K + y];
            low = smaller(x, low);
            high = larger(x, high);
        }
        best = y == 0 ? low : larger(low, best);
        top = larger(high, top);
    }
    if (max_lower) write(best, count, max_lower);
    if (max_upper) write(top, count, max_upper);
}

// The widest pair so far, in every lane.
template <bool kPlaces>
struct Widest {
    Lanes best = {};
    Marks place = {};

    CREDALENS_INLINE void offer(const Lanes& here, std::int64_t pair) {
        if constexpr (kPlaces) place = here > best ? Marks{} + pair : place;
        best = larger(here, best);
    }
};

struct Absolute {
    CREDALENS_INLINE Lanes operator()(const Lanes& x) const { return magnitude(x); }
};

struct Square {
    CREDALENS_INLINE Lanes operator()(const Lanes& x) const { return x * x; }
};

// The largest sum over K entries of what `of` makes of differences: all pairs of M rows, two by two
// at a time, so that there are four loads for four sums.
template <class Of, bool kPlaces>
void widest_pairs(const Lanes* lanes, int M, int K, std::size_t count, double* diameter,
                  std::int64_t* pairs) {
    const Of of;
    Widest<kPlaces> widest;
    for (int i = 0; i + 1 < M; i += 2) {
        const Lanes *a = lanes + static_cast<std::size_t>(i) * K, *b = a + K;
        Lanes ab = {};
        for (int y = 0; y < K; ++y) ab += of(a[y] - b[y]);
        const std::int64_t from_a = static_cast<std::int64_t>(i) * M, from_b = from_a + M;
        widest.offer(ab, from_a + i + 1);
        int j = i + 2;
        for (; j + 1 < M; j += 2) {
            const Lanes *c = lanes + static_cast<std::size_t>(j) * K, *d = c + K;
            Lanes ac = {}, ad = {}, bc = {}, bd = {};
            for (int y = 0; y < K; ++y) {
                ac += of(a[y] - c[y]);
                ad += of(a[y] - d[y]);
                bc += of(b[y] - c[y]);
                bd += of(b[y] - d[y]);
            }
            widest.offer(ac, from_a + j);
            widest.offer(ad, from_a + j + 1);
            widest.offer(bc, from_b + j);
            widest.offer(bd, from_b + j + 1);
        }
        if (j < M) {
            const Lanes* c = lanes + static_cast<std::size_t>(j) * K;
            Lanes ac = {}, bc = {};
            for (int y = 0; y < K; ++y) {
                ac += of(a[y] - c[y]);
                bc += of(b[y] - c[y]);
            }
            widest.offer(ac, from_a + j);
            widest.offer(bc, from_b + j);
        }
    }
    write(widest.best, count, diameter);
    if constexpr (kPlaces)
        for (std::size_t i = 0; i < kWidth && i < count; ++i) {
            pairs[2 * i] = widest.place[i] / M;
            pairs[2 * i + 1] = widest.place[i] % M;
        }
}

template <class T>
void closed_forms(const T* P, std::size_t count, int M, int K, double* max_lower,
                  double* max_upper, double* diameter, std::int64_t* pairs, double* scratch) {
    Lanes* lanes = reinterpret_cast<Lanes*>(scratch);
    const std::size_t size = static_cast<std::size_t>(M) * K;
    for (std::size_t first = 0; first < count; first += kWidth) {
        const std::size_t left = count - first;
        const Sources<T> entries{P + first * size, size, left};
        for (std::size_t e = 0; e < size; ++e) lanes[e] = entries[e];
        if (max_lower || max_upper)
            extremes(lanes, M, K, left, max_lower ? max_lower + first : nullptr,
                     max_upper ? max_upper + first : nullptr);
        if (diameter && pairs)
            widest_pairs<Absolute, true>(lanes, M, K, left, diameter + first, pairs + 2 * first);
        else if (diameter)
            widest_pairs<Absolute, false>(lanes, M, K, left, diameter + first, nullptr);
    }
}

template <class T>
void edge_diameter(const T* P, std::size_t count, int M, int K, const EdgeList& edges,
                   double* diameter, double* scratch) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    Lanes* sums = reinterpret_cast<Lanes*>(scratch);
    Lanes* across = sums + K + 1;
    for (std::size_t first = 0; first < count; first += kWidth) {
        const std::size_t left = count - first;
        for (int m = 0; m < M; ++m) {
            const Sources<T> row{P + first * size + static_cast<std::size_t>(m) * K, size, left};
            sums[0] = Lanes{};
            for (int y = 0; y < K; ++y) sums[y + 1] = sums[y] + row[edges.order[y]];
            Lanes* sent = across + static_cast<std::size_t>(m) * edges.size;
            for (int e = 0; e < edges.size; ++e) {
                const std::int64_t start = edges.start[e], stop = edges.stop[e];
                // A class alone on its side is not to suffer from the rounding of two sums.
                const Lanes side = stop == start + 1 ? row[edges.order[start]]
                                                     : sums[stop] - sums[start];
                sent[e] = edges.length[e] * side;
            }
        }
        widest_pairs<Absolute, false>(across, M, edges.size, left, diameter + first, nullptr);
    }
}

// points[m][k] = sum over y of rows[m][y] V[y][k] for kRows rows and kColumns columns.
template <int kRows, int kColumns>
CREDALENS_INLINE void multiply(const Lanes* rows, int K, const double* V, int r, Lanes* points) {
    Lanes sums[kRows][kColumns] = {};
    for (int y = 0; y < K; ++y)
        for (int m = 0; m < kRows; ++m) {
            const Lanes share = rows[static_cast<std::size_t>(m) * K + y];
            for (int k = 0; k < kColumns; ++k)
                sums[m][k] += share * V[static_cast<std::size_t>(y) * r + k];
        }
    for (int m = 0; m < kRows; ++m)
        for (int k = 0; k < kColumns; ++k) points[static_cast<std::size_t>(m) * r + k] = sums[m][k];
}

template <int kRows>
void multiply_rows(const Lanes* rows, int K, const double* V, int r, Lanes* points) {
    int k = 0;
    for (; k + 4 <= r; k += 4) multiply<kRows, 4>(rows, K, V + k, r, points + k);
    for (; k < r; ++k) multiply<kRows, 1>(rows, K, V + k, r, points + k);
}

template <class T>
void square_diameter(const T* P, std::size_t count, int M, int K, const double* V, int r,
                     double* square, double* scratch) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    Lanes* lanes = reinterpret_cast<Lanes*>(scratch);
    Lanes* points = lanes + size;
    for (std::size_t first = 0; first < count; first += kWidth) {
        const std::size_t left = count - first;
        const Sources<T> entries{P + first * size, size, left};
        for (std::size_t e = 0; e < size; ++e) lanes[e] = entries[e];
        int m = 0;
        for (; m + 4 <= M; m += 4)
            multiply_rows<4>(lanes + static_cast<std::size_t>(m) * K, K, V, r,
                             points + static_cast<std::size_t>(m) * r);
        for (; m < M; ++m)
            multiply_rows<1>(lanes + static_cast<std::size_t>(m) * K, K, V, r,
                             points + static_cast<std::size_t>(m) * r);
        widest_pairs<Square, false>(points, M, r, left, square + first, nullptr);
    }
}

CREDALENS_INLINE Lanes load(const double* x) {
    Lanes v;
    __builtin_memcpy(&v, x, sizeof v);
    return v;
}

CREDALENS_INLINE Lanes load(const float* x) {
    Floats v;
    __builtin_memcpy(&v, x, sizeof v);
    return __builtin_convertvector(v, Lanes);
}

// Eight sums and eight smallest entries of the first classes of a row, up to a multiple of eight:
// the same on every machine, whatever the width of a vector.
template <class T>
CREDALENS_INLINE void by_eights(const T* row, int K, double* sums, double* lows) {
    constexpr int kParts = 8 / kWidth;
    Lanes sum[kParts] = {}, low[kParts] = {};
    for (int y = 0; y + 8 <= K; y += 8)
        for (int part = 0; part < kParts; ++part) {
            const Lanes x = load(row + y + part * kWidth);
            sum[part] += x;
            low[part] = smaller(x, low[part]);
        }
    __builtin_memcpy(sums, sum, sizeof sum);
    __builtin_memcpy(lows, low, sizeof low);
}

template <class T>
std::size_t first_bad(const T* P, std::size_t rows, int K, double tolerance) {
    const bool by_lane = K < kShortRow;  // else only what is left over, and sums of sums, are
    alignas(64) double sums[8 * kWidth], lows[8 * kWidth];
    for (std::size_t row = 0; row < rows; row += kWidth) {
        const std::size_t left = rows - row;
        const Sources<T> entries{P + row * K, static_cast<std::size_t>(K), left};
        Lanes sum = {}, least = {};
        if (!by_lane) {
            for (std::size_t i = 0; i < kWidth && i < left; ++i)
                by_eights(P + (row + i) * K, K, sums + 8 * i, lows + 8 * i);
            const Sources<double> eight_sums{sums, 8, left}, eight_lows{lows, 8, left};
            for (int i = 0; i < 8; ++i) {
                sum += eight_sums[i];
                least = smaller(eight_lows[i], least);
            }
        }
        for (int y = by_lane ? 0 : K / 8 * 8; y < K; ++y) {
            const Lanes x = entries[y];
            sum += x;
            least = smaller(x, least);
        }
        // A NaN or an infinity shows as a sum that is not near 1.
        const Marks good = (least >= 0.0) & (magnitude(sum - 1.0) <= tolerance);
        std::int64_t all = -1;
        for (int i = 0; i < kWidth; ++i) all &= good[i];
        if (all) continue;
        for (std::size_t i = 0; i < kWidth && i < left; ++i)
            if (!good[i]) return row + i;
    }
    return rows;
}

#include "log_body.hpp"

template <class T>
void least_entropy(const T* P, std::size_t count, int M, int K, std::int64_t* member) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    const Lanes tiny = Lanes{} + 1e-300;
    for (std::size_t first = 0; first < count; first += kWidth) {
        const Sources<T> entries{P + first * size, size, count - first};
        Lanes least = {};
        Marks place = {};
        for (int m = 0; m < M; ++m) {
            Lanes sum = {}, logs = {};
            for (int y = 0; y < K; ++y) {
                const Lanes x = entries[static_cast<std::size_t>(m) * K + y];
                sum += x;
                logs += x * log_of<Lanes, Bits>(larger(x, tiny));
            }
            const Lanes here = log_of<Lanes, Bits>(sum) - logs / sum;  // of the row divided by its sum
            if (m == 0) least = here;
            place = here < least ? Marks{} + m : place;
            least = smaller(here, least);
        }
        for (std::size_t i = 0; i < kWidth && first + i < count; ++i) member[first + i] = place[i];
    }
}
