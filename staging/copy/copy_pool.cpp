#include "staging/copy/copy_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "core/error.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void ThrowCancelled(const StagingPlan& plan) {
  throw Error(ErrorKind::kInterrupted, fmt::format("staging dataset '{}' was cancelled", plan.request.name));
}

/// The state that the copying threads share. Callbacks run under its lock, one at a time.
class Pool {
 public:
  Pool(const StagingPlan& plan, fs::path directory, const CopyOptions& copy, const StageOptions& options)
      : plan_(plan), directory_(std::move(directory)), copy_(copy), options_(options), results_(plan.files.size()) {}

  std::vector<CopiedFile> Run() {
    const auto processors = std::max(1u, std::thread::hardware_concurrency());
    const auto count = std::min<std::size_t>({4, processors, plan_.files.size()});
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < count; ++i) threads.emplace_back([this] { Work(); });
    }
    if (failure_) std::rethrow_exception(failure_);
    return std::move(results_);
  }

 private:
  void Work() {
    try {
      for (auto index = next_++; index < plan_.files.size() && !stop_; index = next_++) CopyOne(index);
    } catch (...) {
      Fail(std::current_exception());
    }
  }

  void CopyOne(std::size_t index) {
    const auto& file = plan_.files[index];
    const auto destination = directory_.empty() ? fs::path() : directory_ / file.name;
    std::uint64_t last = 0;
    results_[index] = CopyVerified(file, destination, copy_, [&](std::uint64_t done) {
      Advance(done - last, file);  // wraps to a negative step when a file is started once more
      last = done;
    });
  }

  void Advance(std::uint64_t step, const SourceFile& file) {
    const std::lock_guard guard(mutex_);
    if (stop_) ThrowCancelled(plan_);
    CheckCancelled(plan_, options_);
    done_ += step;
    if (options_.progress) options_.progress({Bytes{done_}, plan_.total, file.name.string()});
  }

  /// The first failure counts; the threads it stops report only that they were stopped.
  void Fail(std::exception_ptr failure) {
    const std::lock_guard guard(mutex_);
    if (!failure_) failure_ = std::move(failure);
    stop_ = true;
  }

  const StagingPlan& plan_;
  const fs::path directory_;
  const CopyOptions& copy_;
  const StageOptions& options_;
  std::vector<CopiedFile> results_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::uint64_t done_ = 0;
  std::exception_ptr failure_;
};

}  // namespace

void CheckCancelled(const StagingPlan& plan, const StageOptions& options) {
  if (options.cancelled && options.cancelled()) ThrowCancelled(plan);
}

std::vector<CopiedFile> CopyAll(const StagingPlan& plan, const fs::path& directory, const CopyOptions& copy,
                                const StageOptions& options) {
  return Pool(plan, directory, copy, options).Run();
}

}  // namespace slipway::staging
