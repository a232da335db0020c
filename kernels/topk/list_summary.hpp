// Sums and smallest entries of lists of probabilities.
#pragma once

#include <cstdint>

namespace credalens {

// What is known of a list: the sum, the smallest and the number of the probabilities whose id is
// not -1, and whether all ids are from -1 to K - 1 and these probabilities not negative nor NaN.
struct ListSummary {
    double sum, smallest;
    std::int32_t count;
    bool valid;
};

// Summaries of `rows` lists of k entries each.
template <class Id, class T>
void summarize_lists(const Id* ids, const T* probs, int rows, int k, std::int64_t K,
                     ListSummary* out);

}  // namespace credalens
