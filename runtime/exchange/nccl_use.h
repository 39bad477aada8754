/// Who uses NCCL in this process.
#pragma once

#include <memory>

#include "runtime/group/communicator.h"

namespace slipway::runtime {

/// Why NCCL is no candidate where another user has it.
inline constexpr const char* kNcclIsInUse =
    "another team or group of a rank uses it, and NCCL may hang with two at once";

/// A user of NCCL, while it lives: ranks that it connects, or a choice of which it is a candidate.
///
/// NCCL asks for the operations of several communicators in the same order on all ranks. Teams, and groups with single
/// allreduces, have threads of their own and know no common order.
class NcclUse {
 public:
  /// Beside all others.
  NcclUse();
  /// The only one on all `ranks`. Null on all of them where one has another; at two such calls at once perhaps for
  /// both. Collective. Cost: an allgather of a byte. Errors: those of the communicator.
  static std::unique_ptr<NcclUse> Alone(Communicator& ranks);
  NcclUse(const NcclUse&) = delete;
  NcclUse& operator=(const NcclUse&) = delete;
  ~NcclUse();
};

}  // namespace slipway::runtime
