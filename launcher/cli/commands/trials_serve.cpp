#include "launcher/cli/commands/trials_serve.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/clock.h"
#include "core/error.h"
#include "core/json_text.h"
#include "core/unique_handle.h"
#include "ensemble/manager/ask_tell_lines.h"
#include "launcher/cli/commands/ensemble_target.h"
#include "launcher/cli/commands/plan.h"
#include "launcher/run/trials/open_book.h"
#include "launcher/run_folder/prepare.h"

namespace slipway::launcher {
namespace {

using ensemble::AskTell;
using ensemble::LossRules;
using ensemble::TrialBook;
using ensemble::TrialState;
using ensemble::Unfinished;

sigset_t EndingSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  return signals;
}

/// Lines from a descriptor (a pipe, a terminal, a file), until its end or until this process is asked to end.
///
/// While it lives SIGINT, SIGTERM and SIGHUP do not end the process at once: the line that is worked on is finished.
class RequestLines {
 public:
  /// `longest`: of a line that is longer only one byte more is kept, which shows that it is.
  RequestLines(int fd, std::size_t longest) : fd_(fd), longest_(longest) {
    const auto signals = EndingSignals();
    CheckErrno(::sigprocmask(SIG_BLOCK, &signals, &mask_before_), "cannot block signals");
    signals_.Reset(CheckErrno(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK), "cannot watch signals"));
  }

  RequestLines(const RequestLines&) = delete;
  RequestLines& operator=(const RequestLines&) = delete;
  /// A signal that has been heeded must not end the process now.
  ~RequestLines() {
    signalfd_siginfo heeded{};
    while (::read(signals_.get(), &heeded, sizeof heeded) > 0) {
    }
    ::sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
  }

  /// Waits for the next line, without its end; nothing when there is none: the other side has closed, or a signal came.
  /// While none comes, `meanwhile` is called again and again, every `kPause`.
  std::optional<std::string> Next(const std::function<void()>& meanwhile) {
    std::string line;
    while (!TakeLine(line)) {
      if (!WaitForBytes(meanwhile)) return std::nullopt;
      if (ReadMore()) continue;
      return line.empty() ? std::nullopt : std::optional(std::move(line));
    }
    return line;
  }

  static constexpr auto kPause = std::chrono::milliseconds(200);
  bool interrupted() const { return interrupted_; }

 private:
  /// False when a signal has come; signals go first.
  bool WaitForBytes(const std::function<void()>& meanwhile) {
    pollfd watched[] = {{signals_.get(), POLLIN, 0}, {fd_, POLLIN, 0}};
    while (true) {
      const int ready = ::poll(watched, 2, static_cast<int>(kPause.count()));
      if (ready > 0) break;
      if (ready < 0 && errno != EINTR) ThrowErrno("cannot wait for requests");
      if (ready == 0) meanwhile();
    }
    interrupted_ = watched[0].revents != 0;
    return !interrupted_;
  }

  /// False at the end.
  bool ReadMore() {
    char chunk[1 << 16];
    const auto count = ::read(fd_, chunk, sizeof chunk);
    if (count < 0 && errno == EINTR) return true;
    CheckErrno(count, "cannot read requests");
    bytes_.append(chunk, static_cast<std::size_t>(count));
    return count > 0;
  }

  /// Moves what is there of a line behind `line`; true when that is all of it.
  bool TakeLine(std::string& line) {
    const auto end = std::min(bytes_.find('\n'), bytes_.size());
    line.append(bytes_, 0, std::min(end, longest_ + 1 - line.size()));
    const bool whole = end < bytes_.size();
    bytes_.erase(0, whole ? end + 1 : end);
    return whole;
  }

  int fd_;
  std::size_t longest_;
  sigset_t mask_before_{};
  UniqueFd signals_;
  std::string bytes_;  // read, not looked at yet
  bool interrupted_ = false;
};

/// The book of a run and a session on it.
struct OpenEnsemble {
  OpenEnsemble(const RunFolder& folder, ensemble::EnsembleOptions options, LossRules rules, ensemble::Hold hold)
      : book(OpenBook(folder, hold)), session(book, InFolder(std::move(options), folder), rules) {
    NoteStudy(folder);
  }

  static ensemble::EnsembleOptions InFolder(ensemble::EnsembleOptions options, const RunFolder& folder) {
    options.requests_in = folder.path();
    return options;
  }

  TrialBook book;
  AskTell session;
};

/// While trials are served the run is running, and this process is its manager.
class ServedRun {
 public:
  explicit ServedRun(const RunFolder& folder)
      : folder_(folder), lock_(folder.TakeManagerLock(folder.ReadState())), state_(folder.ReadState()) {
    state_.host = HostName();
    state_.manager = IdentityOf(::getpid());
    state_.phase = Phase::kRunning;
    state_.started = FormatUtc(SystemClock().Now());
    ForgetEnd(state_);
    state_.reason = "its trials are run from outside";
    Commit("served");
  }

  void End(const AskTell& session, cause::ServingEnded serving) {
    const auto& study = session.study();
    const bool has_more = study.HasBudget() && !study.exhausted();
    const bool is_over = session.running() == 0 && study.queued().empty() && !has_more;
    if (is_over) {
      EndAs(state_, Phase::kSucceeded, cause::Completed{});
    } else {
      EndAs(state_, Phase::kCancelled, serving);
    }
    state_.ended = FormatUtc(SystemClock().Now());
    Commit(PhaseName(state_.phase));
  }

 private:
  void Commit(std::string_view event) {
    folder_.WriteState(state_);
    folder_.AppendEvent(event, Json{{"reason", state_.reason}});
  }

  const RunFolder& folder_;
  FileLock lock_;
  RunState state_;
};

void Say(Output& output, const Json& document) { output.Stream(document, JsonText(document)); }

Json Introduction(const RunFolder& folder, const AskTell& session) {
  Json objectives = Json::array();
  for (const auto& objective : session.options().objectives) {
    objectives.push_back({{"metric", objective.metric}, {"goal", WordOf(objective.ValueGoal())}});
  }
  return Json{{"schema", "slipway.trials.serve/1"},
              {"run", folder.id()},
              {"folder", folder.path().string()},
              {"objectives", std::move(objectives)},
              {"trials", session.options().trials}};
}

LossRules RulesWith(Unfinished earlier, const std::optional<Seconds>& lost_after) {
  return {earlier, lost_after ? std::optional(lost_after->count()) : std::nullopt};
}

/// Adds the schema in front.
Json WithSchema(const char* schema, const Json& document) {
  Json whole{{"schema", schema}};
  whole.update(document);
  return whole;
}

ensemble::Told ToldBy(const TrialsTellOptions& options) {
  if (options.failed) return ensemble::ToldFailed{*options.failed};
  if (options.pruned) return ensemble::ToldPruned{};
  return ensemble::ToldResults{options.values};
}

/// Without a result or a report the trial would fail, for good: more likely `--value` was forgotten.
void CheckResult(const TrialsTellOptions& options, OpenEnsemble& opened) {
  const auto& trials = opened.session.study().trials();
  const bool is_told = options.failed || options.pruned || !options.values.empty();
  if (is_told || !trials.Has(options.trial) || trials.at(options.trial).state != TrialState::kRunning) return;
  if (!opened.book.Metrics(options.trial).empty()) return;
  throw Error(ErrorKind::kUsage, fmt::format("no result is given, and trial {} has reported none", options.trial),
              "give --value, --failed or --pruned");
}

std::string Describe(const ensemble::TrialRecord& trial) {
  auto text = fmt::format("trial {}: {}", trial.number, WordOf(trial.state));
  if (trial.objective) text += fmt::format(", {:.6g}", *trial.objective);
  return trial.reason.empty() ? text : text + " (" + trial.reason + ")";
}

int PrintNothing(const ensemble::NothingToRun& nothing, const Json& document, Output& output) {
  output.Print({document, "no trial: " + nothing.why, {}});
  return static_cast<int>(nothing.running > 0 ? ErrorKind::kTryAgain : ErrorKind::kFailed);
}

}  // namespace

int TrialsNew(const SpecSelection& selection, Session& session) {
  const auto plan = PlanFor(selection, session);
  OptionsOfEnsemble(plan);
  const auto folder = session.runs().Name(PrepareForTrials(plan));
  const Json document{{"schema", "slipway.trials.new/1"}, {"run", folder.id()}, {"folder", folder.path().string()}};
  const auto text =
      fmt::format("{0} is ready\n  slipway trials serve {1}\n  slipway trials ask {1}", folder.id(), folder.selector());
  session.output.Print({document, text, folder.id()});
  return 0;
}

int TrialsServe(const TrialsServeOptions& options, int requests, Session& session) {
  if (session.output.mode() == OutputMode::kQuiet) {
    throw Error(ErrorKind::kUsage, "answers cannot be quiet", "leave --quiet out");
  }
  RequestLines lines(requests, ensemble::kLongestRequestBytes);
  EnsembleTarget target(options.target, session);
  const RunFolder folder = target.Folder();
  OpenEnsemble opened(folder, target.options(), RulesWith(Unfinished::kQueueAgain, options.lost_after),
                      ensemble::Hold::kManager);
  ServedRun run(folder);
  Say(session.output, Introduction(folder, opened.session));
  const auto meanwhile = [&] { opened.session.AnswerRequests(); };
  while (const auto line = lines.Next(meanwhile)) Say(session.output, Answer(opened.session, *line));
  opened.session.Settle();
  run.End(opened.session, {lines.interrupted()});
  return lines.interrupted() ? static_cast<int>(ErrorKind::kInterrupted) : 0;
}

int TrialsAsk(const TrialsAskOptions& options, Session& session) {
  EnsembleTarget target(options.run, session);
  OpenEnsemble opened(target.Folder(), target.options(), RulesWith(Unfinished::kKeep, options.lost_after),
                      ensemble::Hold::kCommand);
  const auto asked = opened.session.Ask();
  opened.session.Settle();
  const Json document = WithSchema("slipway.trials.ask/1", ToJson(asked));
  if (const auto* nothing = std::get_if<ensemble::NothingToRun>(&asked)) {
    return PrintNothing(*nothing, document, session.output);
  }
  const auto& trial = std::get<ensemble::AskedTrial>(asked);
  const auto text =
      fmt::format("trial {}, attempt {}: {}", trial.trial, trial.attempt, ensemble::Describe(trial.parameters));
  session.output.Print({document, text, std::to_string(trial.trial)});
  return 0;
}

int TrialsTell(const TrialsTellOptions& options, Session& session) {
  EnsembleTarget target(options.run, session);
  OpenEnsemble opened(target.Folder(), target.options(), RulesWith(Unfinished::kKeep, {}), ensemble::Hold::kCommand);
  CheckResult(options, opened);
  const auto told = opened.session.Tell(options.trial, ToldBy(options), options.attempt);
  opened.session.Settle();
  const Json document = WithSchema("slipway.trials.tell/1", ToJson(told, opened.session.options()));
  session.output.Print({document, Describe(told), WordOf(told.state)});
  return 0;
}

}  // namespace slipway::launcher
