/// Makes a node's two connections of the ring: to the next node, and from the previous one.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/clock.h"
#include "core/error.h"
#include "staging/network/node_group.h"
#include "staging/network/socket_handshake.h"

namespace slipway::staging {

struct JoinResult {
  std::optional<Connection> previous;
  std::optional<Connection> next;
  /// Why one is missing: at the deadline it names the node, and what it or a stranger did last; or what `tick` threw.
  /// Nothing when a node that had joined is gone again: what it said last is still to be read.
  std::optional<Error> failure;
};

/// Listens on this node's address, or takes who comes to the sockets that listen already, and connects to the next one,
/// again and again until `deadline`. Strangers, wrong proofs and connections that say nothing are dropped and do not
/// hold up the others.
/// `tick` is called several times a second; its Error ends the joining, and those who have joined can be told.
/// Errors: what ListenOn throws.
JoinResult JoinRing(const NodeGroup& group, const GroupKey& key, const Digest& plan, SteadyTime deadline,
                    const std::function<void()>& tick);

}  // namespace slipway::staging
