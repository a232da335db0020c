// Matrix games of two classes, for one target.

#include "simd/transpose-inl.hpp"

// Two lines q a + (1 - q) b, a - b positive for the first one and negative for the second.
struct CrossingLines {
    Vec rising_a, rising_b, falling_a, falling_b;

    // q, and the difference of the slopes.
    CREDALENS_INLINE Vec crossing(Vec& slope) const {
        slope = (rising_a - rising_b) + (falling_b - falling_a);
        return (falling_b - rising_b) / slope;
    }

    // What the mixture of the two members attains that makes both classes equally probable.
    CREDALENS_INLINE Vec attained(const Vec& slope) const {
        const Vec first = (falling_b - falling_a) / slope, second = (rising_a - rising_b) / slope;
        return max(first * rising_a + second * falling_a, first * rising_b + second * falling_b);
    }
};

// Games whose gap is larger than `accepted` are listed in `unsolved`; returns their number. 2 M
// vectors of scratch memory.
template <class T>
std::size_t two_class_games(const T* A, std::size_t n, int M, const double* lower, double* value,
                            double* gap, double accepted, double* scratch, std::size_t* unsolved) {
    const std::size_t size = 2 * static_cast<std::size_t>(M);
    Vec* game = reinterpret_cast<Vec*>(scratch);
    std::size_t failed = 0;
    for (std::size_t first = 0; first < n; first += kLanes) {
        const std::size_t left = n - first;
        const int here = left < kLanes ? static_cast<int>(left) : kLanes;
        Vec low = load_n(lower + first, here), high = load_n(gap + first, here);
        Mask active = high - low > accepted;
        if (any(active)) {
            LanePointers<T>(A + first * size, size, left).load_all(size, game);
            CrossingLines lines{game[0], game[1], game[0], game[1]};
            for (int m = 1; m < M; ++m) {
                const Vec a = game[2 * m], b = game[2 * m + 1];
                // Of lines that are equal at an end, the lower one inside.
                const Mask left_end = b < lines.rising_b | (b == lines.rising_b & a < lines.rising_a);
                const Mask right_end =
                    a < lines.falling_a | (a == lines.falling_a & b < lines.falling_b);
                lines.rising_a = left_end ? a : lines.rising_a;
                lines.rising_b = left_end ? b : lines.rising_b;
                lines.falling_a = right_end ? a : lines.falling_a;
                lines.falling_b = right_end ? b : lines.falling_b;
            }
            // Each step excludes a line for good.
            for (int step = 0; step <= M && any(active); ++step) {
                Vec slope;
                const Vec q = lines.crossing(slope), other = 1.0 - q;
                Vec least = broadcast(__builtin_inf()), a = {}, b = {};
                for (int m = 0; m < M; ++m) {
                    const Vec x = game[2 * m], y = game[2 * m + 1];
                    const Vec at = q * x + other * y;
                    const Mask less = at < least | (at == least & x < a);
                    a = less ? x : a;
                    b = less ? y : b;
                    least = less ? at : least;
                }
                const Vec attained = lines.attained(slope);
                low = active & (least > low) ? least : low;
                high = active & (attained < high) ? attained : high;
                const Mask rises = a > b, falls = a < b;
                const Mask replace_rising =
                    active & rises & ((a != lines.rising_a) | (b != lines.rising_b));
                const Mask replace_falling =
                    active & falls & ((a != lines.falling_a) | (b != lines.falling_b));
                active = (replace_rising | replace_falling) & (high - low > 0x1p-52);
                lines.rising_a = active & replace_rising ? a : lines.rising_a;
                lines.rising_b = active & replace_rising ? b : lines.rising_b;
                lines.falling_a = active & replace_falling ? a : lines.falling_a;
                lines.falling_b = active & replace_falling ? b : lines.falling_b;
            }
        }
        store_n(value + first, high, left);
        store_n(gap + first, clip_negative(high - low), left);
        for (int i = 0; i < here; ++i)
            if (!(gap[first + i] <= accepted)) unsolved[failed++] = first + i;
    }
    return failed;
}
