#include "launcher/engines/local/socket_folder.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstring>

#include "core/error.h"
#include "launcher/shim/protocol.h"

namespace slipway::launcher {
namespace fs = std::filesystem;

namespace {

/// With the names of the folder and of a socket it must stay below kLongestDoorPath.
constexpr std::size_t kLongestBase = 64;

}  // namespace

SocketFolder::SocketFolder(fs::path path) : path_(std::move(path)) {
  if (::mkdir(path_.c_str(), 0700) != 0) ThrowErrno(fmt::format("cannot create '{}'", path_.string()));
}

SocketFolder::~SocketFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

fs::path SocketFolder::NewPath() {
  const auto base = fs::temp_directory_path();
  return NewPathBelow(base.native().size() > kLongestBase ? "/tmp" : base);
}

fs::path SocketFolder::NewPathBelow(const fs::path& base) {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number) ThrowErrno("cannot get random bytes");
  return base / fmt::format("slipway-{:016x}", number);
}

fs::path SocketFolder::ForNodes(const fs::path& path) { return path.native() + "-" + shim::kNodeInPath; }

fs::path SocketFolder::OnNode(const fs::path& path, const std::string& node) {
  auto text = path.native();
  if (const auto at = text.find(shim::kNodeInPath); at != std::string::npos) {
    text.replace(at, std::strlen(shim::kNodeInPath), node);
  }
  return text;
}

}  // namespace slipway::launcher
