/// All ranks of a group meet before their GPUs do.
#pragma once

#include "runtime/group/group.h"

namespace slipway::runtime {

/// NCCL must not begin before all ranks are about to: the watch names who is late, NCCL would not.
inline void MeetAll(const Call& call, Group& group) {
  if (group.on_one_node()) {
    group.channel()->Meet(call);
  } else {
    group.communicator().Barrier();
  }
}

}  // namespace slipway::runtime
