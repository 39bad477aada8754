/// Stages one dataset on its own thread while the event loop runs.
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
  /// Stages the dataset; this object sets the options' progress and cancelled.
  using Work = std::function<staging::StagedDataset(const staging::StageOptions&)>;

  /// Starts at once. The loop calls `on_news` at the end, and when there is progress, at most ten times a second.
  BackgroundStaging(EventLoop& loop, staging::StageOptions options, Work work, std::function<void()> on_news);
  BackgroundStaging(const BackgroundStaging&) = delete;
  BackgroundStaging& operator=(const BackgroundStaging&) = delete;
  /// Cancels and waits.
  ~BackgroundStaging();

  void Cancel() { cancelled_ = true; }
  bool ended() const { return ended_; }
  staging::StageProgress progress() const;

  /// The result. Call it once, after ended(). Errors: those of the work.
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
