// Maximal actions, and actions that are optimal for a member.
#pragma once

#include <cstddef>
#include <cstdint>

namespace credalens {

enum class ActionStatus : std::uint8_t { dominated, maximal, optimal_for_member };

// For n instances of expected utilities U (n, M, D), C-contiguous, the status (n, D) of each action d:
// dominated if another action d' has U_md' - U_md > tolerance for every member m, and optimal for a
// member if U_md >= max_d' U_md' - tolerance for some m. O(M D^2), less where few members show that no
// action dominates.
template <class T>
void maximal_actions(const T* U, std::size_t n, int M, int D, double tolerance, std::uint8_t* status,
                     int threads);

}  // namespace credalens
