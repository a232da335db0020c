// Effect of each member of a hull: closed forms with one member left out, for all members.
#pragma once

#include <cstddef>
#include <cstdint>

namespace credalens {

struct LeaveOneOut {
    double* max_lower;           // (n): max_y min_m P_my
    double* diameter;            // (n): largest L1 distance of two members
    double* max_lower_increase;  // (n, M): max_lower without m, minus max_lower; not negative
    double* diameter_decrease;   // (n, M): diameter, minus that without m; not negative
    std::uint8_t*
        in_widest_pair;    // (n, M): whether m is in a pair that attains a positive diameter
    double* square_norm;   // (n, M): sum_y P_my^2
    std::int32_t* argmax;  // (n, M): first class of largest probability

    LeaveOneOut from(std::size_t begin, int M) const {
        const std::size_t at = begin * M;
        return {max_lower + begin,
                diameter + begin,
                max_lower_increase + at,
                diameter_decrease + at,
                in_widest_pair + at,
                square_norm + at,
                argmax + at};
    }
};

// For n instances P (n, M, K), C-contiguous. O(M K) for the lower probabilities, O(M^2 K) for the
// pairs. The values of a single member are 0. Every pair is summed in the same order, so that equal
// members have equal distances to the bit. All pairs whose distance is equal up to rounding count
// as widest.
template <class T>
void leave_one_out(const T* P, std::size_t n, int M, int K, const LeaveOneOut& out, int threads);

}  // namespace credalens
