#include "runtime/watch/watch.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>

#include "runtime/status.h"
#include "runtime/watch/benefit_of_doubt.h"
#include "runtime/watch/status_table_transfer.h"

namespace slipway::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// Where ranks of other nodes may be the cause, the ranks of those nodes get this much more time to report first. Where
/// an observer sees all nodes it is kGraceForAnAnswer instead.
constexpr std::chrono::seconds kGrace{2};

/// How long a rank may be seen in slipway_finalize while others wait for it elsewhere. It calls nothing more, but its
/// part may be on its way.
constexpr std::chrono::seconds kLeavingPatience{2};

/// A look at all ranks reads a file of /proc for each one of this node. In slipway_finalize they may go on for hours,
/// on all ranks that wait.
constexpr std::chrono::seconds kBetweenVerdicts{1};

}  // namespace

void Watch::Announce(int rank, const std::filesystem::path& monitor) noexcept try {
  rank_ = rank;
  if (monitor.empty()) return;
  own_->rank = rank;
  own_->current = static_cast<std::uint32_t>(Activity::kInit);
  auto page = SharedMemory::Create(StatusTableBytes(1));
  if (!SendStatusTable(monitor, page.descriptor(), 1)) return;
  monitor_ = monitor;
  UseStatusTable(std::move(page), 1, 0);
} catch (const std::system_error&) {
  // This rank will not be visible from other nodes.
}

void Watch::UseStatusTable(SharedMemory memory, int count, int own) {
  auto* rows = reinterpret_cast<RankStatusRow*>(memory.data());
  auto& row = rows[own];
  row.process = ::getpid();
  row.current = own_->current.load();
  row.rank = own_->rank.load();
  own_->rank = -1;  // its row is elsewhere now
  std::swap(memory_, memory);
  rows_ = rows;
  own_ = &row;
  count_ = count;
  if (monitor_.empty()) return;
  answer_ = reinterpret_cast<StallReport*>(rows + count);
  departures_ = reinterpret_cast<const TableDepartures*>(answer_ + 1);
}

void Watch::Join(int rank, std::vector<RankPlace> places, SharedMemory table, int count, int own) {
  rank_ = rank;
  places_ = std::move(places);
  own_->process = ::getpid();
  own_->rank = rank;
  if (table.data() == nullptr) return;
  if (!monitor_.empty() && own == 0) SendStatusTable(monitor_, table.descriptor(), static_cast<std::size_t>(count));
  UseStatusTable(std::move(table), count, own);
}

void Watch::Entered() {
  own_->last = static_cast<std::uint32_t>(Activity::kInit);
  own_->current = 0;
}

std::uint32_t Watch::AddTeam(const std::string& name) {
  if (teams_ == RankStatusRow::kTeams) return 0;
  auto& place = own_->teams[teams_];
  const auto length = name.copy(place.data(), place.size() - 1);
  place[length] = '\0';
  return ++teams_;
}

void Watch::StepDone() { own_->step.fetch_add(1, std::memory_order_relaxed); }

void Watch::Finished() { own_->finished = 1; }

void Watch::AddGpuPeers(std::span<const int> ranks) {
  const std::lock_guard lock(peers_mutex_);
  gpu_peers_.insert(ranks.begin(), ranks.end());
  gpu_peers_.erase(rank_);
}

std::vector<int> Watch::GpuPeers() const {
  const std::lock_guard lock(peers_mutex_);
  return {gpu_peers_.begin(), gpu_peers_.end()};
}

std::optional<std::uint32_t> Watch::ActivityOfThread() const {
  const auto own = std::find_if(operations_.rbegin(), operations_.rend(),
                                [](const auto& entry) { return entry.thread == std::this_thread::get_id(); });
  return own == operations_.rend() ? std::nullopt : std::optional(own->activity);
}

Watch::Operation::Operation(Watch& watch, Activity activity, std::uint32_t team)
    : watch_(watch), exceptions_(std::uncaught_exceptions()) {
  const std::lock_guard lock(watch.operations_mutex_);
  auto& current = watch.own_->current;
  outer_ = watch.ActivityOfThread().value_or(watch.operations_.empty() ? current.load() : 0);
  activity_ = outer_ != 0 ? outer_ : static_cast<std::uint32_t>(activity) | team << 16;
  watch.operations_.push_back({std::this_thread::get_id(), activity_});
  current.store(activity_, std::memory_order_relaxed);
}

Watch::Operation::~Operation() {
  const std::lock_guard lock(watch_.operations_mutex_);
  auto& operations = watch_.operations_;
  const auto own = std::find_if(operations.rbegin(), operations.rend(),
                                [](const auto& entry) { return entry.thread == std::this_thread::get_id(); });
  operations.erase(std::next(own).base());
  auto& row = *watch_.own_;
  if (std::uncaught_exceptions() == exceptions_) row.last.store(activity_, std::memory_order_relaxed);
  row.current.store(operations.empty() ? outer_ : operations.back().activity, std::memory_order_relaxed);
}

void Watch::Patience::Check(const std::function<std::vector<int>()>& missing) {
  const auto now = Clock::now();
  waited_ += std::min<Clock::duration>(now - std::exchange(last_check_, now), kLongestGap);
  if (waited_ < next_look_) return;
  next_look_ = waited_ + std::chrono::milliseconds(100);
  watch_.HeedAnswer();
  departed_ = watch_.Departed();
  const auto ranks = missing();
  std::vector<int> lost;
  std::copy_if(ranks.begin(), ranks.end(), std::back_inserter(lost), [this](int rank) { return IsLost(rank); });
  const auto& settings = watch_.settings_;
  // A rank may do its part and then leave: only when nothing has come of it since the last look is it missing.
  const bool gone = !lost.empty() && lost == lost_;
  lost_ = lost;
  if (limit_ == Limit::kLoss) ShowThatGpuIsLate(ranks);
  if (!gone && waited_ < settings.stall_after) return;
  if (!gone && limit_ == Limit::kLoss) return SayThatGpuIsLate(ranks);
  if (!gone && waited_ < next_verdict_) return;
  const auto waiting = watch_.WaitingFor(gone ? lost : ranks, waited_);
  const auto view = watch_.View(departed_);
  const auto culprits = view.Culprits(waiting);
  if (gone || !GoesOn(view, waiting, culprits)) watch_.GiveUp(view, waiting, culprits);
}

/// Whether it waits on after `stall_after`. In slipway_finalize that time begins when the others no longer compute: the
/// last of them may come at this moment. There ranks of other nodes may compute as well: then only an observer of all
/// nodes ends the wait, or a launcher that sees a rank end.
bool Watch::Patience::GoesOn(const JobView& view, const Waiting& waiting, const std::vector<int>& culprits) {
  const bool leaves = IsFinalize(waiting.call.activity);
  if (watch_.MayBeElsewhere(view, culprits)) {
    if (!leaves && waited_ >= watch_.settings_.stall_after + watch_.Grace()) return false;
    asks_ = true;
    watch_.Ask(waiting);
  } else if (view.WaitsForWork(waiting, culprits)) {
    worked_until_ = waited_;
  } else if (worked_until_ == Clock::duration::zero() || waited_ - worked_until_ >= watch_.settings_.stall_after) {
    return false;
  }
  if (!leaves) return true;
  next_verdict_ = waited_ + kBetweenVerdicts;
  SayThatOthersWork(view, culprits);
  return true;
}

/// One of the ranks that wait says it, once.
void Watch::Patience::SayThatOthersWork(const JobView& view, const std::vector<int>& ranks) {
  if (!view.IsFirstInFinalize(watch_.rank_) || std::exchange(said_, true)) return;
  auto others = ranks;
  std::erase_if(others, [&](int rank) { return IsFinalize(view.Of(rank).current.activity); });
  const std::chrono::duration<double> waited = waited_;
  std::fprintf(stderr, "slipway: rank %d: slipway_finalize has waited %.1f s for other ranks, and goes on: %s\n",
               watch_.rank_, waited.count(), view.DescribeAll(others.empty() ? ranks : others).c_str());
}

/// The others wait for this rank then. Not where its GPU may itself wait for those of `peers`. Another thread's wait
/// that has ended may have taken the sign away.
void Watch::Patience::ShowThatGpuIsLate(const std::vector<int>& peers) {
  const bool shown = std::exchange(shows_gpu_, peers.empty());
  if (shown || shows_gpu_) watch_.own_->awaits_gpu = shows_gpu_ ? watch_.OwnActivity() : 0;
}

/// `peers`: ranks whose GPUs it may wait for. Where there are none, the others soon name this rank.
void Watch::Patience::SayThatGpuIsLate(const std::vector<int>& peers) {
  if (peers.empty() || std::exchange(said_, true)) return;
  const std::chrono::duration<double> waited = waited_;
  std::fprintf(stderr,
               "slipway: rank %d: %s has waited %.1f s for this rank's GPU, and goes on: the GPU has long work, or "
               "waits for that of another rank, or hangs; nvidia-smi shows which GPUs are busy\n",
               watch_.rank_, Describe(*watch_.own_, watch_.OwnActivity()).c_str(), waited.count());
}

bool Watch::Patience::IsLost(int rank) const {
  if (watch_.IsLost(rank)) return true;
  if (limit_ == Limit::kLoss || waited_ < kLeavingPatience) return false;
  return watch_.IsLeaving(rank) || (departed_.contains(rank) && !IsFinalize(watch_.OwnActivity()));
}

Watch::Patience::~Patience() {
  if (asks_) watch_.own_->asks = 0;
  if (shows_gpu_) watch_.own_->awaits_gpu = 0;
}

/// While slipway_init has not made the ranks known to each other, all of them are elsewhere.
bool Watch::MayBeElsewhere(const JobView& view, const std::vector<int>& culprits) const {
  return places_.empty() ? answer_ != nullptr : view.MayBeElsewhere(culprits);
}

std::chrono::duration<double> Watch::Grace() const { return answer_ != nullptr ? kGraceForAnAnswer : kGrace; }

void Watch::Ask(const Waiting& waiting) {
  if (answer_ == nullptr) return;
  auto& row = *own_;
  const auto told = std::min<std::size_t>(waiting.missing.size(), RankStatusRow::kMissing);
  for (std::size_t i = 0; i < RankStatusRow::kMissing; ++i) row.missing[i] = i < told ? waiting.missing[i] + 1 : 0;
  row.waited_ms = static_cast<std::uint32_t>(waiting.seconds * 1000);
  row.asks = waiting.call.activity;
}

void Watch::HeedAnswer() {
  if (answer_ == nullptr) return;
  const auto text = answer_->Read();
  if (text.empty()) return;
  const auto answer = Json::parse(text, nullptr, false);
  if (!answer.is_object() || !answer.contains("message")) return;
  GiveUp(answer.value("kind", "stalled"), answer["message"].get<std::string>(), answer.value("ranks", Json::array()));
}

const RankStatusRow* Watch::RowOf(int rank) const {
  const auto* found = std::find_if(rows_, rows_ + count_, [&](const RankStatusRow& row) { return row.rank == rank; });
  return found == rows_ + count_ ? nullptr : found;
}

/// Nothing will come of it any more. Not so of one that has left with slipway_finalize: all were there with it, and it
/// has done its part.
bool Watch::IsLost(int rank) const {
  const auto* row = RowOf(rank);
  return row != nullptr && (row->gave_up != 0 || StateOf(*row) == RankState::kDead);
}

/// It has returned early: whatever this rank waits for elsewhere, that one does not call it any more.
bool Watch::IsLeaving(int rank) const {
  const auto* row = RowOf(rank);
  return row != nullptr && IsFinalize(row->current) && !IsFinalize(OwnActivity());
}

std::map<int, RankStatus> Watch::Departed() const {
  std::map<int, RankStatus> departed;
  if (departures_ == nullptr) return departed;
  std::istringstream lines{std::string(departures_->Read())};
  for (std::string line; std::getline(lines, line);) {
    try {
      auto status = RankStatusFromJson(Json::parse(line));
      if (RowOf(status.rank) == nullptr) departed.insert_or_assign(status.rank, std::move(status));
    } catch (const std::exception&) {
      // A damaged line is ignored; then `stall_after` counts.
    }
  }
  return departed;
}

RankStatus Watch::StatusOfRank(int rank) const {
  const auto known = static_cast<std::size_t>(rank) < places_.size();
  const auto place = known ? places_[static_cast<std::size_t>(rank)] : RankPlace();
  const auto* row = RowOf(rank);
  return row != nullptr ? RankStatusOf(*row, place) : RankStatus{rank, place};
}

JobView Watch::View(const std::map<int, RankStatus>& departed) const {
  std::vector<RankStatus> statuses;
  for (int rank = 0; rank < static_cast<int>(places_.size()); ++rank) {
    const auto found = departed.find(rank);
    statuses.push_back(found != departed.end() ? found->second : StatusOfRank(rank));
  }
  return JobView(std::move(statuses));
}

/// Between two calls it is a team's thread that waits; before this rank knows the others, slipway_init.
std::uint32_t Watch::OwnActivity() const {
  {
    const std::lock_guard lock(operations_mutex_);
    if (const auto activity = ActivityOfThread()) return *activity;
  }
  if (own_->current != 0) return own_->current;
  return static_cast<std::uint32_t>(places_.empty() ? Activity::kInit : Activity::kGradients);
}

Waiting Watch::WaitingFor(std::vector<int> missing, std::chrono::duration<double> waited) const {
  const auto activity = OwnActivity();
  return {rank_, {activity, Describe(*own_, activity)}, waited.count(), std::move(missing)};
}

void Watch::GiveUp(const JobView& view, const Waiting& waiting, const std::vector<int>& culprits) {
  const auto verdict = view.Judge(waiting, culprits);
  Json reports = Json::array();
  for (const int rank : culprits) reports.push_back(ReportOf(view.Of(rank)));
  GiveUp(verdict.kind, verdict.message, std::move(reports));
}

void Watch::GiveUp(std::string_view kind, const std::string& message, Json ranks) {
  own_->gave_up = OwnActivity();  // before others can see that this process is gone
  NoteGivingUp();
  ReportOnce(kind, message, std::move(ranks));
  throw PartedError(SLIPWAY_ERROR_STALLED, message);
}

void Watch::Report(std::string_view kind, const std::string& message, const std::vector<int>& ranks) noexcept try {
  ReportOnce(kind, message, ReportsOf(ranks));
} catch (...) {
  // As in ReportOnce().
}

void Watch::ReportOnce(std::string_view kind, const std::string& message, Json ranks) noexcept try {
  const std::lock_guard lock(reporting_);
  if (std::exchange(reported_, true)) return;
  std::fprintf(stderr, "slipway: rank %d: %s\n", rank_, message.c_str());
  Publish(kind, message, std::move(ranks), remarked_ ? EarlierReport::kGoes : EarlierReport::kStays);
} catch (...) {
  // The message is on stderr and in the error that follows.
}

void Watch::Remark(std::string_view kind, const std::string& message, int rank) noexcept try {
  const std::lock_guard lock(reporting_);
  if (reported_) return;
  remarked_ = rank;
  if (rank != rank_) return;
  std::fprintf(stderr, "slipway: rank %d: %s\n", rank_, message.c_str());
  Publish(kind, message, ReportsOf({rank}), EarlierReport::kGoes);
} catch (...) {
  // As in ReportOnce().
}

void Watch::Withdraw() noexcept {
  const std::lock_guard lock(reporting_);
  if (!reported_ && remarked_ == rank_ && !settings_.report.empty()) ::unlink(settings_.report.c_str());
  if (!reported_) remarked_.reset();
}

Json Watch::ReportsOf(const std::vector<int>& ranks) const {
  Json reports = Json::array();
  for (const int rank : ranks) reports.push_back(ReportOf(StatusOfRank(rank)));
  return reports;
}

void Watch::Publish(std::string_view kind, const std::string& message, Json ranks, EarlierReport earlier) const {
  if (settings_.report.empty()) return;
  WriteWatchReport(settings_.report, std::to_string(rank_),
                   {{"kind", kind}, {"message", message}, {"seen_by", rank_}, {"ranks", std::move(ranks)}}, earlier);
}

}  // namespace slipway::runtime
