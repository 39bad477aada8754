/// The ranks of one job, each started by a shim: started, watched and ended together.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/event_loop.h"
#include "core/lines.h"
#include "core/process.h"
#include "launcher/ranks/local/group_outcome.h"
#include "launcher/ranks/local/group_state.h"
#include "launcher/ranks/local/rank_registration.h"
#include "launcher/ranks/local/ranks.h"

namespace slipway::launcher {

/// The command line of the job: a single rank is started by the shim alone, several by mpirun. Pure, except that it
/// asks the system for the user (Open MPI must know about root) and the number of cores.
std::vector<std::string> LocalCommandLine(const RankLaunch& launch, const std::string& channel = "<channel>");

/// Not movable: the event loop holds its address. Call it only from the loop's thread.
class RankGroup final : public Ranks {
 public:
  /// Starts the ranks, held at their gate. `ended` is called once, from the loop. The group may be destroyed after that
  /// call, not within it.
  /// Errors: Error(kEnvironment) when nothing can be started.
  RankGroup(EventLoop& loop, RankLaunch launch, std::function<void(const GroupOutcome&)> ended);
  RankGroup(const RankGroup&) = delete;
  RankGroup& operator=(const RankGroup&) = delete;
  ~RankGroup() override;

  /// The shim of a single rank, or mpirun.
  ProcessIdentity leader() const override { return leader_; }
  void Release() override;
  void Signal(int number) override;
  void ExpectEnd() override { expects_end_ = true; }
  void Stop() override;

 private:
  struct Channel;

  void StartAlone();
  void StartWithMpirun();
  void Spawn(const std::string& channel_argument, std::vector<std::pair<int, int>> inherited);
  void AddChannel(UniqueFd fd, int node);
  void Receive(Channel& channel);
  void ReceiveEnd(Channel& channel);
  void TakeLine(Channel& channel, std::string_view line);
  void TakeHello(Channel& channel, LineWords& words);
  void NoteFailure(Channel& channel);
  void NoteUnbound(const RankOutcome& rank, int error);
  void AwaitStart();
  std::string TroubleOfHosts() const;
  void GiveUpStart(std::string trouble);
  /// Enters the next state and carries out its actions.
  void Take(GroupEvent event);
  void OpenGate();
  /// Sends the variables that only this rank has, or only the ranks of its node.
  void TellVariables(const Channel& channel, int place_on_node) const;
  void EndAll();
  void KillAll();
  void KillGroupOf(const Channel& channel) const;
  void LeaderEnded();
  bool NodeIsLost() const;
  /// No shim is connected any more.
  bool Silent() const;
  void ConcludeIfSilent();
  void ConcludeGroup();
  void TakeRecord(RankOutcome& rank) const;
  GroupOutcome MakeOutcome(const ExitStatus& launcher) const;
  std::filesystem::path LauncherLog() const;
  std::string LauncherSaid() const;

  EventLoop& loop_;
  RankLaunch launch_;
  std::function<void(const GroupOutcome&)> ended_;
  std::unique_ptr<ChildProcess> child_;
  ProcessIdentity leader_;
  std::unique_ptr<ShimListener> shim_listener_;  ///< of several ranks
  std::vector<std::unique_ptr<Channel>> channels_;
  std::optional<EventLoop::TimerId> kill_timer_;
  std::optional<EventLoop::TimerId> start_timer_;
  std::chrono::milliseconds started_for_{0};
  std::optional<ExitStatus> leader_status_;
  std::optional<EventLoop::TimerId> last_words_;
  RankRegistration registration_;
  GroupState state_;
  bool expects_end_ = false;  ///< the programs were asked to save: exit status 75 is no failure
  bool warned_unbound_ = false;
  std::string trouble_;  ///< why the ranks cannot be one job
};

}  // namespace slipway::launcher
