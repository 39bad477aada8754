// slipway-agent: stands on one node of a job for the manager of the run. See protocol.h.

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "core/fnv1a.h"
#include "launcher/engines/local/socket_folder.h"
#include "launcher/nodes/agent.h"
#include "launcher/nodes/connect_to_manager.h"

namespace slipway::launcher {
namespace {

/// The number that Slurm has given the node within the step.
std::uint32_t NodeNumber() {
  const char* number = std::getenv("SLURM_NODEID");
  return number != nullptr ? static_cast<std::uint32_t>(std::atoi(number)) : 0;
}

/// Held by one agent of a run at a time on this node: a socket whose name is known to the kernel only, and is free
/// again when its process has ended, however that was. Waits for an earlier agent, whose programs may still be ending.
UniqueFd TakeTurn(const std::string& turn_of, std::chrono::seconds patience) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const int length =
      std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "slipway-agent-%u-%016llx",
                    static_cast<unsigned>(::geteuid()), static_cast<unsigned long long>(Fnv1a64(turn_of)));
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(length));
  const auto deadline = SystemClock().Steady() + patience;
  while (SystemClock().Steady() < deadline) {
    UniqueFd turn(CheckErrno(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), "cannot create a socket"));
    if (::bind(turn.get(), reinterpret_cast<sockaddr*>(&address), size) == 0) return turn;
    if (errno != EADDRINUSE) ThrowErrno("cannot bind a socket");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  throw Error(ErrorKind::kBusy, "programs of an earlier manager of this run still end on this node");
}

int Main(const std::vector<std::string>& words) {
  const auto options = ParseAgentCommand(words);
  const auto turn = TakeTurn(options.run + " " + NodeName(), std::chrono::seconds(options.join_patience_s));
  const SocketFolder sockets(SocketFolder::OnNode(options.sockets, NodeName()));
  auto connection = ConnectToManager(options, NodeNumber());
  EventLoop loop;
  Agent(loop, std::move(connection), sockets.path()).Run();
  return 0;
}

}  // namespace
}  // namespace slipway::launcher

int main(int argc, char** argv) {
  try {
    return slipway::launcher::Main({argv, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "slipway-agent: %s\n", error.what());
    return 3;
  }
}
