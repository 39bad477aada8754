/// TCP sockets for the ring; all are non-blocking and closed on exec.
#pragma once

#include "core/files.h"
#include "staging/network/node_group.h"

namespace slipway::staging {

/// Listens on this address only. Errors: Error(kEnvironment) naming it: no such host, not ours, in use.
UniqueFd ListenOn(const NodeAddress& address);
/// Begins to connect; errors come from ConnectResult. Nothing when the host has no address at present.
UniqueFd StartConnect(const NodeAddress& address);
/// 0, or the errno that a finished connect ended with.
int ConnectResult(int fd);
/// No delay for small frames, and behind everything else that this node sends: reads of the sources come first.
void TuneForRing(int fd);
/// An accepted connection, or none that is waiting.
UniqueFd AcceptFrom(int listener);

}  // namespace slipway::staging
