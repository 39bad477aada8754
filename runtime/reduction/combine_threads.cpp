#include "runtime/reduction/combine_threads.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <exception>
#include <new>
#include <utility>
#include <vector>

#include "runtime/pause.h"

namespace slipway::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMostMeasured = 8;                 ///< threads
constexpr std::size_t kChunk = 64 << 10;         ///< bytes that a thread takes at a time
constexpr std::size_t kLeastShare = 128 << 10;   ///< bytes of each thread; below, meeting costs more than is gained
constexpr std::chrono::microseconds kAwake{60};  ///< the next part of a message is there by then
constexpr int kPausesBetweenLooks = 4;
constexpr int kLooksBeforeYielding = 4000;

// Of the measurement.
constexpr double kWorthIt = 0.85;
constexpr std::chrono::milliseconds kLongestMeasurement{20};

/// While it lives, the calling thread has the signals of the program blocked, and so have threads that it starts.
class WithoutSignals {
 public:
  WithoutSignals() {
    sigset_t blocked;
    ::sigfillset(&blocked);
    // An error of the thread itself has to reach the program's handler.
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) ::sigdelset(&blocked, own);
    ::pthread_sigmask(SIG_SETMASK, &blocked, &before_);
  }
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;
  ~WithoutSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

const void* At(const void* data, std::size_t offset) { return static_cast<const char*>(data) + offset; }
void* At(void* data, std::size_t offset) { return static_cast<char*>(data) + offset; }
std::size_t OffsetOf(std::int64_t element, slipway_dtype dtype) {
  return static_cast<std::size_t>(element) * SizeOf(dtype);
}

/// What a rank combines of a bucket, several times over: so that each round finds its part outside of the cores' own
/// caches, as it is after a copy from a GPU.
class Sample {
 public:
  explicit Sample(int ranks)
      : ranks_(std::clamp(ranks, 2, kMostRanks)),
        bytes_(kPart / static_cast<std::size_t>(ranks_) / 128 * 128),
        memory_(new (std::nothrow) char[kPart * kParts]) {
    if (memory_ != nullptr) std::memset(memory_.get(), 0, kPart * kParts);
  }

  bool is_there() const { return memory_ != nullptr; }
  /// The median of some rounds. `combine(elements, action)`: calls `action(first, count)` for slices of them.
  template <class Combine>
  Clock::duration Time(const Combine& combine) const {
    std::array<Clock::duration, kRounds + 1> times{};
    for (std::size_t round = 0; round <= kRounds; ++round) {
      const auto start = Clock::now();
      combine(static_cast<std::int64_t>(bytes_ / sizeof(float)),
              [&](std::int64_t first, std::int64_t count) { CombineSlice(round, first, count); });
      times[round] = Clock::now() - start;
    }
    const auto counted = times.begin() + 1;  // in the first round new helpers begin
    std::nth_element(counted, counted + kRounds / 2, times.end());
    return counted[kRounds / 2];
  }

 private:
  static constexpr std::size_t kPart = 4 << 20;  ///< bytes of all inputs
  static constexpr std::size_t kParts = 4;
  static constexpr std::size_t kRounds = 5;
  static constexpr int kMostRanks = 16;

  void CombineSlice(std::size_t round, std::int64_t first, std::int64_t count) const {
    std::array<void*, kMostRanks> buffers{};
    for (std::size_t i = 0; i < static_cast<std::size_t>(ranks_); ++i) {
      buffers[i] = memory_.get() + round % kParts * kPart + i * bytes_ + OffsetOf(first, SLIPWAY_FLOAT32);
    }
    CombineAll({SLIPWAY_FLOAT32, SLIPWAY_SUM}, buffers.data(), ranks_, buffers.data(), ranks_, count, ranks_);
  }

  int ranks_;
  std::size_t bytes_;  ///< of each input
  std::unique_ptr<char[]> memory_;
};

}  // namespace

int MostCombineThreads(const ProcessorShare& share) {
  const double processors = std::min(static_cast<double>(share.processors) / std::max(1, share.ranks_on_them),
                                     share.quota / std::max(1, share.ranks_in_quota));
  return static_cast<int>(std::clamp(processors - 1, 1.0, static_cast<double>(kMostMeasured)));
}

std::thread StartCombineThread(std::function<void()> serve) {
  const WithoutSignals inherited;
  std::thread thread(std::move(serve));
  ::pthread_setname_np(thread.native_handle(), "slipway-sum");
  return thread;
}

/// Threads that take chunks of one work at a time. One that comes late finds none left, and is not waited for.
class CombineThreads::Helpers {
 public:
  explicit Helpers(Start start) : start_(start) {}
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;
  ~Helpers() {
    stop_.store(true, std::memory_order_relaxed);
    Ring(size());
    for (auto& thread : threads_) thread.join();
  }

  int size() const { return static_cast<int>(threads_.size()); }
  /// False: there may be no more threads than now.
  bool Grow(int size) {
    try {
      threads_.reserve(static_cast<std::size_t>(size));
      while (static_cast<int>(threads_.size()) < size) threads_.push_back(start_([this] { Serve(); }));
    } catch (const std::exception&) {
      return false;
    }
    return true;
  }

  /// Returns when all of it is done. `threads`: with the calling one. One caller at a time.
  void Do(const Work& work, int threads) {
    work_ = work;
    chunk_ = static_cast<std::int64_t>(kChunk / work.element);
    chunks_ = static_cast<int>((work.count + chunk_ - 1) / chunk_);
    unfinished_.store(chunks_, std::memory_order_relaxed);
    untaken_.store(chunks_, std::memory_order_release);
    Ring(std::min(threads, chunks_) - 1);
    while (DoChunk()) continue;
    for (int look = 0; unfinished_.load(std::memory_order_acquire) > 0; ++look) {
      look < kLooksBeforeYielding ? Pause() : std::this_thread::yield();
    }
  }

 private:
  /// False: no chunk is left. Taking one is what makes `work_` readable: it stays as it is until all are finished.
  bool DoChunk() {
    auto left = untaken_.load(std::memory_order_relaxed);
    do {
      if (left == 0) return false;
    } while (!untaken_.compare_exchange_weak(left, left - 1, std::memory_order_acquire, std::memory_order_relaxed));
    const auto first = (chunks_ - left) * chunk_;
    work_.action(work_.context, first, std::min(chunk_, work_.count - first));
    unfinished_.fetch_sub(1, std::memory_order_release);
    return true;
  }

  /// After the change that they look for.
  void Ring(int sleepers) {
    rung_.fetch_add(1, std::memory_order_release);
    if (sleepers >= size()) return rung_.notify_all();
    for (int i = 0; i < sleepers; ++i) rung_.notify_one();
  }

  void Serve() {
    auto awake_until = Clock::now() + kAwake;
    while (!stop_.load(std::memory_order_relaxed)) {
      if (DoChunk()) {
        awake_until = Clock::now() + kAwake;
      } else if (Clock::now() < awake_until) {
        for (int i = 0; i < kPausesBetweenLooks; ++i) Pause();
      } else {
        const auto seen = rung_.load(std::memory_order_acquire);
        if (untaken_.load(std::memory_order_relaxed) > 0 || stop_.load(std::memory_order_relaxed)) continue;
        rung_.wait(seen, std::memory_order_acquire);
        awake_until = Clock::now() + kAwake;
      }
    }
  }

  Start start_;
  Work work_;
  std::int64_t chunk_ = 0;  ///< elements
  int chunks_ = 0;
  alignas(64) std::atomic<int> untaken_{0};         ///< chunks
  alignas(64) std::atomic<int> unfinished_{0};      ///< the same
  alignas(64) std::atomic<std::uint32_t> rung_{0};  ///< how often there was something new
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

CombineThreads::CombineThreads(Start start) : start_(start) {}

CombineThreads::~CombineThreads() = default;

void CombineThreads::Use(int threads) {
  chosen_.store(true);
  number_.store(threads);
}

void CombineThreads::Share(const Work& work) {
  const auto shares = static_cast<std::size_t>(work.count) * work.element / kLeastShare;
  const int threads = static_cast<int>(std::min<std::size_t>(shares, static_cast<std::size_t>(number())));
  std::unique_lock lock(mutex_, std::defer_lock);
  if (threads < 2 || !lock.try_lock()) return work.action(work.context, 0, work.count);
  if (!Gather(threads)) number_.store(helpers_->size() + 1);
  helpers_->Do(work, threads);
}

/// That there are so many, with the calling one. With the lock held.
bool CombineThreads::Gather(int threads) {
  if (helpers_ == nullptr) helpers_ = std::make_unique<Helpers>(start_);
  return helpers_->Grow(threads - 1);
}

void CombineThreads::Measure(int ranks) {
  if (most_ < 2 || ranks < 2 || chosen_.exchange(true)) return;
  const std::lock_guard lock(mutex_);
  const int fastest = Fastest(ranks);
  if (helpers_ != nullptr && helpers_->size() != fastest - 1) helpers_ = nullptr;
  number_.store(fastest);
}

int CombineThreads::Fastest(int ranks) {
  const auto end = Clock::now() + kLongestMeasurement;
  Sample sample(ranks);
  if (!sample.is_there()) return 1;
  const auto time_of = [&](int threads) {
    return sample.Time([&](std::int64_t elements, const auto& action) {
      threads > 1 ? helpers_->Do(WorkOf(elements, sizeof(float), action), threads) : action(0, elements);
    });
  };
  int fastest = 1;
  auto least = time_of(1);
  for (const int candidate : {2, 4, kMostMeasured}) {
    const int threads = std::min(candidate, most_);
    if (threads <= fastest || !Gather(threads)) break;
    const auto time = time_of(threads);
    if (static_cast<double>(time.count()) > kWorthIt * static_cast<double>(least.count())) break;
    fastest = threads;
    least = time;
    if (Clock::now() > end) break;
  }
  return fastest;
}

void Narrow(CombineThreads* threads, const float* from, void* to, std::int64_t count, slipway_dtype format) {
  ForSlices(threads, count, sizeof *from, [&](std::int64_t first, std::int64_t some) {
    Narrow(from + first, At(to, OffsetOf(first, format)), some, format);
  });
}

void Widen(CombineThreads* threads, const void* from, float* to, std::int64_t count, slipway_dtype format) {
  ForSlices(threads, count, sizeof *to, [&](std::int64_t first, std::int64_t some) {
    Widen(At(from, OffsetOf(first, format)), to + first, some, format);
  });
}

bool AllFinite(CombineThreads* threads, const void* data, std::int64_t count, slipway_dtype dtype) {
  std::atomic<bool> finite{true};
  ForSlices(threads, count, SizeOf(dtype), [&](std::int64_t first, std::int64_t some) {
    if (!AllFinite(At(data, OffsetOf(first, dtype)), some, dtype)) finite = false;
  });
  return finite;
}

bool AllFiniteAs(CombineThreads* threads, slipway_dtype format, const float* data, std::int64_t count) {
  std::atomic<bool> finite{true};
  ForSlices(threads, count, sizeof *data, [&](std::int64_t first, std::int64_t some) {
    if (!AllFiniteAs(format, data + first, some)) finite = false;
  });
  return finite;
}

void Scale(CombineThreads* threads, void* data, std::int64_t count, slipway_dtype dtype, double factor) {
  ForSlices(threads, count, SizeOf(dtype), [&](std::int64_t first, std::int64_t some) {
    Scale(At(data, OffsetOf(first, dtype)), some, dtype, factor);
  });
}

}  // namespace slipway::runtime
