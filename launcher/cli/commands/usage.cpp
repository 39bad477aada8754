#include "launcher/cli/commands/usage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/error.h"
#include "core/ownership.h"
#include "core/units.h"
#include "launcher/run_folder/run_folder.h"
#include "launcher/view/usage.h"
#include "launcher/view/view_reader.h"

namespace slipway::launcher {
namespace {

std::optional<double> BeginOf(const UsageOptions& options, double now) {
  if (options.since.empty()) return {};
  const auto duration = ParseDuration(options.since);
  if (!duration) {
    throw Error(ErrorKind::kUsage, fmt::format("--since '{}' is no duration", options.since),
                "for example --since 30d");
  }
  return now - duration->count();
}

std::vector<UsageKey> KeysFrom(const UsageOptions& options) {
  std::vector<UsageKey> keys;
  for (const auto& word : options.by) {
    const auto key = FromWord<UsageKey>(word);
    if (!key) {
      throw Error(ErrorKind::kUsage, fmt::format("--by '{}' is unknown", word),
                  fmt::format("it is one of {}", fmt::join(AllWords<UsageKey>(), ", ")));
    }
    keys.push_back(*key);
  }
  return keys;
}

std::string OwnerOf(const std::filesystem::path& folder) {
  struct stat info {};
  return ::stat(folder.c_str(), &info) == 0 ? UserName(info.st_uid) : "unknown";
}

/// Nothing for a run that began earlier, or that cannot be read.
std::optional<UsedRun> ReadUsedRun(const RunFolder& folder, std::optional<double> since, Session& session) try {
  const auto view = ViewReader(folder).Read(Depth::kAccounting);
  if (since && view.created.value_or(0) < *since) return {};
  return UsedRun{OwnerOf(folder.path()), view.name, view.engine, view.accounting.value_or(Accounting())};
} catch (const Error& error) {
  session.output.Warn(fmt::format("{} is left out: {}", folder.id(), error.message()));
  return {};
}

}  // namespace

int ShowUsage(const UsageOptions& options, Session& session) {
  const auto since = BeginOf(options, UnixSeconds(SystemClock().Now()));
  const auto keys = KeysFrom(options);
  std::vector<UsedRun> runs;
  for (const auto& folder : ListRuns(session.runs_directory)) {
    if (auto run = ReadUsedRun(folder, since, session)) runs.push_back(std::move(*run));
  }
  const auto usage = SumUsage(runs, keys);
  session.output.Print({ToJson(usage, since), Describe(usage), fmt::format("{:.2f}", usage.total.node_hours)});
  return 0;
}

}  // namespace slipway::launcher
