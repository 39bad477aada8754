#include "launcher/watch/background_reader.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

#include "core/error.h"

namespace slipway::launcher::watch {
namespace {

/// What the screen says when a look failed in a way that the watcher does not know.
std::shared_ptr<const WatchData> Troubled(const char* what) {
  auto data = std::make_shared<WatchData>();
  data->trouble = std::string("cannot be read: ") + what;
  return data;
}

bool IsUnfinished(const WatchData& data) { return (data.run && !data.is_whole) || !data.all_runs_read; }

}  // namespace

BackgroundReader::BackgroundReader(Watcher watcher, std::chrono::milliseconds period)
    : watcher_(std::move(watcher)),
      period_(period),
      news_(CheckErrno(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "cannot make an eventfd")) {
  thread_ = std::thread([this] { Read(); });
}

BackgroundReader::~BackgroundReader() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void BackgroundReader::Want(const Interest& interest) {
  {
    const std::lock_guard lock(mutex_);
    if (wanted_ == interest) return;
    wanted_ = interest;
    has_wish_ = true;
  }
  wake_.notify_one();
}

std::shared_ptr<const WatchData> BackgroundReader::Take() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto ignored = ::read(news_.get(), &count, sizeof count);
  const std::lock_guard lock(mutex_);
  return data_;
}

void BackgroundReader::Publish(std::shared_ptr<const WatchData> data) {
  {
    const std::lock_guard lock(mutex_);
    if (data == data_) return;
    data_ = std::move(data);
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto ignored = ::write(news_.get(), &one, sizeof one);
}

void BackgroundReader::Read() {
  bool unfinished = false;
  for (std::unique_lock lock(mutex_); !stop_; lock.lock()) {
    if (!unfinished) wake_.wait_for(lock, period_, [&] { return stop_ || has_wish_; });
    if (stop_) return;
    const auto interest = wanted_;
    has_wish_ = false;
    lock.unlock();
    std::shared_ptr<const WatchData> data;
    try {
      data = watcher_.Look(interest);
    } catch (const std::exception& error) {
      data = Troubled(error.what());
    }
    unfinished = IsUnfinished(*data);
    Publish(std::move(data));
  }
}

}  // namespace slipway::launcher::watch
