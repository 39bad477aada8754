#include "bench/staging/sides.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include "bench/time_program.h"
#include "core/error.h"
#include "core/files.h"
#include "core/install.h"
#include "core/shell.h"

namespace slipway::bench {
namespace fs = std::filesystem;
namespace {

using Command = std::vector<std::string>;

Command Slipway(const fs::path& source, const fs::path& target, staging::DataFormat format) {
  return {InstallPrefix() / "bin" / "slipway",
          "--quiet",
          "stage",
          "in",
          source,
          "--name",
          "bench",
          "--format",
          std::string(WordOf(format)),
          "--tier",
          "dir:" + target.string()};
}
Command Copy(const fs::path& source, const fs::path& target, staging::DataFormat) {
  return {"cp", "-r", source, target};
}
Command Rsync(const fs::path& source, const fs::path& target, staging::DataFormat) {
  return {"rsync", "-a", source.string() + "/", target};
}
Command Rclone(const fs::path& source, const fs::path& target, staging::DataFormat) {
  return {"rclone", "--config", "/dev/null", "copy", source, target};
}

double SecondsIn(const timeval& time) { return static_cast<double>(time.tv_sec) + 1e-6 * time.tv_usec; }

/// Of the children that have ended.
double ProcessorSeconds() {
  rusage used{};
  CheckErrno(::getrusage(RUSAGE_CHILDREN, &used), "cannot read the processor time of the sides");
  return SecondsIn(used.ru_utime) + SecondsIn(used.ru_stime);
}

}  // namespace

const std::vector<Side>& Sides() {
  static const std::vector<Side> kSides = {
      {"slipway", Slipway}, {"cp -r", Copy}, {"rsync -a", Rsync}, {"rclone copy", Rclone}};
  return kSides;
}

bool IsInstalled(const Side& side) {
  const auto program = side.command({}, {}, staging::DataFormat::kRaw).front();
  return program.front() == '/' || FindProgram(program);
}

RunTime TimeOf(const Side& side, const fs::path& source, const fs::path& target, staging::DataFormat format) {
  const auto used_before = ProcessorSeconds();
  const auto end = TimeProgram(side.command(source, target, format), {}, Shown::kErrors);
  const auto used = ProcessorSeconds() - used_before;
  RemoveTree(target);
  if (end.status.Success()) return {end.seconds, used};
  throw Error(ErrorKind::kFailed, fmt::format("{} ended with {}", side.name, end.status.Describe()),
              "see what it printed above");
}

}  // namespace slipway::bench
