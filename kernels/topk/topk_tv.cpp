#include "topk/topk_tv.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "games/matrix_game.hpp"
#include "runtime/parallel_for.hpp"

namespace credalens {
namespace {

// Bounds of the value of a game within this of each other are a pure saddle point.
constexpr double kSaddle = 1e-13;

struct TvWorkspace {
    TvWorkspace(int M, int k)
        : largest(M), weights(M), column_max(padded_size(M * (k + 1))), contested(M * (k + 1)),
          vectors(vector_scratch(std::max(M, M * (M - 1) / 2) + kMaxLanes)) {}
    std::vector<double> largest, weights;  // (M)
    std::vector<double> column_max;        // (stride): largest entry of each class
    std::vector<int> contested;            // columns of the game
    std::vector<double> payoff;            // (M, columns of the game)
    AlignedBuffer vectors;                 // one for each member, or pair
};

// Writes the classes that can be the most probable one of a mixture with the smallest such
// probability, which is at least `floor`; returns their number.
int pack_contested(const LumpedInstance& x, double floor, TvWorkspace& ws) {
    int columns = 0;
    for (int y = 0; y < x.size; ++y) {
        ws.contested[columns] = y;
        columns += ws.column_max[y] > floor;
    }
    ws.payoff.resize(static_cast<std::size_t>(x.M) * columns);
    double* target = ws.payoff.data();
    for (int m = 0; m < x.M; ++m) {
        const double* row = x.lower(m);
        for (int i = 0; i < columns; ++i) *target++ = row[ws.contested[i]];
    }
    return columns;
}

}  // namespace
}  // namespace credalens

#define CREDALENS_TARGET_INCLUDE "topk/topk_tv-inl.hpp"
#include "simd/foreach_target.hpp"

namespace credalens {

template <class Id, class T>
void topk_tv(const Topk<Id, T>& P, const TopkTv& out, int threads) {
    struct Thread {
        LumpedInstance instance;
        TvWorkspace workspace;
    };
    const double nanoseconds = 6.0 * static_cast<double>(P.size()) + 100.0;
    parallel_for(
        P.n, Grain::of_duration(nanoseconds), threads,
        [&] { return Thread{LumpedInstance(P.M, P.k, P.K), TvWorkspace(P.M, P.k)}; },
        [&](Thread& own, std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                own.instance.load(P.ids + i * P.size(), P.probs + i * P.size());
                const TopkTv one{out.total + i,       out.lower + i,       out.upper + i,
                                 out.epistemic + i,   out.total_error + i, out.upper_error + i,
                                 out.epistemic_error + i};
                CREDALENS_DISPATCH(solve_tv, own.instance, own.workspace, one);
            }
        });
}

template void topk_tv(const Topk<std::int32_t, float>&, const TopkTv&, int);
template void topk_tv(const Topk<std::int32_t, double>&, const TopkTv&, int);
template void topk_tv(const Topk<std::int64_t, float>&, const TopkTv&, int);
template void topk_tv(const Topk<std::int64_t, double>&, const TopkTv&, int);

}  // namespace credalens
