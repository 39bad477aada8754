#include "runtime/watch/watch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/files.h"
#include "core/json.h"
#include "core/unique_handle.h"
#include "runtime/status.h"

namespace slipway::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// Checks come much more often. When one comes later, this process was stopped, perhaps with the whole job, or found no
/// processor; what the others did in that time cannot be held against them.
constexpr std::chrono::seconds kLongestGap{1};

/// Where ranks of other nodes may be the cause, those that see them have the first word.
constexpr std::chrono::seconds kGrace{2};

constexpr char kNoProcess = 'X';
constexpr char kNotTold = '?';

/// The letter in /proc/PID/stat: R, S, D, T, Z, ... A process that cannot be looked at, for want of file descriptors
/// perhaps, is not dead.
char KernelState(std::int64_t process) {
  const UniqueFd file(::open(("/proc/" + std::to_string(process) + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return errno == ENOENT ? kNoProcess : kNotTold;
  std::array<char, 512> text{};
  const auto size = ::read(file.get(), text.data(), text.size());
  if (size < 0) return errno == ESRCH ? kNoProcess : kNotTold;
  const std::string_view line(text.data(), static_cast<std::size_t>(size));
  const auto end_of_name = line.rfind(')');
  return end_of_name == std::string_view::npos || end_of_name + 2 >= line.size() ? kNotTold : line[end_of_name + 2];
}

std::string Plural(std::size_t count) { return count == 1 ? "has" : "have"; }

}  // namespace

void Watch::Join(int rank, std::vector<RankPlace> places, SharedMemory board, int count, int own) {
  rank_ = rank;
  places_ = std::move(places);
  memory_ = std::move(board);
  if (memory_.data() != nullptr) {
    lines_ = reinterpret_cast<BoardLine*>(memory_.data());
    count_ = count;
    own_ = lines_ + own;
  }
  own_->process = ::getpid();
  own_->rank = rank;
}

std::uint32_t Watch::AddTeam(const std::string& name) {
  if (teams_ == BoardLine::kTeams) return 0;
  auto& place = own_->teams[teams_];
  const auto length = name.copy(place.data(), place.size() - 1);
  place[length] = '\0';
  return ++teams_;
}

void Watch::StepDone() { own_->step.fetch_add(1, std::memory_order_relaxed); }

void Watch::Finished() { own_->finished = 1; }

Watch::Operation::Operation(Watch& watch, Activity activity, std::uint32_t team)
    : line_(*watch.own_),
      outer_(line_.current.load(std::memory_order_relaxed)),
      activity_(outer_ != 0 ? outer_ : static_cast<std::uint32_t>(activity) | team << 16),
      exceptions_(std::uncaught_exceptions()) {
  line_.current.store(activity_, std::memory_order_relaxed);
}

Watch::Operation::~Operation() {
  if (std::uncaught_exceptions() == exceptions_) line_.last.store(activity_, std::memory_order_relaxed);
  line_.current.store(outer_, std::memory_order_relaxed);
}

void Watch::Patience::Check(const std::function<std::vector<int>()>& missing) {
  const auto now = Clock::now();
  waited_ += std::min<Clock::duration>(now - std::exchange(last_check_, now), kLongestGap);
  if (waited_ < next_look_) return;
  next_look_ = waited_ + std::chrono::milliseconds(100);
  const auto ranks = missing();
  std::vector<int> lost;
  std::copy_if(ranks.begin(), ranks.end(), std::back_inserter(lost), [&](int rank) { return watch_.IsLost(rank); });
  // A rank may do its part and then leave: only when nothing has come of it since the last look is it missing.
  if (!lost.empty() && lost == lost_) watch_.GiveUp(watch_.Culprits(lost), waited_);
  lost_ = lost;
  if (waited_ < watch_.settings_.stall_after) return;
  const auto culprits = watch_.Culprits(ranks);
  if (watch_.MayBeElsewhere(culprits) && waited_ < watch_.settings_.stall_after + kGrace) return;
  watch_.GiveUp(culprits, waited_);
}

const BoardLine* Watch::LineOf(int rank) const {
  const auto* found = std::find_if(lines_, lines_ + count_, [&](const BoardLine& line) { return line.rank == rank; });
  return found == lines_ + count_ ? nullptr : found;
}

/// Then it is a victim, too, and may be gone since.
bool Watch::GaveUp(int rank) const {
  const auto* line = LineOf(rank);
  return line != nullptr && line->gave_up != 0;
}

/// Nothing will come of it any more. Not so of one that has left with slipway_finalize: all were there with it, and it
/// has done its part.
bool Watch::IsLost(int rank) const { return GaveUp(rank) || IsDead(rank); }

/// By itself: not a victim that has ended after it gave up.
bool Watch::IsDead(int rank) const { return StateOf(rank) == State::kDead && !GaveUp(rank); }

Watch::State Watch::StateOf(int rank) const {
  const auto* line = LineOf(rank);
  if (line == nullptr) return State::kUnknown;
  if (line->finished != 0) return State::kFinished;
  switch (KernelState(line->process)) {
    case 'Z':
    case kNoProcess: return State::kDead;
    case 'T':
    case 't': return State::kStopped;
    default: return State::kRunning;
  }
}

/// True of a rank on another node: it cannot be seen.
bool Watch::MayWait(int rank) const {
  const auto* line = LineOf(rank);
  return line == nullptr || GaveUp(rank) || (line->current != 0 && StateOf(rank) == State::kRunning);
}

/// True when none of them is known to be at fault, and there are ranks that cannot be seen.
bool Watch::MayBeElsewhere(const std::vector<int>& culprits) const {
  return places_.size() > static_cast<std::size_t>(count_) &&
         std::all_of(culprits.begin(), culprits.end(), [&](int rank) { return MayWait(rank); });
}

/// Those we wait for may be waiting themselves. Then it is one that is dead, stopped, or in no operation, that holds
/// all up.
std::vector<int> Watch::Culprits(const std::vector<int>& missing) const {
  const auto waits = [&](int rank) { return MayWait(rank); };
  auto suspects = missing;
  if (std::all_of(missing.begin(), missing.end(), waits)) {
    for (const auto* line = lines_; line != lines_ + count_; ++line) {
      if (line->rank >= 0 && line->rank != rank_) suspects.push_back(line->rank);
    }
  }
  const auto dead = [&](int rank) { return IsDead(rank); };
  const bool known = std::any_of(suspects.begin(), suspects.end(), dead);
  std::erase_if(suspects, [&](int rank) { return known ? !dead(rank) : waits(rank); });
  if (suspects.empty()) suspects = InAnotherCall();
  return suspects.empty() ? missing : suspects;
}

/// All wait: then for one another, in calls that do not meet.
std::vector<int> Watch::InAnotherCall() const {
  const auto own = OwnActivity();
  const std::uint32_t compared = own >> 16 != 0 ? 0xffffffff : 0xffff;  // without a team, the call alone
  std::vector<int> ranks;
  for (const auto* line = lines_; line != lines_ + count_; ++line) {
    const std::uint32_t theirs = line->gave_up != 0 ? line->gave_up : line->current;
    const bool other = theirs != 0 && ((theirs ^ own) & compared) != 0;
    if (line->rank >= 0 && line->rank != rank_ && other) ranks.push_back(line->rank);
  }
  return ranks;
}

/// Between two calls it is a team's thread that waits; before this rank knows the others, slipway_init.
std::uint32_t Watch::OwnActivity() const {
  if (own_->current != 0) return own_->current;
  return static_cast<std::uint32_t>(places_.empty() ? Activity::kInit : Activity::kGradients);
}

std::string Watch::Describe(int rank) const {
  const auto known = static_cast<std::size_t>(rank) < places_.size();
  auto text =
      fmt::format("rank {} on host {} (process {})", rank, known ? places_[static_cast<std::size_t>(rank)].host : "?",
                  known ? places_[static_cast<std::size_t>(rank)].process : 0);
  const auto* line = LineOf(rank);
  if (line == nullptr) return text + " on another node, where it may itself wait for another rank";
  if (GaveUp(rank)) {
    return text + fmt::format(" was in {} and has given up waiting", runtime::Describe(*line, line->gave_up));
  }
  switch (StateOf(rank)) {
    case State::kDead: text += " is dead"; break;
    case State::kStopped: text += " is stopped (SIGSTOP)"; break;
    case State::kFinished: text += " has called slipway_finalize"; break;
    default:
      text += line->current == 0 ? " is outside of Slipway" : " is in " + runtime::Describe(*line, line->current);
  }
  const std::uint32_t last = line->last;
  return text +
         (last == 0 ? ", has completed nothing yet"
                    : fmt::format(", last completed {} at step {}", runtime::Describe(*line, last), line->step.load()));
}

void Watch::GiveUp(const std::vector<int>& culprits, std::chrono::duration<double> waited) {
  const bool any_dead = std::any_of(culprits.begin(), culprits.end(), [&](int rank) { return IsDead(rank); });
  const auto activity = OwnActivity();
  std::vector<std::string> texts;
  for (const int rank : culprits) texts.push_back(Describe(rank));
  const auto message =
      fmt::format("{} {} not come to {}, after {:.1f} s: {}",
                  culprits.size() == 1 ? "a rank" : fmt::format("{} ranks", culprits.size()), Plural(culprits.size()),
                  runtime::Describe(*own_, activity), waited.count(), fmt::join(texts, "; "));
  own_->gave_up = activity;  // before others can see that this process is gone
  Report(any_dead ? "dead" : "stalled", message, culprits);
  throw PartedError(SLIPWAY_ERROR_STALLED, message);
}

void Watch::Report(std::string_view kind, const std::string& message, const std::vector<int>& ranks) noexcept try {
  const std::lock_guard lock(reporting_);
  if (std::exchange(reported_, true)) return;
  std::fprintf(stderr, "slipway: rank %d: %s\n", rank_, message.c_str());
  Publish(kind, message, ranks, remarked_.has_value());
} catch (...) {
  // The message is on stderr and in the error that follows.
}

void Watch::Remark(std::string_view kind, const std::string& message, int rank) noexcept try {
  const std::lock_guard lock(reporting_);
  if (reported_) return;
  remarked_ = rank;
  if (rank != rank_) return;
  std::fprintf(stderr, "slipway: rank %d: %s\n", rank_, message.c_str());
  Publish(kind, message, {rank}, true);
} catch (...) {
  // As in Report().
}

void Watch::Withdraw() noexcept {
  const std::lock_guard lock(reporting_);
  if (!reported_ && remarked_ == rank_ && !settings_.report.empty()) ::unlink(settings_.report.c_str());
  if (!reported_) remarked_.reset();
}

void Watch::Publish(std::string_view kind, const std::string& message, const std::vector<int>& ranks,
                    bool replace) const {
  if (settings_.report.empty()) return;
  Json report{{"schema", "slipway.watch/1"},
              {"time", UnixSeconds(SystemClock().Now())},
              {"kind", kind},
              {"message", message},
              {"seen_by", rank_},
              {"ranks", Json::array()}};
  static constexpr const char* kStates[] = {"running", "stopped", "dead", "finished", "unknown"};
  for (const int rank : ranks) {
    const auto* line = LineOf(rank);
    const auto place =
        static_cast<std::size_t>(rank) < places_.size() ? places_[static_cast<std::size_t>(rank)] : RankPlace();
    report["ranks"].push_back({{"rank", rank},
                               {"host", place.host},
                               {"pid", place.process},
                               {"state", kStates[static_cast<int>(StateOf(rank))]},
                               {"last", line != nullptr ? runtime::Describe(*line, line->last) : ""},
                               {"step", line != nullptr ? Json(line->step.load()) : Json()}});
  }
  // The first rank to link its file to the name has the word.
  const auto own = settings_.report.string() + "." + std::to_string(rank_);
  // Names of hosts and teams may be any bytes.
  WriteFile(own, report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  if (replace) {
    ::rename(own.c_str(), settings_.report.c_str());
  } else {
    ::link(own.c_str(), settings_.report.c_str());
    ::unlink(own.c_str());
  }
}

}  // namespace slipway::runtime
