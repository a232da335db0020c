// The status of the actions of one instance, for one target. Actions are in lanes.

using Workspace = ActionsWorkspace;

// Padding dominates nothing.
constexpr double kPadding = -std::numeric_limits<double>::infinity();

// Copies the rows; returns the action with the largest smallest utility, which dominates most often.
template <class T>
CREDALENS_INLINE int load_utilities(const T* U, Workspace& ws) {
    for (int d = 0; d < ws.stride; d += kLanes) {
        Vec lower = broadcast(std::numeric_limits<double>::infinity());
        for (int m = 0; m < ws.M; ++m) {
            Vec v = load_n(U + static_cast<std::size_t>(m) * ws.D + d, std::max(ws.D - d, 0));
            if (d + kLanes > ws.D) v = iota() < ws.D - d ? v : broadcast(kPadding);
            store(ws.row(m) + d, v);
            lower = min(v, lower);
        }
        store(ws.lower() + d, lower);
    }
    int best = 0;
    for (int d = 1; d < ws.D; ++d)
        if (ws.lower()[d] > ws.lower()[best]) best = d;
    return best;
}

// The member for which action d has its largest utility: few other actions are better there.
CREDALENS_INLINE int most_favourable_member(Workspace& ws, int d) {
    int best = 0;
    for (int m = 1; m < ws.M; ++m)
        if (ws.row(m)[d] > ws.row(best)[d]) best = m;
    return best;
}

// Whether an action of the vector that begins at `first` is better than d for every member. Two members
// between branches hide the latency of the comparisons.
CREDALENS_INLINE bool dominates(Workspace& ws, int first, int d, int favourable,
                                const Vec& tolerance) {
    const auto better_for = [&](int m) {
        return less_bits(tolerance, load(ws.row(m) + first) - ws.row(m)[d]);
    };
    unsigned better = better_for(favourable);
    int m = 0;
    for (; m + 2 <= ws.M && better; m += 2) better &= better_for(m) & better_for(m + 1);
    if (m < ws.M && better) better &= better_for(m);
    return better != 0;
}

template <class T>
void action_status(const T* U, double tolerance, Workspace& ws, std::uint8_t* status) {
    const int start = load_utilities(U, ws) / kLanes * kLanes;
    for (int d = 0; d < ws.D; ++d) status[d] = static_cast<std::uint8_t>(ActionStatus::maximal);
    for (int m = 0; m < ws.M; ++m) {
        const double* row = ws.row(m);
        Vec largest = load(row);
        for (int d = kLanes; d < ws.stride; d += kLanes) largest = max(largest, load(row + d));
        const double least = reduce_max(largest) - tolerance;
        for (int d = 0; d < ws.D; ++d)
            if (row[d] >= least)
                status[d] = static_cast<std::uint8_t>(ActionStatus::optimal_for_member);
    }
    const Vec slack = broadcast(tolerance);
    for (int d = 0; d < ws.D; ++d) {
        if (status[d] != static_cast<std::uint8_t>(ActionStatus::maximal)) continue;
        const int favourable = most_favourable_member(ws, d);
        bool dominated = dominates(ws, start, d, favourable, slack);
        for (int first = 0; first < ws.D && !dominated; first += kLanes)
            dominated = dominates(ws, first, d, favourable, slack);
        if (dominated) status[d] = static_cast<std::uint8_t>(ActionStatus::dominated);
    }
}
