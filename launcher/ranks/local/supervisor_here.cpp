#include <signal.h>
#include <sys/socket.h>

#include <optional>

#include "core/error.h"
#include "core/install.h"
#include "launcher/ranks/local/supervisor_host.h"
#include "launcher/ranks/supervisor/protocol.h"

namespace slipway::launcher {
namespace {

/// It has no programs any more.
constexpr auto kSupervisorLeavePatience = std::chrono::seconds(10);

class Here final : public SupervisorHost {
 public:
  UniqueFd Begin() override {
    process_.reset();
    auto started = StartSupervisor();
    process_ = std::move(started.process);
    identity_ = IdentityOf(process_->pid());
    return std::move(started.socket);
  }

  ProcessIdentity Identity() const override { return identity_; }
  std::string HostName() const override { return slipway::HostName(); }
  void KillGroup(pid_t group) override { ::kill(-group, SIGKILL); }
  void Kill() override {
    if (process_) process_->Signal(SIGKILL);
  }
  void Leave() override {
    if (process_) process_->WaitFor(kSupervisorLeavePatience);
    process_.reset();
  }

 private:
  std::optional<ChildProcess> process_;
  ProcessIdentity identity_;
};

}  // namespace

StartedSupervisor StartSupervisor() {
  int ends[2];
  CheckErrno(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "cannot create a socket pair");
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  SpawnOptions options;
  options.argv = {HelperProgram("slipway-supervisor")};
  options.inherited = {{theirs.get(), supervisor::kSocket}};
  return {ChildProcess::Spawn(options), std::move(ours)};
}

std::unique_ptr<SupervisorHost> SupervisorHere() { return std::make_unique<Here>(); }

}  // namespace slipway::launcher
