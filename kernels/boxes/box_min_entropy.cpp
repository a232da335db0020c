#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "boxes/boxes.hpp"
#include "runtime/parallel_for.hpp"

namespace credalens {
namespace {

double xlogx(double p) {
    return p > 0.0 ? p * std::log(p) : 0.0;
}

double sum_of(const std::vector<double>& x) {
    return std::accumulate(x.begin(), x.end(), 0.0);
}

constexpr double kGapGoal = 1e-12;  // certified gap at which the search ends, in nats
constexpr double kMoved = 1e-12;    // smallest change of a bound that counts

// Best-first branch and bound for one instance at a time; its memory is reused.
class LowerEntropy {
public:
    LowerEntropy(int K, std::int64_t max_nodes)
        : K_(K), max_nodes_(max_nodes), order_(K), slope_(K), p_(K), best_p_(K), lo_(K), hi_(K) {}

    void solve(const double* l, const double* u) {
        l_ = l;
        u_ = u;
        best_ = std::numeric_limits<double>::infinity();
        floor_ = best_;
        pool_.clear();
        heap_.clear();
        free_.clear();
        std::copy(l, l + K_, lo_.begin());
        std::copy(u, u + K_, hi_.begin());
        open();
        std::int64_t nodes = 1;
        while (!heap_.empty() && heap_.front().bound < best_ - kGapGoal && nodes < max_nodes_) {
            if (nodes % 64 == 1) check_interrupt();
            std::pop_heap(heap_.begin(), heap_.end());
            const Node node = heap_.back();
            heap_.pop_back();
            free_.push_back(node.slot);
            for (int side = 0; side < 2; ++side, ++nodes) {
                // The first child may reuse the slot: both are read before.
                if (side == 0) {
                    const double* saved = pool_.data() + node.slot * 2 * K_;
                    parent_.assign(saved, saved + 2 * K_);
                }
                std::copy(parent_.begin(), parent_.begin() + K_, lo_.begin());
                std::copy(parent_.begin() + K_, parent_.end(), hi_.begin());
                if (side == 0 ? lower_to(node.index, node.split)
                              : raise_to(node.index, node.split)) {
                    open();
                }
            }
        }
        if (!heap_.empty()) floor_ = std::min(floor_, heap_.front().bound);
    }

    double value() const { return best_; }
    double error() const { return std::max(0.0, best_ - floor_); }
    const double* distribution() const { return best_p_.data(); }

private:
    struct Node {
        double bound;
        double split;      // the value of the fractional class
        int index;         // of this class
        std::size_t slot;  // of its intervals: K lower bounds, then K upper bounds
        bool operator<(const Node& other) const { return bound > other.bound; }
    };

    // Of two classes whose intervals are ordered in both bounds, some minimum gives the higher one
    // at least as much above its lower bound (if it is the wider) or as little below its upper
    // bound (if it is the narrower): to exchange the two amounts does not increase a concave sum.
    // Equal intervals are ordered by their index.
    bool dominates(int k, int i) const {
        if (l_[k] < l_[i] || u_[k] < u_[i]) return false;
        return l_[k] > l_[i] || u_[k] > u_[i] || k < i;
    }
    bool wider(int k, int i) const { return u_[k] - l_[k] >= u_[i] - l_[i]; }

    // p_j <= top, and the bounds that follow for the classes that j dominates.
    bool lower_to(int j, double top) {
        hi_[j] = std::min(hi_[j], top);
        for (int i = 0; i < K_; ++i) {
            if (i == j || !dominates(j, i)) continue;
            const double limit = wider(j, i) ? l_[i] + (top - l_[j]) : u_[i] - (u_[j] - top);
            hi_[i] = std::min(hi_[i], std::max(limit, l_[i]));
            if (hi_[i] < lo_[i] - kMoved) return false;
        }
        return tighten();
    }

    // p_j >= bottom, and the bounds that follow for the classes that dominate j.
    bool raise_to(int j, double bottom) {
        lo_[j] = std::max(lo_[j], bottom);
        for (int k = 0; k < K_; ++k) {
            if (k == j || !dominates(k, j)) continue;
            const double limit = wider(k, j) ? l_[k] + (bottom - l_[j]) : u_[k] - (u_[j] - bottom);
            lo_[k] = std::max(lo_[k], std::min(limit, u_[k]));
            if (hi_[k] < lo_[k] - kMoved) return false;
        }
        return tighten();
    }

    // A minimum is an extreme point: all classes but one are at l or u. A class that is cut off
    // from both is that one; the others are then at the bound that is left to them. False if no
    // extreme point remains.
    bool tighten() {
        int inner = -1;
        for (int y = 0; y < K_; ++y) {
            if (lo_[y] > l_[y] + kMoved && hi_[y] < u_[y] - kMoved) {
                if (inner >= 0) return false;
                inner = y;
            }
        }
        for (int y = 0; y < K_ && inner >= 0; ++y) {
            if (y == inner) continue;
            if (lo_[y] > l_[y] + kMoved) lo_[y] = hi_[y] = u_[y];
            if (hi_[y] < u_[y] - kMoved) lo_[y] = hi_[y] = l_[y];
        }
        for (int y = 0; y < K_; ++y) hi_[y] = std::max(hi_[y], lo_[y]);
        const double missing = 1.0 - sum_of(lo_), excess = sum_of(hi_) - 1.0;
        if (missing < -kMoved || excess < -kMoved) return false;
        for (int y = 0; y < K_; ++y) {
            const double low = lo_[y], high = hi_[y];
            lo_[y] = std::max(low, std::min(high - excess, high));
            hi_[y] = std::min(high, std::max(low + missing, low));
        }
        return true;
    }

    // Bounds the node in lo_, hi_ by the secants, evaluates their minimum, and keeps the node.
    void open() {
        double bound = 0.0, missing = 1.0;
        for (int y = 0; y < K_; ++y) {
            const double term = -xlogx(lo_[y]), width = hi_[y] - lo_[y];
            slope_[y] = width > 0.0 ? (-xlogx(hi_[y]) - term) / width : 0.0;
            bound += term;
            missing -= lo_[y];
            p_[y] = lo_[y];
            order_[y] = y;
        }
        std::sort(order_.begin(), order_.end(), [this](int a, int b) {
            return slope_[a] < slope_[b] || (slope_[a] == slope_[b] && a < b);
        });
        int fractional = -1;
        for (int y : order_) {
            if (missing <= 0.0) break;
            const double width = hi_[y] - lo_[y], step = std::min(width, missing);
            bound += slope_[y] * step;
            missing -= step;
            p_[y] = step < width ? lo_[y] + step : hi_[y];
            if (step < width) fractional = y;
        }
        double entropy = 0.0;
        for (int y = 0; y < K_; ++y) entropy -= xlogx(p_[y]);
        if (entropy < best_) {
            best_ = entropy;
            best_p_ = p_;
        }
        if (fractional < 0 || bound >= best_ - kGapGoal) {
            floor_ = std::min(floor_, fractional < 0 ? entropy : bound);
            return;
        }
        std::size_t slot = pool_.size() / (2 * K_);
        if (free_.empty()) {
            pool_.resize(pool_.size() + 2 * K_);
        } else {
            slot = free_.back();
            free_.pop_back();
        }
        std::copy(lo_.begin(), lo_.end(), pool_.begin() + slot * 2 * K_);
        std::copy(hi_.begin(), hi_.end(), pool_.begin() + slot * 2 * K_ + K_);
        heap_.push_back({bound, p_[fractional], fractional, slot});
        std::push_heap(heap_.begin(), heap_.end());
    }

    const int K_;
    const std::int64_t max_nodes_;
    const double *l_ = nullptr, *u_ = nullptr;
    double best_ = 0.0, floor_ = 0.0;
    std::vector<int> order_;
    std::vector<double> slope_, p_, best_p_, lo_, hi_, parent_, pool_;
    std::vector<std::size_t> free_;
    std::vector<Node> heap_;
};

}  // namespace

void box_min_entropy(const double* low, const double* high, std::size_t n, int K,
                     std::int64_t max_nodes, double* value, double* error, double* distribution,
                     int threads) {
    parallel_for(n, Grain::of_duration(1000.0 * K), threads,
                 [&](std::size_t begin, std::size_t end) {
                     LowerEntropy search(K, max_nodes);
                     for (std::size_t i = begin; i < end; ++i) {
                         search.solve(low + i * K, high + i * K);
                         value[i] = std::max(search.value(), 0.0);
                         error[i] = search.error();
                         if (distribution != nullptr) {
                             std::copy(search.distribution(), search.distribution() + K,
                                       distribution + i * K);
                         }
                     }
                 });
}

}  // namespace credalens
