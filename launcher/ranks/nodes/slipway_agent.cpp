// slipway-agent: stands on one node of a job for the manager of the run. See protocol.h.

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <thread>

#include "core/clock.h"
#include "core/descriptor_limit.h"
#include "core/environment.h"
#include "core/error.h"
#include "core/event_loop.h"
#include "core/lines.h"
#include "core/write_signals.h"
#include "launcher/ranks/local/socket_folder.h"
#include "launcher/ranks/nodes/agent.h"
#include "launcher/ranks/nodes/agent_options.h"
#include "launcher/ranks/nodes/node_link.h"
#include "launcher/ranks/nodes/node_turn.h"
#include "staging/network/socket_handshake.h"
#include "staging/network/sockets.h"

namespace slipway::launcher {
namespace {

using staging::Arrival;
using staging::Attempt;
using staging::GroupKey;

constexpr auto kRetryPause = std::chrono::milliseconds(100);
constexpr int kStepMs = 100;

/// The result of one attempt.
struct Tried {
  std::optional<NodeConnection> connection;
  std::string problem;
};

Tried Try(const staging::SocketAddress& address, const GroupKey& key, const staging::Introduction& own) {
  auto socket = staging::StartConnect(address);
  if (!socket) return {{}, fmt::format("cannot be reached: {}", std::strerror(errno))};
  Attempt attempt(std::move(socket), key, own);
  while (!attempt.TooSlow(SystemClock().Steady())) {
    auto wanted = attempt.Wanted();
    if (::poll(&wanted, 1, kStepMs) <= 0) continue;
    const auto arrival = attempt.Advance();
    if (arrival == Arrival::kLost) return {{}, attempt.problem()};
    if (arrival == Arrival::kMore) continue;
    auto connection = attempt.Finish(own.plan);
    if (!connection.same_plan) return {{}, "manages another run"};
    return {NodeConnection{std::move(connection.fd), connection.send_key, connection.receive_key}, {}};
  }
  return {{}, "does not answer the handshake"};
}

/// Tries the manager's addresses in turn until one lets node `number` in. Waits.
/// Errors: Error(kEnvironment) when none has done so within the options' patience, with what the last one did.
NodeConnection ConnectToManager(const AgentOptions& options, std::uint32_t number) {
  const auto key = GroupKey::Read(options.key_file);
  const auto deadline = SystemClock().Steady() + std::chrono::seconds(options.join_patience_s);
  std::string problem = "has no address that is known here";
  while (SystemClock().Steady() < deadline) {
    for (const auto& manager : options.manager) {
      for (const auto& address : staging::Resolve(manager)) {
        auto tried = Try(address, key, IntroductionOf(options, number, static_cast<std::uint32_t>(options.nodes)));
        if (tried.connection) return std::move(*tried.connection);
        problem = fmt::format("({}:{}) {}", manager.host, manager.port, tried.problem);
      }
    }
    std::this_thread::sleep_for(kRetryPause);
  }
  throw Error(ErrorKind::kEnvironment, fmt::format("the manager {}", problem),
              "the nodes of the job must be able to connect to the node of its manager");
}

/// The number that Slurm has given the node within the step.
std::uint32_t NodeNumber() { return ParseNumber<std::uint32_t>(Variable("SLURM_NODEID")).value_or(0); }

int Main(const std::vector<std::string>& words) {
  const auto options = ParseAgentCommand(words);
  const NodeTurn turn(PrivateFolderOfNode(FoldersForAll()), options.run + " " + NodeName(),
                      std::chrono::seconds(options.join_patience_s));
  const SocketFolder sockets(SocketFolder::OnNode(options.sockets, NodeName()));
  auto connection = ConnectToManager(options, NodeNumber());
  EventLoop loop;
  Agent(loop, std::move(connection), sockets.path()).Run();
  return 0;
}

}  // namespace

}  // namespace slipway::launcher

int main(int argc, char** argv) {
  slipway::RaiseDescriptorLimit();
  slipway::IgnoreFileSizeSignal();
  try {
    return slipway::launcher::Main({argv, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "slipway-agent: %s\n", error.what());
    return 3;
  }
}
