#include "games/wide_game.hpp"

#include <algorithm>
#include <utility>

#include "games/matrix_game.hpp"
#include "simd/aligned_buffer.hpp"

#define CREDALENS_TARGET_INCLUDE "games/wide_game-inl.hpp"
#include "simd/foreach_target.hpp"

namespace credalens {
namespace {

constexpr double kGapGoal = 1e-13;
constexpr int kMinColumns = 4096;       // fewer are not worth a pass
constexpr int kMinColumnsPerRow = 16;   // nor are those of games with many rows
constexpr int kMaxRounds = 60;
constexpr int kAddedAtOnce = 16;        // at least; a quarter of the columns in use if that is more
constexpr int kFirstBlocks = 16;        // blocks of which a column is used from the beginning
constexpr double kMaxShareRead = 0.5;   // of all blocks, after the survey, over all rounds

// Collects the columns whose value is above `level` for the weights w; returns the largest value, 0
// if there is none. `left` is the number of blocks that may be read.
template <class T>
double find_violated(const T* A, int M, int K, const double* w, double level, double& left,
                     WideGame& g) {
    const double largest_weight = *std::max_element(w, w + M);
    // Rounding of sums of nonnegative numbers is far below this.
    const double limit = level / largest_weight * (1.0 - 1e-12);
    alignas(64) double image[kColumnBlock];
    double best = 0.0;
    g.violated.clear();
    for (int first = 0; first < K && left >= 0.0; first += kColumnBlock) {
        if (!(g.peak[first / kColumnBlock] > limit)) continue;
        left -= 1.0;
        CREDALENS_DISPATCH(mix_columns, A, M, K, first, w, image);
        const int count = std::min(K - first, kColumnBlock);
        for (int i = 0; i < count; ++i) {
            if (!(image[i] > level)) continue;
            best = std::max(best, image[i]);
            g.violated.emplace_back(image[i], first + i);
        }
    }
    return best;
}

// Adds the columns with the largest values that are not in use; returns whether there are any.
bool add_columns(WideGame& g) {
    auto& found = g.violated;
    const std::size_t used = g.columns.size();
    const std::size_t added = std::max<std::size_t>(kAddedAtOnce, used / 4);
    const auto larger = [](const std::pair<double, int>& a, const std::pair<double, int>& b) {
        return a.first != b.first ? a.first > b.first : a.second < b.second;
    };
    const std::size_t first = std::min(found.size(), added + used);
    std::partial_sort(found.begin(), found.begin() + first, found.end(), larger);
    for (std::size_t i = 0; i < first && g.columns.size() < used + added; ++i) {
        const auto end = g.columns.begin() + used;
        if (std::find(g.columns.begin(), end, found[i].second) == end)
            g.columns.push_back(found[i].second);
    }
    return g.columns.size() > used;
}

// Solves the game of the columns in use; returns its value and gap. The lower bound holds for all
// columns.
template <class T>
std::pair<double, double> solve_columns_in_use(const T* A, int M, int K, WideGame& g) {
    const int used = static_cast<int>(g.columns.size());
    g.payoff.resize(static_cast<std::size_t>(M) * used);
    g.trial_dual.resize(used);
    double* target = g.payoff.data();
    for (int m = 0; m < M; ++m)
        for (int column : g.columns)
            *target++ = static_cast<double>(A[static_cast<std::size_t>(m) * K + column]);
    double value, gap;
    solve_single_games(g.payoff.data(), 1, M, used, &value, &gap, g.trial_weights.data(),
                       g.trial_dual.data(), 1);
    return {value, gap};
}

void use_column(WideGame& g, int column) {
    if (std::find(g.columns.begin(), g.columns.end(), column) == g.columns.end())
        g.columns.push_back(column);
}

// The column of the largest entry of each row, and those with the largest sums of some blocks.
template <class T>
void select_first_columns(const T* A, int M, int K, WideGame& g) {
    g.columns.clear();
    for (int m = 0; m < M; ++m) {
        const T* row = A + static_cast<std::size_t>(m) * K;
        const int first = g.largest_column[m], last = std::min(K, first + kColumnBlock);
        use_column(g, static_cast<int>(std::max_element(row + first, row + last) - row));
    }
    std::pair<double, int> blocks[kFirstBlocks];  // in descending order
    int count = 0;
    for (int b = 0; b < static_cast<int>(g.peak.size()); ++b) {
        if (count == kFirstBlocks && !(g.peak[b] > blocks[count - 1].first)) continue;
        int i = count < kFirstBlocks ? count++ : count - 1;
        for (; i > 0 && blocks[i - 1].first < g.peak[b]; --i) blocks[i] = blocks[i - 1];
        blocks[i] = {g.peak[b], b};
    }
    alignas(64) double sums[kColumnBlock];
    std::fill(g.trial_weights.begin(), g.trial_weights.end(), 1.0);
    for (int i = 0; i < count; ++i) {
        const int first = blocks[i].second * kColumnBlock;
        CREDALENS_DISPATCH(mix_columns, A, M, K, first, g.trial_weights.data(), sums);
        const double* end = sums + std::min(K - first, kColumnBlock);
        use_column(g, first + static_cast<int>(std::max_element<const double*>(sums, end) - sums));
    }
}

}  // namespace

WideGame::WideGame(int M, int K)
    : weights(M), peak((K + kColumnBlock - 1) / kColumnBlock), largest(M), largest_column(M),
      trial_weights(M) {}

bool is_wide(int M, int K) {
    return K >= kMinColumns && K >= static_cast<long>(kMinColumnsPerRow) * M;
}

template <class T>
void survey_wide_game(const T* A, int M, int K, int last, WideGame& g) {
    if (g.surveyed == 0) std::fill(g.largest.begin(), g.largest.end(), -1.0);
    const int end = last < K ? last / kColumnBlock * kColumnBlock : K;
    if (end > g.surveyed) CREDALENS_DISPATCH(survey_columns, A, M, K, g.surveyed, end, g);
    g.surveyed = std::max(end, g.surveyed);
}

template <class T>
bool solve_wide_game(const T* A, int M, int K, WideGame& g) {
    survey_wide_game(A, M, K, K, g);
    g.surveyed = 0;  // of the next game
    select_first_columns(A, M, K, g);
    const auto best = std::min_element(g.largest.begin(), g.largest.end());
    g.value = *best;
    std::fill(g.weights.begin(), g.weights.end(), 0.0);
    g.weights[best - g.largest.begin()] = 1.0;
    double lower = -1.0, left = kMaxShareRead * static_cast<double>(g.peak.size());
    for (int round = 0; round < kMaxRounds; ++round) {
        const auto [value, gap] = solve_columns_in_use(A, M, K, g);
        if (value - gap > lower) {
            lower = value - gap;
            g.dual = g.trial_dual;
        }
        const double above = find_violated(A, M, K, g.trial_weights.data(), lower, left, g);
        if (left < 0.0) return false;
        const double most = std::max(value, above);
        if (most < g.value) {
            g.value = most;
            g.weights = g.trial_weights;
        }
        g.gap = std::max(g.value - lower, 0.0);
        if (g.gap <= kGapGoal || !add_columns(g)) break;
    }
    g.dual.resize(g.columns.size(), 0.0);
    return true;
}

template void survey_wide_game(const float*, int, int, int, WideGame&);
template void survey_wide_game(const double*, int, int, int, WideGame&);
template bool solve_wide_game(const float*, int, int, WideGame&);
template bool solve_wide_game(const double*, int, int, WideGame&);

}  // namespace credalens
