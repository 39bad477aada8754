/// The addresses at which other nodes reach a listening socket.
#pragma once

#include <vector>

#include "core/unique_handle.h"
#include "staging/network/node_group.h"

namespace slipway::launcher {

/// Numeric, so that no other node needs to know names. A socket that listens on all addresses stands for those of every
/// interface that is up; loopback ones are left out where there are others.
/// Errors: SystemError.
std::vector<staging::NodeAddress> AddressesOf(const std::vector<UniqueFd>& listeners);

}  // namespace slipway::launcher
