#include <signal.h>

#include "launcher/ranks/local/listener.h"
#include "launcher/ranks/local/shim_listener.h"
#include "launcher/ranks/local/socket_folder.h"

namespace slipway::launcher {
namespace {

class LocalEntrance final : public ShimListener {
 public:
  LocalEntrance(EventLoop& loop, Arrived arrived)
      : folder_(SocketFolder::NewPath()),
        listener_(loop, folder_.path() / "manager",
                  [arrived = std::move(arrived)](UniqueFd socket) { arrived(std::move(socket), 0); }) {}

  const std::filesystem::path& path() const override { return listener_.path(); }
  void KillGroup(int, pid_t group) override { ::kill(-group, SIGKILL); }
  std::string TroubleOf(int) const override { return {}; }

 private:
  SocketFolder folder_;
  Listener listener_;
};

}  // namespace

std::unique_ptr<ShimListener> OpenLocalShimListener(EventLoop& loop, ShimListener::Arrived arrived) {
  return std::make_unique<LocalEntrance>(loop, std::move(arrived));
}

}  // namespace slipway::launcher
