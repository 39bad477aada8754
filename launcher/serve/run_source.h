/// What the server serves of a runs directory. Members may be called from several threads, and may take seconds.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "launcher/serve/run_list.h"
#include "launcher/view/file_stamp.h"
#include "launcher/view/run_view.h"

namespace slipway::launcher {

using Text = std::shared_ptr<const std::string>;

/// A view, and the server-sent event `view` with it.
struct ViewEvent {
  std::shared_ptr<const RunView> view;
  Text event;  ///< null: the view is as before
};

class RunSource {
 public:
  /// Views of as many runs are remembered.
  static constexpr std::size_t kMostRemembered = 32;

  explicit RunSource(RunsDirectory directory);
  ~RunSource();

  /// `slipway.run-list/1` as text. Lists that are asked for within half a second are the same.
  std::string Runs();
  /// Reads more of what lists show. False: all is read.
  bool ReadAhead();

  using View = std::shared_ptr<const RunView>;
  /// The run as it is now. The same object as before: it has not changed. An id that ListRuns does not give is no run,
  /// whatever it holds. "ID/STEP": the newest run of a step of a workflow.
  /// Errors: Error(kUsage) for no run; Error(kTryAgain) when another thread has read it for five seconds; those of
  /// RunFolder::ReadState.
  View Read(const std::string& id);
  /// The page of the steps of a workflow. While Slurm carries them out it is kept until a file changes, at most for
  /// kAskSlurmEvery: browsers ask again every few seconds. Errors: Error(kUsage) for no run of a workflow; those of
  /// RunFolder::ReadState.
  std::string WorkflowPageOf(const std::string& id);
  /// The same as an event, unless it is still `before`.
  ViewEvent Changes(const std::string& id, const View& before);

 private:
  class Remembered;
  struct KeptPage {
    std::string text;
    std::vector<FileStamp> stamps;  ///< before it was made
    SteadyTime until;
  };
  void ReadList();
  RunFolder Find(const std::string& id) const;
  RunFolder FindStep(const RunFolder& run, const std::string& step) const;
  std::shared_ptr<Remembered> Remember(const RunFolder& run);
  std::optional<std::string> KeptPageOf(const RunFolder& run, const std::vector<FileStamp>& stamps);

  RunsDirectory directory_;
  std::mutex list_mutex_;
  RunList list_;
  std::string list_text_;
  bool list_is_complete_ = false;
  SteadyTime list_read_{};
  std::mutex views_mutex_;
  std::map<std::filesystem::path, std::shared_ptr<Remembered>> views_;
  std::mutex pages_mutex_;
  std::map<std::filesystem::path, KeptPage> pages_;
};

/// `slipway.view/1` as text.
std::string ViewText(const std::vector<RunSource::View>& views);

}  // namespace slipway::launcher
