// What each member of a hull does alone: the closed forms with one member left out, for all members.
#pragma once

#include <cstddef>
#include <cstdint>

namespace credalens {

struct LeaveOneOut {
    double* max_lower;     // (n,): max_y min_m P_my
    double* diameter;      // (n,): the largest L1 distance of two members
    double* lower;         // (n, M): max_lower without m, minus max_lower; never negative
    double* spread;        // (n, M): diameter, minus the diameter without m; never negative
    std::uint8_t* widest;  // (n, M): is m in a pair at the largest distance, if that is not 0?
    double* squares;       // (n, M): sum_y P_my^2
    std::int32_t* top;     // (n, M): the first class of largest probability

    LeaveOneOut from(std::size_t begin, int M) const {
        const std::size_t at = begin * M;
        return {max_lower + begin, diameter + begin, lower + at, spread + at,
                widest + at,       squares + at,     top + at};
    }
};

// Distances that differ by less are equal but for rounding, as those of disjoint supports are.
constexpr double kTie = 1 - 1e-12;

// For each of n instances P (n, M, K), C-contiguous. One pass: O(M K) for the lower probabilities,
// O(M^2 K) for the pairs. A single member cannot be left out: its numbers are 0. Every pair is summed
// class by class in the same order, so that equal members have equal distances to the bit; all pairs
// that tie, up to rounding, count as widest.
template <class T>
void leave_one_out(const T* P, std::size_t n, int M, int K, const LeaveOneOut& out, int threads);

}  // namespace credalens
