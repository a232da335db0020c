// Truncated predictions as lists: validation, the union of the listed classes, the vote.
#pragma once

#include "topk/lumped_instance.hpp"

namespace credalens {

// Index, in the flattened (n, M), of the first row that is no list of the largest probabilities of
// a distribution over K classes, or -1: an id outside of -1, ..., K - 1, or twice, no id, a
// probability outside of [0, 1] or NaN, a sum above 1 or, with all classes, not 1, by more than
// `tolerance`, or more rest mass than unlisted classes can have, none of which has more than the
// smallest listed probability.
template <class Id, class T>
std::int64_t topk_first_invalid(const Topk<Id, T>& P, double tolerance, int threads);

// The number of classes of the lumped distributions of each instance: those that a member lists
// and, if a member has rest mass, the rest as one more class; `rest` (n, M) is that mass.
template <class Id, class T>
void topk_widths(const Topk<Id, T>& P, std::int64_t* width, double* rest, int threads);

// Writes each instance over the union of its classes in the order of their ids, with `length`
// columns, at least the width of the instance:
//   classes  (n, length) or nullptr: the ids, -1 for the rest and for padding
//   lower    (n, M, length): the listed probabilities, the rest in the column after the union, and 0
//   upper    (n, M, length) or nullptr: the largest possible probabilities; in the column after the
//            union those of a class that no member lists, 0 if there is none
template <class Id, class T>
void topk_union(const Topk<Id, T>& P, int length, std::int64_t* classes, double* lower,
                double* upper, int threads);

// The most probable class of most members, (n); ties within a member go to the smallest id, ties
// between classes to the larger sum of listed probabilities, then to the smallest id.
template <class Id, class T>
void topk_vote(const Topk<Id, T>& P, std::int64_t* winner, int threads);

}  // namespace credalens
