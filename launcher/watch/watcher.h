/// Reads what the screen shows, and only what has changed.
#pragma once

#include <memory>

#include "launcher/run_folder/run_folder.h"
#include "launcher/watch/watch_data.h"

namespace slipway::launcher::watch {

/// Reads only; no errors: what cannot be read is said in the data.
class Watcher {
 public:
  explicit Watcher(const RunsDirectory& directory);
  Watcher(Watcher&&) noexcept;
  ~Watcher();

  /// The data for `interest`; the same pointer as before when nothing has changed. The first look at a run reads only
  /// what is quick to read, and says so (WatchData::is_whole).
  /// Cost without changes: the sizes and times of about ten files, and state.json. With changes it reads at most a
  /// twentieth of the time: a book that takes long to read is read less often.
  std::shared_ptr<const WatchData> Look(const Interest& interest);

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

}  // namespace slipway::launcher::watch
