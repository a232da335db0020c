// The most probable class of each member, and the class that most members vote for.
#pragma once

#include <cstddef>
#include <cstdint>

namespace credalens {

// Results for n instances P (n, M, K), C-contiguous:
//   argmax (n, M): the most probable class of each member, the first one on a tie
//   vote   (n): the class that is the most probable one of most members; on a tie that with the
//               larger sum of probabilities, then the first one
// An output that is nullptr is not computed.
template <class T>
void majority_vote(const T* P, std::size_t n, int M, int K, std::int64_t* vote,
                   std::int32_t* argmax, int threads);

}  // namespace credalens
