#include "launcher/exports/output_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/documents.h"
#include "core/error.h"
#include "core/files.h"
#include "core/filesystem_errors.h"

namespace slipway::launcher {
namespace fs = std::filesystem;
namespace {

constexpr auto kExportMarker = ".slipway-export.json";
constexpr auto kExportSchema = "slipway.export-folder/1";
constexpr std::size_t kMostInMemory = std::size_t{8} << 20;

/// Of files and folders below `folder`, relative to it, without the marker.
std::set<std::string> PathsIn(const fs::path& folder) {
  std::set<std::string> paths;
  WithSystemErrors([&] {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      paths.insert(entry.path().lexically_relative(folder).generic_string());
    }
  });
  paths.erase(kExportMarker);
  return paths;
}

/// What an earlier export says of itself; null: it is none.
Json MarkerIn(const fs::path& folder) try {
  const auto text = ReadDocumentIfPresent(folder / kExportMarker);
  const auto marker = text ? Json::parse(*text, nullptr, false) : Json();
  return marker.is_object() ? marker : Json();
} catch (const Error&) {
  return {};
}

bool IsExportOf(const Json& marker, const std::string& format, const std::string& run) {
  return marker.is_object() && marker.value("schema", Json()) == kExportSchema &&
         marker.value("format", Json()) == format && marker.value("run", Json()) == run;
}

/// The first path in `folder` that the export has not written; empty: there is none.
std::string ForeignPathIn(const fs::path& folder, const Json& marker) {
  std::set<std::string> exported;
  const auto listed = marker.value("paths", Json());
  for (const auto& path : listed) {
    if (path.is_string()) exported.insert(path.get<std::string>());
  }
  for (auto& path : PathsIn(folder)) {
    if (!exported.contains(path)) return path;
  }
  return {};
}

/// Why an export of `run` may not replace the folder; empty: it may.
std::string WhyForeign(const fs::path& folder, const std::string& format, const std::string& run) {
  if (!fs::exists(folder) || fs::is_empty(folder)) return {};
  const auto marker = MarkerIn(folder);
  if (marker.is_null()) return "is not empty, and no export of this run";
  if (!IsExportOf(marker, format, run)) {
    const auto text_of = [&](const char* member) {
      const auto value = marker.value(member, Json());
      return value.is_string() ? value.get<std::string>() : std::string();
    };
    return fmt::format("holds the {} export of run {}", text_of("format"), text_of("run"));
  }
  const auto other = ForeignPathIn(folder, marker);
  return other.empty() ? "" : fmt::format("holds '{}', which is not of the export", other);
}

}  // namespace

void ManyFiles::Append(const fs::path& file, std::string_view bytes) {
  waiting_[file] += bytes;
  bytes_ += bytes.size();
  if (bytes_ > kMostInMemory) Flush();
}

void ManyFiles::Flush() {
  for (const auto& [file, bytes] : waiting_) {
    MakeDirectories(file.parent_path());
    WriteAll(OpenFile(file, O_WRONLY | O_CREAT | O_APPEND).get(), bytes, file);
  }
  waiting_.clear();
  bytes_ = 0;
}

FolderBeside::FolderBeside(const fs::path& folder) : path_(folder) {
  path_ += fmt::format(".slipway-{}", ::getpid());
  RemoveTree(path_);
  MakeDirectories(path_);
}

FolderBeside::~FolderBeside() {
  try {
    RemoveTree(path_);
  } catch (const Error&) {  // what is left there is no export
  }
}

OutputFolder::OutputFolder(const fs::path& folder, std::string format, std::string run, Foreign foreign)
    : folder_(ResolvedFolder(folder)), format_(std::move(format)), run_(std::move(run)), foreign_(foreign) {
  if (fs::exists(folder_) && !fs::is_directory(folder_)) {
    throw Error(ErrorKind::kUsage, fmt::format("'{}' is no folder", folder_.string()), "name a folder");
  }
  MayReplaceWhole();
  temporary_.emplace(folder_);
}

bool OutputFolder::MayReplaceWhole() const {
  const auto why = WhyForeign(folder_, format_, run_);
  if (!why.empty() && foreign_ == Foreign::kRefuse) {
    throw Error(ErrorKind::kUsage, fmt::format("'{}' {}", folder_.string(), why),
                "name another folder, or give --force to write into this one");
  }
  return why.empty();
}

void OutputFolder::Commit() {
  const Json marker{{"schema", kExportSchema}, {"format", format_}, {"run", run_}, {"paths", PathsIn(path())}};
  WriteFile(path() / kExportMarker, marker.dump() + "\n");
  if (MayReplaceWhole()) return ReplacePath(path(), folder_);  // others may have written since the export began
  for (const auto& entry : fs::directory_iterator(path())) {
    ReplacePath(entry.path(), folder_ / entry.path().filename());
  }
}

fs::path ResolvedFolder(const fs::path& folder) {
  auto path = fs::weakly_canonical(fs::absolute(folder));
  return path.has_filename() ? path : path.parent_path();
}

void ReplacePath(const fs::path& from, const fs::path& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) return RemoveTree(from);
  if (::rename(from.c_str(), to.c_str()) == 0) return;  // nothing is there, or a file or an empty folder
  if (errno != ENOTEMPTY && errno != EEXIST) {
    ThrowErrno(fmt::format("cannot put '{}' in its place", to.string()));
  }
  auto old = from;  // a file system that cannot exchange two paths
  old += ".old";
  RemoveTree(old);
  CheckErrno(::rename(to.c_str(), old.c_str()), fmt::format("cannot move '{}' away", to.string()));
  CheckErrno(::rename(from.c_str(), to.c_str()), fmt::format("cannot put '{}' in its place", to.string()));
  RemoveTree(old);
}

void RequireOwnFile(const fs::path& file, std::string_view begin, Foreign foreign) {
  if (fs::is_directory(file)) {
    throw Error(ErrorKind::kUsage, fmt::format("'{}' is a folder", file.string()), "name a file");
  }
  if (foreign == Foreign::kReplace || !fs::exists(file)) return;
  std::string found(begin.size(), '\0');
  const auto count = ::pread(OpenFile(file, O_RDONLY | O_NONBLOCK).get(), found.data(), found.size(), 0);
  const bool is_own = count == 0 || found == begin;
  if (is_own) return;
  throw Error(ErrorKind::kUsage, fmt::format("'{}' exists, and is no export", file.string()),
              "name another file, or give --force to replace it");
}

}  // namespace slipway::launcher
