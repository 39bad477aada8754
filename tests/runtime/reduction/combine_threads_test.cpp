// Several threads that combine one message: the bits of one thread, and helpers that come, sleep and end.

#include "runtime/reduction/combine_threads.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cfenv>
#include <chrono>
#include <cstdint>
#include <latch>
#include <limits>
#include <mutex>
#include <new>
#include <random>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#if defined(__SSE2__)
#include <pmmintrin.h>
#include <xmmintrin.h>
#endif

#include "tests/runtime/collectives/numbers.h"

namespace slipway::test {
namespace {

using runtime::CombineThreads;
using runtime::SizeOf;

constexpr std::int64_t kLong = 1 << 20;  ///< bytes that eight threads share

class ThreadsThatCombine : public testing::Test {
 protected:
  ThreadsThatCombine() {
    started_ = 0;
    running_ = 0;
    allowed_ = std::numeric_limits<int>::max();
  }

  /// As many as are allowed, counted.
  static std::thread CountedStart(std::function<void()> serve) {
    if (started_ >= allowed_) throw std::system_error(EAGAIN, std::generic_category());
    ++started_;
    ++running_;
    return runtime::StartCombineThread([serve = std::move(serve)] {
      serve();
      --running_;
    });
  }
  /// By how many threads the bytes of a work were seen, each once.
  static std::size_t ThreadsOf(CombineThreads& threads, std::int64_t bytes) {
    std::vector<std::atomic<char>> seen(static_cast<std::size_t>(bytes));
    std::mutex mutex;
    std::set<std::thread::id> ids;
    threads.ForSlices(bytes, 1, [&](std::int64_t first, std::int64_t count) {
      for (auto i = first; i < first + count; ++i) ++seen[static_cast<std::size_t>(i)];
      const std::lock_guard lock(mutex);
      ids.insert(std::this_thread::get_id());
    });
    EXPECT_TRUE(std::ranges::all_of(seen, [](const auto& times) { return times == 1; }));
    return ids.size();
  }
  /// Returns when `number` threads have had a part of the same work at the same time. `look` is called by each.
  template <class Look>
  static void MeetAll(CombineThreads& threads, int number, const Look& look) {
    std::latch all(number);
    std::mutex mutex;
    std::set<std::thread::id> ids;
    threads.ForSlices(kLong, 1, [&](std::int64_t, std::int64_t) {
      {
        const std::lock_guard lock(mutex);
        if (!ids.insert(std::this_thread::get_id()).second) return;
      }
      look();
      all.arrive_and_wait();
    });
  }

  /// The sum of two numbers by each of `number` threads: the bits, which are compared as whole numbers.
  static std::set<std::uint32_t> SumsOfAll(CombineThreads& threads, int number, float left, float right) {
    std::mutex mutex;
    std::set<std::uint32_t> sums;
    MeetAll(threads, number, [&] {
      float sum = 0;
      runtime::Combine({SLIPWAY_FLOAT32, SLIPWAY_SUM}, &left, &right, &sum, 1);
      const std::lock_guard lock(mutex);
      sums.insert(std::bit_cast<std::uint32_t>(sum));
    });
    return sums;
  }
  /// By how many threads a work is done that is long enough for two. Each slice is held until there are two.
  static std::size_t ThreadsOfAWorkForTwo(CombineThreads& threads) {
    std::mutex mutex;
    std::set<std::thread::id> ids;
    const auto count = [&] {
      const std::lock_guard lock(mutex);
      ids.insert(std::this_thread::get_id());
      return ids.size();
    };
    threads.ForSlices(256 << 10, 1, [&](std::int64_t, std::int64_t) {
      while (count() < 2) std::this_thread::yield();
    });
    return ids.size();
  }
  /// A work in which the last slice to end is a helper's, and takes three quarters of the time.
  static void WorkWithALateHelper(CombineThreads& threads) {
    using Clock = std::chrono::steady_clock;
    const auto begun = Clock::now();
    const auto caller = std::this_thread::get_id();
    std::atomic<bool> taken{false};
    std::atomic<std::int64_t> left{kLong};
    threads.ForSlices(kLong, 1, [&](std::int64_t, std::int64_t count) {
      const bool by_caller = std::this_thread::get_id() == caller;
      const bool late = !by_caller && !taken.exchange(true);
      while (!taken) std::this_thread::yield();
      left -= count;
      if (!late) return;
      while (left > 0) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(1) + 3 * (Clock::now() - begun));
    });
  }

  static inline std::atomic<int> started_{0};
  static inline std::atomic<int> running_{0};
  static inline std::atomic<int> allowed_{0};
};

/// Inputs of three ranks whose float sums depend on the order, in memory that may be misaligned.
class ThreeInputs {
 public:
  ThreeInputs(slipway_dtype dtype, std::int64_t count, std::size_t misaligned) : dtype_(dtype), count_(count) {
    std::mt19937 random(7);
    for (int rank = 0; rank < 3; ++rank) {
      arrays_.emplace_back(dtype, count, misaligned + static_cast<std::size_t>(rank) * misaligned);
      for (std::int64_t i = 0; i < count; ++i) {
        arrays_.back().Set(i, (static_cast<int>(random() % 2001) - 1000) / 7.0);
      }
    }
  }

  /// The outputs after CombineAll() into the first `outputs` inputs, or into arrays of their own.
  std::vector<std::string> Combined(CombineThreads* threads, slipway_op op, int outputs, bool in_place) const {
    auto inputs = arrays_;
    auto others = arrays_;
    std::vector<const void*> from;
    std::vector<void*> to;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      from.push_back(inputs[i].data());
      if (i < static_cast<std::size_t>(outputs)) to.push_back(in_place ? inputs[i].data() : others[i].data());
    }
    runtime::ForSlices(threads, count_, SizeOf(dtype_), [&](std::int64_t first, std::int64_t count) {
      const auto offset = static_cast<std::size_t>(first) * SizeOf(dtype_);
      std::vector<const void*> slices;
      std::vector<void*> results;
      for (const void* input : from) slices.push_back(static_cast<const char*>(input) + offset);
      for (void* output : to) results.push_back(static_cast<char*>(output) + offset);
      runtime::CombineAll({dtype_, op}, slices.data(), 3, results.data(), outputs, count, 3);
    });
    std::vector<std::string> results;
    for (const void* output : to) results.emplace_back(static_cast<const char*>(output), inputs.front().bytes());
    return results;
  }

 private:
  slipway_dtype dtype_;
  std::int64_t count_;
  std::vector<Array> arrays_;
};

TEST_F(ThreadsThatCombine, GiveTheBitsOfOneThread) {
  for (const auto dtype : kDtypes) {
    for (const std::size_t misaligned : {0, 3}) {
      const auto count = kLong / static_cast<std::int64_t>(SizeOf(dtype)) + 13;
      const ThreeInputs inputs(dtype, count, misaligned);
      for (const auto op : kOperations) {
        const auto expected = inputs.Combined(nullptr, op, 3, false);
        for (const int number : {1, 2, 3, 8}) {
          CombineThreads threads;
          threads.Use(number);
          EXPECT_TRUE(inputs.Combined(&threads, op, 3, false) == expected) << dtype << op << number;
          EXPECT_TRUE(inputs.Combined(&threads, op, 3, true) == expected) << dtype << op << number;
          EXPECT_TRUE(inputs.Combined(&threads, op, 1, true).front() == expected.front()) << dtype << op << number;
        }
      }
    }
  }
}

TEST_F(ThreadsThatCombine, NarrowAndWidenAndScaleWithTheBitsOfOneThread) {
  constexpr std::int64_t kCount = kLong / 2 + 13;
  CombineThreads threads;
  threads.Use(3);
  std::vector<float> values;
  std::mt19937 random(9);
  for (std::int64_t i = 0; i < kCount; ++i) values.push_back(static_cast<float>(random() % 100'000) / 7 - 6000);
  for (const auto format : {SLIPWAY_FLOAT16, SLIPWAY_BFLOAT16}) {
    std::vector<std::uint16_t> alone(kCount);
    std::vector<std::uint16_t> together(kCount);
    runtime::Narrow(values.data(), alone.data(), kCount, format);
    runtime::Narrow(&threads, values.data(), together.data(), kCount, format);
    EXPECT_TRUE(alone == together) << format;
    std::vector<float> wide(kCount);
    std::vector<float> wide_together(kCount);
    runtime::Widen(alone.data(), wide.data(), kCount, format);
    runtime::Widen(&threads, alone.data(), wide_together.data(), kCount, format);
    EXPECT_TRUE(wide == wide_together) << format;
    runtime::Scale(alone.data(), kCount, format, 0.3);
    runtime::Scale(&threads, together.data(), kCount, format, 0.3);
    EXPECT_TRUE(alone == together) << format;
  }
  auto scaled = values;
  runtime::Scale(values.data(), kCount, SLIPWAY_FLOAT32, 0.3);
  runtime::Scale(&threads, scaled.data(), kCount, SLIPWAY_FLOAT32, 0.3);
  EXPECT_TRUE(values == scaled);
}

TEST_F(ThreadsThatCombine, FindAnElementThatIsNotFinite) {
  constexpr std::int64_t kCount = kLong / 2 + 13;
  CombineThreads threads;
  threads.Use(3);
  std::vector<float> values(kCount, 1);
  for (const std::size_t at : {std::size_t{0}, values.size() / 2, values.size() - 1}) {
    EXPECT_TRUE(runtime::AllFinite(&threads, values.data(), kCount, SLIPWAY_FLOAT32));
    EXPECT_TRUE(runtime::AllFiniteAs(&threads, SLIPWAY_FLOAT16, values.data(), kCount));
    values[at] = 70'000;  // infinite as a 16-bit float
    EXPECT_TRUE(runtime::AllFinite(&threads, values.data(), kCount, SLIPWAY_FLOAT32)) << at;
    EXPECT_FALSE(runtime::AllFiniteAs(&threads, SLIPWAY_FLOAT16, values.data(), kCount)) << at;
    values[at] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_FALSE(runtime::AllFinite(&threads, values.data(), kCount, SLIPWAY_FLOAT32)) << at;
    values[at] = 1;
  }
}

TEST_F(ThreadsThatCombine, TakeEachElementOnceWhateverTheirNumber) {
  for (int number = 1; number <= 8; ++number) {
    CombineThreads threads;
    threads.Use(number);
    for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{1}, kLong - 1, kLong, 3 * kLong + 1}) {
      EXPECT_LE(ThreadsOf(threads, bytes), static_cast<std::size_t>(number));
    }
    MeetAll(threads, number, [] {});  // else it never returns: each of them takes some
  }
}

TEST_F(ThreadsThatCombine, BeginSlicesAtWholeCacheLines) {
  CombineThreads threads;
  threads.Use(3);
  for (const std::size_t element : {1, 2, 4, 8}) {
    threads.ForSlices(kLong, element, [&](std::int64_t first, std::int64_t) {
      EXPECT_EQ(static_cast<std::size_t>(first) * element % 128, 0u);
    });
  }
}

TEST_F(ThreadsThatCombine, WorkAtTheSameTime) {
  CombineThreads threads;
  threads.Use(8);
  MeetAll(threads, 8, [] {});  // else it never returns
}

/// Each helper has a slice in hand when the caller finds none left.
TEST_F(ThreadsThatCombine, AreAwaitedUntilTheLastSliceIsDone) {
  CombineThreads threads;
  threads.Use(3);
  const auto caller = std::this_thread::get_id();
  std::latch all(3);
  std::mutex mutex;
  std::set<std::thread::id> ids;
  std::atomic<std::int64_t> done{0};
  threads.ForSlices(kLong, 1, [&](std::int64_t, std::int64_t count) {
    std::unique_lock lock(mutex);
    const bool first = ids.insert(std::this_thread::get_id()).second;
    lock.unlock();
    if (first) all.arrive_and_wait();
    if (first && std::this_thread::get_id() != caller) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    done += count;
  });
  EXPECT_EQ(done, kLong);
}

TEST_F(ThreadsThatCombine, RoundAsTheCallerDoes) {
  CombineThreads threads;
  threads.Use(4);
  const auto one = std::bit_cast<std::uint32_t>(1.0F);
  const std::set<std::uint32_t> nearest = {one};
  const std::set<std::uint32_t> upward = {one + 1};
  EXPECT_EQ(SumsOfAll(threads, 4, 1, 1e-10F), nearest);
  std::fesetround(FE_UPWARD);
  const auto sums = SumsOfAll(threads, 4, 1, 1e-10F);
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(sums, upward);
  EXPECT_EQ(SumsOfAll(threads, 4, 1, 1e-10F), nearest);
}

#if defined(__SSE2__)
TEST_F(ThreadsThatCombine, TakeSubnormalNumbersForZeroWhereTheCallerDoes) {
  CombineThreads threads;
  threads.Use(4);
  constexpr float kSubnormal = std::numeric_limits<float>::denorm_min();
  const std::set<std::uint32_t> exact = {2};
  const std::set<std::uint32_t> zero = {0};
  EXPECT_EQ(SumsOfAll(threads, 4, kSubnormal, kSubnormal), exact);
  const auto before = _mm_getcsr();
  _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
  _MM_SET_DENORMALS_ZERO_MODE(_MM_DENORMALS_ZERO_ON);
  const auto sums = SumsOfAll(threads, 4, kSubnormal, kSubnormal);
  _mm_setcsr(before);
  EXPECT_EQ(sums, zero);
  EXPECT_EQ(SumsOfAll(threads, 4, kSubnormal, kSubnormal), exact);
}
#endif

/// The other helpers are awake, or all are asleep: those that are asked have to come, and no others.
TEST_F(ThreadsThatCombine, AreThoseThatAWorkIsLongEnoughFor) {
  CombineThreads threads;
  threads.Use(8);
  for (const auto pause : {std::chrono::microseconds(0), std::chrono::microseconds(5000)}) {
    for (int i = 0; i < 20; ++i) {
      MeetAll(threads, 8, [] {});
      std::this_thread::sleep_for(pause);
      EXPECT_EQ(ThreadsOfAWorkForTwo(threads), 2u);
    }
  }
}

/// Each loop ends when the number falls; a wait that the machine has made short is not counted.
TEST_F(ThreadsThatCombine, AreFewerWhereHelpersAreOftenLate) {
  CombineThreads threads;
  threads.Use(4, CombineThreads::Number::kMayFall);
  while (threads.number() == 4) WorkWithALateHelper(threads);
  EXPECT_EQ(threads.number(), 2);
  while (threads.number() == 2) WorkWithALateHelper(threads);
  EXPECT_EQ(threads.number(), 1);
  EXPECT_EQ(ThreadsOf(threads, kLong), 1u);
}

TEST_F(ThreadsThatCombine, AreAsManyAsWereAskedForAlsoWhenLate) {
  CombineThreads threads;
  threads.Use(4);
  for (int i = 0; i < 20; ++i) WorkWithALateHelper(threads);
  EXPECT_EQ(threads.number(), 4);
}

TEST_F(ThreadsThatCombine, AreNotStartedForShortWork) {
  CombineThreads threads(CountedStart);
  threads.Use(8);
  EXPECT_EQ(ThreadsOf(threads, (256 << 10) - 1), 1u);
  EXPECT_EQ(started_, 0);
  ThreadsOf(threads, 256 << 10);
  EXPECT_EQ(started_, 1);
  ThreadsOf(threads, kLong);
  EXPECT_EQ(started_, 7);
}

TEST_F(ThreadsThatCombine, AreFewerWhereNoMoreCanBeStarted) {
  for (const int allowed : {0, 2}) {
    started_ = 0;
    allowed_ = allowed;
    CombineThreads threads(CountedStart);
    threads.Use(8);
    EXPECT_LE(ThreadsOf(threads, kLong), static_cast<std::size_t>(allowed + 1));
    EXPECT_EQ(threads.number(), allowed + 1);
    MeetAll(threads, allowed + 1, [] {});
  }
}

TEST_F(ThreadsThatCombine, AreOneWhereThereIsNoMemoryForOthers) {
  CombineThreads threads([](std::function<void()>) -> std::thread { throw std::bad_alloc(); });
  threads.Use(8);
  EXPECT_EQ(ThreadsOf(threads, kLong), 1u);
  EXPECT_EQ(threads.number(), 1);
}

TEST_F(ThreadsThatCombine, LeaveASecondCallerAlone) {
  CombineThreads threads;
  threads.Use(4);
  std::atomic<bool> second_is_over{false};
  threads.ForSlices(kLong, 1, [&](std::int64_t first, std::int64_t) {
    if (first != 0) return;
    std::thread([&] { EXPECT_EQ(ThreadsOf(threads, kLong), 1u); }).join();
    second_is_over = true;
  });
  EXPECT_TRUE(second_is_over);
}

TEST_F(ThreadsThatCombine, ServeTwoCallersThatMeet) {
  CombineThreads threads;
  threads.Use(3);
  const ThreeInputs inputs(SLIPWAY_FLOAT32, kLong / 4 + 1, 0);
  const auto expected = inputs.Combined(nullptr, SLIPWAY_SUM, 1, true);
  std::atomic<int> wrong{0};
  const auto call = [&] {
    for (int i = 0; i < 50; ++i) wrong += inputs.Combined(&threads, SLIPWAY_SUM, 1, true) == expected ? 0 : 1;
  };
  std::thread other(call);
  call();
  other.join();
  EXPECT_EQ(wrong, 0);
}

/// After each pause they may still look for work, be about to sleep, or sleep.
TEST_F(ThreadsThatCombine, EndAwakeOrAsleepAndWakeUpForWork) {
  for (const auto pause :
       {std::chrono::microseconds(0), std::chrono::microseconds(60), std::chrono::microseconds(5000)}) {
    for (int i = 0; i < 20; ++i) {
      CombineThreads threads(CountedStart);
      threads.Use(4);
      MeetAll(threads, 4, [] {});
      std::this_thread::sleep_for(pause);
      MeetAll(threads, 4, [] {});
      std::this_thread::sleep_for(pause);
    }
    EXPECT_EQ(running_, 0);
  }
}

TEST_F(ThreadsThatCombine, HaveANameAndNoSignalsOfTheProgram) {
  CombineThreads threads;
  threads.Use(3);
  sigset_t before;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
  const auto caller = std::this_thread::get_id();
  MeetAll(threads, 3, [&] {
    sigset_t blocked;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    if (std::this_thread::get_id() == caller) {
      EXPECT_EQ(::sigismember(&blocked, SIGTERM), ::sigismember(&before, SIGTERM));
      return;
    }
    char name[16] = {};
    ::pthread_getname_np(::pthread_self(), name, sizeof name);
    EXPECT_STREQ(name, "slipway-sum");
    for (const int of_program : {SIGTERM, SIGUSR1, SIGALRM, SIGCHLD}) EXPECT_EQ(::sigismember(&blocked, of_program), 1);
    EXPECT_EQ(::sigismember(&blocked, SIGSEGV), 0);
  });
}

TEST_F(ThreadsThatCombine, AreNotMeasuredWhereThereIsNothingToChoose) {
  CombineThreads threads(CountedStart);
  threads.Measure(2);
  threads.Limit([] { return 1; });
  threads.Measure(2);
  EXPECT_EQ(threads.number(), 1);
  CombineThreads alone(CountedStart);
  alone.Limit([] { return 8; });
  alone.Measure(1);
  EXPECT_EQ(alone.number(), 1);
  CombineThreads given(CountedStart);
  given.Limit([] { return 8; });
  given.Use(5);
  given.Measure(2);
  EXPECT_EQ(given.number(), 5);
  EXPECT_EQ(started_, 0);
}

TEST_F(ThreadsThatCombine, AreMeasuredOnceUpToTheLimit) {
  for (const int ranks : {2, 3, 100}) {
    CombineThreads threads(CountedStart);
    threads.Limit([] { return 3; });
    started_ = 0;
    threads.Measure(ranks);
    const int number = threads.number();
    EXPECT_GE(number, 1);
    EXPECT_LE(number, 3);
    EXPECT_GE(started_, 1) << "two threads were not tried";
    EXPECT_TRUE(running_ == 0 || running_ == number - 1) << running_ << " of " << number;
    const int started = started_;
    threads.Measure(ranks);
    EXPECT_EQ(threads.number(), number);
    EXPECT_EQ(started_, started);
    EXPECT_LE(ThreadsOf(threads, kLong), static_cast<std::size_t>(number));
  }
}

TEST_F(ThreadsThatCombine, AreChosenAlsoWhereNoneCanBeStarted) {
  allowed_ = 0;
  CombineThreads threads(CountedStart);
  threads.Limit([] { return 8; });
  threads.Measure(2);
  EXPECT_EQ(threads.number(), 1);
}

}  // namespace
}  // namespace slipway::test
