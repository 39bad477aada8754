#include "staging/copy/copy_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iterator>
#include <memory>
#include <mutex>
#include <numeric>
#include <span>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "core/share_out.h"
#include "staging/copy/medium.h"
#include "staging/copy/own_sums.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

/// Runs the caller's callbacks, one at a time; for small pieces at most once a millisecond. A thread does not wait for
/// another one's callback: it goes on, and its next piece comes here again. So callbacks do not become the bottleneck
/// with many small files.
class Reporter {
 public:
  Reporter(const StagingPlan& plan, const StageOptions& options, Bytes done = {})
      : plan_(plan), options_(options), done_(done.count) {}

  /// `step` may be negative, in two's complement: a file that is begun once more.
  void Advance(std::uint64_t step, const SourceFile& file) {
    done_ += step;
    if (stopped)
      throw Error(ErrorKind::kFailed, "stopped, because another file failed", "see what the error of that file says");
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock && (!IsSmall(step) || IsTime())) Report(file);
  }
  /// The last word on how much was done.
  void Finish() {
    if (!plan_.files.empty()) Report(plan_.files.back());
  }

  std::atomic<bool> stopped{false};

 private:
  /// Small files come so fast that a report on each would cost as much as to open it: they share one.
  static bool IsSmall(std::uint64_t step) { return step > 0 && step < (64 << 10); }
  bool IsTime() {
    constexpr std::chrono::milliseconds kPause(1);
    const auto now = SystemClock().Steady();
    if (now < reported_ + kPause) return false;
    reported_ = now;
    return true;
  }

  void Report(const SourceFile& file) {
    CheckCancelled(plan_, options_);
    if (options_.progress) options_.progress({Bytes{done_}, plan_.total, file.name.string()});
  }

  const StagingPlan& plan_;
  const StageOptions& options_;
  std::atomic<std::uint64_t> done_;
  std::mutex mutex_;
  SteadyTime reported_{};
};

/// How many files are under way at once: more than there are processors, so that none waits for the sources. It costs
/// nothing where they are in the page cache. Measured in docs/decisions/0012.
std::size_t FilesAtOnce(const StagingPlan& plan) {
  constexpr std::uint64_t kSmall = 1 << 20;
  constexpr std::size_t kManySmall = 64;
  constexpr std::size_t kLarge = 8;
  const auto mean = plan.total.count / std::max<std::size_t>(1, plan.files.size());
  return mean < kSmall ? kManySmall : std::max(kLarge, UsableProcessors());
}

std::vector<std::size_t> OrderOf(const StagingPlan& plan, const StageOptions& options) {
  std::vector<std::size_t> numbers(plan.files.size());
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  if (options.order.empty()) return numbers;
  if (!std::is_permutation(numbers.begin(), numbers.end(), options.order.begin(), options.order.end())) {
    throw Error(ErrorKind::kInternal, "the order of the files does not name each file once");
  }
  return options.order;
}

/// Turns "done so far of this file" into steps.
OnBlock StepsOf(Reporter& reporter, const SourceFile& file) {
  return [&reporter, &file, last = std::uint64_t{0}](std::uint64_t done) mutable {
    reporter.Advance(done - last, file);
    last = done;
  };
}

void AddTo(Hdf5Verification& sum, Hdf5Verification found) {
  sum.summed_bytes += found.summed_bytes;
  sum.unsummed_bytes += found.unsummed_bytes;
  std::ranges::move(found.unread, std::back_inserter(sum.unread));
}

}  // namespace

void CheckCancelled(const StagingPlan& plan, const StageOptions& options) {
  if (!options.cancelled || !options.cancelled()) return;
  throw Error(ErrorKind::kInterrupted, fmt::format("staging dataset '{}' was cancelled", plan.request.name));
}

std::vector<CopiedFile> CopyAll(const StagingPlan& plan, const fs::path& directory, const CopyOptions& copy,
                                const StageOptions& options) {
  const auto order = OrderOf(plan, options);
  std::vector<CopiedFile> results(plan.files.size());
  Reporter reporter(plan, options);
  CopyLimits limits(options.bandwidth, copy.memory);
  const auto at_once = options.files_at_once > 0 ? options.files_at_once : FilesAtOnce(plan);
  ShareOut(order.size(), at_once, reporter.stopped, [&]() -> Worker {
    const auto copier = std::make_shared<FileCopier>(directory, copy, limits);
    return [&, copier](std::size_t item) {
      const auto index = order[item];
      results[index] = copier->Copy(plan.files[index], index, StepsOf(reporter, plan.files[index]));
    };
  });
  reporter.Finish();
  return results;
}

void CompareAll(const StagingPlan& plan, const fs::path& directory, const std::vector<CopiedFile>& copied,
                const StageOptions& options) {
  Reporter reporter(plan, options, plan.total);  // all is copied: from here on it may only be cancelled
  ShareOut(plan.files.size(), FilesAtOnce(plan), reporter.stopped, [&]() -> Worker {
    return [&](std::size_t index) {
      const auto& file = plan.files[index];
      const auto wrong = WrongBlocks(directory / file.name, copied[index].crc32c,
                                     [&](std::span<const std::byte>) { reporter.Advance(0, file); });
      if (!wrong.empty()) ThrowDiffers(file, directory, wrong.front());
    };
  });
}

void ThrowDiffers(const SourceFile& file, const fs::path& directory, std::uint64_t block) {
  throw Error(ErrorKind::kEnvironment,
              fmt::format("the copy of '{}' read back from '{}' differs from what was written, at byte {}",
                          file.path.string(), directory.string(), block * kCrcBlock),
              "the medium of this tier is not to be trusted: tell its administrator and use another tier");
}

Hdf5Verification CompareAllOwnSums(const StagingPlan& plan, const fs::path& directory, const StageOptions& options) {
  Reporter reporter(plan, options, plan.total);
  std::vector<Hdf5Verification> found(plan.files.size());
  ShareOut(plan.files.size(), UsableProcessors(), reporter.stopped, [&]() -> Worker {
    return [&](std::size_t index) {
      const auto& file = plan.files[index];
      found[index] = CompareOwnSums(file, directory / file.name, [&] { reporter.Advance(0, file); });
    };
  });
  Hdf5Verification sum;
  for (auto& of_file : found) AddTo(sum, std::move(of_file));
  return sum;
}

}  // namespace slipway::staging
