#include "topk/list_summary.hpp"

#include <cstddef>

#include "simd/aligned_buffer.hpp"

#define CREDALENS_TARGET_INCLUDE "topk/list_summary-inl.hpp"
#include "simd/foreach_target.hpp"

namespace credalens {

template <class Id, class T>
void summarize_lists(const Id* ids, const T* probs, int rows, int k, std::int64_t K,
                     ListSummary* out) {
    CREDALENS_DISPATCH(summarize, ids, probs, rows, k, K, out);
}

template void summarize_lists(const std::int32_t*, const float*, int, int, std::int64_t,
                              ListSummary*);
template void summarize_lists(const std::int32_t*, const double*, int, int, std::int64_t,
                              ListSummary*);
template void summarize_lists(const std::int64_t*, const float*, int, int, std::int64_t,
                              ListSummary*);
template void summarize_lists(const std::int64_t*, const double*, int, int, std::int64_t,
                              ListSummary*);

}  // namespace credalens
