#include "launcher/exports/output_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "core/documents.h"
#include "core/error.h"
#include "core/files.h"

namespace slipway::launcher {
namespace fs = std::filesystem;
namespace {

constexpr auto kExportMarker = ".slipway-export.json";
constexpr auto kExportSchema = "slipway.export-folder/1";
constexpr std::size_t kMostInMemory = std::size_t{8} << 20;

Json MarkerOf(const std::string& format, const std::string& run) {
  return Json{{"schema", kExportSchema}, {"format", format}, {"run", run}};
}

/// What an earlier export says of itself; null: it is none.
Json MarkerIn(const fs::path& folder) try {
  const auto text = ReadDocumentIfPresent(folder / kExportMarker);
  const auto marker = text ? Json::parse(*text, nullptr, false) : Json();
  return marker.is_object() ? marker : Json();
} catch (const Error&) {
  return {};
}

Error ForeignFolder(const fs::path& folder, const Json& marker) {
  const auto what = marker.is_null() ? "is not empty, and no export of this run"
                                     : fmt::format("holds the {} export of run {}", marker.value("format", ""),
                                                   marker.value("run", ""));
  return {ErrorKind::kUsage, fmt::format("'{}' {}", folder.string(), what),
          "name another folder, or give --force to write into this one"};
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
    : folder_(ResolvedFolder(folder)) {
  if (fs::exists(folder_) && !fs::is_directory(folder_)) {
    throw Error(ErrorKind::kUsage, fmt::format("'{}' is no folder", folder_.string()), "name a folder");
  }
  const auto marker = fs::exists(folder_) ? MarkerIn(folder_) : Json();
  is_own_ = !fs::exists(folder_) || fs::is_empty(folder_) || marker == MarkerOf(format, run);
  if (!is_own_ && foreign == Foreign::kRefuse) throw ForeignFolder(folder_, marker);
  temporary_.emplace(folder_);
  WriteFile(path() / kExportMarker, MarkerOf(format, run).dump() + "\n");
}

void OutputFolder::Commit() {
  if (is_own_) return ReplacePath(path(), folder_);
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
