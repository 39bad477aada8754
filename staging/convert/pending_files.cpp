#include "staging/convert/pending_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "core/error.h"
#include "core/files.h"

namespace slipway::staging {
namespace fs = std::filesystem;

namespace {

/// Of this process alone, and hidden from everything that looks for data files.
fs::path MakeHiddenDirectory(const fs::path& directory) {
  auto pattern = (directory / ".pending-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    ThrowErrno(fmt::format("cannot create a temporary directory in '{}'", directory.string()));
  }
  return pattern;
}

}  // namespace

PendingFiles::PendingFiles(fs::path directory) : directory_(std::move(directory)) {
  MakeDirectories(directory_);
  hidden_ = MakeHiddenDirectory(directory_);
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
  for (const auto& name : names_) {
    const auto target = directory_ / name;
    if (::rename((hidden_ / name).c_str(), target.c_str()) != 0) {
      ThrowErrno(fmt::format("cannot publish '{}'", target.string()));
    }
    published.push_back(target);
  }
  SyncDirectory(directory_);
  return published;
}

}  // namespace slipway::staging
