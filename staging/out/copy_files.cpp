#include "staging/out/copy_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <unordered_set>

#include "core/boot_id.h"
#include "core/documents.h"
#include "core/error.h"
#include "core/files.h"
#include "core/lines.h"
#include "core/process_identity.h"
#include "staging/copy/copy_pool.h"
#include "staging/plan/source_stat.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

/// ".tmp-copy-PID.START.BOOT.HOST": its process can be told from all others.
///
/// No lock as in PrivatePlace: any number of processes copy into one directory, on several hosts. Where a file system
/// counts locks on each host separately (FileLock), a lock would say that a copy of another host is abandoned. The name
/// never does: such a folder is of another host, and stays.
constexpr std::string_view kPrepared = ".tmp-copy-";

std::string EndOfOwnNames() { return fmt::format(".{}.{}", BootId(), HostName()); }

std::string NameOfPrepared() {
  const auto self = IdentityOf(::getpid());
  return fmt::format("{}{}.{}{}", kPrepared, self.pid, self.start_time, EndOfOwnNames());
}

/// The process that has prepared the folder of this name. Nothing for other names, and for those of other machines.
std::optional<ProcessIdentity> PreparedBy(std::string_view name) {
  const auto end = EndOfOwnNames();
  if (!name.starts_with(kPrepared) || !name.ends_with(end)) return {};
  LineWords words(name.substr(kPrepared.size()));
  ProcessIdentity process;
  process.pid = words.Take<std::int64_t>(10, '.');
  process.start_time = words.Take<std::uint64_t>(10, '.');
  process.boot_id = BootId();
  return words.good() ? std::optional(process) : std::nullopt;
}

/// Removes what processes of this machine left that were killed. What cannot be removed waits for the next copy.
void RemoveAbandoned(const fs::path& directory) {
  std::error_code ignored;
  for (const auto& entry : EntriesOf(directory)) {
    const auto process = PreparedBy(entry.filename().string());
    if (process && !IsAlive(*process)) fs::remove_all(entry, ignored);
  }
}

/// Removed with what is still in it.
class PreparedFolder {
 public:
  explicit PreparedFolder(const fs::path& directory) : path_(directory / NameOfPrepared()) {
    RemoveAbandoned(directory);
    RemoveTree(path_);
    MakeDirectories(path_);
  }
  PreparedFolder(const PreparedFolder&) = delete;
  PreparedFolder& operator=(const PreparedFolder&) = delete;
  ~PreparedFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  const fs::path path_;
};

SourceFile Listed(const FileToCopy& file) {
  const auto state = StatSource(file.source);
  if (!S_ISREG(state.mode)) {
    throw Error(ErrorKind::kEnvironment, fmt::format("'{}' is no regular file", file.source.string()),
                "leave it out of the list");
  }
  return {file.source, file.name, state.size, state.mtime_ns, state.inode};
}

StagingPlan PlanOf(const std::vector<FileToCopy>& files) {
  StagingPlan plan;
  plan.request.name = "files";
  std::unordered_set<std::string_view> names;
  for (const auto& file : files) {
    if (!names.insert(file.name).second) {
      throw Error(ErrorKind::kUsage, fmt::format("two files are called '{}'", file.name), "rename one of them");
    }
    plan.files.push_back(Listed(file));
    plan.total.count += plan.files.back().size.count;
  }
  return plan;
}

void Sync(const fs::path& directory) {
  const auto fd = OpenFile(directory, O_RDONLY | O_DIRECTORY);
  if (::syncfs(fd.get()) != 0) ThrowErrno(fmt::format("cannot sync '{}'", directory.string()));
}

}  // namespace

void CopyFiles(const std::vector<FileToCopy>& files, const fs::path& directory, const StageOptions& options) {
  const auto plan = PlanOf(files);
  MakeDirectories(directory);
  const PreparedFolder prepared(directory);
  CopyOptions copy;
  copy.format = DataFormat::kRaw;
  const auto copied = CopyAll(plan, prepared.path(), copy, options);
  Sync(prepared.path());
  CompareAll(plan, prepared.path(), copied, options);
  for (const auto& file : plan.files) {
    const auto from = prepared.path() / file.name;
    const auto to = directory / file.name;
    if (::rename(from.c_str(), to.c_str()) != 0) ThrowErrno(fmt::format("cannot rename to '{}'", to.string()));
  }
  SyncDirectory(directory);
}

}  // namespace slipway::staging
