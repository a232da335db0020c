// Part of simd/instance_per_lane-inl.hpp: the bounds of boxes, checked and made reachable, an instance a lane but where
// rows are long.

// A NaN stays where a comparison with it fails, reaches the sums, and fails there.
CREDALENS_INLINE Lanes in_unit(const Lanes& x) {
    return smaller(Lanes{} + 1.0, larger(Lanes{}, x));
}

template <class T>
std::size_t reachable_bounds(const T* low, const T* high, std::size_t count, int K, double slack,
                             double tolerance, T* lower, T* upper, T* tops, double* scratch) {
    const std::size_t classes = K;
    const Lanes one = Lanes{} + 1.0;
    Lanes *l = reinterpret_cast<Lanes*>(scratch), *u = l + K;
    std::size_t first_bad = count;
    for (std::size_t first = 0; first < count; first += kWidth) {
        const std::size_t left = count - first;
        Sources<T>(low + first * classes, classes, left).all(classes, l);
        Sources<T>(high + first * classes, classes, left).all(classes, u);
        Lanes lows = {}, highs = {}, worst = {};
        for (int y = 0; y < K; ++y) {
            worst = larger(larger(larger(l[y] - u[y], -l[y]), u[y] - 1.0), worst);
            lows += l[y] = in_unit(l[y]);
            highs += u[y] = larger(l[y], in_unit(u[y]));
        }
        const Marks good =
            (worst <= slack) & (lows <= 1.0 + tolerance) & (highs >= 1.0 - tolerance);
        for (std::size_t i = 0; i < kWidth && i < left && first_bad == count; ++i)
            if (!good[i]) first_bad = first + i;
        if (any(~((lows <= 1.0) & (highs >= 1.0)))) {
            // By rounding: the bounds meet there. Dividing by 1 leaves the other lanes as they are.
            const Lanes shrink = larger(lows, one), grow = smaller(highs, one);
            lows = highs = Lanes{};
            for (int y = 0; y < K; ++y) {
                lows += l[y] /= shrink;
                highs += u[y] /= grow;
            }
        }
        Lanes most_low = {}, most_high = {};
        for (int y = 0; y < K; ++y) {
            const Lanes own = l[y];
            l[y] = smaller(larger(own, 1.0 - (highs - u[y])), u[y]);
            u[y] = larger(smaller(u[y], 1.0 - (lows - own)), l[y]);
            most_low = larger(l[y], most_low);
            most_high = larger(u[y], most_high);
        }
        write_rows(l, K, left, classes, lower + first * classes);
        write_rows(u, K, left, classes, upper + first * classes);
        write_member(most_low, left, 2, tops + 2 * first);
        write_member(most_high, left, 2, tops + 2 * first + 1);
    }
    return first_bad;
}

// As `sums_of`.
CREDALENS_INLINE Lanes largest_of(const Lanes* v, int count) {
    Lanes part[kWidth];
    Sources<double>(reinterpret_cast<const double*>(v), kWidth, count).block(0, part);
    for (int i = 1; i < kWidth; ++i) part[0] = larger(part[i], part[0]);
    return part[0];
}

// What bounds are checked for, an instance a lane or, to be put together, a row.
struct BoundsSeen {
    Lanes lows = {}, highs = {}, top_low = {}, top_high = {}, widest = {}, least = {};

    CREDALENS_INLINE void extremes(const Lanes& l, const Lanes& u) {
        const Lanes width = u - l;
        top_low = larger(l, top_low);
        top_high = larger(u, top_high);
        widest = larger(width, widest);
        least = smaller(smaller(l, width), least);
    }

    CREDALENS_INLINE Marks good(double slack, double tolerance) const {
        return (least >= -slack) & (top_high <= 1.0 + slack) & (lows <= 1.0 + tolerance) &
               (highs >= 1.0 - tolerance);
    }

    // Up to slack: a class can be at both of its bounds if the others leave room for its width.
    CREDALENS_INLINE Marks reachable(double slack) const {
        return (least >= 0.0) & (top_high <= 1.0) & (lows <= 1.0 + slack) &
               (highs >= 1.0 - slack) & (widest <= smaller(highs - 1.0, 1.0 - lows) + slack);
    }
};

template <class T>
std::size_t check_bounds(const T* low, const T* high, std::size_t count, int K, double slack,
                         double tolerance, T* tops, std::uint8_t* loose, double* scratch) {
    const std::size_t classes = K;
    Lanes *l = reinterpret_cast<Lanes*>(scratch), *u = l + K;
    std::size_t first_bad = count;
    for (std::size_t first = 0; first < count; first += kWidth) {
        const std::size_t left = count - first;
        const T *const lows = low + first * classes, *const highs = high + first * classes;
        BoundsSeen all;
        if (K < kMinSetsAlong) {
            Sources<T>(lows, classes, left).all(classes, l);
            Sources<T>(highs, classes, left).all(classes, u);
            for (int y = 0; y < K; ++y) {
                all.extremes(l[y], u[y]);
                all.lows += l[y];
                all.highs += u[y];
            }
        } else {
            const int here = left < kWidth ? static_cast<int>(left) : kWidth;
            const Marks twice = held_twice(K);
            Lanes parts[6][kWidth];
            for (int i = 0; i < here; ++i) {
                const T *const l = lows + i * classes, *const u = highs + i * classes;
                BoundsSeen own;
                int y = 0;
                for (; y + kWidth <= K; y += kWidth) {
                    const Lanes x = load(l + y), z = load(u + y);
                    own.extremes(x, z);
                    own.lows += x;
                    own.highs += z;
                }
                if (y < K) {
                    const Lanes x = load(l + K - kWidth), z = load(u + K - kWidth);
                    own.extremes(x, z);
                    own.lows += without(x, twice);
                    own.highs += without(z, twice);
                }
                parts[0][i] = own.lows;
                parts[1][i] = own.highs;
                parts[2][i] = own.top_low;
                parts[3][i] = own.top_high;
                parts[4][i] = own.widest;
                parts[5][i] = -own.least;
            }
            all = {sums_of(parts[0], here),    sums_of(parts[1], here),
                   largest_of(parts[2], here), largest_of(parts[3], here),
                   largest_of(parts[4], here), -largest_of(parts[5], here)};
        }
        const Marks good = all.good(slack, tolerance);
        for (std::size_t i = 0; any(~good) && i < kWidth && i < left && first_bad == count; ++i)
            if (!good[i]) first_bad = first + i;
        write_member(all.reachable(slack) + 1, left, 1, loose + first);
        write_member(all.top_low, left, 2, tops + 2 * first);
        write_member(all.top_high, left, 2, tops + 2 * first + 1);
    }
    return first_bad;
}
