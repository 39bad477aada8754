#include "runtime/reduction/combine_threads.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cfenv>
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
constexpr std::chrono::milliseconds kLongestMeasurement{20};  ///< more threads are tried until then

// Of helpers that are late.
constexpr std::chrono::microseconds kLongWait{100};  ///< a processor that another program has comes back later
constexpr std::uint32_t kLastWorks = 0xff;
constexpr int kTooManyLong = 4;

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
        bytes_(std::max(kPart / static_cast<std::size_t>(ranks_) / 128 * 128, kLeastInput)),
        memory_(new (std::nothrow) char[kMemory]) {
    if (memory_ != nullptr) std::memset(memory_.get(), 0, kMemory);
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
  static constexpr std::size_t kPart = 4 << 20;  ///< bytes of all inputs of few ranks
  static constexpr std::size_t kLeastInput = kMostMeasured * kLeastShare;
  static constexpr int kMostRanks = 8;               ///< the time of more is about that of as many bytes
  static constexpr std::size_t kMemory = 4 * kPart;  ///< at least two parts
  static constexpr std::size_t kRounds = 5;

  void CombineSlice(std::size_t round, std::int64_t first, std::int64_t count) const {
    const auto part = static_cast<std::size_t>(ranks_) * bytes_;
    char* inputs = memory_.get() + round % (kMemory / part) * part + OffsetOf(first, SLIPWAY_FLOAT32);
    std::array<void*, kMostRanks> buffers{};
    for (std::size_t i = 0; i < static_cast<std::size_t>(ranks_); ++i) buffers[i] = inputs + i * bytes_;
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

bool LateHelpers::Count(std::chrono::nanoseconds whole, std::chrono::nanoseconds wait) {
  const bool is_long = wait > kLongWait && 2 * wait > whole;
  long_ones_ = (long_ones_ << 1 | (is_long ? 1u : 0u)) & kLastWorks;
  if (std::popcount(long_ones_) < kTooManyLong) return false;
  long_ones_ = 0;
  return true;
}

int FastestThreads(int most, const std::function<std::optional<std::chrono::nanoseconds>(int threads)>& time_of) {
  int fastest = 1;
  auto least = time_of(1);
  for (const int candidate : {2, 4, kMostMeasured}) {
    const int threads = std::min(candidate, most);
    if (threads <= fastest || !least) break;
    const auto time = time_of(threads);
    if (!time || static_cast<double>(time->count()) > kWorthIt * static_cast<double>(least->count())) break;
    fastest = threads;
    least = time;
  }
  return fastest;
}

/// Threads that take chunks of one work at a time. One that comes late finds none left, and is not waited for.
class CombineThreads::Helpers {
 public:
  explicit Helpers(Start start) : start_(start) {}
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;
  ~Helpers() {
    stop_.store(true, std::memory_order_relaxed);
    Wake(size());
    for (auto& helper : helpers_) helper->thread.join();
  }

  int size() const { return static_cast<int>(helpers_.size()); }
  /// False: there may be no more threads than now.
  bool Grow(int size) {
    try {
      helpers_.reserve(static_cast<std::size_t>(size));
      while (this->size() < size) {
        auto helper = std::make_unique<Helper>();
        helper->place = this->size() + 1;
        helper->thread = start_([this, self = helper.get()] { Serve(*self); });
        helpers_.push_back(std::move(helper));
      }
    } catch (const std::exception&) {
      return false;
    }
    return true;
  }

  /// Returns when all of it is done, with how long the calling thread waited for others. `threads`: with the calling
  /// one. One caller at a time.
  Clock::duration Do(const Work& work, int threads) {
    work_ = work;
    std::fegetenv(&floats_);
    ++works_;
    chunk_ = static_cast<std::int64_t>(kChunk / work.element);
    chunks_ = static_cast<std::uint32_t>((work.count + chunk_ - 1) / chunk_);
    unfinished_.store(chunks_, std::memory_order_relaxed);
    untaken_.store(Packed(threads, chunks_), std::memory_order_release);
    Wake(std::min(threads - 1, size()));
    while (const auto left = TakeChunk(0)) DoChunk(left);
    const auto start = Clock::now();
    for (int look = 0; unfinished_.load(std::memory_order_acquire) > 0; ++look) {
      look < kLooksBeforeYielding ? Pause() : std::this_thread::yield();
    }
    return Clock::now() - start;
  }

 private:
  struct Helper {
    int place = 0;  ///< from 1; the calling thread has 0
    std::thread thread;
    alignas(64) std::atomic<std::uint32_t> rung{0};  ///< how often there was something new
  };
  /// One number, so that a chunk is taken only by a thread that may: the threads that may in the upper half, and the
  /// chunks in the lower one.
  static constexpr int kHalf = 32;
  static std::uint64_t Packed(int threads, std::uint32_t chunks) {
    return static_cast<std::uint64_t>(threads) << kHalf | chunks;
  }
  /// What the thread in this place may take.
  static std::uint32_t LeftFor(int place, std::uint64_t untaken) {
    return static_cast<std::uint64_t>(place) < untaken >> kHalf ? static_cast<std::uint32_t>(untaken) : 0;
  }

  /// The number of chunks that were left with the one that it takes; 0: there was none. Taking one is what makes
  /// `work_` readable: it stays as it is until all are finished.
  std::uint32_t TakeChunk(int place) {
    auto untaken = untaken_.load(std::memory_order_relaxed);
    do {
      if (LeftFor(place, untaken) == 0) return 0;
    } while (
        !untaken_.compare_exchange_weak(untaken, untaken - 1, std::memory_order_acquire, std::memory_order_relaxed));
    return LeftFor(place, untaken);
  }
  void DoChunk(std::uint32_t left) {
    const auto first = static_cast<std::int64_t>(chunks_ - left) * chunk_;
    work_.action(work_.context, first, std::min(chunk_, work_.count - first));
    unfinished_.fetch_sub(1, std::memory_order_release);
  }

  /// The first so many helpers, after the change that they look for.
  void Wake(int helpers) {
    for (int i = 0; i < helpers; ++i) {
      auto& rung = helpers_[static_cast<std::size_t>(i)]->rung;
      rung.fetch_add(1, std::memory_order_release);
      rung.notify_one();
    }
  }

  void Serve(Helper& self) {
    auto awake_until = Clock::now() + kAwake;
    std::uint64_t floats_of = 0;
    while (!stop_.load(std::memory_order_relaxed)) {
      if (const auto left = TakeChunk(self.place); left > 0) {
        if (std::exchange(floats_of, works_) != works_) std::fesetenv(&floats_);
        DoChunk(left);
        awake_until = Clock::now() + kAwake;
      } else if (Clock::now() < awake_until) {
        for (int i = 0; i < kPausesBetweenLooks; ++i) Pause();
      } else {
        const auto seen = self.rung.load(std::memory_order_acquire);
        const bool more = LeftFor(self.place, untaken_.load(std::memory_order_relaxed)) > 0;
        if (more || stop_.load(std::memory_order_relaxed)) continue;
        self.rung.wait(seen, std::memory_order_acquire);
        awake_until = Clock::now() + kAwake;
      }
    }
  }

  Start start_;
  Work work_;
  std::fenv_t floats_{};     ///< settings of the thread that gave the work
  std::uint64_t works_ = 0;  ///< with this one
  std::int64_t chunk_ = 0;   ///< elements
  std::uint32_t chunks_ = 0;
  alignas(64) std::atomic<std::uint64_t> untaken_{0};
  alignas(64) std::atomic<std::uint32_t> unfinished_{0};  ///< chunks
  std::atomic<bool> stop_{false};
  std::vector<std::unique_ptr<Helper>> helpers_;
};

CombineThreads::CombineThreads(Start start) : start_(start) {}

CombineThreads::~CombineThreads() = default;

void CombineThreads::Use(int threads, Number later) {
  chosen_.store(true);
  may_fall_.store(later == Number::kMayFall);
  number_.store(threads);
}

void CombineThreads::Share(const Work& work) {
  const auto shares = static_cast<std::size_t>(work.count) * work.element / kLeastShare;
  const int threads = static_cast<int>(std::min<std::size_t>(shares, static_cast<std::size_t>(number())));
  std::unique_lock lock(mutex_, std::defer_lock);
  if (threads < 2 || !lock.try_lock()) return work.action(work.context, 0, work.count);
  if (!Gather(threads)) number_.store(helpers_ == nullptr ? 1 : helpers_->size() + 1);
  if (helpers_ == nullptr) return work.action(work.context, 0, work.count);
  const auto start = Clock::now();
  const auto wait = helpers_->Do(work, threads);
  if (may_fall_.load() && late_.Count(Clock::now() - start, wait)) number_.store(threads / 2);
}

/// That there are so many, with the calling one. With the lock held. It may not throw: the other ranks would wait.
bool CombineThreads::Gather(int threads) {
  if (helpers_ == nullptr) helpers_.reset(new (std::nothrow) Helpers(start_));
  return helpers_ != nullptr && helpers_->Grow(threads - 1);
}

void CombineThreads::Measure(int ranks) {
  if (!most_ || ranks < 2 || chosen_.exchange(true)) return;
  const std::lock_guard lock(mutex_);
  const int most = most_();
  const int fastest = most > 1 ? Fastest(most, ranks) : 1;
  if (helpers_ != nullptr && helpers_->size() != fastest - 1) helpers_ = nullptr;
  may_fall_.store(true);
  number_.store(fastest);
}

int CombineThreads::Fastest(int most, int ranks) {
  const auto end = Clock::now() + kLongestMeasurement;
  const Sample sample(ranks);
  if (!sample.is_there()) return 1;
  const auto time_of = [&](int threads) -> std::optional<std::chrono::nanoseconds> {
    if (threads > 2 && Clock::now() > end) return {};
    if (threads > 1 && !Gather(threads)) return {};
    return sample.Time([&](std::int64_t elements, const auto& action) {
      threads > 1 ? static_cast<void>(helpers_->Do(WorkOf(elements, sizeof(float), action), threads))
                  : action(0, elements);
    });
  };
  return FastestThreads(most, std::ref(time_of));  // by reference nothing is allocated
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
