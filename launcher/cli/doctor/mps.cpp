#include "launcher/cli/doctor/mps.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "core/environment.h"
#include "core/unique_handle.h"

namespace slipway::launcher {
namespace {

/// A socket of another type than datagrams refuses with EPROTOTYPE, and one whose process has ended with ECONNREFUSED.
bool IsListenedTo(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.native().size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, path.c_str(), path.native().size());
  const UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const int code = ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  return code == 0 || errno == EPROTOTYPE;
}

}  // namespace

std::optional<std::filesystem::path> FolderOfMps() {
  const std::filesystem::path folder =
      Environment::Inherited().Get("CUDA_MPS_PIPE_DIRECTORY").value_or("/tmp/nvidia-mps");
  if (!IsListenedTo(folder / "control")) return {};
  return folder;
}

}  // namespace slipway::launcher
