#include "launcher/cli/commands/watch.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <future>
#include <optional>

#include "core/clock.h"
#include "core/error.h"
#include "core/event_loop.h"
#include "launcher/cli/commands/find_run.h"
#include "launcher/cli/commands/runs.h"
#include "launcher/cli/commands/trials_request.h"
#include "launcher/run/workflow/workflow_folder.h"
#include "launcher/watch/background_reader.h"
#include "launcher/watch/draw.h"
#include "launcher/watch/terminal.h"

namespace slipway::launcher {
namespace {

using watch::Action;
using watch::Model;

constexpr auto kLook = std::chrono::seconds(1);  // for changes of files, and of the times that are shown
constexpr auto kLookForAnswer = std::chrono::milliseconds(100);
constexpr auto kPatienceForFirstFrame = std::chrono::milliseconds(80);
constexpr std::string_view kAllRuns = "all";

/// Keeps what a command says, for the bottom line.
class BottomLine : public Output {
 public:
  OutputMode mode() const override { return OutputMode::kHuman; }
  void Print(const Result& result) override { text_ = result.text; }
  void Stream(const Json&, std::string_view line) override { text_ = line; }
  void Say(std::string_view) override {}
  void Warn(std::string_view line) override { text_ = line; }
  void Fail(const Error& error) override { text_ = error.message(); }
  void Progress(std::string_view) override {}
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// Does it by the function of the command of this name; returns what came of it.
std::string CarryOutAction(const Action& action, const RunsDirectory& directory) try {
  const auto run = directory.Name(RunFolder::Open(action.run));
  if (action.kind == Action::Kind::kCancel) {
    return AskToCancel(run) ? fmt::format("{} was asked to end", run.id())
                            : fmt::format("{} has ended already", run.id());
  }
  BottomLine answer;
  TrialsRetryOptions retry;
  retry.run_folder = run.path();
  retry.selector = run.selector();
  retry.trial = action.trial;
  TrialsRetry(retry, answer);
  return answer.text();
} catch (const Error& error) {
  return error.next_step().empty() ? error.message() : error.message() + "; " + error.next_step();
} catch (const std::exception& error) {
  return error.what();
}

class WatchProgram {
 public:
  /// The loop blocks the signals, and the terminal sets the locale, before the reader's thread begins.
  WatchProgram(Model model, const RunsDirectory& directory) : model_(std::move(model)), directory_(directory) {
    loop_.OnSignals({SIGINT, SIGTERM, SIGHUP, SIGQUIT}, [this](int signal) { End(signal); });
    loop_.OnSignals({SIGWINCH}, [this](int) { model_.screen = terminal_->Size(); });
    loop_.OnSignals({SIGTSTP}, [this](int) { Suspend(); });
    terminal_.emplace();
    loop_.OnReadable(STDIN_FILENO, [this] { TakeKeys(); });
    reader_.emplace(watch::Watcher(directory), kLook);
    reader_->Want(InterestOf(model_));
    loop_.OnReadable(reader_->fd(), [this] { model_ = watch::WithData(std::move(model_), reader_->Take()); });
  }

  int Run() {
    model_.screen = terminal_->Size();
    loop_.RunOnce(kPatienceForFirstFrame);
    while (!model_.quit) {
      Show();
      loop_.RunOnce(answer_ ? std::chrono::nanoseconds(kLookForAnswer) : std::chrono::nanoseconds(kLook));
      StartAction();
      TakeAnswer();
      reader_->Want(InterestOf(model_));
    }
    return exit_code_;
  }

 private:
  void Show() {
    model_.now = UnixSeconds(SystemClock().Now());
    terminal_->Show(watch::Draw(model_.screen, model_));
  }

  void End(int signal) {
    model_.quit = true;
    if (signal != SIGINT) exit_code_ = static_cast<int>(ErrorKind::kInterrupted);
  }

  void Suspend() {
    terminal_->Leave();
    ::raise(SIGSTOP);
    model_.screen = terminal_->Size();
  }

  void TakeKeys() {
    bool any = false;
    while (const auto key = terminal_->ReadKey()) {
      model_ = Update(std::move(model_), *key);
      StartAction();
      any = true;
    }
    if (!any && terminal_->HungUp()) End(SIGHUP);
  }

  /// One at a time; it may take seconds, and the screen goes on.
  void StartAction() {
    if (!model_.action || answer_) return;
    answer_ = std::async(std::launch::async, CarryOutAction, *model_.action, directory_);
    model_.action.reset();
    model_.is_busy = true;
  }

  void TakeAnswer() {
    if (!answer_ || answer_->wait_for(std::chrono::seconds(0)) != std::future_status::ready) return;
    model_.notice = answer_->get();
    model_.is_busy = false;
    answer_.reset();
  }

  // The terminal is the first to end.
  EventLoop loop_;
  Model model_;
  RunsDirectory directory_;
  std::optional<std::future<std::string>> answer_;
  std::optional<watch::BackgroundReader> reader_;
  std::optional<watch::Terminal> terminal_;
  int exit_code_ = 0;
};

bool HasStep(const StepOfRun& step) {
  return std::ranges::any_of(ReadStoredWorkflow(step.run).steps,
                             [&](const StoredStep& stored) { return stored.name == step.step; });
}

Model FirstModel(const WatchOptions& options, Session& session) {
  Model model;
  model.lists[static_cast<std::size_t>(watch::Page::kPlaces)].sort = 5;  // by place
  if (options.run == kAllRuns) {
    model.has_list = true;
    model.page = watch::Page::kRuns;
    return model;
  }
  if (const auto step = FindStep(session, options.run); step && HasStep(*step)) {
    model.workflow = step->run.path();
    model.step = step->step;
    model.page = watch::Page::kLog;
    model.back = {watch::Page::kSteps};
    return model;
  }
  const auto run = FindRun(session, options.run);
  if (IsWorkflowRun(run)) {
    model.workflow = run.path();
    model.page = watch::Page::kSteps;
  } else {
    model.run = run.path();
  }
  return model;
}

}  // namespace

int Watch(const WatchOptions& options, Session& session) {
  if (session.output.mode() == OutputMode::kJson) {
    throw Error(ErrorKind::kUsage, "slipway watch has no JSON form",
                "use slipway status --json or slipway report --json");
  }
  return WatchProgram(FirstModel(options, session), session.runs()).Run();
}

}  // namespace slipway::launcher
