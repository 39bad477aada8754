/// TCP sockets for the ring; all are non-blocking and closed on exec.
#pragma once

#include <sys/socket.h>

#include <vector>

#include "core/files.h"
#include "staging/network/node_group.h"

namespace slipway::staging {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

/// All that the host, and where else it can be reached, stands for; empty when it is not known at present. Looking up a
/// name may take seconds.
std::vector<SocketAddress> Resolve(const NodeAddress& address);

/// Listens on every address of the host. If the name stands for loopback addresses only, it listens on all addresses of
/// the machine. Distributions write a machine's own name so into /etc/hosts, and other nodes could not reach those.
/// Errors: Error(kEnvironment) naming it: no such host, not an address of this machine, in use.
std::vector<UniqueFd> ListenOn(const NodeAddress& address);
/// Begins to connect; errors come from ConnectResult, or nothing with errno set.
UniqueFd StartConnect(const SocketAddress& address);
/// 0, or the errno that a finished connect ended with.
int ConnectResult(int fd);
/// No delay for small frames, and behind everything else that this node sends: reads of the sources come first.
void TuneForRing(int fd);

}  // namespace slipway::staging
