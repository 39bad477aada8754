/// What is kept of a node from one job to the next: which way of shared memory is fastest, whether MPI takes memory of
/// its GPUs.
#pragma once

#include <filesystem>
#include <string>

#include "runtime/group/group.h"

namespace slipway::runtime {

/// In the syntax of AlgorithmTable: what `file` has for this kind of node, else what is measured now and then stored
/// there. The same on all ranks. `file`: read and written by the first rank; empty, or not to be used: no file. A file
/// with anything but ways is left as it is, with one warning on standard error.
/// Collective over a group on one node that shares memory. Errors: those of MeasureWays().
std::string WaysOfNode(Group& group, const std::filesystem::path& file);

/// Whether `file` says that this MPI has added up memory of GPUs before, between as many nodes: one, or several.
/// Collective.
bool GpuMpiHasWorked(Group& group, const std::filesystem::path& file);
/// Notes that it has. For the first rank.
void NoteThatGpuMpiWorks(int nodes, const std::filesystem::path& file);

}  // namespace slipway::runtime
