#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <optional>
#include <set>

#include "core/error.h"
#include "core/files.h"
#include "core/install.h"
#include "core/process_identity.h"
#include "launcher/ranks/local/socket_pair.h"
#include "launcher/ranks/local/supervisor_host.h"
#include "launcher/ranks/supervisor/protocol.h"

namespace slipway::launcher {
namespace {

/// It has no programs any more.
constexpr auto kSupervisorLeavePatience = std::chrono::seconds(10);

/// For what is missed: a process may fork before it gets its SIGKILL, and one that becomes another program shows no
/// environment for a moment.
constexpr int kMostLooks = 10;

/// As they stand in an environment that begins and ends with a zero byte.
std::vector<std::string> TagsOf(std::int64_t supervisor, const std::vector<std::uint64_t>& programs) {
  const std::string zero(1, '\0');
  std::vector<std::string> tags;
  for (const auto id : programs) {
    tags.push_back(zero + fmt::format("{}{}-{}", supervisor::kTagName, supervisor, id) + zero);
  }
  return tags;
}

/// Empty when it is gone, or of another user.
std::string EnvironmentOf(pid_t process) try {
  return ReadFileIfPresent(fmt::format("/proc/{}/environ", process)).value_or("");
} catch (const SystemError&) {
  return {};
}

bool HasOneOf(const std::vector<std::string>& tags, pid_t process) {
  const auto environment = '\0' + EnvironmentOf(process);
  return std::ranges::any_of(tags, [&](const std::string& tag) { return environment.find(tag) != std::string::npos; });
}

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
  void KillByTag(const std::vector<std::uint64_t>& programs) override {
    const auto tags = TagsOf(identity_.pid, programs);
    std::set<pid_t> killed;
    for (int look = 0; look < kMostLooks; ++look) {
      const auto before = killed.size();
      for (const pid_t process : ProcessIds()) {
        if (HasOneOf(tags, process) && ::kill(process, SIGKILL) == 0) killed.insert(process);
      }
      if (look > 0 && killed.size() == before) return;
    }
  }
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
