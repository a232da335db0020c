// The method of small_games-inl.hpp for one game, with the members in lanes. It computes the same
// numbers in the same order as each lane of LaneGame, so that the result is the same bit for bit.

struct SingleGame {
    int M, K, columns, rows;            // vectors of all members, and of all classes
    Vec *game, *tableau;                // (K, columns)
    Vec *b, *column, *image;            // by class
    Vec *c, *row, *weights, *expected;  // by member
    int basic[kMaxGameClasses], nonbasic[kMaxGameMembers];

    CREDALENS_INLINE SingleGame(int M, int K, double* scratch)
        : M(M), K(K), columns((M + kLanes - 1) / kLanes), rows((K + kLanes - 1) / kLanes) {
        Vec* free = reinterpret_cast<Vec*>(scratch);
        const auto take = [&free](int count) { return std::exchange(free, free + count); };
        game = take(K * columns), tableau = take(K * columns);
        b = take(rows), column = take(rows), image = take(rows);
        c = take(columns), row = take(columns), weights = take(columns), expected = take(columns);
    }

    static CREDALENS_INLINE double* entries(Vec* v) { return reinterpret_cast<double*>(v); }
    CREDALENS_INLINE double& entry(Vec* table, int y, int m) const {
        return entries(table + y * columns)[m];
    }

    // Copies the game; returns the best pure strategy of the members.
    template <class T>
    CREDALENS_INLINE int start(const T* A) {
        for (int y = 0; y < K; ++y) game[y * columns + columns - 1] = Vec{};
        for (int v = 0; v < columns; ++v) c[v] = Vec{}, row[v] = Vec{};
        for (int v = 0; v < rows; ++v) b[v] = broadcast(1.0), column[v] = Vec{};
        int first = 0;
        double best = __builtin_inf();
        for (int m = 0; m < M; ++m) {
            double top = 0.0;
            for (int y = 0; y < K; ++y) {
                const double x = A[m * K + y];
                entry(game, y, m) = x;
                top = x > top ? x : top;
            }
            if (top < best) best = top, first = m;
            entries(c)[m] = 1.0;
            nonbasic[m] = m;
        }
        for (int i = 0; i < K * columns; ++i) tableau[i] = game[i];
        for (int y = 0; y < K; ++y) basic[y] = M + y;
        return first;
    }

    // One step with the entering column e. Returns the next one, -1 if there is none.
    CREDALENS_INLINE int pivot(int e) {
        double numerator = 1.0, pivot = 0.0;
        int index = -1;
        for (int y = 0; y < K; ++y) {
            const double a = entries(column)[y] = entry(tableau, y, e), right = entries(b)[y];
            const bool smaller = (right * pivot < numerator * a) & (a > kMinPivot);
            numerator = smaller ? right : numerator;
            pivot = smaller ? a : pivot;
            index = smaller ? y : index;
        }
        if (index < 0) return -1;
        const double inverse = 1.0 / pivot, ratio = numerator * inverse;
        const double cost = entries(c)[e];
        for (int v = 0; v < columns; ++v) row[v] = tableau[index * columns + v];
        entries(row)[e] += 1.0;
        entries(column)[index] -= 1.0;
        std::swap(basic[index], nonbasic[e]);
        for (int v = 0; v < columns; ++v) {
            row[v] *= inverse;
            c[v] -= cost * row[v];
        }
        for (int v = 0; v < rows; ++v) b[v] -= column[v] * ratio;
        for (int y = 0; y < K; ++y)
            for (int v = 0; v < columns; ++v)
                tableau[y * columns + v] -= entries(column)[y] * row[v];
        int next = -1;
        double best = kMinReducedCost;
        for (int m = 0; m < M; ++m) {
            const double reduced = entries(c)[m];
            next = reduced > best ? m : next;
            best = reduced > best ? reduced : best;
        }
        return next;
    }

    // As in LaneGame. The weights of the members are left in `weights`, those of the classes in
    // `column`.
    CREDALENS_INLINE void bounds(double& upper, double& lower) {
        double sum = 0.0;
        for (int v = 0; v < columns; ++v) weights[v] = Vec{}, expected[v] = Vec{};
        for (int v = 0; v < rows; ++v) column[v] = Vec{}, image[v] = Vec{};
        for (int y = 0; y < K; ++y)
            if (basic[y] < M) entries(weights)[basic[y]] = entries(b)[y];
        for (int m = 0; m < M; ++m)
            if (nonbasic[m] >= M) entries(column)[nonbasic[m] - M] = -entries(c)[m];
        for (int v = 0; v < columns; ++v) weights[v] = clip_negative(weights[v]);
        for (int v = 0; v < rows; ++v) column[v] = clip_negative(column[v]);
        for (int m = 0; m < M; ++m) sum += entries(weights)[m];
        for (int v = 0; v < columns; ++v) weights[v] /= sum;
        sum = 0.0;
        for (int y = 0; y < K; ++y) {
            const double weight = entries(column)[y];
            sum += weight;
            for (int v = 0; v < columns; ++v) expected[v] += weight * game[y * columns + v];
        }
        for (int m = 0; m < M; ++m)
            for (int v = 0; v < rows; ++v) {
                Vec classes = {};
                for (int i = 0; i < kLanes && v * kLanes + i < K; ++i)
                    classes[i] = entry(game, v * kLanes + i, m);
                image[v] += entries(weights)[m] * classes;
            }
        upper = 0.0;
        for (int y = 0; y < K; ++y) upper = entries(image)[y] > upper ? entries(image)[y] : upper;
        for (int v = 0; v < rows; ++v) column[v] /= sum;
        lower = entries(expected)[0];
        for (int m = 1; m < M; ++m)
            lower = entries(expected)[m] < lower ? entries(expected)[m] : lower;
        lower /= sum;
    }
};
