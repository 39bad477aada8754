/// How an agent finds its manager.
#pragma once

#include "launcher/ranks/nodes/agent_options.h"
#include "launcher/ranks/nodes/node_link.h"

namespace slipway::launcher {

/// Tries the manager's addresses in turn until one lets node `number` in. Waits.
/// Errors: Error(kEnvironment) when none has done so within the options' patience, with what the last one did.
NodeConnection ConnectToManager(const AgentOptions& options, std::uint32_t number);

}  // namespace slipway::launcher
