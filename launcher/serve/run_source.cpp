#include "launcher/serve/run_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json_text.h"
#include "launcher/run/workflow/run_looks.h"
#include "launcher/run/workflow/step_observation.h"
#include "launcher/run_folder/attempt_files.h"
#include "launcher/view/view_reader.h"
#include "launcher/view/workflow_page.h"

namespace slipway::launcher {
namespace {

constexpr auto kListHolds = std::chrono::milliseconds(500);
constexpr auto kPatience = std::chrono::seconds(5);

/// Of all files whose change changes the view.
std::vector<FileStamp> StampsOfRun(const RunFolder& run, int attempt) {
  const auto folder = run.attempt(attempt);
  return StampsOf({run.path(), run.path() / "state.json", run.path() / "events.jsonl", run.checkpoints(),
                   run.trial_book(), run.trial_book().string() + "-wal", folder / "", folder / "metrics.jsonl",
                   folder / "comm.json"});
}

}  // namespace

/// A view, until its files change.
class RunSource::Remembered {
 public:
  explicit Remembered(RunFolder run) : run_(std::move(run)), reader_(run_) {}

  View Read() {
    const std::unique_lock lock(mutex_, kPatience);
    if (!lock) {
      throw Error(ErrorKind::kTryAgain, fmt::format("run {} is still being read", run_.id()),
                  "wait, or look at its files: " + run_.path().string());
    }
    const auto now = SystemClock().Steady();
    const auto stamps = StampsOfRun(run_, view_ ? view_->attempt : 1);
    if (stamps == stamps_ && view_ && now < look_again_) return view_;
    Observe(stamps, now);
    return view_;
  }

  SteadyTime used() const { return used_; }
  void Use() { used_ = SystemClock().Steady(); }

 private:
  /// The state of a run may change while its files stay: its manager is killed, its job ends.
  void Observe(const std::vector<FileStamp>& stamps, SteadyTime now) {
    auto row = std::move(ObserveAllRows({run_}).front());
    if (!row.state) throw Error(*row.trouble);
    look_again_ = HasEnded(row.state->phase) ? SteadyTime::max() : now + LookAgainAfter(*row.state);
    const auto state = ToJson(*row.state);
    if (stamps == stamps_ && view_ && state == state_) return;
    view_ = std::make_shared<const RunView>(reader_.Read(Depth::kAnalysis, *row.state));
    state_ = state;
    stamps_ = stamps;
  }

  std::chrono::nanoseconds LookAgainAfter(const RunState& state) const {
    return IsCarriedOutBySlurm(run_, state) ? kAskSlurmEvery : std::chrono::seconds(1);
  }

  const RunFolder run_;
  std::timed_mutex mutex_;
  ViewReader reader_;
  std::vector<FileStamp> stamps_;  ///< before `view_` was read
  Json state_;
  View view_;
  SteadyTime look_again_{};
  SteadyTime used_{};
};

RunSource::RunSource(RunsDirectory directory) : directory_(std::move(directory)), list_(directory_) {}
RunSource::~RunSource() = default;

void RunSource::ReadList() {
  const auto list = list_.Read();
  list_text_ = JsonText(list);
  list_is_complete_ = list.at("complete").get<bool>();
  list_read_ = SystemClock().Steady();
}

std::string RunSource::Runs() {
  const std::scoped_lock lock(list_mutex_);
  if (list_text_.empty() || SystemClock().Steady() - list_read_ >= kListHolds) ReadList();
  return list_text_;
}

bool RunSource::ReadAhead() {
  const std::scoped_lock lock(list_mutex_);
  if (!list_is_complete_) ReadList();
  return !list_is_complete_;
}

/// Only names of its steps: others may lead anywhere.
RunFolder RunSource::FindStep(const RunFolder& run, const std::string& step) const {
  const bool is_step =
      IsWorkflowRun(run) &&
      std::ranges::any_of(ReadStoredWorkflow(run).steps, [&](const auto& stored) { return stored.name == step; });
  const auto runs = is_step ? ListRuns(StepFolder(run, step)) : std::vector<RunFolder>();
  if (!runs.empty()) return directory_.Name(runs.back());
  throw Error(ErrorKind::kUsage, fmt::format("run {} has no step with a run of this name", run.id()),
              "go back to the list of runs");
}

RunFolder RunSource::Find(const std::string& id) const {
  if (const auto slash = id.find('/'); slash != std::string::npos) {
    return FindStep(Find(id.substr(0, slash)), id.substr(slash + 1));
  }
  for (const auto& run : ListRuns(directory_)) {
    if (run.id() == id) return run;
  }
  throw Error(ErrorKind::kUsage, fmt::format("there is no run of this id in '{}'", directory_.path.string()),
              "go back to the list of runs");
}

std::shared_ptr<RunSource::Remembered> RunSource::Remember(const RunFolder& run) {
  const std::scoped_lock lock(views_mutex_);
  auto& remembered = views_[run.path()];
  if (!remembered) remembered = std::make_shared<Remembered>(run);
  remembered->Use();
  auto kept = remembered;
  if (views_.size() > kMostRemembered) {
    views_.erase(std::ranges::min_element(views_, {}, [](const auto& entry) { return entry.second->used(); }));
  }
  return kept;
}

RunSource::View RunSource::Read(const std::string& id) { return Remember(Find(id))->Read(); }

namespace {

std::string LivePageOf(const RunFolder& run, const WorkflowLook& look) {
  const auto links = [](const StepRow& row, const std::filesystem::path& of_step) -> std::vector<PageLink> {
    const auto workflow = of_step.parent_path().parent_path().parent_path().filename();  // WORKFLOW/steps/STEP/RUN
    return {{"run", of_step.empty() ? "" : fmt::format("./#/run/{}%2F{}", workflow.string(), row.step.name)}};
  };
  return WorkflowPage(run, look, {links, true});
}

}  // namespace

std::optional<std::string> RunSource::KeptPageOf(const RunFolder& run, const std::vector<FileStamp>& stamps) {
  const std::scoped_lock lock(pages_mutex_);
  std::erase_if(pages_, [now = SystemClock().Steady()](const auto& entry) { return now >= entry.second.until; });
  const auto found = pages_.find(run.path());
  const bool is_fresh = found != pages_.end() && found->second.stamps == stamps;
  return is_fresh ? std::optional(found->second.text) : std::nullopt;
}

std::string RunSource::WorkflowPageOf(const std::string& id) {
  const auto run = Find(id);
  if (!IsWorkflowRun(run)) {
    throw Error(ErrorKind::kUsage, fmt::format("run {} is no workflow", run.id()), "go back to the list of runs");
  }
  auto stamps = StampsOf(FilesOfWorkflowRun(run));
  if (auto page = KeptPageOf(run, stamps)) return std::move(*page);
  const auto look = LookAtWorkflow(run);
  auto page = LivePageOf(run, look);
  if (IsCarriedOutBySlurm(run, look.state)) {
    const std::scoped_lock lock(pages_mutex_);
    pages_[run.path()] = {page, std::move(stamps), SystemClock().Steady() + kAskSlurmEvery};
  }
  return page;
}

ViewEvent RunSource::Changes(const std::string& id, const View& before) {
  const auto view = Read(id);
  if (view == before) return {view, nullptr};
  return {view, std::make_shared<const std::string>("event: view\ndata: " + ViewText({view}) + "\n\n")};  // one line
}

std::string ViewText(const std::vector<RunSource::View>& views) {
  std::vector<RunView> runs;
  for (const auto& view : views) runs.push_back(*view);
  return JsonText(ViewDocument(runs, UnixSeconds(SystemClock().Now())));
}

}  // namespace slipway::launcher
