// The simplex method with one game per lane, for one target.
//
// The linear program max sum x, A^T x <= 1, x >= 0 in a condensed tableau: the entry of row y and
// column m is that of the y-th basic and the m-th nonbasic variable. Variables are numbered, as
// doubles: members first, then the slack variables of the classes. Lanes have pivots of their own,
// selected by masks, so that a step has no branches; lanes that are finished do not change.

#include "games/single_game-inl.hpp"
#include "simd/transpose-inl.hpp"

struct LaneGame {
    int M, K;
    Vec *game, *tableau;                             // (M, K) and (K, M)
    Vec *b, *column, *basic;                         // by row of the tableau
    Vec *c, *row, *nonbasic, *in_column, *expected;  // by column

    CREDALENS_INLINE LaneGame(int M, int K, double* scratch) : M(M), K(K) {
        Vec* free = reinterpret_cast<Vec*>(scratch);
        const auto take = [&free](int count) { return std::exchange(free, free + count); };
        game = take(M * K), tableau = take(M * K);
        b = take(K), column = take(K), basic = take(K);
        c = take(M), row = take(M), nonbasic = take(M), in_column = take(M), expected = take(M);
    }

    // Starts from no members, of which the best pure strategy enters.
    CREDALENS_INLINE void start() {
        Vec best = broadcast(__builtin_inf()), index = {};
        for (int m = 0; m < M; ++m) {
            Vec top = {};
            for (int y = 0; y < K; ++y) {
                tableau[y * M + m] = game[m * K + y];
                top = max(game[m * K + y], top);
            }
            index = top < best ? broadcast(m) : index;
            best = min(top, best);
            c[m] = broadcast(1.0);
            nonbasic[m] = broadcast(m);
        }
        for (int m = 0; m < M; ++m)
            in_column[m] = index == broadcast(m) ? broadcast(1.0) : Vec{};
        for (int y = 0; y < K; ++y) {
            b[y] = broadcast(1.0);
            basic[y] = broadcast(M + y);
            Vec sum = {};
            for (int m = 0; m < M; ++m) sum += in_column[m] * tableau[y * M + m];
            column[y] = sum;
        }
    }

    // One step in the lanes with an entering column. Returns whether any lane has another one.
    CREDALENS_INLINE bool pivot() {
        // The smallest ratio b / column, by cross-multiplication, and its row.
        Vec numerator = broadcast(1.0), pivot = {}, leaving = {}, index = broadcast(-1.0);
        for (int m = 0; m < M; ++m) row[m] = Vec{};
        for (int y = 0; y < K; ++y) {
            const Vec a = column[y], right = b[y];
            const Mask smaller = (right * pivot < numerator * a) & (a > kMinPivot);
            numerator = smaller ? right : numerator;
            pivot = smaller ? a : pivot;
            leaving = smaller ? basic[y] : leaving;
            index = smaller ? broadcast(y) : index;
            for (int m = 0; m < M; ++m) row[m] = smaller ? tableau[y * M + m] : row[m];
        }
        const Mask found = pivot > 0.0;
        const Vec inverse = found ? 1.0 / pivot : Vec{};
        const Vec ratio = numerator * inverse;
        Vec entering = {}, cost = {};
        for (int m = 0; m < M; ++m) {
            entering += in_column[m] * nonbasic[m];
            cost += in_column[m] * c[m];
        }
        // With the row changed by 1 at the entering column, and the column by 1 at the leaving row,
        // one formula serves all entries of the tableau.
        Vec best = broadcast(kMinReducedCost), best_index = broadcast(-1.0);
        for (int m = 0; m < M; ++m) {
            const Vec in = found ? in_column[m] : Vec{};
            row[m] = (row[m] + in) * inverse;
            nonbasic[m] = in > 0.0 ? leaving : nonbasic[m];
            c[m] -= cost * row[m];
            best_index = c[m] > best ? broadcast(m) : best_index;
            best = max(c[m], best);
        }
        for (int m = 0; m < M; ++m)
            in_column[m] = best_index == broadcast(m) ? broadcast(1.0) : Vec{};
        for (int y = 0; y < K; ++y) {
            const Mask leaves = index == broadcast(y);
            const Vec a = leaves ? column[y] - 1.0 : column[y];
            basic[y] = leaves ? entering : basic[y];
            b[y] -= a * ratio;
            Vec sum = {};
            for (int m = 0; m < M; ++m) {
                Vec& entry = tableau[y * M + m];
                entry -= a * row[m];
                sum += in_column[m] * entry;
            }
            column[y] = sum;
        }
        return any(best_index >= 0.0);
    }

    // The bounds that the present solutions of both players attain, from the data. The weights of
    // the members are left in `row`, those of the classes in `column`.
    CREDALENS_INLINE void bounds(Vec& upper, Vec& lower) {
        Vec sum = {};
        for (int m = 0; m < M; ++m) {
            Vec weight = {};
            for (int y = 0; y < K; ++y) weight = basic[y] == broadcast(m) ? b[y] : weight;
            row[m] = clip_negative(weight);
            sum += row[m];
            expected[m] = Vec{};
        }
        for (int m = 0; m < M; ++m) row[m] /= sum;
        sum = upper = Vec{};
        for (int y = 0; y < K; ++y) {
            Vec cost = {}, image = {};
            for (int m = 0; m < M; ++m) cost = nonbasic[m] == broadcast(M + y) ? c[m] : cost;
            const Vec weight = column[y] = clip_negative(Vec{} - cost);
            sum += weight;
            for (int m = 0; m < M; ++m) {
                const Vec x = game[m * K + y];
                image += row[m] * x;
                expected[m] += weight * x;
            }
            upper = max(image, upper);
        }
        for (int y = 0; y < K; ++y) column[y] /= sum;
        lower = expected[0];
        for (int m = 1; m < M; ++m) lower = min(expected[m], lower);
        lower /= sum;
    }
};

// The bounds of pure strategies; M K vectors of scratch memory.
template <class T>
void pure_bounds(const T* A, std::size_t n, int M, int K, double* lower, double* upper,
                 double* scratch) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    Vec* game = reinterpret_cast<Vec*>(scratch);
    for (std::size_t first = 0; first < n; first += kLanes) {
        const std::size_t left = n - first;
        LanePointers<T>(A + first * size, size, left).load_all(size, game);
        Vec largest = {}, smallest = broadcast(__builtin_inf());
        for (int m = 0; m < M; ++m) {
            Vec top = {};
            for (int y = 0; y < K; ++y) top = max(game[m * K + y], top);
            smallest = min(top, smallest);
        }
        for (int y = 0; y < K; ++y) {
            Vec low = game[y];
            for (int m = 1; m < M; ++m) low = min(game[m * K + y], low);
            largest = max(low, largest);
        }
        store_n(upper + first, smallest, left);
        store_n(lower + first, largest, left);
    }
}

// Solves the games without a saddle point; lists those whose gap is too large, and returns their
// number.
template <class T>
std::size_t games_in_lanes(const T* A, std::size_t n, int M, int K, const double* lower,
                           const SmallGames& out, double* scratch, std::size_t* unsolved) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    LaneGame g(M, K, scratch);
    const T* games[kLanes + 1];
    std::size_t index[kLanes + 1], count = 0, failed = 0;
    // Stores a result, or lists the game if the gap is too large.
    const auto finish = [&](std::size_t i, double by_members, double by_classes, const auto& weight,
                            const auto& dual) {
        double &value = out.value[i], &gap = out.gap[i];
        const double low = by_classes > lower[i] ? by_classes : lower[i];
        const double high = by_members < value ? by_members : value;  // not a NaN
        if (!(high - low <= kSmallGameGap)) {
            unsolved[failed++] = i;
            return;
        }
        if (out.weights && by_members < value)
            for (int m = 0; m < M; ++m) out.weights[i * M + m] = weight(m);
        if (out.dual && by_classes > lower[i])
            for (int y = 0; y < K; ++y) out.dual[i * K + y] = dual(y);
        value = high;
        gap = high - low > 0.0 ? high - low : 0.0;
    };
    const auto solve = [&] {
        LanePointers<T>(games, count).load_all(size, g.game);
        g.start();
        for (int steps = 2 * (M + K); steps > 0 && g.pivot();) --steps;
        Vec by_members, by_classes;
        g.bounds(by_members, by_classes);
        for (std::size_t l = 0; l < count; ++l)
            finish(
                index[l], by_members[l], by_classes[l], [&](int m) { return g.row[m][l]; },
                [&](int y) { return g.column[y][l]; });
        count = 0;
    };
    const auto solve_one = [&](const T* game, std::size_t i) {
        SingleGame one(M, K, scratch);
        int entering = one.start(game);
        for (int steps = 2 * (M + K); steps > 0 && entering >= 0; --steps)
            entering = one.pivot(entering);
        double by_members, by_classes;
        one.bounds(by_members, by_classes);
        finish(
            i, by_members, by_classes, [&](int m) { return one.entries(one.weights)[m]; },
            [&](int y) { return one.entries(one.column)[y]; });
    };
    for (std::size_t i = 0; i < n; ++i) {
        const double difference = out.gap[i] - lower[i];
        out.value[i] = out.gap[i];
        out.gap[i] = difference > 0.0 ? difference : 0.0;
        games[count] = A + i * size;
        index[count] = i;
        count += !(difference <= kSmallGameGap);
        if (count == kLanes) solve();
    }
    if (count > kMaxSingleGames)
        solve();
    else
        for (std::size_t l = 0; l < count; ++l) solve_one(games[l], index[l]);
    return failed;
}
