/// Allreduce by messages: one function for each algorithm, plain, without a thread; the simulator runs the same code.
///
/// Each combines `count` elements of all members, in place. Result: the same bits on all members. They depend on the
/// number of members and the algorithm, never on the order of arrival. A mean is the quotient by the number of members.
/// Means of integers (IsMeanOfIntegers) are possible with AllreducePairwise only.
/// Errors: RuntimeError: MPI, STALLED, MISMATCH. docs/explanation/exchange.md derives the costs: P members, N bytes, p
///         = the largest power of two up to P.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/collectives/pieces.h"
#include "runtime/group/point_to_point.h"
#include "runtime/reduction/reduction.h"

namespace slipway::runtime {

/// Steps: log2 p, and 2 where P > p. Sent: N log2 p, and N more by the odd member of each pair (pairs.h). The even one
///        sends N in all.
/// Source: Thakur, Rabenseifner, Gropp 2005, section 4.1.
void AllreduceByRecursiveDoubling(void* data, std::int64_t count, const Reduction& reduction, PointToPoint& members);

/// Steps: 2(P-1). Sent: 2N(P-1)/P. In segments, so that combining overlaps with receiving.
/// Source: Patarasuk & Yuan 2009.
void AllreduceByRing(void* data, std::int64_t count, const Reduction& reduction, PointToPoint& members);

/// Reduce-scatter by halving, allgather by doubling, nearest partner first: the largest messages stay near.
/// Steps: 2 log2 p, and 3 where P > p. Sent: 2N(p-1)/p; where P > p at most 2N more.
/// Source: Thakur, Rabenseifner, Gropp 2005, section 4.2; Rabenseifner 2004 for P that is no power of two.
void AllreduceByRabenseifner(void* data, std::int64_t count, const Reduction& reduction, PointToPoint& members);

/// P = a x b: reduce-scatter along rows of b, ring allreduce along columns of a, allgather along rows. A prime P is one
/// row. Steps: 2(b-1) + 2(a-1). Sent: 2N(b-1)/b + 2(N/b)(a-1)/a. Source: Mikami et al. 2018 (2-D torus).
void AllreduceByTorus(void* data, std::int64_t count, const Reduction& reduction, PointToPoint& members);

/// The slices of a message that end at the members, one behind the other.
std::vector<Slice> TorusSlices(std::int64_t count, int members);

/// Every member receives its slice from all others, combines them in the order of the members, and sends the result to
/// all. The bits depend on P alone. 16-bit floats are rounded once.
/// Steps: 2(P-1). Sent: 2N(P-1)/P. Memory: N.
void AllreducePairwise(void* data, std::int64_t count, const Reduction& reduction, PointToPoint& members);

}  // namespace slipway::runtime
