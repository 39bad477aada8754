#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "core/documents.h"
#include "core/error.h"
#include "core/files.h"
#include "core/share_out.h"
#include "staging/dataset/folder.h"
#include "staging/dataset/journal.h"
#include "staging/dataset/listing.h"
#include "staging/dataset/manifest.h"
#include "staging/dataset/record_index.h"
#include "staging/dataset/utf8_name.h"
#include "staging/formats/detect.h"
#include "staging/plan/plan.h"
#include "staging/plan/source_manifests.h"
#include "staging/plan/source_stat.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

constexpr const char* kLeaveOut = "leave it out of the sources, or move it away";

[[noreturn]] void Refuse(const fs::path& path, std::string_view reason, std::string next_step = {}) {
  throw Error(ErrorKind::kEnvironment, fmt::format("'{}' cannot be staged: {}", path.string(), reason),
              std::move(next_step));
}

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

std::vector<fs::path> MatchesOf(const fs::path& pattern) {
  auto paths = MatchingPaths(pattern.native());
  if (paths.empty()) Refuse(pattern, "no file matches the pattern", "check the path and the pattern");
  return paths;
}

void CheckKind(const std::string& path, mode_t mode) {
  if (S_ISREG(mode)) return;
  if (S_ISDIR(mode)) Refuse(path, "it is a link to a directory", "name the directory itself as a source");
  if (S_ISFIFO(mode)) Refuse(path, "it is a fifo", kLeaveOut);
  if (S_ISSOCK(mode)) Refuse(path, "it is a socket", kLeaveOut);
  Refuse(path, "it is a device", kLeaveOut);
}

/// The bits speak for the owner whatever lists of rights say; for others the kernel must be asked.
void CheckReadable(const std::string& path, const SourceState& state, uid_t self) {
  if (state.owner == self && (state.mode & S_IRUSR) != 0) return;
  if (::faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS) != 0) {
    ThrowErrno(fmt::format("cannot read '{}'", path), "ask its owner for read permission");
  }
}

/// Completes a file whose path and name are known. `self`: who is to read it.
void Describe(SourceFile& file, const std::string& path, uid_t self) {
  const auto state = StatSource(path);
  CheckKind(path, state.mode);
  CheckReadable(path, state, self);
  file.size = state.size;
  file.mtime_ns = state.mtime_ns;
  file.inode = state.inode;
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

/// Folders are walked in the order of names, so the files mostly come sorted.
void SortByName(std::vector<SourceFile>& files) {
  const auto comes_before = [](const SourceFile& a, const SourceFile& b) {
    return ComesBefore(a.name.native(), b.name.native());
  };
  if (!std::is_sorted(files.begin(), files.end(), comes_before)) std::sort(files.begin(), files.end(), comes_before);
}

/// What is known of a file that was found and has not been looked at, besides its path and name.
struct Finding {
  const fs::path* tree = nullptr;  ///< where a link must stay; nullptr: it may lead anywhere
  bool is_named_so = true;         ///< of FolderFile
};

/// Keeps the files that are of the format, in the order found.
/// Cost: one system call a file, a second one for files of other users, and a look into those whose names do not say
///       the format. On a far file system each waits, so many are under way at once. There may be 100,000s of files:
///       nothing more is kept of each.
ListedSources DescribeAll(std::vector<SourceFile> files, const std::vector<Finding>& findings, DataFormat format) {
  constexpr std::size_t kAtOnce = 32;
  constexpr std::size_t kWorthAThread = 64;
  std::vector<char> is_wanted(files.size(), 1);
  const auto self = ::geteuid();
  std::atomic<bool> stopped{false};
  ShareOut(files.size(), std::min(kAtOnce, files.size() / kWorthAThread + 1), stopped, [&]() -> Worker {
    return [&](std::size_t i) {
      const FolderFile file{files[i].path.native(), false, findings[i].is_named_so};
      is_wanted[i] = HoldsWanted(file, format);
      if (is_wanted[i] == 0) return;
      if (findings[i].tree != nullptr) CheckLink(file.path, *findings[i].tree);
      Describe(files[i], file.path, self);
    };
  });
  ListedSources listed;
  std::erase_if(files, [&, i = std::size_t{0}](const SourceFile& file) mutable {
    const bool goes = is_wanted[i++] == 0;
    if (goes) listed.left_out.push_back({file.path, LeftOutReason::kOtherContent});
    return goes;
  });
  listed.files = std::move(files);
  return listed;
}

class SourceSearch {
 public:
  explicit SourceSearch(DataFormat format) : format_(format) {}

  void AddSource(const std::string& source) {
    const fs::path path = WithoutEndingSlash(source);
    if (!path.is_absolute()) {
      throw Error(ErrorKind::kUsage, fmt::format("the source '{}' is not an absolute path", source),
                  fmt::format("write the path from /: {}", fs::absolute(path).string()));
    }
    const auto type = TypeOf(path);
    if ((type != fs::file_type::not_found && type != fs::file_type::none) || !HasWildcard(source)) {
      AddNamed(path);
    } else {
      AddPattern(path);
    }
  }

  ListedSources Sorted() && {
    auto listed = DescribeAll(std::move(files_), findings_, format_);
    listed.left_out.insert(listed.left_out.end(), left_out_.begin(), left_out_.end());
    std::ranges::sort(listed.left_out, {}, &LeftOutFile::path);
    RequireFiles(listed);
    SortByName(listed.files);
    CheckUnique(listed.files);
    return listed;
  }

 private:
  void AddNamed(const fs::path& path) {
    if (S_ISDIR(StatSource(path).mode)) {
      trees_.push_back(fs::canonical(path));
      AddTree(path, path.native() + '/');
    } else {
      AddFile(path, nullptr);
    }
  }

  void AddPattern(const fs::path& pattern) {
    trees_.push_back(TreeOfPattern(pattern));
    for (const auto& match : MatchesOf(pattern)) {
      const auto type = TypeOf(match);
      if (type == fs::file_type::directory) {
        AddTree(match, FolderOf(match));
      } else {
        AddFile(match, type == fs::file_type::symlink ? &trees_.back() : nullptr);
      }
    }
  }

  /// The files are called by their paths behind `prefix`. Links below stay in the last of the trees.
  void AddTree(const fs::path& folder, std::string prefix) {
    folders_.push_back(folder);
    const PathText shared(std::move(prefix));
    auto left_out = WalkFolder(folder, format_, [&](FolderFile file) {
      Add(shared, file.path.substr(shared.native().size()),
          {file.is_link ? &trees_.back() : nullptr, file.is_named_so});
    });
    std::ranges::move(left_out, std::back_inserter(left_out_));
  }

  /// Who names a file, by itself or by a pattern, says that it is of the format.
  void AddFile(const fs::path& path, const fs::path* tree) {
    auto prefix = FolderOf(path);
    if (last_prefix_ != prefix) last_prefix_ = std::move(prefix);
    Add(last_prefix_, path.filename().native(), {tree, true});
  }

  void Add(const PathText& prefix, std::string below, const Finding& finding) {
    auto& file = files_.emplace_back();
    auto name = Utf8Name(below);
    const bool is_utf8 = name == below;
    file.name = std::move(name);
    file.path = SourcePath(prefix, is_utf8 ? file.name : PathText(std::move(below)));
    findings_.push_back(finding);
  }

  /// With the slash at its end.
  static std::string FolderOf(const fs::path& path) { return path.native().substr(0, path.native().rfind('/') + 1); }

  /// A folder, or several, of which nothing is taken.
  void RequireFiles(const ListedSources& listed) const {
    if (!listed.files.empty() || folders_.empty()) return;
    const auto others = DescribeLeftOut(listed.left_out, 0);
    Refuse(folders_.front(),
           fmt::format("the folder holds no {} file{}{}", WordOf(format_), others.empty() ? "" : ": ", others),
           "give the format that the files have, or raw to copy them without a look at their content");
  }

  static void CheckUnique(const std::vector<SourceFile>& files) {
    const auto twice = std::adjacent_find(
        files.begin(), files.end(), [](const auto& a, const auto& b) { return a.name.native() == b.name.native(); });
    if (twice != files.end()) {
      Refuse(twice->path, fmt::format("'{}' would have the same name in the dataset", std::next(twice)->path.string()),
             "make them two datasets, or rename one");
    }
    for (const auto& file : files) {
      if (IsOurOwn(file.name.native()))
        Refuse(file.path, "the staged dataset keeps its own file of this name", "rename it");
    }
  }

  DataFormat format_;
  std::deque<fs::path> trees_;  // a Finding points into it
  std::vector<fs::path> folders_;
  PathText last_prefix_;
  std::vector<SourceFile> files_;
  std::vector<Finding> findings_;  // one for each
  std::vector<LeftOutFile> left_out_;
};

/// For the planner's words only: who reads the files counts for himself.
void AddRecordCounts(std::vector<SourceFile>& files) {
  SourceManifests manifests;
  for (auto& file : files) {
    if (const auto* promise = manifests.Find(file)) file.records = promise->records;
  }
}

}  // namespace

ListedSources ListSources(const DatasetRequest& request) {
  return WithContext(fmt::format("while looking for the files of dataset '{}'", request.name), [&] {
    SourceSearch search(request.format);
    for (const auto& source : request.sources) search.AddSource(source);
    auto listed = std::move(search).Sorted();
    AddRecordCounts(listed.files);
    return listed;
  });
}

namespace {

void AddFormatsOf(const fs::path& source, SourceFormats& formats) {
  const auto type = TypeOf(source);
  const bool is_there = type != fs::file_type::not_found && type != fs::file_type::none;
  if (const auto named = FormatOfName(source); named != DataFormat::kRaw && type != fs::file_type::directory) {
    return AddFormat(formats.held, {named, source});
  }
  if (!is_there && HasWildcard(source.native())) {
    const auto matches = MatchingPaths(source.native());
    for (const auto& match : matches) AddFormatsOf(match, formats);
    if (!matches.empty()) return;
  }
  const auto held = is_there ? FormatsHeldBy(source) : std::vector<HeldFormat>();
  if (held.empty()) formats.is_complete = false;
  if (!is_there) formats.is_missing = true;
  for (const auto& each : held) AddFormat(formats.held, each);
}

}  // namespace

std::optional<DataFormat> SourceFormats::One() const {
  return held.size() == 1 && is_complete ? std::optional(held.front().format) : std::nullopt;
}

std::string SourceFormats::WhyNotOne() const {
  if (held.size() < 2 && is_missing) return "a source has no file here, and its name tells no format";
  if (held.size() < 2) return "neither names nor content tell one format for all files";
  std::vector<std::string> texts;
  for (const auto& each : held) texts.push_back(fmt::format("{} ('{}')", WordOf(each.format), each.example.string()));
  return fmt::format("the files have several formats: {}", fmt::join(texts, ", "));
}

SourceFormats FormatsOfSources(const std::vector<std::string>& sources) {
  SourceFormats formats;
  for (const auto& source : sources) AddFormatsOf(WithoutEndingSlash(source), formats);
  return formats;
}

}  // namespace slipway::staging
