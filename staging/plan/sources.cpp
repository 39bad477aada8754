#include <fcntl.h>
#include <fmt/format.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/files.h"
#include "core/share_out.h"
#include "staging/dataset/journal.h"
#include "staging/dataset/listing.h"
#include "staging/dataset/manifest.h"
#include "staging/dataset/record_index.h"
#include "staging/plan/plan.h"
#include "staging/plan/source_manifests.h"
#include "staging/plan/source_stat.h"
#include "staging/plan/utf8_name.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void Refuse(const fs::path& path, std::string_view reason, std::string next_step = {}) {
  throw Error(ErrorKind::kEnvironment, fmt::format("'{}' cannot be staged: {}", path.string(), reason),
              std::move(next_step));
}

bool HasWildcard(std::string_view text) { return text.find_first_of("*?[") != std::string_view::npos; }

fs::path WithoutEndingSlash(std::string_view text) {
  while (text.size() > 1 && text.ends_with('/')) text.remove_suffix(1);
  return text;
}

/// What stands before the first component with a wildcard: links found by the pattern must stay in there.
fs::path TreeOfPattern(const fs::path& pattern) {
  fs::path tree;
  for (const auto& part : pattern) {
    if (HasWildcard(part.native())) break;
    tree /= part;
  }
  return tree;
}

/// The type without following links; `none` where it cannot be asked (StatSource then says why).
fs::file_type TypeOf(const fs::path& path) {
  std::error_code error;
  return fs::symlink_status(path, error).type();
}

struct GlobResult {
  glob_t matches{};
  ~GlobResult() { ::globfree(&matches); }
};

/// glob(3) gives its callback no context, and an exception must not pass through it.
thread_local std::optional<SystemError> glob_failure;

/// A directory that cannot be read ends the search: silently missing files would be worse.
int StopAtError(const char* path, int code) {
  glob_failure.emplace(code, fmt::format("cannot read directory '{}'", path));
  return 1;
}

std::vector<fs::path> MatchesOf(const fs::path& pattern) {
  GlobResult result;
  glob_failure.reset();
  const int code = ::glob(pattern.c_str(), GLOB_NOSORT, StopAtError, &result.matches);
  if (glob_failure) throw SystemError(*glob_failure);
  if (code == GLOB_NOMATCH) Refuse(pattern, "no file matches the pattern", "check the path and the pattern");
  if (code != 0) Refuse(pattern, "the pattern cannot be searched");
  std::vector<fs::path> paths(result.matches.gl_pathv, result.matches.gl_pathv + result.matches.gl_pathc);
  std::erase_if(paths, [](const fs::path& path) { return path.filename() == "." || path.filename() == ".."; });
  return paths;
}

bool EndsWithOneOf(std::string_view name, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(), [&](auto ending) { return name.ends_with(ending); });
}

/// Whether a file found in a directory belongs to a dataset of this format.
bool IsDataName(std::string_view name, DataFormat format) {
  switch (format) {
    case DataFormat::kTfrecord: return name[0] != '.' && name.find(".tfrecord") != std::string_view::npos;
    case DataFormat::kHdf5: return name[0] != '.' && EndsWithOneOf(name, {".h5", ".hdf5", ".hdf"});
    case DataFormat::kRaw: return true;
  }
  return true;
}

void CheckKind(const fs::path& path, mode_t mode) {
  if (S_ISREG(mode)) return;
  if (S_ISDIR(mode)) Refuse(path, "it is a link to a directory", "name the directory itself as a source");
  if (S_ISFIFO(mode)) Refuse(path, "it is a fifo");
  if (S_ISSOCK(mode)) Refuse(path, "it is a socket");
  Refuse(path, "it is a device");
}

void CheckReadable(const fs::path& path) {
  if (::faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS) != 0) {
    ThrowErrno(fmt::format("cannot read '{}'", path.string()), "ask its owner for read permission");
  }
}

SourceFile Describe(const fs::path& path, const fs::path& name) {
  const auto state = StatSource(path);
  CheckKind(path, state.mode);
  CheckReadable(path);
  return {path, Utf8Name(name.native()), state.size, state.mtime_ns, state.inode, {}};
}

void CheckLink(const fs::path& path, const fs::path& tree) {
  StatSource(path);  // names a dangling or circular link before anything is resolved
  if (!LiesWithin(path, tree)) {
    Refuse(path, fmt::format("it is a link to '{}', outside of '{}'", fs::canonical(path).string(), tree.string()),
           "name the target itself as a source");
  }
}

/// Names that a generation has for files of its own.
bool IsOurOwn(std::string_view name) {
  return name == kManifestName || name == kRecordIndexName || name == kJournalName || name == kListingName;
}

/// The order of std::filesystem::path, directory by directory, at the cost of comparing strings: of relative names
/// without double slashes.
bool ComesBefore(std::string_view a, std::string_view b) {
  const auto [at_a, at_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (at_a == a.end() || at_b == b.end()) return at_b != b.end();
  const auto rank = [](char c) { return c == '/' ? 0 : static_cast<unsigned char>(c); };
  return rank(*at_a) < rank(*at_b);
}

/// A file that was found and has not been looked at.
struct Found {
  fs::path path;
  fs::path name;
  const fs::path* tree = nullptr;  ///< where a link must stay; nullptr: it may lead anywhere
};

/// Cost: two system calls a file. On a cold or a far file system each waits, so that many are under way at once.
std::vector<SourceFile> DescribeAll(const std::vector<Found>& found) {
  constexpr std::size_t kAtOnce = 32;
  constexpr std::size_t kWorthAThread = 64;
  std::vector<SourceFile> files(found.size());
  std::atomic<bool> stopped{false};
  ShareOut(found.size(), std::min(kAtOnce, found.size() / kWorthAThread + 1), stopped, [&]() -> Worker {
    return [&](std::size_t i) {
      if (found[i].tree != nullptr) CheckLink(found[i].path, *found[i].tree);
      files[i] = Describe(found[i].path, found[i].name);
    };
  });
  return files;
}

class SourceList {
 public:
  explicit SourceList(DataFormat format) : format_(format) {}

  void AddSource(const std::string& source) {
    const fs::path path = WithoutEndingSlash(source);
    if (!path.is_absolute()) {
      throw Error(ErrorKind::kUsage, fmt::format("the source '{}' is not an absolute path", source));
    }
    const auto type = TypeOf(path);
    if ((type != fs::file_type::not_found && type != fs::file_type::none) || !HasWildcard(source)) {
      AddNamed(path);
    } else {
      AddPattern(path);
    }
  }

  std::vector<SourceFile> Sorted() && {
    auto files = DescribeAll(found_);
    std::sort(files.begin(), files.end(),
              [](const auto& a, const auto& b) { return ComesBefore(a.name.native(), b.name.native()); });
    CheckUnique(files);
    return files;
  }

 private:
  void AddNamed(const fs::path& path) {
    if (S_ISDIR(StatSource(path).mode)) {
      AddDirectory(path);
    } else {
      found_.push_back({path, path.filename()});
    }
  }

  void AddDirectory(const fs::path& path) {
    const auto before = found_.size();
    trees_.push_back(fs::canonical(path));
    AddTree(path, {}, trees_.back());
    if (found_.size() == before) {
      Refuse(path, fmt::format("the directory holds no {} file", DataFormatName(format_)),
             "name the files by a pattern, like " + (path / "*").string());
    }
  }

  void AddPattern(const fs::path& pattern) {
    trees_.push_back(TreeOfPattern(pattern));
    for (const auto& match : MatchesOf(pattern)) {
      const auto type = TypeOf(match);
      if (type == fs::file_type::directory) {
        AddTree(match, match.filename(), trees_.back());
      } else {
        AddFound(match, match.filename(), type == fs::file_type::symlink ? &trees_.back() : nullptr);
      }
    }
  }

  void AddTree(const fs::path& directory, const fs::path& name, const fs::path& tree) {
    std::error_code error;
    for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
      AddEntry(*entry, name / entry->path().filename(), tree);
    }
    if (error) throw SystemError(error.value(), fmt::format("cannot read directory '{}'", directory.string()));
  }

  /// The directory told the type: asking for it again would cost a system call a file.
  void AddEntry(const fs::directory_entry& entry, const fs::path& name, const fs::path& tree) {
    std::error_code error;
    const bool link = entry.is_symlink(error);
    if (!link && entry.is_directory(error)) {
      AddTree(entry.path(), name, tree);
    } else if (IsDataName(name.filename().native(), format_)) {
      AddFound(entry.path(), name, link ? &tree : nullptr);
    }
  }

  void AddFound(const fs::path& path, const fs::path& name, const fs::path* tree) {
    found_.push_back({path, name, tree});
  }

  static void CheckUnique(const std::vector<SourceFile>& files) {
    const auto twice = std::adjacent_find(
        files.begin(), files.end(), [](const auto& a, const auto& b) { return a.name.native() == b.name.native(); });
    if (twice != files.end()) {
      Refuse(twice->path, fmt::format("'{}' would have the same name in the dataset", std::next(twice)->path.string()),
             "make them two datasets, or rename one");
    }
    for (const auto& file : files) {
      if (IsOurOwn(file.name.native())) Refuse(file.path, "the staged dataset keeps its own file of this name");
    }
  }

  DataFormat format_;
  std::deque<fs::path> trees_;  // a Found points into it
  std::vector<Found> found_;
};

/// For the planner's words only: who reads the files counts for himself.
void AddRecordCounts(std::vector<SourceFile>& files) {
  SourceManifests manifests;
  for (auto& file : files) {
    if (const auto* promise = manifests.Find(file)) file.records = promise->records;
  }
}

}  // namespace

std::vector<SourceFile> ListSources(const DatasetRequest& request) {
  return WithContext(fmt::format("while looking for the files of dataset '{}'", request.name), [&] {
    SourceList list(request.format);
    for (const auto& source : request.sources) list.AddSource(source);
    auto files = std::move(list).Sorted();
    AddRecordCounts(files);
    return files;
  });
}

}  // namespace slipway::staging
