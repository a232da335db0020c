// Probabilities of events over Kullback-Leibler balls.
#pragma once

#include <cstddef>

namespace credalens {

// The smallest or largest probability of an event with KL(p || c) <= radius, where `mass` and
// `rest` are the probabilities of the event and of its complement under the centre c. Both are
// divided by their sum; they are two arguments because the bound depends on the logarithms of both.
//
// The solution is the centre tilted towards one side, with e^s times its odds. The divergence
// increases in s; Newton steps on its root inside a bracket, bisection where a step would leave it.
// The relative error is a few roundings times the condition of the problem.
void event_bounds(const double* mass, const double* rest, const double* radius, std::size_t n,
                  bool upper, double* bound, int threads);

}  // namespace credalens
