/// What the server serves of a runs directory. Members may be called from several threads, and may take seconds.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "launcher/serve/run_list.h"
#include "launcher/view/run_view.h"

namespace slipway::launcher {

class RunSource {
 public:
  /// Views of as many runs are remembered.
  static constexpr std::size_t kMostRemembered = 32;

  explicit RunSource(std::filesystem::path runs_directory);
  ~RunSource();

  /// `slipway.run-list/1` as text. Lists that are asked for within half a second are the same.
  std::string Runs();

  using View = std::shared_ptr<const RunView>;
  /// The run as it is now. The same object as before: it has not changed. An id that ListRuns does not give is no run,
  /// whatever it holds.
  /// Errors: Error(kUsage) for no run; Error(kTryAgain) when another thread has read it for five seconds; those of
  /// RunFolder::ReadState.
  View Read(const std::string& id);

 private:
  class Remembered;
  RunFolder Find(const std::string& id) const;
  std::shared_ptr<Remembered> Remember(const RunFolder& run);

  std::filesystem::path runs_directory_;
  std::mutex list_mutex_;
  RunList list_;
  std::string list_text_;
  SteadyTime list_read_{};
  std::mutex views_mutex_;
  std::map<std::filesystem::path, std::shared_ptr<Remembered>> views_;
};

/// `slipway.view/1` as text.
std::string ViewText(const std::vector<RunSource::View>& views);

}  // namespace slipway::launcher
