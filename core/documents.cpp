#include "core/documents.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "core/error.h"
#include "core/files.h"

namespace slipway {
namespace fs = std::filesystem;

namespace {

/// Without O_NONBLOCK the open of a pipe waits for its writer.
constexpr int kLookOnly = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

void RequireDocument(const UniqueFd& fd, const fs::path& path) {
  struct stat info {};
  CheckErrno(::fstat(fd.get(), &info), fmt::format("cannot look at '{}'", path.string()));
  if (!S_ISREG(info.st_mode)) {
    throw Error(ErrorKind::kEnvironment, fmt::format("'{}' is not a file", path.string()),
                "move it away: something else than Slipway has put it there");
  }
  const auto bytes = static_cast<std::uint64_t>(info.st_size);
  if (bytes > kLargestDocument) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("'{}' has {}, and no document of Slipway is larger than {}", path.string(),
                            FormatBytes(Bytes{bytes}), FormatBytes(Bytes{kLargestDocument})),
                "move it away: something else than Slipway has written it");
  }
}

std::string ReadDocumentFrom(const UniqueFd& fd, const fs::path& path) {
  RequireDocument(fd, path);
  return ReadToEnd(fd.get(), path);
}

}  // namespace

std::string ReadDocument(const fs::path& path) { return ReadDocumentFrom(OpenFile(path, kLookOnly), path); }

std::optional<std::string> ReadDocumentIfPresent(const fs::path& path) {
  const UniqueFd fd(::open(path.c_str(), kLookOnly));
  if (fd) return ReadDocumentFrom(fd, path);
  if (errno == ENOENT || errno == ENOTDIR) return {};
  ThrowErrno(fmt::format("cannot open '{}' for reading", path.string()));
}

std::vector<fs::path> EntriesOf(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (const fs::directory_iterator end; !error && entry != end; entry.increment(error)) {
    entries.push_back(entry->path());
  }
  std::ranges::sort(entries);
  return entries;
}

namespace {

void AddEntriesOf(const fs::path& folder, std::vector<fs::directory_entry>& entries) {
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (const fs::directory_iterator end; !error && entry != end; entry.increment(error)) entries.push_back(*entry);
  if (error) throw SystemError(error.value(), fmt::format("cannot read directory '{}'", folder.string()));
}

bool IsFolder(const fs::directory_entry& entry) {
  std::error_code error;
  return !entry.is_symlink(error) && entry.is_directory(error);
}

}  // namespace

std::vector<fs::directory_entry> EntriesBelow(const fs::path& folder) {
  std::vector<fs::directory_entry> entries;
  AddEntriesOf(folder, entries);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (IsFolder(entries[i])) AddEntriesOf(fs::path(entries[i].path()), entries);
  }
  return entries;
}

namespace {

struct GlobResult {
  glob_t matches{};
  ~GlobResult() { ::globfree(&matches); }
};

/// glob(3) gives its callback no context, and an exception must not pass through it.
thread_local std::optional<SystemError> glob_failure;

int StopAtError(const char* path, int code) {
  glob_failure.emplace(code, fmt::format("cannot read directory '{}'", path));
  return 1;
}

bool HasThisName(const std::string& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

}  // namespace

bool HasWildcard(std::string_view text) { return text.find_first_of("*?[") != std::string_view::npos; }

std::vector<fs::path> MatchingPaths(const std::string& pattern) {
  if (HasThisName(pattern)) return {pattern};
  GlobResult result;
  glob_failure.reset();
  const int code = ::glob(pattern.c_str(), GLOB_NOSORT, StopAtError, &result.matches);
  if (glob_failure) throw SystemError(*glob_failure);
  if (code == GLOB_NOSPACE) throw std::bad_alloc();
  std::vector<std::string> names(result.matches.gl_pathv, result.matches.gl_pathv + result.matches.gl_pathc);
  std::ranges::sort(names);
  std::vector<fs::path> paths(names.begin(), names.end());
  std::erase_if(paths, [](const fs::path& path) { return path.filename() == "." || path.filename() == ".."; });
  return paths;
}

}  // namespace slipway
