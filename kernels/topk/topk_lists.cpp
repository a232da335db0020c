#include "topk/topk_lists.hpp"

#include <algorithm>
#include <vector>

#include "runtime/first_invalid.hpp"
#include "runtime/parallel_for.hpp"
#include "topk/list_summary.hpp"

namespace credalens {
namespace {

// Recognises classes that are listed twice. A filter, of as many flags, first passes most lists
// that have none.
class DuplicateFinder {
public:
    explicit DuplicateFinder(std::size_t k) : table_(k), flags_(kFlags, 0) {}

    template <class Id>
    bool has_duplicate(const Id* ids, int k) {
        if (++number_ == 0) {  // flags of other lists have other numbers
            std::fill(flags_.begin(), flags_.end(), 0);
            number_ = 1;
        }
        std::uint8_t* const flags = flags_.data();
        const std::uint8_t own = number_;
        bool suspected = false;
        for (int j = 0; j < k; ++j) {
            if (ids[j] == -1) continue;
            std::uint8_t& flag = flags[static_cast<std::uint32_t>(ids[j]) * 2654435769u >> 21];
            suspected |= flag == own;
            flag = own;
        }
        if (!suspected) return false;
        table_.start();
        std::int32_t listed = 0;
        const auto ignore = [](int, std::int32_t) {};
        const auto count = [&](int, std::int32_t) { ++listed; };
        return table_.insert(ids, k, 0, ignore, count) < listed;
    }

private:
    static constexpr int kFlags = 2048;  // as many as hash values of 32 - 21 bits
    ClassTable table_;
    std::uint8_t number_ = 0;
    std::vector<std::uint8_t> flags_;
};

// Rows that are summarised at a time.
constexpr int kRowsAtOnce = 8;

// Whether a list of the summary is valid but for classes that are listed twice; see the header.
bool is_valid(const ListSummary& list, std::int64_t K, double tolerance) {
    const double others = static_cast<double>(K - list.count);
    return list.valid && list.count > 0 && list.sum <= 1.0 + tolerance &&
           1.0 - list.sum <= others * list.smallest + tolerance;
}

template <class Id, class T>
Grain grain_of(const Topk<Id, T>& P) {
    return Grain::of_duration(8.0 * static_cast<double>(P.size()) + 50.0);
}

// Calls body(instance, i) for every instance, its classes in the order of their ids.
template <class Id, class T, class Body>
void for_each_sorted(const Topk<Id, T>& P, int threads, const Body& body) {
    parallel_for(
        P.n, grain_of(P), threads, [&] { return LumpedInstance(P.M, P.k, P.K); },
        [&](LumpedInstance& x, std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                x.load_sorted(P.ids + i * P.size(), P.probs + i * P.size());
                body(x, i);
            }
        });
}

}  // namespace

template <class Id, class T>
std::int64_t topk_first_invalid(const Topk<Id, T>& P, double tolerance, int threads) {
    FirstInvalid first;
    const std::size_t rows = P.n * P.M, k = P.k;
    parallel_for(
        rows, Grain::of_duration(5.0 * P.k + 20.0), threads, [&] { return DuplicateFinder(k); },
        [&](DuplicateFinder& finder, std::size_t begin, std::size_t end) {
            ListSummary lists[kRowsAtOnce];
            for (std::size_t row = begin; row < end; row += kRowsAtOnce) {
                if (first.found_up_to(row)) return;
                const int count = static_cast<int>(std::min<std::size_t>(kRowsAtOnce, end - row));
                summarize_lists(P.ids + row * k, P.probs + row * k, count, P.k, P.K, lists);
                for (int i = 0; i < count; ++i)
                    if (!is_valid(lists[i], P.K, tolerance) ||
                        finder.has_duplicate(P.ids + (row + i) * k, P.k))
                        return first.record(row + i);
            }
        });
    return first.value();
}

template <class Id, class T>
void topk_widths(const Topk<Id, T>& P, std::int64_t* width, double* rest, int threads) {
    parallel_for(
        P.n, grain_of(P), threads, [&] { return LumpedInstance(P.M, P.k, P.K); },
        [&](LumpedInstance& x, std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                x.load(P.ids + i * P.size(), P.probs + i * P.size());
                width[i] = x.width();
                std::copy(x.rest.begin(), x.rest.end(), rest + i * P.M);
            }
        });
}

template <class Id, class T>
void topk_union(const Topk<Id, T>& P, int length, std::int64_t* classes, double* lower,
                double* upper, int threads) {
    const std::size_t pitch = length, size = pitch * P.M;
    for_each_sorted(P, threads, [&](const LumpedInstance& x, std::size_t i) {
        if (classes) {
            std::fill_n(classes + i * pitch, pitch, std::int64_t{-1});
            std::copy_n(x.classes.begin(), x.size, classes + i * pitch);
        }
        std::fill_n(lower + i * size, size, 0.0);
        x.pack(lower + i * size, pitch, true);
        if (!upper) return;
        for (int m = 0; m < x.M; ++m) {
            double* row = upper + i * size + m * pitch;
            std::fill_n(row, pitch, 0.0);
            for (int y = 0; y < x.size; ++y) row[y] = std::max(x.lower(m)[y], x.cap[m]);
            if (x.truncated && x.size < x.K) row[x.size] = x.cap[m];
        }
    });
}

template <class Id, class T>
void topk_vote(const Topk<Id, T>& P, std::int64_t* winner, int threads) {
    const int M = P.M;
    for_each_sorted(P, threads, [&](const LumpedInstance& x, std::size_t i) {
        std::vector<int> votes(x.size, 0);
        for (int m = 0; m < M; ++m)
            ++votes[std::max_element(x.lower(m), x.lower(m) + x.size) - x.lower(m)];
        const int most = *std::max_element(votes.begin(), votes.end());
        std::vector<double> masses(M);
        double best = -1.0;
        int column = 0;
        for (int y = 0; y < x.size; ++y) {
            if (votes[y] < most) continue;
            // Sorted, so that the rounding of the sum does not depend on the order of the members.
            for (int m = 0; m < M; ++m) masses[m] = x.lower(m)[y];
            std::sort(masses.begin(), masses.end());
            double sum = 0.0;
            for (double mass : masses) sum += mass;
            if (sum > best) best = sum, column = y;
        }
        winner[i] = x.classes[column];
    });
}

#define CREDALENS_INSTANTIATE(Id, T)                                                             \
    template std::int64_t topk_first_invalid(const Topk<Id, T>&, double, int);                   \
    template void topk_widths(const Topk<Id, T>&, std::int64_t*, double*, int);                  \
    template void topk_union(const Topk<Id, T>&, int, std::int64_t*, double*, double*, int);     \
    template void topk_vote(const Topk<Id, T>&, std::int64_t*, int);
CREDALENS_INSTANTIATE(std::int32_t, float)
CREDALENS_INSTANTIATE(std::int32_t, double)
CREDALENS_INSTANTIATE(std::int64_t, float)
CREDALENS_INSTANTIATE(std::int64_t, double)
#undef CREDALENS_INSTANTIATE

}  // namespace credalens
