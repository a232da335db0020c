#include <algorithm>
#include <cmath>
#include <vector>

#include "real_line/minimax_deviation.hpp"
#include "real_line/mixture_quantiles.hpp"
#include "real_line/real_line.hpp"
#include "runtime/interrupt.hpp"
#include "runtime/parallel_for.hpp"

namespace credalens {
namespace {

constexpr double kMeanDeviation = 0.79788456080286535588;  // sqrt(2 / pi), of a standard normal
constexpr double kInverseRoot2 = 0.70710678118654752440;

// E|mean + std Z| for a standard normal Z.
double folded_mean(double mean, double std) {
    if (std == 0) return std::abs(mean);
    const double z = mean / std;
    return kMeanDeviation * std * std::exp(-z * z / 2) + mean * std::erf(z * kInverseRoot2);
}

// The members of one instance, relative to an offset.
struct NormalMembers {
    int M;
    const double *mean, *std;

    int count() const { return M; }
    double size() const { return 20.0 * M; }
    void deviations(double t, double* values) const {
        for (int m = 0; m < M; ++m) values[m] = deviation(m, t);
    }
    double deviation(int m, double t) const { return folded_mean(mean[m] - t, std[m]); }
    Slopes slopes(int m, double t) const {
        if (std[m] == 0) return {t <= mean[m] ? -1.0 : 1.0, t < mean[m] ? -1.0 : 1.0};
        const double slope = std::erf((t - mean[m]) / std[m] * kInverseRoot2);
        return {slope, slope};
    }
    double median(int m) const { return mean[m]; }
    double probability(int m, double t, bool) const {
        if (std[m] == 0) return t < mean[m] ? 0.0 : 1.0;
        return std::erfc((mean[m] - t) / std[m] * kInverseRoot2) / 2;
    }

    // Quantile functions are mean + std z, so that the distance is E|difference of the two|; it is
    // between the largest and the sum of its two parts, which exclude most pairs.
    double diameter() const {
        double best = 0;
        for (int i = 0; i < M; ++i) {
            if (M > kMaxUninterrupted) check_interrupt();
            for (int j = i + 1; j < M; ++j) {
                const double shift = std::abs(mean[i] - mean[j]);
                const double scale = std::abs(std[i] - std[j]);
                if (shift + kMeanDeviation * scale > best)
                    best = std::max(best, folded_mean(shift, scale));
            }
        }
        return best;
    }

    // The pairs of so many members take less than a second.
    static constexpr int kMaxUninterrupted = 1000;
};

// The same with the quantiles of the standard normal distribution at some levels.
struct NormalQuantiles : NormalMembers {
    const double *levels, *z;
    int n_levels;

    double quantile(int m, double level) const {
        return mean[m] + std[m] * z[std::find(levels, levels + n_levels, level) - levels];
    }
};

// The members of one instance relative to the smallest mean, in 2 M numbers of scratch memory.
template <class T>
NormalMembers relative_members(const T* x, int M, double* scratch, double& offset) {
    offset = x[0];
    for (int m = 1; m < M; ++m) offset = std::min<double>(offset, x[2 * m]);
    for (int m = 0; m < M; ++m) {
        scratch[m] = x[2 * m] - offset;
        scratch[M + m] = x[2 * m + 1];
    }
    return {M, scratch, scratch + M};
}

}  // namespace

template <class T>
void normal_uncertainty(const T* x, std::size_t n, int M, const RealLineResults& results,
                        int threads) {
    const double nanoseconds = 100 + 400.0 * M + 5.0 * M * M;
    parallel_for(
        n, Grain::of_duration(nanoseconds), threads,
        [&] { return std::vector<double>(3 * static_cast<std::size_t>(M)); },
        [&](std::vector<double>& ws, std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                const T* instance = x + i * M * 2;
                double offset;
                const NormalMembers members = relative_members(instance, M, ws.data(), offset);
                const RealLineResults to = results.from(i, M);
                if (to.lower || to.needs_search())
                    solve_deviation(members, offset, ws.data() + 2 * M, to);
                if (to.diameter) *to.diameter = members.diameter();
            }
        });
}

template <class T>
void normal_quantiles(const T* x, std::size_t n, int M, const double* z,
                      const MixtureQuantiles& wanted, int threads) {
    parallel_for(
        n, Grain::of_duration(100 + 2000.0 * M * wanted.count), threads,
        [&] { return std::vector<double>(2 * static_cast<std::size_t>(M)); },
        [&](std::vector<double>& ws, std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                const T* instance = x + i * M * 2;
                double offset;
                const NormalQuantiles members{relative_members(instance, M, ws.data(), offset),
                                              wanted.levels, z, wanted.count};
                mixture_quantiles(members, offset, wanted.from(i, M));
            }
        });
}

template void normal_uncertainty(const float*, std::size_t, int, const RealLineResults&, int);
template void normal_uncertainty(const double*, std::size_t, int, const RealLineResults&, int);
template void normal_quantiles(const float*, std::size_t, int, const double*,
                               const MixtureQuantiles&, int);
template void normal_quantiles(const double*, std::size_t, int, const double*,
                               const MixtureQuantiles&, int);

}  // namespace credalens
