#include "runtime/api/node_ways.h"

#include <optional>

#include "core/error.h"
#include "core/files.h"
#include "core/install.h"
#include "runtime/collectives/way_times.h"
#include "runtime/group/mpi_library.h"
#include "runtime/selection/measured_ways.h"

namespace slipway::runtime {
namespace {

namespace fs = std::filesystem;

/// A file that cannot be read only costs the time of a measurement.
std::string TextOf(const fs::path& file) {
  try {
    return file.empty() ? "" : ReadFileIfPresent(file).value_or("");
  } catch (const Error&) {
    return "";
  }
}

void Store(const fs::path& file, const std::string& text) {
  if (file.empty()) return;
  try {
    MakeDirectories(file.parent_path());
    WriteFileAtomically(file, text);
  } catch (const Error&) {
    return;  // the next job measures again
  }
}

/// This MPI between as many nodes.
std::string MpiBetween(int nodes) { return NameOfMpi() + (nodes == 1 ? ", one node" : ", several nodes"); }

}  // namespace

std::string WaysOfNode(Group& group, const fs::path& file) {
  const auto kind = KindOfThisNode(group.size(), group.channel()->direct_copies(), Version());
  const auto own = group.rank() == 0 ? RecallWays(TextOf(file), kind) : std::nullopt;
  const auto known = group.communicator().BroadcastText(own.value_or(""), 0);
  if (!known.empty()) return known;
  const auto measured = FastestWays(MeasureWays(group));
  if (group.rank() == 0) Store(file, RememberWays(TextOf(file), kind, measured));
  return measured;
}

bool GpuMpiHasWorked(Group& group, const fs::path& file) {
  const bool known = group.rank() == 0 && RecallGpuMpi(TextOf(file), MpiBetween(group.topology().nodes()));
  return group.communicator().Max(known ? 1 : 0) == 1;
}

void NoteThatGpuMpiWorks(int nodes, const fs::path& file) {
  Store(file, RememberGpuMpi(TextOf(file), MpiBetween(nodes)));
}

}  // namespace slipway::runtime
