// In step k, partners at distance 2^k exchange all they have and combine it. When P is not a power of two, the first
// 2(P-p) members form pairs. The even one of each pair hands its data over before, and gets the result after.

#include "runtime/collectives/between_ranks.h"
#include "runtime/collectives/pairs.h"
#include "runtime/memory/scratch.h"

namespace slipway::runtime {

void AllreduceByRecursiveDoubling(void* data, std::int64_t count, const Reduction& reduction, PointToPoint& members) {
  const auto bytes = BytesOf(count, SizeOf(reduction.dtype));
  const Pairs pairs(members.rank(), members.size());
  if (pairs.HandsOver()) {
    members.Send(members.rank() + 1, data, bytes);
    members.Receive(members.rank() + 1, data, bytes);
    return;
  }
  Scratch other(bytes);
  if (pairs.StandsIn()) {
    members.Receive(members.rank() - 1, other.data(), bytes);
    Combine(reduction, other.data(), data, data, count);
  }
  for (int distance = 1; distance < pairs.active(); distance *= 2) {
    const int partner = pairs.MemberOf(pairs.place() ^ distance);
    members.Exchange(partner, data, bytes, partner, other.data(), bytes);
    // The operands in the order of the members on both sides, so that both get the same bits, NaNs included.
    const bool first = (pairs.place() & distance) == 0;
    Combine(reduction, first ? data : other.data(), first ? other.data() : data, data, count);
  }
  Finish(reduction, data, count, members.size());
  if (pairs.StandsIn()) members.Send(members.rank() - 1, data, bytes);
}

}  // namespace slipway::runtime
