/// Several threads of a rank that combine what comes from GPUs: the cores of such a node have little else to do.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>

#include "runtime/reduction/reduction.h"

namespace slipway::runtime {

/// What a rank may use of the processors of its node.
struct ProcessorShare {
  int processors = 1;     ///< those that it may run on
  int ranks_on_them = 1;  ///< ranks of the node that may run on the same ones, with this one
  double quota = std::numeric_limits<double>::infinity();  ///< processors that the control group may use at a time
  int ranks_in_quota = 1;
};
/// How many threads of the rank may combine, from 1 to 8. A processor is left to the program.
int MostCombineThreads(const ProcessorShare& share);

/// A thread that runs `serve`, with a name of its own and without the program's signals.
/// Errors: std::system_error where there may be no more threads.
std::thread StartCombineThread(std::function<void()> serve);

/// The calling thread, and helpers that take slices of its work. Helpers start with the first work that is long enough
/// for them, and sleep when there has been none for some tens of microseconds. Any thread may call: while another one
/// has the helpers, it does its work alone. Where no helper can be started, there are fewer.
class CombineThreads {
 public:
  using Start = std::thread (*)(std::function<void()> serve);

  explicit CombineThreads(Start start = StartCombineThread);
  CombineThreads(const CombineThreads&) = delete;
  CombineThreads& operator=(const CombineThreads&) = delete;
  /// Ends the helpers. Not to be called in a child made by fork(), where they do not exist: a job is never left there.
  ~CombineThreads();

  /// At most so many threads may be chosen; until Measure() it is one. Before the first work.
  void Limit(int most) { most_ = most; }
  /// So many threads, whatever the limit is; nothing is measured. Before the first work.
  void Use(int threads);
  /// Chooses how many threads combine the inputs of `ranks` ranks: more only where they are at least 15 % faster. Does
  /// nothing the second time, and where there is nothing to choose.
  /// Cost: about 20 ms, and 16 MiB for that time.
  void Measure(int ranks);
  int number() const { return number_.load(std::memory_order_relaxed); }

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
  int Fastest(int ranks);

  Start start_;
  int most_ = 1;
  std::atomic<int> number_{1};
  std::atomic<bool> chosen_{false};
  std::mutex mutex_;  ///< of the thread that has the helpers
  std::unique_ptr<Helpers> helpers_;
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
