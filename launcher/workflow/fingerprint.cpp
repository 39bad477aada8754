#include "launcher/workflow/fingerprint.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "core/filesystem_errors.h"
#include "launcher/workflow/sha256.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

using OnStat = std::function<void(const struct stat&)>;

std::string StampOfFile(const fs::path& file, const OnStat& on_stat = {}) {
  struct stat info {};
  if (::stat(file.c_str(), &info) != 0) return "missing";
  if (on_stat) on_stat(info);
  return fmt::format("{} bytes, changed {}.{:09}", info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

std::string ContentOfFile(const fs::path& file) {
  return FileBytes(file) > kLargestHashed ? StampOfFile(file) : Sha256OfFile(file);
}

/// What lies below a folder, in the order of the names.
struct TreeEntry {
  fs::path path;
  std::string instead;  ///< stands for its content; empty: the file does
};

/// Enters linked folders as well. Each folder is entered once, so links may lead back: where it is met again, its first
/// place stands for it.
class TreeWalk {
 public:
  /// `on_stat` receives the state of each folder.
  explicit TreeWalk(const fs::path& root, const OnStat& on_stat = {}) : root_(root), on_stat_(on_stat) {
    WithSystemErrors([this] { Enter(root_); });
  }

  std::vector<TreeEntry> Take() { return std::move(entries_); }

 private:
  void Enter(const fs::path& folder) {
    struct stat info {};
    CheckErrno(::stat(folder.c_str(), &info), fmt::format("cannot look at '{}'", folder.string()));
    if (on_stat_) on_stat_(info);
    const auto [first, is_new] = entered_.emplace(std::pair(info.st_dev, info.st_ino), folder);
    if (!is_new) return Add(folder, "as " + first->second.lexically_relative(root_).string());
    std::vector<fs::directory_entry> entries;
    for (const auto& entry : fs::directory_iterator(folder)) entries.push_back(entry);
    std::ranges::sort(entries, {}, [](const auto& entry) { return entry.path(); });
    for (const auto& entry : entries) AddEntry(entry);
  }

  /// Throws for a loop of links.
  void AddEntry(const fs::directory_entry& entry) {
    if (entry.is_regular_file()) {
      Add(entry.path(), {});
    } else if (entry.is_directory()) {
      Enter(entry.path());
    } else if (!entry.exists()) {
      Add(entry.path(), "link to " + fs::read_symlink(entry.path()).string());
    } else {
      Add(entry.path(), std::string(OtherKindOf(entry.path())));
    }
  }

  void Add(const fs::path& path, std::string instead) { entries_.push_back({path, std::move(instead)}); }

  const fs::path& root_;
  const OnStat& on_stat_;
  std::vector<TreeEntry> entries_;
  std::map<std::pair<dev_t, ino_t>, fs::path> entered_;
};

/// Errors: Error for what is neither a file nor a folder: reading it would wait, or have no end.
bool IsFolder(const fs::path& path) {
  const auto kind = OtherKindOf(path);
  if (!kind.empty()) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("'{}' is {}; what steps read and write are files and folders", path.string(), kind),
                "write what it gives into a file, and name that");
  }
  return IsDirectory(path);
}

std::string OfTree(const fs::path& path, const std::function<std::string(const fs::path&)>& of_file,
                   const OnStat& on_stat = {}) {
  if (!Exists(path)) return "missing";
  if (!IsFolder(path)) return of_file(path);
  Sha256 hash;
  for (const auto& entry : TreeWalk(path, on_stat).Take()) {
    const auto content = entry.instead.empty() ? of_file(entry.path) : entry.instead;
    hash.Add(entry.path.lexically_relative(path).string() + '\0' + content + '\n');
  }
  return hash.Finish();
}

std::uint64_t BytesOfTree(const fs::path& path) {
  if (!Exists(path)) return 0;
  if (!IsFolder(path)) return FileBytes(path);
  std::uint64_t bytes = 0;
  for (const auto& entry : TreeWalk(path).Take()) bytes += entry.instead.empty() ? FileBytes(entry.path) : 0;
  return bytes;
}

}  // namespace

const std::string& Fingerprints::Of(const fs::path& path) {
  const auto found = known_.find(path.string());
  return found != known_.end() ? found->second
                               : known_.emplace(path.string(), OfTree(path, ContentOfFile)).first->second;
}

const std::string& Fingerprints::StampOf(const fs::path& path) {
  const auto found = stamps_.find(path.string());
  return found != stamps_.end() ? found->second : stamps_.emplace(path.string(), StampOfTree(path)).first->second;
}

bool Fingerprints::Refresh(const fs::path& path) {
  const auto stamp = stamps_.find(path.string());
  if (stamp == stamps_.end() || stamp->second == StampOfTree(path)) return false;
  stamps_.erase(stamp);
  known_.erase(path.string());
  bytes_.erase(path.string());
  return true;
}

std::uint64_t Fingerprints::BytesOf(const fs::path& path) {
  const auto found = bytes_.find(path.string());
  return found != bytes_.end() ? found->second : bytes_.emplace(path.string(), BytesOfTree(path)).first->second;
}

std::string_view OtherKindOf(const fs::path& path) {
  std::error_code error;
  switch (fs::status(path, error).type()) {
    case fs::file_type::fifo: return "a named pipe";
    case fs::file_type::socket: return "a socket";
    case fs::file_type::block:
    case fs::file_type::character: return "a device";
    default: return {};
  }
}

std::string StampOfTree(const fs::path& path) { return LookAtTree(path).stamp; }

TreeLook LookAtTree(const fs::path& path) {
  TreeLook look;
  // The time of the last change of any kind: a program can set the other one.
  const OnStat on_stat = [&](const struct stat& info) {
    const auto since_1970 = std::chrono::seconds(info.st_ctim.tv_sec) + std::chrono::nanoseconds(info.st_ctim.tv_nsec);
    const WallTime changed(std::chrono::duration_cast<WallTime::duration>(since_1970));
    look.changed = std::max(look.changed.value_or(changed), changed);
  };
  look.stamp = OfTree(
      path, [&](const fs::path& file) { return StampOfFile(file, on_stat); }, on_stat);
  struct stat link {};
  if (look.changed && ::lstat(path.c_str(), &link) == 0) on_stat(link);
  return look;
}

std::vector<fs::path> ProgramFiles(const std::vector<std::string>& words, const fs::path& directory) {
  std::vector<fs::path> files;
  for (const auto& word : words) {
    if (word.empty() || word.starts_with('-') || word.size() > 1024 || word.find("${") != std::string::npos) continue;
    const auto file = (directory / word).lexically_normal();
    const bool is_below = !file.lexically_relative(directory).string().starts_with("..");
    if (is_below && IsRegularFile(file)) files.push_back(file);
  }
  return files;
}

}  // namespace slipway::launcher
