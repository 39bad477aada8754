/// Sends the notifications of a run, while it goes on and at its end.
///
/// Each is a process of its own: the user's command, or `slipway-notify` for a webhook. So a slow server keeps neither
/// the manager nor a rank waiting, and libcurl is not in `slipway`. What fails is a warning and an event
/// `notify_failed`; the run is not affected.
#pragma once

#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/event_loop.h"
#include "core/interrupt.h"
#include "core/output.h"
#include "launcher/notify/notice.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// The value of the best trial.
struct BestTrial {
  std::string metric;
  double value = 0;
  std::int64_t trial = 0;
};

/// Which notifications a run sends.
struct NotifyOrder {
  std::string name;                 ///< of the experiment or workflow
  std::filesystem::path directory;  ///< where commands work: beside the spec
  std::vector<NotifySpec> entries;
};

/// All calls from the thread of `loop`; none throws. An entry sends one notification at a time, in order. Of those that
/// wait, a new best replaces an older one, and at most 32 wait.
class Notifier {
 public:
  Notifier(const RunFolder& folder, NotifyOrder order, EventLoop& loop, Output& output);
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;
  /// Ends what still runs.
  ~Notifier();

  void RunEnded(const RunState& state);
  /// An attempt has failed, and the next one follows.
  void AttemptFailed(const RunState& state);
  /// A step of a workflow has failed, after all retries.
  void StepFailed(const std::string& step, const std::string& reason);
  void FoundBest(const BestTrial& best);
  /// An earlier manager has found it: the notifications that follow name it.
  void KnowBest(const BestTrial& best);
  void FoundHang(const std::string& message);

  /// Waits for what is under way, 5 s at most or until the user asks once more; then ends it and says what was not
  /// delivered.
  void Finish(const Interrupt& interrupt);

 private:
  struct Delivery;
  struct Entry;

  void Send(const std::vector<NotifyOn>& events, Notice notice);
  Notice NoticeOf(std::string state, std::string reason) const;
  void StartNext(Entry& entry);
  void Start(Entry& entry, const Notice& notice);
  void TakeEnd(Entry& entry);
  void Abandon(Entry& entry, const std::string& why);
  void Fail(const Entry& entry, NotifyOn event, const std::string& why);

  const RunFolder& folder_;
  NotifyOrder order_;
  EventLoop& loop_;
  Output& output_;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::string best_, best_trial_;
};

}  // namespace slipway::launcher
