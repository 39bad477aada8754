#include "runtime/api/node_ways.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdio>
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

/// A file that cannot be read only costs the time of a measurement. A pipe would be waited for.
std::string TextOf(const fs::path& file) {
  if (!IsRegularFile(file)) return "";
  try {
    return ReadFile(file);
  } catch (const Error&) {
    return "";
  }
}

/// What holds anything else belongs to the user. Errors: SystemError for a file that cannot be read.
bool MayBeReplaced(const fs::path& file) {
  std::error_code error;
  const auto type = fs::status(file, error).type();
  if (type == fs::file_type::not_found) return true;
  if (type != fs::file_type::regular) return false;
  const auto text = ReadFile(file);
  return text.empty() || HoldsWays(text);
}

void WarnOfForeign(const fs::path& file) {
  static std::atomic<bool> warned = false;
  if (warned.exchange(true)) return;
  std::fputs(fmt::format("slipway: warning: SLIPWAY_WAYS names '{}', which is no slipway.ways document: it is left as "
                         "it is\n",
                         file.string())
                 .c_str(),
             stderr);
}

void Store(const fs::path& file, const std::string& text) {
  if (file.empty()) return;
  try {
    if (!MayBeReplaced(file)) return WarnOfForeign(file);
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
