#include <signal.h>

#include <optional>

#include "core/install.h"
#include "launcher/ranks/local/socket_pair.h"
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
    auto pair = MakeSocketPair();
    process_ = StartSupervisor(pair.theirs);
    identity_ = IdentityOf(process_->pid());
    return std::move(pair.ours);
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

ChildProcess StartSupervisor(const UniqueFd& socket) {
  SpawnOptions options;
  options.argv = {HelperProgram("slipway-supervisor")};
  options.inherited = {{socket.get(), supervisor::kSocket}};
  return ChildProcess::Spawn(options);
}

std::unique_ptr<SupervisorHost> SupervisorHere() { return std::make_unique<Here>(); }

}  // namespace slipway::launcher
