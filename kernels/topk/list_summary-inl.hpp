// Summaries of lists with entries in lanes, for one target.

#include "simd/transpose-inl.hpp"

typedef std::int32_t ShortMask __attribute__((vector_size(4 * CREDALENS_LANES)));

CREDALENS_INLINE Mask load_ids(const std::int64_t* x) {
    Mask v;
    __builtin_memcpy(&v, x, sizeof v);
    return v;
}

CREDALENS_INLINE Mask load_ids(const std::int32_t* x) {
    ShortMask v;
    __builtin_memcpy(&v, x, sizeof v);
    return __builtin_convertvector(v, Mask);
}

// Sums over the entries of a list, in lanes.
struct ListSums {
    Vec sum, smallest, count;
    Mask bad;

    CREDALENS_INLINE void clear() {
        sum = count = Vec{};
        smallest = broadcast(1.0);
        bad = Mask{};
    }

    CREDALENS_INLINE void add(const Mask& id, const Vec& p, std::int64_t K) {
        const Mask unused = id == -1;
        const Vec own = zero_where(unused, p);
        sum += own;
        count += zero_where(unused, broadcast(1.0));
        smallest = min(unused ? broadcast(1.0) : p, smallest);
        bad |= (id < -1) | (id >= K) | ~(own >= 0.0);
    }
};

template <class Id, class T>
void summarize(const Id* ids, const T* probs, int rows, int k, std::int64_t K, ListSummary* out) {
    for (int first = 0; first < rows; first += kLanes) {
        const int here = rows - first < kLanes ? rows - first : kLanes;
        Vec sums[kLanes], smallest[kLanes], counts[kLanes];
        for (int r = 0; r < here; ++r, ids += k, probs += k) {
            ListSums list;
            list.clear();
            int j = 0;
            for (; j + kLanes <= k; j += kLanes) list.add(load_ids(ids + j), load(probs + j), K);
            if (j < k && k >= kLanes) {  // the last vector overlaps the previous one
                const Mask id = load_ids(ids + k - kLanes) | repeated_lanes(k);
                list.add(id, load(probs + k - kLanes), K);
            } else if (j < k) {
                Id rest[kLanes];
                for (int i = 0; i < kLanes; ++i) rest[i] = j + i < k ? ids[j + i] : Id{-1};
                list.add(load_ids(rest), load_n(probs + j, k - j), K);
            }
            sums[r] = list.sum, smallest[r] = list.smallest, counts[r] = list.count;
            out[first + r].valid = !any(list.bad);
        }
        const Vec sum = row_sums(sums, here), low = row_minima(smallest, here),
                  count = row_sums(counts, here);
        for (int r = 0; r < here; ++r) {
            out[first + r].sum = sum[r];
            out[first + r].smallest = low[r];
            out[first + r].count = static_cast<std::int32_t>(count[r]);
        }
    }
}
