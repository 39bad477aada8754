#include "staging/convert/pending_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "core/error.h"
#include "core/files.h"

namespace slipway::staging {
namespace fs = std::filesystem;

namespace {

constexpr auto kOlder = ".older";

/// Of this process alone, and hidden from everything that looks for data files.
fs::path MakeHiddenDirectory(const fs::path& directory) {
  auto pattern = (directory / ".pending-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    ThrowErrno(fmt::format("cannot create a temporary directory in '{}'", directory.string()));
  }
  return pattern;
}

/// Where the file lies that had this name before.
fs::path OlderOf(const fs::path& hidden, const std::string& name) { return hidden / kOlder / name; }

std::uint64_t SizeOf(const fs::path& file) {
  struct stat info {};
  CheckErrno(::stat(file.c_str(), &info), fmt::format("cannot look at '{}'", file.string()));
  return static_cast<std::uint64_t>(info.st_size);
}

}  // namespace

PendingFiles::PendingFiles(fs::path directory) : directory_(std::move(directory)) {
  MakeDirectories(directory_);
  hidden_ = MakeHiddenDirectory(directory_);
  MakeDirectories(hidden_ / kOlder);
}

PendingFiles::~PendingFiles() {
  std::error_code ignored;
  fs::remove_all(hidden_, ignored);
}

fs::path PendingFiles::Add(std::string name) {
  names_.push_back(std::move(name));
  return hidden_ / names_.back();
}

std::vector<fs::path> PendingFiles::Publish() {
  std::vector<fs::path> published;
  try {
    for (const auto& name : names_) {
      PublishOne(name);
      published.push_back(directory_ / name);
    }
    SyncDirectory(directory_);
  } catch (...) {
    for (std::size_t i = published.size(); i-- > 0;) TakeBack(names_[i]);
    throw;
  }
  return published;
}

/// An older file keeps a second name until all have theirs, so that it can be put back.
void PendingFiles::PublishOne(const std::string& name) {
  const auto target = directory_ / name;
  if (::link(target.c_str(), OlderOf(hidden_, name).c_str()) != 0 && errno != ENOENT) {
    ThrowErrno(fmt::format("cannot keep the older '{}' while it is replaced", target.string()),
               "remove it, or choose another name");
  }
  const auto file = hidden_ / name;
  bytes_ += SizeOf(file);
  if (::rename(file.c_str(), target.c_str()) != 0) ThrowErrno(fmt::format("cannot publish '{}'", target.string()));
}

void PendingFiles::TakeBack(const std::string& name) noexcept {
  const auto target = directory_ / name;
  if (::rename(OlderOf(hidden_, name).c_str(), target.c_str()) != 0 && errno == ENOENT) ::unlink(target.c_str());
}

}  // namespace slipway::staging
