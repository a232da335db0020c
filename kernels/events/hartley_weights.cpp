#include <algorithm>
#include <cmath>

#include "events/hartley.hpp"

namespace credalens {
namespace {

// The integral of w[b], divided by the largest value e^{phi} of its integrand: the trapezoid rule
// in s = ln(t / peak), the peak being at e^{-t} = b/K. The integrand is close to a Gaussian of
// variance 1/curvature in s, whose width is proportional to 1/sqrt(K): a step that is a fraction of
// it is accurate for every K (0.4 reaches rounding level), unlike any fixed step. Near the peak,
// all terms are differences from the peak, so that nothing of size K cancels.
double peak_integral(int K, int b) {
    const double peak = std::log1p(static_cast<double>(K - b) / b);
    const double odds = static_cast<double>(b) / (K - b);
    const double curvature = peak * peak * odds * K;
    const double step = 0.35 / std::sqrt(std::max(curvature, 16.0));
    auto integrand = [&](double s) {
        const double shift = peak * std::expm1(s);        // t - peak
        const double ratio = -odds * std::expm1(-shift);  // (1 - e^{-t}) / (1 - b/K) - 1
        const double log_ratio = ratio > -0.5
                                     ? std::log1p(ratio)
                                     : std::log(-std::expm1(-peak * std::exp(s)) * K / (K - b));
        return std::exp(-b * shift + (K - b) * log_ratio);
    };
    double sum = 1.0;
    for (const double direction : {-step, step}) {
        double term = 1.0;
        for (int j = 1; term > 1e-18; ++j) sum += term = integrand(j * direction);
    }
    return sum * step;
}

}  // namespace

void hartley_weights(int K, double* w, double* log_v) {
    const double ln2 = std::log(2.0);
    w[0] = w[K] = 0.0;
    if (log_v != nullptr) log_v[0] = log_v[K] = 0.0;
    // Long doubles: phi and ln C(K, b) are of the order of K and nearly cancel.
    long double log_binomial = 0.0L;
    for (int b = 1; b < K; ++b) {
        const long double phi = b * std::log(static_cast<long double>(b) / K) +
                                (K - b) * std::log(static_cast<long double>(K - b) / K);
        const double integral = peak_integral(K, b) / ln2;
        log_binomial += std::log(static_cast<long double>(K - b + 1) / b);
        w[b] = static_cast<double>(std::exp(phi) * integral);
        if (log_v != nullptr) {
            log_v[b] = static_cast<double>(phi + log_binomial) + std::log(integral);
        }
    }
}

}  // namespace credalens
