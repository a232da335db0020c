// The status of the actions of one instance, for one target. Actions are in lanes.

using Workspace = ActionsWorkspace;

// Padding dominates nothing.
constexpr double kPadding = -std::numeric_limits<double>::infinity();

// Copies the rows and finds, for each action, the member for which its utility is largest: few other
// actions are better there.
template <class T>
CREDALENS_INLINE void load_utilities(const T* U, Workspace& ws) {
    for (int d = 0; d < ws.stride; d += kLanes) {
        Vec largest = broadcast(kPadding), member = {};
        for (int m = 0; m < ws.M; ++m) {
            Vec v = load_n(U + static_cast<std::size_t>(m) * ws.D + d, std::max(ws.D - d, 0));
            if (d + kLanes > ws.D) v = iota() < ws.D - d ? v : broadcast(kPadding);
            store(ws.row(m) + d, v);
            member = v > largest ? broadcast(m) : member;
            largest = max(v, largest);
        }
        store(ws.favourable() + d, member);
    }
}

// Keeps the first `count` listed vectors of actions of which some are better than d for member m too;
// returns their number.
CREDALENS_INLINE int keep_better(Workspace& ws, int m, int d, const Vec& tolerance, int count) {
    const double* row = ws.row(m);
    const Vec limit = tolerance + row[d];
    int kept = 0;
    for (int i = 0; i < count; ++i) {
        const int first = ws.first[i];
        const unsigned better = ws.better[i] & less_bits(limit, load(row + first));
        ws.first[kept] = first;
        ws.better[kept] = better;
        kept += better != 0;
    }
    return kept;
}

// Whether another action is better than d for every member.
CREDALENS_INLINE bool is_dominated(Workspace& ws, int d, const Vec& tolerance) {
    int count = ws.stride / kLanes;
    for (int i = 0; i < count; ++i) ws.first[i] = i * kLanes, ws.better[i] = ~0u;
    count = keep_better(ws, static_cast<int>(ws.favourable()[d]), d, tolerance, count);
    for (int m = 0; m < ws.M && count; ++m) count = keep_better(ws, m, d, tolerance, count);
    return count != 0;
}

template <class T>
void action_status(const T* U, double tolerance, Workspace& ws, std::uint8_t* status) {
    load_utilities(U, ws);
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
    for (int d = 0; d < ws.D; ++d)
        if (status[d] == static_cast<std::uint8_t>(ActionStatus::maximal) &&
            is_dominated(ws, d, broadcast(tolerance)))
            status[d] = static_cast<std::uint8_t>(ActionStatus::dominated);
}
