// Part of simd/instance_per_lane-inl.hpp: rows, one a lane.

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
            add(part, lanes() + part * kWidth >= y - (K - 8) ? x : Lanes{});
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
        if (K >= kLongRow)
            tally.long_rows(entries, K);
        else
            tally.rows(entries, K);
        const Marks good = (tally.least >= 0.0) & near_one(tally.sum, tolerance);
        if (!any(~good)) continue;
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
        Lanes part[8] = {};  // added up as rows are in entropy/hull_entropy.cpp
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
