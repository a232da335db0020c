// Part of simd/instance_per_lane-inl.hpp: every member left out, an instance a lane.

// The two smallest entries of kClasses classes and who holds the smallest: of equal ones the first.
// `raised` is how far leaving out a member raises the largest of the smallest, or less.
template <int kClasses>
CREDALENS_INLINE Lanes two_smallest(const Lanes* lanes, int M, int K, Lanes* raised) {
    Lanes low[kClasses], next[kClasses];
    Marks holder[kClasses] = {};
    for (int i = 0; i < kClasses; ++i) {
        low[i] = lanes[i];
        next[i] = Lanes{} + __builtin_inf();
    }
    for (int m = 1; m < M; ++m)
        for (int i = 0; i < kClasses; ++i) {
            const Lanes x = lanes[static_cast<std::size_t>(m) * K + i];
            next[i] = smaller(larger(x, low[i]), next[i]);
            holder[i] = x < low[i] ? Marks{} + m : holder[i];
            low[i] = smaller(x, low[i]);
        }
    Lanes best = low[0];
    for (int i = 1; i < kClasses; ++i) best = larger(low[i], best);
    for (int m = 0; m < M; ++m)
        for (int i = 0; i < kClasses; ++i)
            raised[m] = holder[i] == m ? larger(next[i], raised[m]) : raised[m];
    return best;
}

template <class T>
void leave_one_out(const T* P, std::size_t count, int M, int K, const LeaveOneOut& all,
                   double* scratch) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    Lanes* sums = reinterpret_cast<Lanes*>(scratch);
    Lanes *raised = sums + M, *ties = raised + M, *distance = ties + M;
    Lanes* lanes = distance + static_cast<std::size_t>(M) * M;
    for (std::size_t first = 0; first < count; first += kWidth) {
        const std::size_t left = count - first;
        const LeaveOneOut out = all.from(first, M);
        Sources<T>(P + first * size, size, left).all(size, lanes);
        for (int m = 0; m < M; ++m) {
            const Lanes* row = lanes + static_cast<std::size_t>(m) * K;
            Lanes sum = row[0], squares = sum * sum, best = sum;
            Marks top = {};
            for (int y = 1; y < K; ++y) {
                const Lanes x = row[y];
                sum += x;
                squares += x * x;
                top = x > best ? Marks{} + y : top;
                best = larger(x, best);
            }
            sums[m] = -0.5 * sum;
            raised[m] = ties[m] = Lanes{};
            write_member(squares, left, M, out.squares + m);
            write_member(top, left, M, out.top + m);
        }
        Lanes best = Lanes{} - __builtin_inf();
        int y = 0;
        for (; y + 4 <= K; y += 4)
            best = larger(two_smallest<4>(lanes + y, M, K, raised), best);
        for (; y < K; ++y) best = larger(two_smallest<1>(lanes + y, M, K, raised), best);
        write(best, left, out.max_lower);
        for (int m = 0; m < M; ++m)
            write_member(M > 1 ? larger(raised[m], best) - best : Lanes{}, left, M, out.lower + m);

        Kept kept(M, distance, ~Marks{});
        each_pair(Larger(sums), lanes, M, K, kept);
        const Marks close = kept.best < kCloseTogether;
        Lanes wide = kept.best;
        if (any(close)) {
            Kept again(M, distance, close);
            each_pair(Absolute(), lanes, M, K, again);
            wide = close ? again.best : wide;
        }
        write(wide, left, out.diameter);
        Lanes pairs = {};
        for (int i = 0; i < M; ++i)
            for (int j = i + 1; j < M; ++j) {
                const Lanes here = distance[static_cast<std::size_t>(i) * M + j];
                const Marks tied = (here >= kTie * wide) & (wide > 0.0);
                const Lanes one = tied ? Lanes{} + 1.0 : Lanes{};
                pairs += one;
                ties[i] += one;
                ties[j] += one;
            }
        // Only a member that is in every widest pair can narrow the set by leaving.
        for (int m = 0; m < M; ++m) {
            const Marks alone = (ties[m] == pairs) & (pairs > 0.0);
            Lanes spread = {};
            if (any(alone)) {
                Lanes rest = {};
                for (int i = 0; i < M; ++i)
                    for (int j = i + 1; j < M; ++j)
                        if (i != m && j != m)
                            rest = larger(distance[static_cast<std::size_t>(i) * M + j], rest);
                spread = alone ? wide - rest : spread;
            }
            write_member(spread, left, M, out.spread + m);
            write_member(ties[m] > 0.0 ? Lanes{} + 1.0 : Lanes{}, left, M, out.widest + m);
        }
    }
}
