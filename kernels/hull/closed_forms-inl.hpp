// Closed forms, for one target. Small instances are processed with one instance per lane, in one
// pass; for others, class_per_lane-inl.hpp and large_diameters-inl.hpp have the classes of one
// instance in lanes.

#include "hull/instance_per_lane-inl.hpp"

template <class T>
std::size_t closed_forms_instance_per_lane(const T* P, std::size_t count, int M, int K,
                                           const ClosedForms& out, double tolerance,
                                           double* scratch) {
    const ContiguousInstances<T> instances{P, static_cast<std::size_t>(M) * K};
    return instances_per_lane(instances, count, M, K, out, tolerance, scratch);
}

#include "hull/class_per_lane-inl.hpp"
#include "hull/large_diameters-inl.hpp"
