#include "launcher/ranks/local/socket_folder.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "core/boot_id.h"
#include "core/error.h"
#include "core/ownership.h"
#include "launcher/ranks/shim/protocol.h"

namespace slipway::launcher {
namespace fs = std::filesystem;

namespace {

/// With the names of the folder and of a socket it must stay below kLongestListenerPath.
constexpr std::size_t kLongestBase = 64;
constexpr std::string_view kSocketFolderPrefix = "slipway-";
constexpr std::size_t kDigits = 16;
constexpr const char* kSocketOwner = "owner";

/// "slipway-", the digits, and on nodes "-" and the name of the node.
bool HasName(const fs::path& path) {
  const auto name = path.filename().string();
  if (!name.starts_with(kSocketFolderPrefix)) return false;
  const auto end = std::min(name.find_first_not_of("0123456789abcdef", kSocketFolderPrefix.size()), name.size());
  return end == kSocketFolderPrefix.size() + kDigits && (end == name.size() || name[end] == '-');
}

/// As fs::temp_directory_path(). Errors: Error that names the variable.
fs::path TemporaryDirectory() {
  std::error_code error;
  auto path = fs::temp_directory_path(error);
  if (!error) return path;
  for (const char* name : {"TMPDIR", "TMP", "TEMP", "TEMPDIR"}) {  // in this order
    const char* value = std::getenv(name);
    if (value == nullptr) continue;
    throw Error(ErrorKind::kEnvironment, fmt::format("{} is '{}', which is no directory", name, value),
                fmt::format("correct {} or unset it", name));
  }
  throw SystemError(error.value(), "cannot find a directory for temporary files", "set TMPDIR to one");
}

/// Whether its owner is gone. The owner takes the lock before it writes its machine. So with this machine's name and a
/// free lock the owner is gone. For a folder that several machines share, only the named machine knows its locks.
bool IsAbandoned(const fs::path& path) try {
  if (!HasName(path) || !IsPrivateFolder(path)) return false;
  return ReadFileIfPresent(path / kSocketOwner) == BootId() && FileLock::TryLook(path / kSocketOwner).has_value();
} catch (const SystemError&) {
  return false;
}

void RemoveAbandoned(const fs::path& base) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(base, fs::directory_options::skip_permission_denied, ignored)) {
    if (IsAbandoned(entry.path())) fs::remove_all(entry.path(), ignored);
  }
}

}  // namespace

SocketFolder::SocketFolder(fs::path path) : path_(std::move(path)) {
  RemoveAbandoned(path_.parent_path());
  if (::mkdir(path_.c_str(), 0700) != 0) ThrowErrno(fmt::format("cannot create '{}'", path_.string()));
  Own();
}

SocketFolder::~SocketFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

/// Takes the lock and writes this machine's name. Where that fails, the folder never counts as abandoned.
void SocketFolder::Own() try {
  owner_ = FileLock::TryAcquire(path_ / kSocketOwner, LockMode::kExclusive);
  if (owner_) owner_->Describe(BootId());
} catch (const SystemError&) {
}

fs::path SocketFolder::NewPath() {
  const auto base = TemporaryDirectory();
  return NewPathBelow(base.native().size() > kLongestBase ? "/tmp" : base);
}

fs::path SocketFolder::NewPathBelow(const fs::path& base) {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number) ThrowErrno("cannot get random bytes");
  return base / fmt::format("{}{:0{}x}", kSocketFolderPrefix, number, kDigits);
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
