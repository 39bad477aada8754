/// What a job leaves of its exchange: comm.json, and a Chrome trace when it was asked for.
#pragma once

#include <filesystem>
#include <vector>

#include "core/json.h"
#include "runtime/group/communicator.h"
#include "runtime/trace/step_trace.h"

namespace slipway::runtime {

/// Writes comm.json (schema slipway.comm/1) with the members of `facts`. Rank 0 writes.
/// Errors: RuntimeError(IO) on all ranks. Collective.
void WriteCommunicationReport(const std::filesystem::path& file, Json facts, Communicator& communicator);

/// Writes the spans of all ranks as a Chrome trace ("Trace Event Format", which Perfetto reads). Rank 0 writes.
/// Errors: RuntimeError(IO) on all ranks. Collective.
void WriteChromeTrace(const std::filesystem::path& file, const std::vector<Span>& spans, Communicator& communicator);

}  // namespace slipway::runtime
