/// Reads in a thread of its own: a slow file system never keeps the screen from answering keys.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "core/unique_handle.h"
#include "launcher/watch/watcher.h"

namespace slipway::launcher::watch {

class BackgroundReader {
 public:
  /// Looks for changes every `period`, and at once when something else is wanted.
  BackgroundReader(Watcher watcher, std::chrono::milliseconds period);
  BackgroundReader(const BackgroundReader&) = delete;
  BackgroundReader& operator=(const BackgroundReader&) = delete;
  ~BackgroundReader();

  void Want(const Interest& interest);
  /// Readable while there are data that Take has not returned.
  int fd() const { return news_.get(); }
  std::shared_ptr<const WatchData> Take();

 private:
  void Read();
  void Publish(std::shared_ptr<const WatchData> data);

  Watcher watcher_;
  std::chrono::milliseconds period_;
  UniqueFd news_;
  std::mutex mutex_;
  std::condition_variable wake_;
  Interest wanted_;        ///< with the others below: under the mutex
  bool has_wish_ = false;  ///< `wanted_` has not been read
  bool stop_ = false;
  std::shared_ptr<const WatchData> data_;
  std::thread thread_;
};

}  // namespace slipway::launcher::watch
