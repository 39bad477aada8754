/// A team: a named set of tensors, exchanged together.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/exchange/tensors.h"

namespace slipway::runtime {

class Team {
 public:
  /// `tensors`: the same list on every rank (RequireSameCall). Collective.
  Team(const std::vector<TensorInfo>& tensors, Communicator& communicator);

  /// Mean over all ranks, in place; the same bits on every rank. Collective.
  /// Tensors that lie one behind the other in memory are reduced as one; otherwise each is reduced by itself.
  void ExchangeMean();

 private:
  struct Run {
    void* data;
    std::int64_t count;
    slipway_dtype dtype;
  };

  static std::vector<Run> OneForEach(const std::vector<TensorInfo>& tensors);
  static std::vector<Run> Joined(const std::vector<Run>& runs);

  std::vector<Run> runs_;
  Communicator& communicator_;
};

}  // namespace slipway::runtime
