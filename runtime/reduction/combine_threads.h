/// Several threads of a rank that combine what comes from GPUs: the cores of such a node have little else to do.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "runtime/reduction/reduction.h"

namespace slipway::runtime {

/// What a rank may use of the processors of its node.
struct ProcessorShare {
  int processors = 1;     ///< hardware threads that it may run on
  int ranks_on_them = 1;  ///< ranks of the node that may run on any of the same ones, with this one
  double quota = std::numeric_limits<double>::infinity();  ///< processors that the control group may use at a time
  int ranks_in_quota = 1;
};
/// How many threads of the rank may combine, from 1 to 8. A processor is left to the program.
int MostCombineThreads(const ProcessorShare& share);

/// How many threads, up to `most`, are best: 2, 4, 8 and `most` are tried. More are taken only where they take at most
/// 85 % of the time of fewer; after the first that do not, no more are tried.
/// `time_of(threads)`: nothing ends the search.
int FastestThreads(int most, const std::function<std::optional<std::chrono::nanoseconds>(int threads)>& time_of);

/// Finds out that helpers do not get their processors any more, because the program itself needs them: the caller then
/// waits for a helper that has a slice and does not run.
class LateHelpers {
 public:
  /// After a work of `whole`, at whose end the caller waited for `wait`. True: there are too many threads, and counting
  /// starts at zero. A wait is long when it is more than half of the work, and more than 100 us; there are too many
  /// threads after 4 long ones in 8 works.
  bool Count(std::chrono::nanoseconds whole, std::chrono::nanoseconds wait);

 private:
  std::uint32_t long_ones_ = 0;  ///< a bit for each of the last works
};

/// A thread that runs `serve`, with a name of its own and without the program's signals.
/// Errors: std::system_error where there may be no more threads.
std::thread StartCombineThread(std::function<void()> serve);

/// The calling thread, and helpers that take slices of its work. Helpers start with the first work that is long enough
/// for them, and sleep when there has been none for some tens of microseconds. They compute with the floating-point
/// settings that the calling thread has: rounding, and what becomes of subnormal numbers. Any thread may call: while
/// another one has the helpers, it does its work alone. Where no helper can be started, there are fewer.
class CombineThreads {
 public:
  using Start = std::thread (*)(std::function<void()> serve);

  explicit CombineThreads(Start start = StartCombineThread);
  CombineThreads(const CombineThreads&) = delete;
  CombineThreads& operator=(const CombineThreads&) = delete;
  /// Ends the helpers. Not to be called in a child made by fork(), where they do not exist: a job is never left there.
  ~CombineThreads();

  /// At most `most()` threads may be chosen; until Measure(), which asks it once, it is one. `most` may not throw.
  /// Before the first work.
  void Limit(std::function<int()> most) { most_ = std::move(most); }
  /// kKept: late helpers do not matter. kMayFall: they make it lower, as after Measure().
  enum class Number { kKept, kMayFall };
  /// So many threads, whatever the limit is; nothing is measured. Before the first work.
  void Use(int threads, Number later = Number::kKept);
  /// Chooses how many threads combine the inputs of `ranks` ranks: FastestThreads(). Where helpers turn out to be late
  /// (LateHelpers), there are half as many threads from then on. Does nothing the second time, and where there is
  /// nothing to choose.
  /// Cost: some tens of milliseconds, and 16 MiB for that time.
  void Measure(int ranks);
  int number() const { return number_.load(std::memory_order_relaxed); }
  /// So many may be chosen.
  int most() const { return most_ ? most_() : 1; }

  /// Calls `action(first, count)` for slices of `count` elements of `element` bytes, each element once, by several
  /// threads where it is worth it. Slices begin at multiples of 128 bytes. `action` may not throw.
  template <class Action>
  void ForSlices(std::int64_t count, std::size_t element, const Action& action) {
    Share(WorkOf(count, element, action));
  }

 private:
  class Helpers;
  struct Work {
    std::int64_t count = 0;
    std::size_t element = 1;
    const void* context = nullptr;
    void (*action)(const void* context, std::int64_t first, std::int64_t count) = nullptr;
  };
  template <class Action>
  static Work WorkOf(std::int64_t count, std::size_t element, const Action& action) {
    return {count, element, &action, [](const void* context, std::int64_t first, std::int64_t elements) {
              (*static_cast<const Action*>(context))(first, elements);
            }};
  }
  void Share(const Work& work);
  bool Gather(int threads);
  int Fastest(int most, int ranks);

  Start start_;
  std::function<int()> most_;
  std::atomic<int> number_{1};
  std::atomic<bool> chosen_{false};
  std::atomic<bool> may_fall_{false};
  std::mutex mutex_;  ///< of the thread that has the helpers
  std::unique_ptr<Helpers> helpers_;
  LateHelpers late_;
};

/// CombineThreads::ForSlices(); null: the calling thread does it all.
template <class Action>
void ForSlices(CombineThreads* threads, std::int64_t count, std::size_t element, const Action& action) {
  threads != nullptr ? threads->ForSlices(count, element, action) : action(0, count);
}

// The functions of reduction.h by `threads`, with the same bits; null: by the calling thread.

void Narrow(CombineThreads* threads, const float* from, void* to, std::int64_t count, slipway_dtype format);
void Widen(CombineThreads* threads, const void* from, float* to, std::int64_t count, slipway_dtype format);
bool AllFinite(CombineThreads* threads, const void* data, std::int64_t count, slipway_dtype dtype);
bool AllFiniteAs(CombineThreads* threads, slipway_dtype format, const float* data, std::int64_t count);
void Scale(CombineThreads* threads, void* data, std::int64_t count, slipway_dtype dtype, double factor);

}  // namespace slipway::runtime
