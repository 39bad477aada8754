#include "launcher/run/data/background_staging.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "core/error.h"

namespace slipway::launcher {

BackgroundStaging::BackgroundStaging(EventLoop& loop, staging::StageOptions options, Work work,
                                     std::function<void()> on_news)
    : loop_(loop),
      options_(std::move(options)),
      bell_(CheckErrno(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "cannot create an eventfd")) {
  options_.cancelled = [this] { return cancelled_.load(); };
  options_.progress = [this](const staging::StageProgress& now) {
    const auto time = SystemClock().Steady();
    const std::lock_guard guard(mutex_);
    progress_ = now;
    if (time - told_ < std::chrono::milliseconds(100)) return;
    told_ = time;
    Tell();
  };
  loop_.OnReadable(bell_.get(), [this, on_news = std::move(on_news)] {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto read = ::read(bell_.get(), &count, sizeof count);
    on_news();
  });
  thread_ = std::thread([this, work = std::move(work)] { Run(work); });
}

BackgroundStaging::~BackgroundStaging() {
  Cancel();
  thread_.join();
  loop_.Forget(bell_.get());
}

void BackgroundStaging::Run(const Work& work) {
  try {
    result_ = work(options_);
  } catch (...) {
    error_ = std::current_exception();
  }
  ended_ = true;
  Tell();
}

void BackgroundStaging::Tell() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(bell_.get(), &one, sizeof one);  // full: already signalled
}

staging::StageProgress BackgroundStaging::progress() const {
  const std::lock_guard guard(mutex_);
  return progress_;
}

staging::StagedDataset BackgroundStaging::Take() {
  if (error_) std::rethrow_exception(error_);
  return std::move(*result_);
}

}  // namespace slipway::launcher
