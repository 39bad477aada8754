#include "staging/network/open_files.h"

#include <fcntl.h>

#include <algorithm>

#include "core/files.h"

namespace slipway::staging {

void OpenFiles::Keep(std::uint32_t file, UniqueFd fd) {
  if (open_.size() == most_) {
    open_.erase(std::ranges::min_element(open_, {}, [](const auto& entry) { return entry.second.used; }));
  }
  open_[file] = {std::move(fd), ++uses_};
}

int OpenFiles::Get(std::uint32_t file, const std::filesystem::path& path) {
  if (!open_.contains(file)) Keep(file, OpenFile(path, O_RDWR | O_NOFOLLOW));
  auto& opened = open_.at(file);
  opened.used = ++uses_;
  return opened.fd.get();
}

}  // namespace slipway::staging
