#include <signal.h>

#include "launcher/engines/local/door.h"
#include "launcher/engines/local/shim_entrance.h"
#include "launcher/engines/local/socket_folder.h"

namespace slipway::launcher {
namespace {

class LocalEntrance final : public ShimEntrance {
 public:
  LocalEntrance(EventLoop& loop, Arrived arrived)
      : folder_(SocketFolder::NewPath()),
        door_(loop, folder_.path() / "manager",
              [arrived = std::move(arrived)](UniqueFd socket) { arrived(std::move(socket), 0); }) {}

  const std::filesystem::path& path() const override { return door_.path(); }
  void KillGroup(int, pid_t group) override { ::kill(-group, SIGKILL); }
  std::string TroubleOf(int) const override { return {}; }

 private:
  SocketFolder folder_;
  Door door_;
};

}  // namespace

std::unique_ptr<ShimEntrance> OpenLocalEntrance(EventLoop& loop, ShimEntrance::Arrived arrived) {
  return std::make_unique<LocalEntrance>(loop, std::move(arrived));
}

}  // namespace slipway::launcher
