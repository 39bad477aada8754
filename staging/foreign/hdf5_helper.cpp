#include "staging/foreign/hdf5_helper.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "core/install.h"
#include "core/json_fields.h"
#include "staging/foreign/hdf5_limits.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMostIdle = 16;
constexpr int kWaitMillis = 100;

/// Helpers that wait for their next file. They end when this program does: their socket ends.
class IdleHelpers {
 public:
  static IdleHelpers& Ours() {
    static IdleHelpers idle;
    return idle;
  }
  std::unique_ptr<Hdf5Helper> Take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return nullptr;
    auto helper = std::move(idle_.back());
    idle_.pop_back();
    return helper;
  }
  void Leave(std::unique_ptr<Hdf5Helper> helper) {
    const std::lock_guard lock(mutex_);
    if (idle_.size() < kMostIdle) idle_.push_back(std::move(helper));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Hdf5Helper>> idle_;
};

constexpr std::string_view kDamaged = "the file is probably damaged: copy it again from its source";

/// Why the helper is gone, and what to do.
std::pair<std::string, std::string> Reason(const ExitStatus& status) {
  if (status.signal == SIGXCPU) {
    return {fmt::format("used {} s of processor time without an end", Hdf5Limits::FromEnvironment().seconds),
            fmt::format("{}; a sound file that needs longer is read with SLIPWAY_HDF5_SECONDS=600", kDamaged)};
  }
  if (status.signal == SIGKILL) {
    return {"was killed (SIGKILL), most often by the kernel's OOM killer", "check dmesg, and give the job more memory"};
  }
  if (status.signal != 0) return {fmt::format("crashed: {}", status.Describe()), std::string(kDamaged)};
  return {fmt::format("ended: {}", status.Describe()), "run 'slipway doctor' to check the installation"};
}

}  // namespace

std::unique_ptr<Hdf5Helper> Hdf5Helper::Take() {
  while (auto idle = IdleHelpers::Ours().Take()) {
    if (idle->Lives()) return idle;
  }
  Hdf5Limits::FromEnvironment();  // what the helper cannot understand is said here
  int ends[2];
  CheckErrno(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "cannot create a socket");
  UniqueFd ours(ends[0]), theirs(ends[1]);
  SpawnOptions options;
  options.argv = {HelperProgram(kHdf5Helper)};
  options.stdin_fd = theirs.get();
  options.stdout_fd = STDERR_FILENO;  // filters of other people may print
  return std::unique_ptr<Hdf5Helper>(new Hdf5Helper(ChildProcess::Spawn(options), std::move(ours)));
}

void Hdf5Helper::Leave(std::unique_ptr<Hdf5Helper> helper) {
  if (helper && helper->Lives()) IdleHelpers::Ours().Leave(std::move(helper));
}

Hdf5Helper::Hdf5Helper(ChildProcess process, UniqueFd socket)
    : process_(std::move(process)), socket_(std::move(socket)) {}

bool Hdf5Helper::Lives() { return socket_ && !process_.TryWait(); }

HelperMessage Hdf5Helper::Ask(const Json& request, const fs::path& path, std::string_view what,
                              const std::function<void()>& on_wait) {
  std::optional<HelperMessage> answer;
  try {
    SendHelperMessage(socket_.get(), request);
    AwaitAnswer(on_wait);
    answer = ReceiveHelperMessage(socket_.get());
  } catch (const SystemError&) {
    // It is gone: how it ended says more.
  } catch (...) {
    socket_.Reset();
    process_.Signal(SIGKILL);
    throw;
  }
  if (!answer) ThrowEnded(path, what);
  if (const auto error = answer->head.find("error"); error != answer->head.end()) {
    throw ErrorFromJson(*error);
  }
  return *std::move(answer);
}

void Hdf5Helper::AwaitAnswer(const std::function<void()>& on_wait) {
  pollfd watch{socket_.get(), POLLIN, 0};
  while (::poll(&watch, 1, kWaitMillis) <= 0) {
    if (on_wait) on_wait();
  }
}

void Hdf5Helper::ThrowEnded(const fs::path& path, std::string_view what) {
  socket_.Reset();  // one that is in its right mind ends now
  const auto [reason, next_step] = Reason(process_.Wait());
  throw Error(ErrorKind::kEnvironment,
              fmt::format("'{}': the HDF5 library {} while it {}", path.string(), reason, what), next_step);
}

}  // namespace slipway::staging
