#include "launcher/run/results/stage_out_queue.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "core/log.h"
#include "launcher/run/results/out_progress.h"
#include "launcher/run/results/settle_stage_out.h"
#include "staging/out/retry_pause.h"
#include "staging/plan/tiers.h"

namespace slipway::launcher {
namespace fs = std::filesystem;

namespace {

constexpr auto kLookInterval = std::chrono::milliseconds(250);

/// One place that is looked at again and again.
struct Watched {
  Watched(const RunOutPlace& place, int keep, const staging::StageOutOptions& options)
      : mover(place.place, keep, options), trial(place.trial) {}

  staging::OutPlaceMover mover;
  std::optional<int> trial;
  bool closing = false;
  int opened = 0;        ///< how often an attempt began in it
  bool refuses = false;  ///< it has closed with results that cannot be copied: only the end of the run looks again
  staging::RetryPause settling;
  bool failing = false;  ///< and it has been said
};

}  // namespace

/// The thread. What it has to say is said by the event loop's thread.
class StageOutQueue::Mover {
 public:
  Mover(const RunFolder& folder, int keep, std::optional<Bytes> limit, EventLoop& loop, Output& output)
      : folder_(folder),
        keep_(keep),
        loop_(loop),
        output_(output),
        wake_(CheckErrno(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "cannot create an eventfd")) {
    options_.bytes_per_second = limit;
    options_.cancelled = [this] { return cancelled_.load(); };
    loop_.OnReadable(wake_.get(), [this] { SayAll(); });
    thread_ = std::jthread([this](const std::stop_token& stop) { Work(stop); });
  }

  Mover(const Mover&) = delete;
  Mover& operator=(const Mover&) = delete;

  ~Mover() {
    cancelled_ = true;
    thread_.request_stop();
    thread_.join();
    loop_.Forget(wake_.get());
  }

  void Watch(const fs::path& run, const RunOutPlace& place) {
    const std::lock_guard guard(mutex_);
    auto found = places_.find(run);
    if (found == places_.end()) found = places_.emplace(run, std::make_shared<Watched>(place, keep_, options_)).first;
    const auto& watched = found->second;
    watched->closing = false;
    watched->refuses = false;
    ++watched->opened;
    for (const auto& directory : {place.place.checkpoints(), place.place.outputs()}) {
      staging::RequireDirectory(directory);
      MakeDirectories(directory);
    }
  }

  void Close(const fs::path& run) {
    const std::lock_guard guard(mutex_);
    if (const auto found = places_.find(run); found != places_.end()) found->second->closing = true;
  }

  /// Lets the copy that is under way end; serves the loop meanwhile.
  void Finish(const std::function<bool()>& interrupted) {
    thread_.request_stop();
    while (!ended_) {
      loop_.RunOnce(std::chrono::milliseconds(20));
      if (interrupted()) cancelled_ = true;
    }
    SayAll();
  }

 private:
  void Work(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      const auto places = places_;  // shared with those that others may take out
      for (const auto& [run, watched] : places) {
        const auto opened = watched->opened;
        const bool closing = watched->closing;
        if (stop.stop_requested() || (closing && (watched->refuses || !watched->settling.IsOver()))) continue;
        lock.unlock();
        const auto looked = Look(*watched, closing);
        lock.lock();
        if (!closing || watched->opened != opened) continue;
        if (looked == Looked::kDone) Remove(run, *watched);
        watched->refuses = looked == Looked::kRefuses;
      }
      never_.wait_for(lock, stop, kLookInterval, [] { return false; });
    }
    ended_ = true;
  }

  enum class Looked {
    kDone,
    kFailed,   ///< something did, or the work was cancelled
    kRefuses,  ///< all is copied but what cannot be
  };

  Looked Look(Watched& watched, bool closing) try {
    auto report = ReportOf(watched, closing);
    const auto looked = !report.refused.empty() ? Looked::kRefuses : report.failure ? Looked::kFailed : Looked::kDone;
    if (closing) watched.settling.Note(looked == Looked::kDone);
    Take(watched, std::move(report));
    return looked;
  } catch (const std::exception& error) {
    // Cancelled, or the run folder cannot take the record. What is in the tier stays there, and the end looks again.
    log::Warn("stage-out: {}", error.what());
    return Looked::kFailed;
  }

  /// What fails is a report, too. Errors: Error(kInterrupted).
  staging::OutReport ReportOf(Watched& watched, bool closing) const try {
    if (!closing) return watched.mover.Round();
    // Its place is removed next: what a mover remembers of the shared side is not proof enough.
    return staging::OutPlaceMover(watched.mover.place(), keep_, options_).Settle();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInterrupted) throw;
    return {.failure = error};
  } catch (const std::exception& error) {
    return {.failure = Error(ErrorKind::kEnvironment, error.what(),
                             fmt::format("copy it out yourself: slipway stage out {}", folder_.selector()))};
  }

  void Take(Watched& watched, staging::OutReport report) {
    if (report.failure && watched.failing) {
      report.failure.reset();  // said and recorded once
    } else if (report.failure) {
      watched.failing = true;
      Say(Tone::kWarn, Failure(watched, *report.failure));
    } else if (watched.failing && !report.waiting) {
      watched.failing = false;
      Say(Tone::kSay, "copying out works again");
    }
    if (!watched.trial) {
      for (const auto& moved : report.moved) Say(Tone::kSay, Describe(moved));
    }
    for (const auto& torn : report.torn) Say(Tone::kWarn, staging::Describe(torn));
    RecordReport(folder_, watched.trial, report);
  }

  static std::string Failure(const Watched& watched, const Error& error) {
    return fmt::format("not all of '{}' can be copied out now; it is tried again, training goes on: {}",
                       watched.mover.place().tier.string(), error.message());
  }

  static std::string Describe(const staging::MovedCheckpoint& moved) {
    return fmt::format("checkpoint of step {} copied out: {} in {}", moved.step, FormatBytes(moved.bytes),
                       FormatDuration(moved.elapsed));
  }

  /// Under the lock, so that no attempt begins in it meanwhile. What cannot be removed now is removed at the end.
  void Remove(const fs::path& run, const Watched& watched) {
    std::error_code ignored;
    fs::remove_all(watched.mover.place().tier, ignored);
    places_.erase(run);
  }

  enum class Tone { kSay, kWarn };

  void Say(Tone tone, std::string line) {
    {
      const std::lock_guard guard(said_mutex_);
      said_.emplace_back(tone, std::move(line));
    }
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto count = ::write(wake_.get(), &one, sizeof one);
  }

  void SayAll() {
    std::uint64_t unused = 0;
    [[maybe_unused]] const auto count = ::read(wake_.get(), &unused, sizeof unused);
    std::vector<std::pair<Tone, std::string>> lines;
    {
      const std::lock_guard guard(said_mutex_);
      lines.swap(said_);
    }
    for (const auto& [tone, line] : lines) tone == Tone::kWarn ? output_.Warn(line) : output_.Say(line);
  }

  const RunFolder& folder_;
  int keep_;
  EventLoop& loop_;
  Output& output_;
  UniqueFd wake_;
  staging::StageOutOptions options_;
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> ended_{false};
  std::mutex mutex_;  // of places_ and of what is in them but the movers, which are the thread's alone
  std::condition_variable_any never_;
  std::map<fs::path, std::shared_ptr<Watched>> places_;
  std::mutex said_mutex_;
  std::vector<std::pair<Tone, std::string>> said_;
  std::jthread thread_;
};

namespace {

/// What an earlier manager left, if it is still there.
std::optional<StageOutRecord> FindOutbox(const RunFolder& folder, Output& output) {
  const auto record = ReadOutboxRecord(folder);
  if (!record) return {};
  if (HasOutbox(folder, *record)) return record;
  const bool lost = LostOutbox(folder, *record);
  if (IsElsewhere(folder, *record)) {
    if (lost) {
      throw Error(ErrorKind::kEnvironment,
                  fmt::format("checkpoints of this run are in '{}' on {}", record->directory.string(), record->host),
                  fmt::format("copy them out there first: slipway stage out {}", folder.selector()));
    }
    output.Warn(fmt::format("all is copied out of '{}' on {}, but the rest of it may not be removed there yet",
                            record->directory.string(), record->host));
    return {};
  }
  if (lost) {
    output.Warn(fmt::format("'{}' is gone, with what was not copied out of it", record->directory.string()));
  }
  RemoveOutbox(folder, *record);
  return {};
}

StageOutRecord NewOutbox(const RunFolder& folder, const CheckpointPlan& plan) {
  staging::StagingPlan root;
  root.tier = plan.tier;
  root.root = plan.root;
  staging::PrepareRoot(root);
  StageOutRecord record{plan.tier, StageOutDirectory(plan.root, folder.path()), HostName(), StageOutState::kIntended};
  WriteOutboxRecord(folder, record);
  MakeOutbox(folder, record);
  return record;
}

}  // namespace

std::unique_ptr<StageOutQueue> StageOutQueue::Open(const RunFolder& folder, const Plan& plan, EventLoop& loop,
                                                   Output& output) {
  auto record = FindOutbox(folder, output);
  if (!record) {
    if (plan.checkpoints.root.empty()) return nullptr;
    record = NewOutbox(folder, plan.checkpoints);
  }
  record->state = StageOutState::kOpen;
  record->keep = plan.spec().checkpoint.keep;
  record->bandwidth = plan.spec().checkpoint.bandwidth;
  WriteOutboxRecord(folder, *record);
  return std::make_unique<StageOutQueue>(folder, std::move(*record), loop, output);
}

StageOutQueue::StageOutQueue(const RunFolder& folder, StageOutRecord record, EventLoop& loop, Output& output)
    : folder_(folder),
      record_(std::move(record)),
      loop_(loop),
      output_(output),
      mover_(std::make_unique<Mover>(folder, record_.keep, record_.bandwidth, loop, output)) {
  for (const auto& place : OutPlacesIn(folder, record_)) mover_->Watch(place.place.folder, place);
}

StageOutQueue::~StageOutQueue() = default;

staging::OutPlace StageOutQueue::Watch(const fs::path& run) {
  const auto place = OutPlaceFor(folder_, record_, run);
  mover_->Watch(run, place);
  return place.place;
}

void StageOutQueue::Close(const fs::path& run) { mover_->Close(run); }

std::string StageOutQueue::Finish(const Interrupt& interrupt) try {
  const int asked = interrupt.count();
  const auto interrupted = [&] { return interrupt.count() > asked; };
  mover_->Finish(interrupted);
  mover_.reset();
  staging::StageOutOptions options;
  options.cancelled = [&] {
    loop_.RunOnce(std::chrono::nanoseconds(0));
    return interrupted();
  };
  OutProgressLine line(output_);
  options.progress = [&](const staging::OutProgress& now) { line.Update(now); };
  const auto settled = SettleStageOut(folder_, record_, options);
  WarnOfTorn(settled, output_);
  return settled.failure ? Incomplete(settled.failure->message()) : std::string();
} catch (const Error& error) {
  return Incomplete(error.message());
}

std::string StageOutQueue::Incomplete(const std::string& reason) const {
  return fmt::format("what is not copied out yet is in '{}' ({}); finish with: slipway stage out {}",
                     record_.directory.string(), reason, folder_.id());
}

AttemptPlace PlaceOfAttempt(fs::path run, int attempt, StageOutQueue* queue) {
  auto place = PlaceOfAttempt(std::move(run), attempt);
  place.checkpoints = place.run / "checkpoints";
  place.outputs = place.run / "outputs";
  if (queue == nullptr) return place;
  const auto tier = queue->Watch(place.run);
  place.checkpoints = tier.checkpoints();
  place.outputs = tier.outputs();
  return place;
}

namespace {

/// Those of the attempt's tier first.
std::vector<fs::path> CheckpointFolders(const AttemptPlace& place) {
  std::vector<fs::path> folders{place.checkpoints};
  if (const auto shared = place.run / "checkpoints"; shared != place.checkpoints) folders.push_back(shared);
  return folders;
}

}  // namespace

std::optional<CheckpointInfo> NewestCheckpointOf(const AttemptPlace& place) {
  return NewestCheckpointOfAll(CheckpointFolders(place));
}

void RequireOwnVersions(const AttemptPlace& place, const std::optional<CheckpointInfo>& newest) {
  for (const auto& folder : CheckpointFolders(place)) {
    for (const auto& published : PublishedCheckpoints(folder)) {
      if (newest && published.step <= newest->step) break;
      RequireOwnVersion(published.directory);
    }
  }
}

std::vector<std::string> DamagedCheckpoints(const AttemptPlace& place, std::optional<std::uint64_t> newest) {
  std::vector<std::string> found;
  for (const auto& folder : CheckpointFolders(place)) {
    for (const auto& published : PublishedCheckpoints(folder)) {
      if (newest && published.step <= *newest) break;
      found.push_back(fmt::format("the checkpoint '{}' does not count: {}", published.directory.string(),
                                  DamageOf(published.directory)));
    }
  }
  return found;
}

}  // namespace slipway::launcher
