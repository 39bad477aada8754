// Programs that use a GPU in the right order, and the same with one bug each: how the fake driver tells them apart.

#include <algorithm>
#include <array>
#include <random>

#include "tests/runtime/device/fake_driver_fixture.h"

namespace slipway::fake_gpu {
namespace {

constexpr fake_gpu_order kOrders[] = {FAKE_GPU_LAZY, FAKE_GPU_EAGER, FAKE_GPU_RANDOM};

/// Negates one int.
void Negate(const fake_gpu_launch*, void** parameters) {
  auto* value = fake_gpu_shadow(*static_cast<DevicePointer*>(parameters[0]), kInt, FAKE_GPU_WRITE);
  if (value != nullptr) *static_cast<int*>(value) *= -1;
}

enum class Bug {
  kNone,
  kCopyWithoutWaitForGradient,
  kEventRecordedBeforeTheCopy,
  kHostReadsWithoutWait,
  kStagingReusedBeforeItsCopy,
  kUseWithoutWaitForResult,
  kWaitBeforeTheRecord,
};

/// One step of an exchange that is staged on the host: a kernel computes a gradient, a stream copies it out, the host
/// adds 100, another stream copies it back, a kernel uses it. Twice, with one staging buffer.
class StagedExchange : public FakeDriver {
 protected:
  void Open() {
    constexpr std::size_t kSize = sizeof(DevicePointer);
    fake_gpu_register_kernel("negate", &Negate, &kSize, 1);
    ModuleHandle module = nullptr;
    ASSERT_EQ(cuModuleLoadData(&module, "negate"), kSuccess);
    ASSERT_EQ(cuModuleGetFunction(&negate_, module, "negate"), kSuccess);
    gradient_ = Holding({-5});
    staging_ = Pinned(1);
  }

  void Launch(StreamHandle stream) {
    void* parameters[] = {&gradient_};
    ASSERT_EQ(cuLaunchKernel(negate_, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr), kSuccess);
  }

  void CopyOut(Bug bug) {
    Record(computed_, compute_);
    if (bug != Bug::kCopyWithoutWaitForGradient) Follow(out_, computed_);
    if (bug == Bug::kEventRecordedBeforeTheCopy) Record(copied_out_, out_);
    ASSERT_EQ(cuMemcpyDtoHAsync_v2(staging_, gradient_, kInt, out_), kSuccess);
    if (bug != Bug::kEventRecordedBeforeTheCopy) Record(copied_out_, out_);
  }

  void Add(Bug bug) {
    if (bug != Bug::kHostReadsWithoutWait) WaitFor(copied_out_);
    HostWrites(*staging_ + 100);
  }

  void CopyIn(Bug bug) {
    if (bug == Bug::kWaitBeforeTheRecord) Follow(compute_, copied_in_);
    ASSERT_EQ(cuMemcpyHtoDAsync_v2(gradient_, staging_, kInt, in_), kSuccess);
    Record(copied_in_, in_);
    const bool waits = bug != Bug::kUseWithoutWaitForResult && bug != Bug::kWaitBeforeTheRecord;
    if (waits) Follow(compute_, copied_in_);
  }

  void Run(fake_gpu_order order, std::uint64_t seed, Bug bug) {
    fake_gpu_set_order(order, seed);
    for (int step = 0; step < 2; ++step) {
      Launch(compute_);
      CopyOut(bug);
      Add(bug);
      CopyIn(bug);
      if (bug == Bug::kStagingReusedBeforeItsCopy) {
        HostWrites(0);
      }
    }
    Launch(compute_);
    ASSERT_EQ(cuStreamSynchronize(compute_), kSuccess);
    ASSERT_EQ(cuStreamSynchronize(in_), kSuccess);
    ASSERT_EQ(cuStreamSynchronize(out_), kSuccess);
  }

  void HostWrites(int value) {
    if (host_says_what_it_touches_) fake_gpu_host_access(staging_, kInt, FAKE_GPU_WRITE);
    *staging_ = value;
  }

  static std::uint64_t OrderViolations() {
    return fake_gpu_violation_count(FAKE_GPU_RACE) + fake_gpu_violation_count(FAKE_GPU_HOST_RACE);
  }

  bool host_says_what_it_touches_ = true;
  FunctionHandle negate_ = nullptr;
  DevicePointer gradient_ = 0;
  int* staging_ = nullptr;
  StreamHandle compute_ = NewStream();
  StreamHandle out_ = NewStream();
  StreamHandle in_ = NewStream();
  EventHandle computed_ = NewEvent();
  EventHandle copied_out_ = NewEvent();
  EventHandle copied_in_ = NewEvent();
};

TEST_F(StagedExchange, InTheRightOrderIsRightUnderEverySeed) {
  Open();
  for (const auto order : kOrders) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      Write(gradient_, {-5});
      Run(order, seed, Bug::kNone);
      // ((-5 * -1) + 100) * -1 + 100 = -5, then negated
      ASSERT_EQ(Read(gradient_, 1), std::vector<int>{5}) << order << " seed " << seed;
      ASSERT_EQ(Violations(), "") << order << " seed " << seed;
    }
  }
  EXPECT_EQ(fake_gpu_count(FAKE_GPU_DEVICE_SYNCHRONISATIONS), 0u);
  EXPECT_EQ(fake_gpu_count(FAKE_GPU_PAGEABLE_COPIES), 0u);
}

class StagedExchangeWithABug : public StagedExchange, public testing::WithParamInterface<Bug> {};

/// By what precedes what, not by luck: every seed finds it.
TEST_P(StagedExchangeWithABug, IsFoundUnderEverySeed) {
  Open();
  std::uint64_t found = 0;
  for (const auto order : kOrders) {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      Run(order, seed, GetParam());
      EXPECT_GT(OrderViolations(), found) << order << " seed " << seed;
      found = OrderViolations();
    }
  }
}

TEST_P(StagedExchangeWithABug, IsFoundInLazyOrderWithoutHelpByTheHost) {
  Open();
  host_says_what_it_touches_ = false;
  Run(FAKE_GPU_LAZY, 0, GetParam());
  EXPECT_GT(OrderViolations(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Bugs, StagedExchangeWithABug,
                         testing::Values(Bug::kCopyWithoutWaitForGradient, Bug::kEventRecordedBeforeTheCopy,
                                         Bug::kHostReadsWithoutWait, Bug::kStagingReusedBeforeItsCopy,
                                         Bug::kUseWithoutWaitForResult, Bug::kWaitBeforeTheRecord));

/// A random program in a right order, and what it computes when its operations run one after the other.
class RandomProgram : Makes {
 public:
  explicit RandomProgram(std::uint64_t seed) : random_(seed) {
    for (const unsigned flags : {1u, 1u, 0u}) streams_.push_back({NewStream(flags), NewEvent()});
  }

  void Step(int value) {
    const auto at = random_() % streams_.size();
    const auto on_device = random_() % kBuffers;
    const auto on_host = random_() % kBuffers;
    switch (random_() % 5) {
      case 0: return Set(at, on_device, value);
      case 1: return Out(at, on_host, on_device);
      case 2: return In(at, on_device, on_host);
      case 3: return HostWrites(on_host, value);
      default: return HostReads(on_host);
    }
  }

  void Finish() {
    for (auto& stream : streams_) ASSERT_EQ(cuStreamSynchronize(stream.handle), kSuccess);
    for (std::size_t i = 0; i < kBuffers; ++i) {
      EXPECT_EQ(Read(device_ + i * kInt, 1)[0], expected_device_[i]);
      EXPECT_EQ(host_[i], expected_host_[i]);
    }
    EXPECT_EQ(Violations(), "");
  }

 private:
  static constexpr std::size_t kBuffers = 4;  // in each memory, of one int

  struct Queue {
    StreamHandle handle;
    EventHandle last;  // recorded after the last operation
  };
  /// The streams whose work may touch a buffer.
  using Users = std::array<std::vector<std::size_t>, kBuffers>;

  void Join(std::size_t at, std::vector<std::size_t>& users) {
    for (const auto user : users) {
      if (user != at) Follow(streams_[at].handle, streams_[user].last);
    }
    if (std::find(users.begin(), users.end(), at) == users.end()) users.push_back(at);
  }
  void Note(std::size_t at) { Record(streams_[at].last, streams_[at].handle); }
  DevicePointer Device(std::size_t i) const { return device_ + i * kInt; }

  void Set(std::size_t at, std::size_t i, int value) {
    Join(at, device_users_[i]);
    ASSERT_EQ(cuMemsetD32Async(Device(i), static_cast<unsigned>(value), 1, streams_[at].handle), kSuccess);
    expected_device_[i] = value;
    Note(at);
  }
  void Out(std::size_t at, std::size_t to, std::size_t from) {
    Join(at, device_users_[from]);
    Join(at, host_users_[to]);
    ASSERT_EQ(cuMemcpyDtoHAsync_v2(host_ + to, Device(from), kInt, streams_[at].handle), kSuccess);
    expected_host_[to] = expected_device_[from];
    Note(at);
  }
  void In(std::size_t at, std::size_t to, std::size_t from) {
    Join(at, device_users_[to]);
    Join(at, host_users_[from]);
    ASSERT_EQ(cuMemcpyHtoDAsync_v2(Device(to), host_ + from, kInt, streams_[at].handle), kSuccess);
    expected_device_[to] = expected_host_[from];
    Note(at);
  }
  void HostFollows(std::size_t i) {
    for (const auto user : host_users_[i]) {
      while (cuEventQuery(streams_[user].last) == kNotReady) continue;
    }
    host_users_[i].clear();
  }
  void HostWrites(std::size_t i, int value) {
    HostFollows(i);
    host_[i] = expected_host_[i] = value;
  }
  void HostReads(std::size_t i) {
    HostFollows(i);
    EXPECT_EQ(host_[i], expected_host_[i]);
  }

  std::mt19937_64 random_;
  DevicePointer device_ = Holding(std::vector<int>(kBuffers));
  int* host_ = Pinned(kBuffers);
  std::vector<Queue> streams_;
  Users device_users_;
  Users host_users_;
  std::array<int, kBuffers> expected_device_{};
  std::array<int, kBuffers> expected_host_{};
};

class RandomPrograms : public FakeDriver, public testing::WithParamInterface<fake_gpu_order> {};

TEST_P(RandomPrograms, ComputeWhatTheirOperationsComputeOneAfterTheOther) {
  for (std::uint64_t seed = 1; seed <= 30 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    fake_gpu_set_order(GetParam(), seed);
    RandomProgram program(seed);
    for (int step = 1; step <= 60; ++step) program.Step(step);
    program.Finish();
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, RandomPrograms, testing::ValuesIn(kOrders));

}  // namespace
}  // namespace slipway::fake_gpu
