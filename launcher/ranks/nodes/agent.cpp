#include "launcher/ranks/nodes/agent.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "core/error.h"
#include "core/lines.h"
#include "launcher/ranks/local/node_cores.h"
#include "launcher/ranks/local/socket_pair.h"
#include "launcher/ranks/local/supervisor_host.h"

namespace slipway::launcher {
namespace {

/// A manager that hangs on a file system for a while is not gone; one that is shows by its connection.
constexpr auto kManagerPatience = std::chrono::seconds(120);
/// Shims and supervisors take the grace time of their programs, which is seconds; then they are killed.
constexpr auto kLastPatience = std::chrono::seconds(60);

/// The process at the other end of a local socket; empty when it is gone.
UniqueFd ProcessBehind(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return {};
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, peer.pid, 0)));
}

bool HasEnded(const UniqueFd& process) {
  pollfd watch{process.get(), POLLIN, 0};
  return !process || ::poll(&watch, 1, 0) > 0;
}

/// The pointer that `start` returns; nothing, and the reason in the log, when it cannot start its program.
template <class Start>
auto OrComplain(const Start& start) -> decltype(start()) try {
  return start();
} catch (const Error& error) {
  std::fprintf(stderr, "slipway-agent: %s\n", error.what());
  return {};
}

}  // namespace

std::string NodeName() {
  const char* name = std::getenv("SLURMD_NODENAME");
  return name != nullptr ? name : HostName();
}

Agent::Agent(EventLoop& loop, NodeConnection connection, std::filesystem::path sockets)
    : loop_(loop),
      sockets_(std::move(sockets)),
      link_(loop, std::move(connection), {kManagerPatience},
            {.on_message = [this](const NodeMessage& message) { Take(message); },
             .on_end = [this](const std::string&) { leaving_ = true; }}),
      streams_(loop, [this](NodeFrame kind, std::uint32_t stream,
                            std::string_view payload) { link_.Send(kind, stream, payload); }),
      starts_(loop) {
  loop_.OnSignals({SIGTERM, SIGINT, SIGHUP}, [this](int) { leaving_ = true; });
  const auto [cores, own] = CoresOfThisNode();
  link_.Send(NodeFrame::kJoin, 0,
             TextOf(NodeFacts{NodeName(), cores, own, DevicesOfThisNode(), NamesDevices(Environment::Inherited())}));
}

void Agent::Run() {
  while (!leaving_) loop_.RunOnce();
  listeners_.clear();
  monitors_.clear();
  for (const auto& [stream, meter] : gpu_meters_) KillGpuMeter(stream);
  streams_.CloseAll();
  starts_.Finish();
  while (!gpu_meters_.empty()) ForgetGpuMeter(gpu_meters_.begin()->first);
  AwaitPrograms();
}

void Agent::Take(const NodeMessage& message) {
  switch (message.kind) {
    case NodeFrame::kOpen: return OpenListener(message.payload);
    case NodeFrame::kShut: listeners_.erase(message.payload); return;
    case NodeFrame::kSupervise: return OpenSupervisor(message.stream);
    case NodeFrame::kWatch: return OpenMonitor(message.stream, message.payload);
    case NodeFrame::kMeasure: return OpenGpuMeter(message.stream, message.payload);
    case NodeFrame::kEndGroup: {
      pid_t group = 0;
      if (ParseNumber(message.payload, group) && group > 1) ::kill(-group, SIGKILL);
      return;
    }
    case NodeFrame::kData: return streams_.TakeData(message.stream, message.payload);
    case NodeFrame::kClose: KillGpuMeter(message.stream); return streams_.TakeClose(message.stream);
    default: return;
  }
}

/// The manager chooses the name; only the last part of it counts, so that no socket lies elsewhere.
void Agent::OpenListener(const std::string& name) {
  const auto path = sockets_ / std::filesystem::path(name).filename();
  listeners_[name] =
      std::make_unique<Listener>(loop_, path, [this, name](UniqueFd socket) { TakeArrival(name, std::move(socket)); });
}

void Agent::TakeArrival(const std::string& listener, UniqueFd socket) {
  ForgetEnded();
  visitors_.push_back(ProcessBehind(socket.get()));
  const auto stream = next_stream_;
  next_stream_ += 2;
  link_.Send(NodeFrame::kArrived, stream, listener);
  streams_.Add(stream, std::move(socket));
}

/// One that cannot be started shows as a stream that ends at once: nobody holds the other end of its socket.
void Agent::OpenSupervisor(std::uint32_t stream) try {
  ForgetEnded();
  auto pair = MakeSocketPair();
  streams_.Add(stream, std::move(pair.ours));
  starts_.Make([this, socket = std::make_shared<UniqueFd>(std::move(pair.theirs))] {
    auto started = OrComplain([&] { return std::make_shared<ChildProcess>(StartSupervisor(*socket)); });
    return [this, started] {
      if (started) supervisors_.push_back(std::move(*started));
    };
  });
} catch (const Error& error) {
  std::fprintf(stderr, "slipway-agent: %s\n", error.what());
  link_.Send(NodeFrame::kClose, stream);
}

void Agent::OpenMonitor(std::uint32_t stream, const std::string& name) try {
  ForgetEnded();
  auto pair = MakeSocketPair();
  const auto path = sockets_ / std::filesystem::path(name).filename();
  monitors_.push_back(std::make_unique<NodeMonitor>(loop_, path, std::move(pair.ours)));
  streams_.Add(stream, std::move(pair.theirs));
} catch (const Error& error) {
  std::fprintf(stderr, "slipway-agent: %s\n", error.what());
  link_.Send(NodeFrame::kClose, stream);
}

/// The agent only passes on what the helper says: a driver that blocks it blocks nothing here.
void Agent::OpenGpuMeter(std::uint32_t stream, const std::string& arguments) try {
  auto pair = MakeSocketPair();
  std::istringstream text(arguments);
  std::vector<std::string> list;
  for (std::string argument; std::getline(text, argument, '\0');) list.push_back(argument);
  streams_.Add(stream, std::move(pair.ours));
  gpu_meters_.try_emplace(stream);
  starts_.Make([this, stream, list, socket = std::make_shared<UniqueFd>(std::move(pair.theirs))] {
    auto started = std::make_shared<std::unique_ptr<GpuHelperProcess>>(
        OrComplain([&] { return std::make_unique<GpuHelperProcess>(list, socket->get(), socket->get()); }));
    return [this, stream, started] { TakeGpuMeter(stream, std::move(*started)); };
  });
} catch (const Error& error) {
  std::fprintf(stderr, "slipway-agent: %s\n", error.what());
  link_.Send(NodeFrame::kClose, stream);
}

/// The manager may have closed the stream meanwhile.
void Agent::TakeGpuMeter(std::uint32_t stream, std::unique_ptr<GpuHelperProcess> process) {
  if (!process) {
    gpu_meters_.erase(stream);
    return;
  }
  auto& meter = gpu_meters_.at(stream);
  meter.process = std::move(process);
  loop_.OnReadable(meter.process->pidfd(), [this, stream] { ForgetGpuMeter(stream); });
  if (!meter.is_wanted) meter.process->Kill();
}

/// Its end comes later, if the driver blocks it.
void Agent::KillGpuMeter(std::uint32_t stream) {
  const auto meter = gpu_meters_.find(stream);
  if (meter == gpu_meters_.end()) return;
  meter->second.is_wanted = false;
  if (meter->second.process) meter->second.process->Kill();
}

/// What it has said is in its stream.
void Agent::ForgetGpuMeter(std::uint32_t stream) {
  const auto meter = gpu_meters_.extract(stream);
  const auto& process = meter.mapped().process;
  if (!process) return;  // its start was given up
  loop_.Forget(process->pidfd());
  const auto status = process->TryStatus();
  if (meter.mapped().is_wanted && status && !status->Success()) {
    std::fprintf(stderr, "slipway-agent: slipway-gpus ended: %s\n", status->Describe().c_str());
  }
}

void Agent::ForgetEnded() {
  std::erase_if(monitors_, [](const auto& monitor) { return monitor->over(); });
  std::erase_if(visitors_, HasEnded);
  std::erase_if(supervisors_, [](ChildProcess& supervisor) { return supervisor.TryWait().has_value(); });
}

void Agent::AwaitPrograms() {
  const auto deadline = SystemClock().Steady() + kLastPatience;
  const auto left = [&] { return std::max(deadline - SystemClock().Steady(), std::chrono::nanoseconds(0)); };
  for (auto& supervisor : supervisors_) supervisor.WaitFor(left());
  for (const auto& visitor : visitors_) {
    pollfd watch{visitor.get(), POLLIN, 0};
    if (visitor) ::poll(&watch, 1, static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left()).count()));
  }
}

}  // namespace slipway::launcher
