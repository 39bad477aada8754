#include "launcher/cli/commands/follow.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "core/event_loop.h"
#include "launcher/cli/commands/log_printer.h"
#include "launcher/cli/commands/runs.h"
#include "launcher/run/batch/batch_observation.h"
#include "launcher/run/batch/batch_run.h"
#include "launcher/run/batch/batch_wait.h"

namespace slipway::launcher {
namespace {

/// An unanswered question must not block a terminal forever.
constexpr auto kAnswerPatience = std::chrono::seconds(30);

/// Ctrl-C, counted instead of ending this process.
class CtrlC {
 public:
  CtrlC() {
    loop_.OnSignals({SIGINT}, [this](int) { ++count_; });
  }

  /// False when it came before the time was over.
  bool Pause(std::chrono::nanoseconds longest) {
    const int before = count_;
    loop_.RunOnce(longest);
    return count_ == before;
  }

  EventLoop& loop() { return loop_; }
  int count() const { return count_; }

 private:
  EventLoop loop_;
  int count_ = 0;
};

bool CanAsk(const Session& session) {
  return session.output.mode() == OutputMode::kHuman && ::isatty(STDIN_FILENO) != 0 && ::isatty(STDERR_FILENO) != 0;
}

/// What is typed until a second Ctrl-C, which means yes; the end of the input or of the patience means no.
bool WaitForYes(CtrlC& ctrl_c) {
  std::optional<bool> yes;
  ctrl_c.loop().OnReadable(STDIN_FILENO, [&yes] {
    char typed[64];
    const auto count = ::read(STDIN_FILENO, typed, sizeof typed);
    yes = count > 0 && MeansYes({typed, static_cast<std::size_t>(count)});
  });
  const auto timer = ctrl_c.loop().After(kAnswerPatience, [&yes] { yes = false; });
  const int before = ctrl_c.count();
  while (!yes && ctrl_c.count() == before) ctrl_c.loop().RunOnce();
  ctrl_c.loop().Forget(STDIN_FILENO);
  ctrl_c.loop().Cancel(timer);
  return yes.value_or(true);
}

bool IsToBeCancelled(const RunFolder& folder, CtrlC& ctrl_c, Session& session) {
  if (!CanAsk(session)) return false;
  session.output.Say(
      fmt::format("cancel {}? Ctrl-C again or 'y' ends its job; anything else leaves it running", folder.id()));
  return WaitForYes(ctrl_c);
}

int SayItGoesOn(const RunFolder& folder, Session& session) {
  const auto text = fmt::format(
      "{0} goes on without this terminal\n  slipway logs -f {1}\n  slipway wait {1}\n"
      "  slipway cancel {1}",
      folder.id(), folder.selector());
  const auto state = folder.ReadState();
  session.output.Print({Json{{"schema", "slipway.run/1"},
                             {"run", folder.id()},
                             {"folder", folder.path().string()},
                             {"phase", PhaseName(state.phase)}},
                        text, folder.id()});
  return static_cast<int>(ErrorKind::kInterrupted);
}

}  // namespace

bool MeansYes(std::string_view answer) {
  while (!answer.empty() && (answer.back() == '\n' || answer.back() == '\r' || answer.back() == ' ')) {
    answer.remove_suffix(1);
  }
  return answer == "y" || answer == "Y" || answer == "yes";
}

int FollowBatchRun(const RunFolder& folder, LinePrefix prefix, Session& session) {
  CtrlC ctrl_c;
  AttemptsPrinter printer(folder, prefix, session.output);
  const bool prints = session.output.mode() == OutputMode::kHuman;
  const auto pause = [&](std::chrono::nanoseconds longest) {
    if (prints) printer.Look();
    return ctrl_c.Pause(longest);
  };
  bool ended = WaitForBatchEnd(folder, {}, pause).has_value();
  if (!ended && IsToBeCancelled(folder, ctrl_c, session)) {
    CancelBatchRun(folder, ObserveRun(folder));
    ended = WaitForBatchEnd(folder, {}, pause).has_value();
  }
  if (prints) {
    printer.Look();
    printer.Finish();
  }
  return ended ? Status({folder.path().string()}, session) : SayItGoesOn(folder, session);
}

}  // namespace slipway::launcher
