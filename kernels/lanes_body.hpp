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

// Swaps the odd blocks of `kBlock` lanes of a with the even ones of b.
template <int kBlock>
CREDALENS_INLINE void exchange(Lanes& a, Lanes& b) {
    const Lanes x = a, y = b;
#if CREDALENS_LANES == 8
    if constexpr (kBlock == 4) {
        a = CREDALENS_MIX(x, y, 0, 1, 2, 3, 8, 9, 10, 11);
        b = CREDALENS_MIX(x, y, 4, 5, 6, 7, 12, 13, 14, 15);
    } else if constexpr (kBlock == 2) {
        a = CREDALENS_MIX(x, y, 0, 1, 8, 9, 4, 5, 12, 13);
        b = CREDALENS_MIX(x, y, 2, 3, 10, 11, 6, 7, 14, 15);
    } else {
        a = CREDALENS_MIX(x, y, 0, 8, 2, 10, 4, 12, 6, 14);
        b = CREDALENS_MIX(x, y, 1, 9, 3, 11, 5, 13, 7, 15);
    }
#elif CREDALENS_LANES == 4
    if constexpr (kBlock == 2) {
        a = CREDALENS_MIX(x, y, 0, 1, 4, 5);
        b = CREDALENS_MIX(x, y, 2, 3, 6, 7);
    } else {
        a = CREDALENS_MIX(x, y, 0, 4, 2, 6);
        b = CREDALENS_MIX(x, y, 1, 5, 3, 7);
    }
#else
    a = CREDALENS_MIX(x, y, 0, 2);
    b = CREDALENS_MIX(x, y, 1, 3);
#endif
}

template <int kBlock>
CREDALENS_INLINE void exchange_all(Lanes* v) {
    for (int i = 0; i < kWidth; ++i)
        if (!(i & kBlock)) exchange<kBlock>(v[i], v[i + kBlock]);
    if constexpr (kBlock > 1) exchange_all<kBlock / 2>(v);
}

// What each lane reads: an instance of its own or, where there are fewer, the last one.
template <class T>
struct Sources {
    const T* from[kWidth];

    CREDALENS_INLINE Sources(const T* P, std::size_t stride, std::size_t count) {
        for (std::size_t i = 0; i < kWidth; ++i) from[i] = P + (i < count ? i : count - 1) * stride;
    }

    CREDALENS_INLINE Lanes operator[](std::size_t at) const {
        Lanes v;
        for (int i = 0; i < kWidth; ++i) v[i] = from[i][at];
        return v;
    }

    // As many entries as there are lanes, beginning at `at`.
    CREDALENS_INLINE void block(std::size_t at, Lanes* v) const {
        for (int i = 0; i < kWidth; ++i) v[i] = load(from[i] + at);
        exchange_all<kWidth / 2>(v);
    }

    CREDALENS_INLINE void all(std::size_t size, Lanes* out) const {
        std::size_t e = 0;
        for (; e + kWidth <= size; e += kWidth) {
            Lanes v[kWidth];
            block(e, v);
            for (int i = 0; i < kWidth; ++i) out[e + i] = v[i];
        }
        for (; e < size; ++e) out[e] = (*this)[e];
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
        Sources<T>(P + first * size, size, left).all(size, lanes);
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
            const Sources<T> row(P + first * size + static_cast<std::size_t>(m) * K, size, left);
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
        Sources<T>(P + first * size, size, left).all(size, lanes);
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

// Eight sums and eight smallest entries of a row of eight classes or more: the same on every
// machine, whatever the width of a vector.
template <class T>
CREDALENS_INLINE void by_eights(const T* row, int K, double* sums, double* lows) {
    constexpr int kParts = 8 / kWidth;
    Lanes sum[kParts] = {}, low[kParts] = {};
    const auto add = [&](int part, const Lanes& x) {
        sum[part] += x;
        low[part] = smaller(x, low[part]);
    };
    int y = 0;
    for (; y + 8 <= K; y += 8)
        for (int part = 0; part < kParts; ++part) add(part, load(row + y + part * kWidth));
    if (y < K)  // the last eight, without those that were counted
        for (int part = 0; part < kParts; ++part) {
            const Lanes x = load(row + K - 8 + part * kWidth);
            Marks place;
            for (int i = 0; i < kWidth; ++i) place[i] = part * kWidth + i;
            add(part, place >= y - (K - 8) ? x : Lanes{});
        }
    __builtin_memcpy(sums, sum, sizeof sum);
    __builtin_memcpy(lows, low, sizeof low);
}

// The sum and the smallest entry, if below 0, of rows of K in every lane.
struct Tally {
    Lanes sum = {}, least = {};

    CREDALENS_INLINE void add(const Lanes& x) {
        sum += x;
        least = smaller(x, least);
    }

    template <class T>
    CREDALENS_INLINE void rows(const Sources<T>& entries, int K) {
        int y = 0;
        Lanes v[kWidth];
        for (; y + kWidth <= K; y += kWidth) {
            entries.block(y, v);
            for (int i = 0; i < kWidth; ++i) add(v[i]);
        }
        if (K - y > kWidth / 4 && K >= kWidth) {  // the last ones, without those that were counted
            entries.block(K - kWidth, v);
            for (int i = 0; i < kWidth; ++i)
                if (i >= y - (K - kWidth)) add(v[i]);
        } else {
            for (; y < K; ++y) add(entries[y]);
        }
    }

    template <class T>
    CREDALENS_INLINE void long_rows(const Sources<T>& entries, int K) {
        alignas(64) double sums[8 * kWidth], lows[8 * kWidth];
        for (int i = 0; i < kWidth; ++i)
            by_eights(entries.from[i], K, sums + 8 * i, lows + 8 * i);
        Lanes eight_sums[8], eight_lows[8];
        Sources<double>(sums, 8, kWidth).all(8, eight_sums);
        Sources<double>(lows, 8, kWidth).all(8, eight_lows);
        for (int i = 0; i < 8; ++i) {
            sum += eight_sums[i];
            least = smaller(eight_lows[i], least);
        }
    }
};

template <class T>
std::size_t first_bad(const T* P, std::size_t rows, int K, double tolerance) {
    for (std::size_t row = 0; row < rows; row += kWidth) {
        const std::size_t left = rows - row;
        const Sources<T> entries(P + row * K, static_cast<std::size_t>(K), left);
        Tally tally;
        if (sizeof(T) < 8 && K >= kLongRow)
            tally.long_rows(entries, K);
        else
            tally.rows(entries, K);
        // A NaN or an infinity shows as a sum that is not near 1.
        const Marks good = (tally.least >= 0.0) & (magnitude(tally.sum - 1.0) <= tolerance);
        std::int64_t all = -1;
        for (int i = 0; i < kWidth; ++i) all &= good[i];
        if (all) continue;
        for (std::size_t i = 0; i < kWidth && i < left; ++i)
            if (!good[i]) return row + i;
    }
    return rows;
}

template <class T>
void normalised_by_class(const T* P, int M, int K, double tiny, double* out, int list) {
    for (int m = 0; m < M; m += kWidth) {
        const Sources<T> rows(P + static_cast<std::size_t>(m) * K, static_cast<std::size_t>(K),
                              static_cast<std::size_t>(M - m));
        double* const here = out + m;
        Lanes part[8] = {};  // added up as rows are in entropy.cpp
        const auto keep = [&](int y, const Lanes& x) {
            part[y % 8] += x;
            __builtin_memcpy(here + static_cast<std::size_t>(y) * list, &x, sizeof x);
        };
        int y = 0;
        for (; y + kWidth <= K; y += kWidth) {
            Lanes v[kWidth];
            rows.block(y, v);
            for (int i = 0; i < kWidth; ++i) keep(y + i, v[i]);
        }
        for (; y < K; ++y) keep(y, rows[y]);
        const Lanes sum = ((part[0] + part[4]) + (part[2] + part[6])) +
                          ((part[1] + part[5]) + (part[3] + part[7]));
        const Lanes inverse = 1.0 / sum, least = tiny * sum;
        for (y = 0; y < K; ++y) {
            double* const at = here + static_cast<std::size_t>(y) * list;
            const Lanes x = load(at), scaled = x < least ? Lanes{} : x * inverse;
            __builtin_memcpy(at, &scaled, sizeof scaled);
        }
    }
    for (int y = 0; y < K; ++y)
        for (int m = M; m < list; ++m) out[static_cast<std::size_t>(y) * list + m] = 0;
}

#include "log_body.hpp"

template <class T>
void least_entropy(const T* P, std::size_t count, int M, int K, std::int64_t* member) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    const Lanes tiny = Lanes{} + 1e-300;
    for (std::size_t first = 0; first < count; first += kWidth) {
        const Sources<T> entries(P + first * size, size, count - first);
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
