// GPUs of several ranks that wait for each other by events. With SLIPWAY_GPU_WAIT=events, as the test
// runtime_device_tests.events sets it.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/runtime/device/gpu_program.h"

namespace slipway::test {
namespace {

using namespace fake_gpu;  // the entries that the program calls

/// A team of two buckets, whose work runs no earlier than something waits for it.
class EventsOfANode : public OnDevice {
 protected:
  static constexpr std::int64_t kCount = 3000;

  void SetUp() override {
    if (Ranks() == 1 || !ByEvents()) GTEST_SKIP() << "no GPU waits for another one";
    fake_gpu_set_order(FAKE_GPU_LAZY, 0);
    for (int i = 0; i < 2; ++i) {
      buffers_.push_back(std::make_unique<GpuBuffer>(kCount * sizeof(float)));
      values_.push_back(RandomBytes(SLIPWAY_FLOAT32, kCount, Seed(7, i)));
    }
  }
  void Register() { Register(R"({"op": "sum", "bucket_bytes": 10000})"); }
  void RegisterAsOneBucket() { Register(R"({"op": "sum"})"); }
  void TearDown() override {
    if (!IsSkipped()) {
      EXPECT_EQ(slipway_unregister("events"), SLIPWAY_OK) << slipway_error_message();
    }
    OnDevice::TearDown();
  }
  void Fill(int tensor, void* stream) {
    const auto i = static_cast<std::size_t>(tensor);
    buffers_[i]->Fill(values_[i].data(), stream);
  }
  /// Whether both tensors hold the sums, for this stream.
  void ExpectSums(void* stream) {
    for (std::size_t i = 0; i < 2; ++i) {
      auto sums = values_[i];
      ASSERT_EQ(slipway_allreduce(sums.data(), kCount, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL), SLIPWAY_OK);
      EXPECT_TRUE(buffers_[i]->Read(stream) == sums) << "tensor " << i;
    }
  }

  std::vector<std::unique_ptr<GpuBuffer>> buffers_;
  std::vector<std::vector<char>> values_;

 private:
  void Register(const char* settings) {
    const slipway_tensor tensors[] = {{"a", SLIPWAY_FLOAT32, 1, &kCount, buffers_[0]->data()},
                                      {"b", SLIPWAY_FLOAT32, 1, &kCount, buffers_[1]->data()}};
    ASSERT_EQ(slipway_register("events", tensors, 2, 0), SLIPWAY_OK) << slipway_error_message();
    ASSERT_EQ(slipway_configure_team("events", settings), SLIPWAY_OK) << slipway_error_message();
  }
};

TEST_F(EventsOfANode, LetAStepEndBeforeTheGpuBegins) {
  Register();
  GpuStream stream;
  for (int i = 0; i < 2; ++i) Fill(i, stream.handle());
  const auto asked = fake_gpu_calls("cuEventQuery");
  const auto waited = fake_gpu_count(FAKE_GPU_HOST_WAITS);
  ASSERT_EQ(slipway_wait_on_stream("events", stream.handle()), SLIPWAY_OK) << slipway_error_message();
  EXPECT_EQ(fake_gpu_calls("cuEventQuery"), asked);
  EXPECT_EQ(fake_gpu_count(FAKE_GPU_HOST_WAITS), waited);
  EXPECT_GT(fake_gpu_pending(), 0u);
  ExpectSums(stream.handle());
}

/// Also for a stream that nothing orders after the default one.
TEST_F(EventsOfANode, LetACallWithoutAStreamWaitForTheSums) {
  Register();
  GpuStream streams[2];
  for (int i = 0; i < 2; ++i) Fill(i, nullptr);
  ASSERT_EQ(slipway_gradients("events"), SLIPWAY_OK) << slipway_error_message();
  ExpectSums(streams[0].handle());
  for (int i = 0; i < 2; ++i) Fill(i, nullptr);
  ASSERT_EQ(slipway_wait("events"), SLIPWAY_OK) << slipway_error_message();
  ExpectSums(streams[1].handle());
}

/// Both of one bucket, each from a stream of its own.
TEST_F(EventsOfANode, WaitForAllStreamsThatMakeABucket) {
  RegisterAsOneBucket();
  GpuStream streams[3];
  for (int step = 0; step < 3; ++step) {
    for (int i = 0; i < 2; ++i) {
      void* stream = streams[(step + i) % 3].handle();
      Fill(i, stream);
      ASSERT_EQ(slipway_submit_on_stream("events", i, stream), SLIPWAY_OK) << slipway_error_message();
    }
    ASSERT_EQ(slipway_wait_on_stream("events", streams[2].handle()), SLIPWAY_OK) << slipway_error_message();
    ExpectSums(streams[2].handle());
  }
}

/// Both of one bucket, each from the default stream of another thread.
TEST_F(EventsOfANode, WaitForTheStreamsOfAllThreadsThatMakeABucket) {
  RegisterAsOneBucket();
  const auto submit = [&](int tensor) {
    Fill(tensor, StreamOfThread());
    EXPECT_EQ(slipway_submit_on_stream("events", tensor, StreamOfThread()), SLIPWAY_OK) << slipway_error_message();
  };
  for (int step = 0; step < 4; ++step) {
    submit(step % 2);
    InAnotherThread([&] { submit(1 - step % 2); });
    ASSERT_EQ(slipway_wait_on_stream("events", StreamOfThread()), SLIPWAY_OK) << slipway_error_message();
    ExpectSums(StreamOfThread());
  }
}

/// A checkpoint waits until no stream waits for sums any more, also where the streams of two threads have one handle.
TEST_F(EventsOfANode, AwaitTheStreamsOfAllThreadsBeforeACheckpoint) {
  Register();
  const auto step = [] {
    EXPECT_EQ(slipway_wait_on_stream("events", StreamOfThread()), SLIPWAY_OK) << slipway_error_message();
  };
  for (int i = 0; i < 2; ++i) Fill(i, StreamOfThread());  // once: nothing orders the streams of the threads
  step();                                                 // makes what a team needs on the GPU
  ASSERT_EQ(cuCtxSynchronize(), kSuccess);
  ASSERT_EQ(fake_gpu_pending(), 0u);
  InAnotherThread(step);
  step();
  EXPECT_GT(fake_gpu_pending(), 0u);
  char path[4096];
  EXPECT_EQ(slipway_checkpoint_begin(1, path, sizeof path), SLIPWAY_OK) << slipway_error_message();
  EXPECT_EQ(fake_gpu_pending(), 0u);
}

/// A driver that cannot share them, on one rank.
TEST_F(EventsOfANode, AreNotUsedWhereARankCannot) {
  if (Rank() == 1) fake_gpu_fail_call("cuIpcGetEventHandle", 1, kNotSupported);
  const slipway_tensor tensors[] = {{"a", SLIPWAY_FLOAT32, 1, &kCount, buffers_[0]->data()},
                                    {"b", SLIPWAY_FLOAT32, 1, &kCount, buffers_[1]->data()}};
  ASSERT_EQ(slipway_register("events", tensors, 2, 0), SLIPWAY_OK) << slipway_error_message();
  GpuStream stream;
  for (int i = 0; i < 2; ++i) Fill(i, stream.handle());
  const auto asked = fake_gpu_calls("cuEventQuery");
  const auto kernels = fake_gpu_calls("cuLaunchKernel");
  ASSERT_EQ(slipway_wait_on_stream("events", stream.handle()), SLIPWAY_OK) << slipway_error_message();
  EXPECT_GT(fake_gpu_calls("cuEventQuery"), asked) << "no CPU has waited";
  EXPECT_GT(fake_gpu_calls("cuLaunchKernel"), kernels) << "the CPUs have added up";
}

/// A rank's GPU is behind by a step, and others are not to overtake it.
TEST_F(EventsOfANode, KeepStepsInOrder) {
  Register();
  GpuStream stream;
  for (int step = 0; step < 3; ++step) {
    for (int i = 0; i < 2; ++i) {
      if (step == 0) Fill(i, stream.handle());
    }
    ASSERT_EQ(slipway_wait_on_stream("events", stream.handle()), SLIPWAY_OK) << slipway_error_message();
  }
  for (auto& values : values_) {
    for (int step = 0; step < 2; ++step) {
      ASSERT_EQ(slipway_allreduce(values.data(), kCount, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL), SLIPWAY_OK);
    }
  }
  ExpectSums(stream.handle());
}

}  // namespace
}  // namespace slipway::test
