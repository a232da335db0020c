// One instance of truncated predictions, over the union of the classes that its members list.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "simd/aligned_buffer.hpp"

namespace credalens {

// The largest probabilities of M members, C-contiguous: ids (n, M, k) of classes from 0 to K - 1 in
// any order, -1 for padding, and their probabilities, which are ignored where ids are -1.
template <class Id, class T>
struct Topk {
    const Id* ids;
    const T* probs;
    std::size_t n;
    int M, k;
    std::int64_t K;

    std::size_t size() const { return static_cast<std::size_t>(M) * k; }
};

// Sums of listed probabilities within this of 1 are used as they are; larger ones are rounding, and
// the row is divided by its sum.
constexpr double kExactSum = 1e-6;

// A hash table from classes to columns. Keys contain the number of the instance, so that the table
// is not cleared for each.
class ClassTable {
public:
    explicit ClassTable(std::size_t entries) {
        int bits = 4;
        while ((std::size_t{1} << bits) < 4 * entries) ++bits;
        shift_ = 32 - bits;
        slots_.resize(std::size_t{1} << bits);
    }

    void start() {
        if (++number_ == 0) {
            std::fill(slots_.begin(), slots_.end(), Slot{});
            number_ = 1;
        }
    }

    // Calls entry(j, column) for the classes ids[j] >= 0 of a list, and added(j, column) before it if
    // the class is new: its column is `next`, which is then increased, and returned in the end.
    template <class Id, class Added, class Entry>
    std::int32_t insert(const Id* ids, int k, std::int32_t next, const Added& added,
                        const Entry& entry) {
        // Copies, since the compiler cannot know that stores do not change the members.
        Slot* const slots = slots_.data();
        const std::size_t mask = slots_.size() - 1;
        const std::uint64_t number = number_;
        const int shift = shift_;
        for (int j = 0; j < k; ++j) {
            if (ids[j] < 0) continue;
            const auto id = static_cast<std::uint32_t>(ids[j]);
            const std::uint64_t key = number << 32 | id;
            std::size_t i = (id * 2654435769u) >> shift;
            while (slots[i].key != key) {
                if (slots[i].key >> 32 != number) {
                    slots[i] = {key, next};
                    added(j, next++);
                    break;
                }
                i = (i + 1) & mask;
            }
            entry(j, slots[i].column);
        }
        return next;
    }

private:
    struct Slot {
        std::uint64_t key = 0;  // the number of the instance, and the class
        std::int32_t column = 0;
    };

    int shift_;
    std::uint32_t number_ = 0;
    std::vector<Slot> slots_;
};

// What is known of each member m of an instance: lower_my <= p_my <= max(lower_my, cap_m), where
// lower_my is the listed probability, or 0 if y is not listed; rest = 1 - the sum of row m is the
// mass of the classes that m does not list. No such class has more than any listed one, so that
// cap = min(rest, smallest listed probability). The last class of a member that lists K - 1 is
// known, and counts as listed.
class LumpedInstance {
public:
    LumpedInstance(int M, int k, std::int64_t K)
        : M(M), k(k), K(K), rest(M), cap(M), listed(M), classes(entries(M, k)), times(entries(M, k)),
          pitch_(padded_size(static_cast<int>(entries(M, k)))), table_(entries(M, k)),
          lower_(static_cast<std::size_t>(M) * pitch_) {}

    const int M, k;
    const std::int64_t K;
    int size = 0;                       // classes of the union
    int stride = 0;                     // the same, padded
    bool truncated = false;             // whether a member has rest mass
    std::vector<double> rest, cap;      // (M)
    std::vector<std::int64_t> listed;   // (M): number of listed classes
    std::vector<std::int32_t> classes;  // (size): ids
    std::vector<int> times;  // (size): of the members that list a class; if sorted

    // Reads one instance. The classes are in the order in which they are listed.
    template <class Id, class T>
    void load(const Id* ids, const T* probs) {
        read<false>(ids, probs);
    }

    // The same in the order of their ids, so that results do not depend on the order of a list.
    template <class Id, class T>
    void load_sorted(const Id* ids, const T* probs) {
        read<true>(ids, probs);
        sort_classes();
    }

    // Row m of `lower`, (stride), padded with zeros.
    const double* lower(int m) const {
        return lower_.data() + static_cast<std::size_t>(m) * pitch_;
    }

    // Classes of the lumped distributions: the union and, if there is any, the rest as one more.
    int width() const { return size + (truncated ? 1 : 0); }

    // Writes the lumped distributions (M, width), or the union alone, with rows of `pitch` numbers.
    void pack(double* target, std::size_t pitch, bool with_rest) const {
        for (int m = 0; m < M; ++m, target += pitch) {
            std::copy_n(lower(m), size, target);
            if (with_rest && truncated) target[size] = rest[m];
        }
    }

private:
    static std::size_t entries(int M, int k) {
        return static_cast<std::size_t>(M) * (static_cast<std::size_t>(k) + 1);
    }

    template <bool kSorted, class Id, class T>
    void read(const Id* ids, const T* probs) {
        for (int m = 0; m < M; ++m) std::fill_n(row(m), stride, 0.0);  // of the last instance
        table_.start();
        size = 0;
        truncated = false;
        for (int m = 0; m < M; ++m, ids += k, probs += k) read_member<kSorted>(ids, probs, m);
        stride = padded_size(size);
    }

    double* row(int m) { return lower_.data() + static_cast<std::size_t>(m) * pitch_; }

    // Adds a list of k classes and their probabilities to a row; `entry` is called with each.
    template <bool kSorted, class Id, class T, class Entry>
    void add(const Id* ids, const T* probs, int k, double* row, const Entry& entry) {
        std::int32_t* const own = classes.data();
        int* const count = times.data();
        const auto added = [&](int j, std::int32_t column) {
            own[column] = static_cast<std::int32_t>(ids[j]);
            if (kSorted) count[column] = 0;
        };
        size = table_.insert(ids, k, size, added, [&](int j, std::int32_t column) {
            const double p = static_cast<double>(probs[j]);
            if (kSorted) ++count[column];
            row[column] = p;
            entry(p);
        });
    }

    template <bool kSorted, class Id, class T>
    void read_member(const Id* ids, const T* probs, int m) {
        double* own = row(m);
        double sum = 0.0, smallest = 1.0;
        std::int64_t count = 0;
        add<kSorted>(ids, probs, k, own, [&](double p) {
            sum += p;
            smallest = std::min(smallest, p);
            ++count;
        });
        if (sum > 1.0 + kExactSum || (count == K && sum < 1.0 - kExactSum)) {
            for (int y = 0; y < size; ++y) own[y] /= sum;
            smallest /= sum;
            sum = 1.0;
        }
        double left = count == K ? 0.0 : std::max(1.0 - sum, 0.0);
        if (count + 1 == K && left > 0.0) {
            std::int64_t missing = K * (K - 1) / 2;  // the sum of all ids, minus those of the list
            for (int j = 0; j < k; ++j) missing -= std::max<std::int64_t>(ids[j], 0);
            add<kSorted>(&missing, &left, 1, own, [](double) {});
            ++count;
            left = 0.0;
        }
        rest[m] = left;
        cap[m] = std::min(left, smallest);
        listed[m] = count;
        truncated |= left > 0.0;
    }

    // Puts the columns in the order of the ids.
    void sort_classes() {
        order_.resize(size);
        for (int y = 0; y < size; ++y) order_[y] = y;
        std::sort(order_.begin(), order_.end(),
                  [&](int a, int b) { return classes[a] < classes[b]; });
        permute(classes.data(), ids_);
        permute(times.data(), counts_);
        for (int m = 0; m < M; ++m) permute(row(m), values_);
    }

    template <class T>
    void permute(T* x, std::vector<T>& scratch) {
        scratch.assign(x, x + size);
        for (int y = 0; y < size; ++y) x[y] = scratch[order_[y]];
    }

    const int pitch_;
    ClassTable table_;
    std::vector<double> lower_;  // (M, pitch), 0 after the classes of the union
    std::vector<int> order_, counts_;
    std::vector<std::int32_t> ids_;
    std::vector<double> values_;
};

}  // namespace credalens
