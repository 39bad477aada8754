#include "launcher/run/data/staging_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "core/progress.h"
#include "launcher/plan/data_plan.h"
#include "launcher/run/data/staged_in.h"
#include "staging/copy/own_sums.h"
#include "staging/generation/generation.h"

namespace slipway::launcher {
namespace {

/// A program may open a stream more than once, one after the other; what it forgot to close takes a place too.
constexpr std::size_t kReadersOfRank = 4;
constexpr auto kSessionLook = std::chrono::milliseconds(50);

/// A broken file system breaks many.
constexpr std::size_t kMendedShown = 10;

std::string HowStaged(const staging::StagedDataset& staged) {
  if (staged.adopted) return "already there";
  const auto copied = fmt::format("{} in {} ({})", FormatBytes(staged.copied), FormatDuration(staged.elapsed),
                                  FormatRate(staged.copied, staged.elapsed));
  return staged.found
             ? fmt::format("{} found in the burst buffer and checked, {} copied in {}", FormatBytes(staged.kept),
                           FormatBytes(staged.copied), FormatDuration(staged.elapsed))
             : copied;
}

void WarnOfUnread(const DatasetStaging& dataset, Output& output) {
  for (const auto& unread : dataset.unread()) {
    output.Warn(fmt::format("staged {}: {}", dataset.spec().name, staging::DescribeUnread(unread)));
  }
}

/// To a program without the batch reader it looks as if there were no data.
void WarnOfUnseen(const DatasetStaging& dataset, Output& output) {
  if (Exists(dataset.directory())) return;
  output.Warn(
      fmt::format("the ranks ended before all of {0} had arrived: '{1}' did not exist while they ran. Only the batch "
                  "reader reads earlier. Any other program must wait until the directory exists, or leave out "
                  "data.{0}.overlap",
                  dataset.spec().name, dataset.directory().string()));
}

/// A stream removes itself.
bool EndsWithItsJob(const DatasetStaging& dataset) {
  return dataset.spec().keep == Keep::kJob && !dataset.plan().root.empty() && !dataset.is_stream();
}

}  // namespace

StagingSession::StagingSession(const RunFolder& folder, const Plan& plan, Output& output, EventLoop& loop,
                               Interrupt& interrupt)
    : folder_(folder), plan_(plan), output_(output), loop_(loop), interrupt_(interrupt) {}

void StagingSession::Begin(Nodes* nodes) {
  if (nodes != nullptr && std::ranges::any_of(plan_.data, IsStagedOnEachNode)) BeginOnNodes(*nodes);
  const auto& plans = node_staging_ ? node_staging_->plans() : plan_.data;
  MakeDatasets(plans);
  // Those that must be whole first: the others would only take their share of the source.
  for (auto& dataset : datasets_) {
    if (!dataset->may_be_early()) StageWhole(*dataset);
  }
  for (auto& dataset : datasets_) {
    if (dataset->may_be_early()) Start(*dataset);
  }
  for (auto& dataset : datasets_) {
    if (dataset->may_be_early()) AwaitFirst(*dataset);
  }
  for (const auto& plan : plans) directories_.push_back(PlaceOf(plan));
  stage_ = Stage::kRanksRun;
}

void StagingSession::BeginOnNodes(Nodes& nodes) {
  node_staging_ = std::make_unique<NodeStaging>(folder_, plan_, nodes, loop_, interrupt_, output_,
                                                [this](const Error& error) { EndRun(error); });
  node_staging_->Begin();
}

void StagingSession::MakeDatasets(const std::vector<staging::StagingPlan>& plans) {
  const auto readers = kReadersOfRank * static_cast<std::size_t>(plan_.spec().launch.ranks());
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (node_staging_ && IsStagedOnEachNode(plans[i])) continue;
    datasets_.push_back(std::make_unique<DatasetStaging>(plans[i], plan_.spec().data[i], folder_.data(),
                                                         FoundFor(folder_, plans[i]), readers));
  }
}

StagedPlace StagingSession::PlaceOf(const staging::StagingPlan& plan) const {
  if (IsSharedOut(plan)) return node_staging_->SharesOf(plan.request.name);
  for (const auto& dataset : datasets_) {
    if (dataset->spec().name == plan.request.name) return {plan.request.name, dataset->directory()};
  }
  return {plan.request.name, plan.directory};
}

void StagingSession::Start(DatasetStaging& dataset) {
  dataset.Start(loop_, output_, [this, &dataset] { OnNews(dataset); });
}

void StagingSession::Await(DatasetStaging& dataset, const std::function<bool()>& reached) {
  while (!reached()) {
    if (interrupt_.asked()) dataset.Cancel();
    loop_.RunOnce(kSessionLook);
    if (failure_) std::rethrow_exception(failure_);
  }
}

void StagingSession::StageWhole(DatasetStaging& dataset) {
  Start(dataset);
  Await(dataset, [&] { return !dataset.under_way(); });
}

void StagingSession::AwaitFirst(DatasetStaging& dataset) {
  Await(dataset, [&] { return dataset.IsReady(); });
  if (!dataset.under_way()) return;
  folder_.AppendEvent("arriving", Json{{"dataset", dataset.spec().name},
                                       {"tier", dataset.plan().tier},
                                       {"directory", dataset.directory().string()},
                                       {"files", dataset.plan().files.size()},
                                       {"bytes", dataset.plan().total.count},
                                       {"stream", dataset.is_stream()}});
  output_.Say(
      fmt::format("the first file of {} is there, the ranks need not wait for the others", dataset.spec().name));
}

void StagingSession::OnNews(DatasetStaging& dataset) {
  if (!dataset.under_way()) return;
  if (!dataset.ended()) return dataset.ShowProgress();
  try {
    dataset.Take();
    Announce(dataset);
  } catch (const Error& error) {
    OnFailure(dataset, error);
  }
}

/// Written down at once: what the ranks say about it later is only its consequence.
void StagingSession::OnFailure(const DatasetStaging& dataset, const Error& error) {
  const bool wanted = error.kind() == ErrorKind::kInterrupted && stage_ != Stage::kRanksRun;
  folder_.AppendEvent(wanted ? "staging_cancelled" : "staging_failed",
                      Json{{"dataset", dataset.spec().name}, {"reason", error.message()}});
  if (stage_ == Stage::kRanksEnded) {
    if (!wanted) output_.Warn(error.what());
    return;
  }
  if (!failure_) failure_ = std::current_exception();
  EndRun(error);
}

void StagingSession::EndRun(const Error& error) {
  if (stage_ != Stage::kRanksRun) return;
  if (!failure_) failure_ = std::make_exception_ptr(error);
  output_.Warn(fmt::format("{}; the ranks are being ended", error.message()));
  if (!interrupt_.asked()) asked_by_us_ = true;
  interrupt_.Ask();
}

void StagingSession::Announce(const DatasetStaging& dataset) {
  const auto& staged = *dataset.staged();
  output_.Say(fmt::format("staged {}: {}, tier {}", staged.name, HowStaged(staged), dataset.plan().tier));
  WarnOfUnread(dataset, output_);
  if (!staged.mended.empty()) TellOfMended(dataset);
  RemoveEmptyStagedIn();
  folder_.AppendEvent("staged", Json{{"dataset", staged.name},
                                     {"tier", dataset.plan().tier},
                                     {"directory", staged.directory.string()},
                                     {"adopted", staged.adopted},
                                     {"found", staged.found},
                                     {"overlapped", stage_ != Stage::kBegin},
                                     {"bytes", staged.copied.count},
                                     {"seconds", staged.elapsed.count()}});
}

void StagingSession::TellOfMended(const DatasetStaging& dataset) {
  const auto& mended = dataset.staged()->mended;
  const auto shown = std::min(mended.size(), kMendedShown);
  Json files = Json::array();
  std::string words;
  for (std::size_t i = 0; i < shown; ++i) {
    files.push_back({{"file", mended[i].name}, {"reason", mended[i].reason}});
    words += fmt::format("\n  {}: {}", mended[i].name, mended[i].reason);
  }
  if (mended.size() > shown) words += fmt::format("\n  and {} more", mended.size() - shown);
  const auto remark =
      fmt::format("{} of {} files of {} were not as they should be in the burst buffer, and were copied again:{}",
                  mended.size(), dataset.plan().files.size(), dataset.spec().name, words);
  output_.Warn(remark);
  remarks_ += (remarks_.empty() ? "" : "\n") + remark;
  folder_.AppendEvent("mended", Json{{"dataset", dataset.spec().name}, {"count", mended.size()}, {"files", files}});
}

void StagingSession::End() {
  if (stage_ == Stage::kRanksRun) stage_ = Stage::kRanksEnded;
  for (auto& dataset : datasets_) EndOne(*dataset);
  if (failure_) std::rethrow_exception(failure_);
}

void StagingSession::EndOne(DatasetStaging& dataset) {
  if (!dataset.under_way()) return;
  if (dataset.is_stream()) {
    const auto figures = dataset.figures();
    folder_.AppendEvent("streamed", Json{{"dataset", dataset.spec().name},
                                         {"copies", figures.copies},
                                         {"bytes", figures.copied.count},
                                         {"evictions", figures.evictions}});
    WarnOfUnread(dataset, output_);
    return dataset.Abandon();
  }
  if (!failure_ && !interrupt_.asked()) WarnOfUnseen(dataset, output_);
  const bool finish = dataset.spec().keep == Keep::kCache && !failure_;
  if (finish && !interrupt_.asked()) {
    output_.Say(fmt::format("the ranks have ended; {} is kept, so its staging goes on", dataset.spec().name));
  }
  while (dataset.under_way()) {
    if (!finish || interrupt_.asked()) dataset.Cancel();
    loop_.RunOnce(kSessionLook);
  }
  RemoveWhatArrived(dataset);
}

/// Of data that was to end with its job. What the user ended is kept for the next run, as after a kill.
void StagingSession::RemoveWhatArrived(const DatasetStaging& dataset) {
  const auto& plan = dataset.plan();
  const bool by_user = interrupt_.asked() && !asked_by_us_;
  if (by_user || !EndsWithItsJob(dataset)) return;
  WithWarning(plan, [&] { staging::RemoveLeftover(plan.root, plan.generation); });
}

void StagingSession::RemoveStaged(const DatasetStaging& dataset) {
  const auto& plan = dataset.plan();
  WithWarning(plan, [&] {
    if (staging::RemoveGeneration(plan.root, plan.generation) != staging::Removal::kInUse) return;
    output_.Say(fmt::format("the staged copy of {} stays in tier {}: it is in use", plan.request.name, plan.tier));
  });
}

/// Nothing that is left behind fails a run that has ended.
void StagingSession::WithWarning(const staging::StagingPlan& plan, const std::function<void()>& remove) {
  try {
    remove();
  } catch (const Error& error) {
    output_.Warn(fmt::format("the staged copy of '{}' is left: {}", plan.request.name, error.what()));
  }
}

void StagingSession::Release() {
  for (auto& dataset : datasets_) {
    const bool cut_short = dataset->under_way();
    dataset->Abandon();
    if (cut_short) RemoveWhatArrived(*dataset);
  }
  for (const auto& dataset : datasets_) {
    if (EndsWithItsJob(*dataset)) RemoveStaged(*dataset);
  }
  datasets_.clear();
  if (!node_staging_) return;
  node_staging_->Release();
  node_staging_.reset();
}

}  // namespace slipway::launcher
