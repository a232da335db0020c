#include "possibility/contours.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "runtime/parallel_for.hpp"

namespace credalens {
namespace {

// Calls body(i, degrees) for each instance with its degrees in decreasing order, then 0.
template <class Body>
void for_each_sorted(const double* contour, std::size_t n, int K, int threads, const Body& body) {
    parallel_for(
        n, Grain::of_duration(10.0 * K), threads, [K] { return std::vector<double>(K + 1); },
        [&](std::vector<double>& degrees, std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                std::copy_n(contour + i * K, K, degrees.begin());
                std::sort(degrees.begin(), degrees.begin() + K, std::greater<double>());
                body(i, degrees.data());
            }
        });
}

}  // namespace

void contour_tv(const double* contour, std::size_t n, int K, double* total, double* upper,
                int threads) {
    for_each_sorted(contour, n, K, threads, [&](std::size_t i, const double* degrees) {
        double game = 0.0;
        for (int size = 1; size <= K; ++size)
            game = std::max(game, (1.0 - degrees[size]) / size);
        total[i] = K > 1 ? degrees[1] : 0.0;
        upper[i] = K > 1 ? std::min(std::max(1.0 - game, 0.0), total[i]) : 0.0;
    });
}

void contour_hartley(const double* contour, std::size_t n, int K, double* value, int threads) {
    std::vector<double> weights(K);
    for (int y = 1; y < K; ++y) weights[y] = std::log2((y + 1.0) / y);
    for_each_sorted(contour, n, K, threads, [&](std::size_t i, const double* degrees) {
        double sum = 0.0;
        for (int y = 1; y < K; ++y) sum += degrees[y] * weights[y];
        value[i] = sum;
    });
}

void contour_max_entropy(const double* contour, std::size_t n, int K, double* value, int threads) {
    for_each_sorted(contour, n, K, threads, [&](std::size_t i, const double* degrees) {
        // The slopes of the least concave majorant of 1 - degrees, which starts at 0.
        double entropy = 0.0;
        for (int first = 0; first < K;) {
            int last = first + 1;
            double steepest = -1.0;
            for (int size = first + 1; size <= K; ++size) {
                const double slope = (degrees[first] - degrees[size]) / (size - first);
                if (slope >= steepest) steepest = slope, last = size;
            }
            if (steepest > 0.0) entropy -= (last - first) * steepest * std::log(steepest);
            first = last;
        }
        value[i] = K > 1 ? std::max(entropy, 0.0) : 0.0;
    });
}

}  // namespace credalens
