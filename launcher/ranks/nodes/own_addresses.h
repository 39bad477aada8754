/// The addresses at which other nodes reach a listening socket.
#pragma once

#include <vector>

#include "core/unique_handle.h"
#include "staging/network/node_group.h"

namespace slipway::launcher {

/// Numeric addresses, so that other nodes need no name service. A socket that listens on all addresses has those of
/// every active interface. Loopback addresses are left out if there are others.
/// Errors: SystemError.
std::vector<staging::NodeAddress> AddressesOf(const std::vector<UniqueFd>& listeners);

}  // namespace slipway::launcher
