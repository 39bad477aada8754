/// A supervisor of programs on a node of the allocation.
#pragma once

#include <memory>

#include "launcher/ranks/local/supervisor_host.h"
#include "launcher/ranks/nodes/nodes.h"

namespace slipway::launcher {

/// `nodes` must outlive it.
std::unique_ptr<SupervisorHost> SupervisorOn(Nodes& nodes, int node);

}  // namespace slipway::launcher
