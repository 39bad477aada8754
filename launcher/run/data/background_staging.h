/// Staging of one dataset on a thread of its own, while the event loop goes on.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "core/clock.h"
#include "core/event_loop.h"
#include "core/unique_handle.h"
#include "staging/generation/stage.h"

namespace slipway::launcher {

class BackgroundStaging {
 public:
  /// Does it; the options' progress and cancelled are this object's.
  using Work = std::function<staging::StagedDataset(const staging::StageOptions&)>;

  /// Starts at once. `on_news` is called in the loop when there is progress (at most ten times a second) and at the
  /// end.
  BackgroundStaging(EventLoop& loop, staging::StageOptions options, Work work, std::function<void()> on_news);
  BackgroundStaging(const BackgroundStaging&) = delete;
  BackgroundStaging& operator=(const BackgroundStaging&) = delete;
  /// Cancels and waits.
  ~BackgroundStaging();

  void Cancel() { cancelled_ = true; }
  bool ended() const { return ended_; }
  staging::StageProgress progress() const;

  /// Once, when ended(). Errors: those of the work.
  staging::StagedDataset Take();

 private:
  void Run(const Work& work);
  void Tell();

  EventLoop& loop_;
  staging::StageOptions options_;
  UniqueFd bell_;
  std::atomic<bool> cancelled_ = false;
  std::atomic<bool> ended_ = false;
  mutable std::mutex mutex_;
  staging::StageProgress progress_;
  SteadyTime told_{};
  std::optional<staging::StagedDataset> result_;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace slipway::launcher
