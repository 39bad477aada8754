// The way of batches to a GPU, that of gradients to the exchange, and the choice of a GPU, on two GPUs that are none.
// Nothing is computed.

#include <gmock/gmock.h>

#include <cstdlib>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/files.h"
#include "staging/formats/example.h"
#include "staging/formats/tfrecord.h"
#include "tests/support/temp_directory.h"
#include "tests/trainers/late_gpu.h"
#include "trainers/common/classification.h"
#include "trainers/common/device.h"
#include "trainers/common/gradient_batch.h"
#include "trainers/common/records.h"
#include "trainers/common/usage_error.h"

namespace trainers {
namespace {

using slipway::test::LateGpu;
using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr std::int64_t kRecords = 23;
constexpr std::int64_t kBatch = 4;
constexpr std::int64_t kClasses = 100;

/// Three numbers and a label.
class Numbers final : public Classification {
 public:
  std::string_view name() const override { return "numbers"; }
  std::string_view about() const override { return ""; }
  std::string_view records() const override { return "records"; }
  void Describe(OptionList& /*options*/, Arguments& /*arguments*/) override {}
  slipway::staging::BatchField Input(bool /*training*/) const override {
    return {"values", slipway::staging::ElementType::kFloat32, slipway::staging::Shape{3}, {}};
  }
  slipway::staging::BatchField Target() const override { return LabelField("label"); }
  std::vector<std::int64_t> InputShape() const override { return {3, 1}; }
  std::int64_t classes() const override { return kClasses; }
  torch::nn::Sequential MakeModel() const override { return {}; }
  std::map<std::string, std::string> Shape() const override { return {}; }
};

/// A batch as the device holds it, with nothing left of the reader.
struct Seen {
  explicit Seen(const TensorBatch& batch)
      : records(batch.records),
        shape(batch.input.sizes().vec()),
        input(ValuesOf<float>(batch.input)),
        target(ValuesOf<std::int64_t>(batch.target)) {}
  bool operator==(const Seen&) const = default;

  template <class Number>
  static std::vector<Number> ValuesOf(const at::Tensor& tensor) {
    const auto* values = static_cast<const Number*>(tensor.data_ptr());
    return {values, values + tensor.numel()};
  }

  std::vector<std::uint64_t> records;
  std::vector<std::int64_t> shape;
  std::vector<float> input;
  std::vector<std::int64_t> target;
};

class GpuBatches : public ::testing::Test {
 protected:
  GpuBatches() {
    LateGpu::Get().Reset();
    Write("train", {});
    Write("test", {});
    ::unsetenv("SLIPWAY_CONFIG");
    session_.emplace();
  }

  /// Label i % kClasses; none for record `damaged`, too large a one for record `mislabelled`.
  struct Faults {
    std::optional<std::int64_t> damaged = {};
    std::optional<std::int64_t> mislabelled = {};
  };
  void Write(const std::string& dataset, const Faults& faults) {
    const auto folder = directory_ / dataset;
    slipway::MakeDirectories(folder);
    slipway::staging::TfrecordWriter writer(folder / "records.tfrecord");
    for (std::int64_t i = 0; i < kRecords; ++i) {
      const float values[] = {static_cast<float>(i), static_cast<float>(i) / 3, -1};
      slipway::staging::ExampleBuilder example;
      example.AddFloats("values", values);
      if (i != faults.damaged) example.AddInt("label", i == faults.mislabelled ? kClasses : i);
      writer.Write(example.Finish());
    }
    writer.Close();
    ::setenv(dataset == "train" ? "SLIPWAY_DATA_TRAIN" : "SLIPWAY_DATA_TEST", folder.c_str(), 1);
  }

  Records ForTraining(at::Device device) {
    settings_.validation_fraction = 0;
    return Records::ForTraining(task_, settings_, arguments_, {kBatch, device}, *session_);
  }
  Records ForTest(at::Device device) { return Records::ForTest(task_, {kBatch, device}, *session_); }

  /// Those on the device stay as they are while later ones arrive.
  static std::vector<Seen> OnGpu(Records& records) {
    std::vector<TensorBatch> batches;
    while (auto batch = records.Next()) batches.push_back(*batch);
    return {batches.begin(), batches.end()};
  }
  static std::vector<Seen> OnCpu(Records& records) {
    std::vector<Seen> seen;
    while (const auto batch = records.Next()) seen.emplace_back(*batch);
    return seen;
  }

  const at::Device cpu_ = at::kCPU;
  const at::Device gpu_{at::kCUDA, 1};

 private:
  slipway::test::TempDirectory directory_;
  Numbers task_;
  Settings settings_;
  Arguments arguments_;
  std::optional<slipway::client::Session> session_;
};

TEST_F(GpuBatches, AreThoseOfTheCpuInEveryEpoch) {
  auto on_cpu = ForTraining(cpu_);
  auto on_gpu = ForTraining(gpu_);
  for (int epoch = 0; epoch < 3; ++epoch) {
    const auto expected = OnCpu(on_cpu);
    EXPECT_THAT(expected, SizeIs(kRecords / kBatch));
    EXPECT_EQ(OnGpu(on_gpu), expected) << "epoch " << epoch;
  }
}

TEST_F(GpuBatches, EndWithABatchThatIsNotFullWhereRecordsAreEvaluated) {
  auto on_cpu = ForTest(cpu_);
  auto on_gpu = ForTest(gpu_);
  const auto batches = OnGpu(on_gpu);
  EXPECT_EQ(batches, OnCpu(on_cpu));
  EXPECT_EQ(batches.back().target, (std::vector<std::int64_t>{20, 21, 22}));
}

TEST_F(GpuBatches, LeaveOutDamagedRecordsAsOnTheCpu) {
  Write("test", {.damaged = 5});
  ::setenv("SLIPWAY_CONFIG", R"({"data": {"test": {"on_corrupt": "skip"}}})", 1);
  auto on_cpu = ForTest(cpu_);
  auto on_gpu = ForTest(gpu_);
  const auto batches = OnGpu(on_gpu);
  EXPECT_EQ(batches, OnCpu(on_cpu));
  EXPECT_EQ(batches.at(1).records, (std::vector<std::uint64_t>{4, 6, 7}));
  EXPECT_EQ(on_gpu.TakeSkipped()->count, on_cpu.TakeSkipped()->count);
}

TEST_F(GpuBatches, AreCopiedFromPinnedMemoryOnAStreamOfTheirOwn) {
  auto records = ForTraining(gpu_);
  const auto batches = OnGpu(records);
  const auto& gpu = LateGpu::Get();
  EXPECT_THAT(gpu.copies, SizeIs(2 * batches.size())) << "input and target, each once";
  EXPECT_THAT(gpu.copies, Each(Field(&LateGpu::Copied::from_pinned, true)));
  EXPECT_THAT(gpu.copies, Each(Field(&LateGpu::Copied::stream, 1)));
  EXPECT_EQ(gpu.stream, 0) << "the program computes on the stream that it had";
  EXPECT_THAT(gpu.uses, SizeIs(2 * batches.size()));
  EXPECT_THAT(gpu.uses, Each(0)) << "libtorch knows who uses the memory";
  EXPECT_EQ(gpu.device, 0);
}

TEST_F(GpuBatches, AreCopiedWhileTheOneBeforeIsComputedWith) {
  auto records = ForTraining(gpu_);
  records.Next();
  EXPECT_THAT(LateGpu::Get().copies, SizeIs(4));
  EXPECT_FALSE(LateGpu::Get().is_idle()) << "nobody has waited for the second batch";
}

TEST_F(GpuBatches, ComeFromOrdinaryMemoryAfterAWarningWhereNoneCanBePinned) {
  LateGpu::Get().can_pin = false;
  ::testing::internal::CaptureStderr();
  auto on_gpu = ForTraining(gpu_);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("numbers: warning: batches are copied to the GPU from ordinary memory, which is slower: CUDA "
                        "error: out of memory; next: raise `ulimit -l`"));
  auto on_cpu = ForTraining(cpu_);
  EXPECT_EQ(OnGpu(on_gpu), OnCpu(on_cpu));
}

TEST_F(GpuBatches, BeginAgainAfterOneThatWasCopiedAhead) {
  auto records = ForTraining(gpu_);
  const auto first = OnGpu(records);
  for (int given = 0; given < 3; ++given) records.Next();  // of the second epoch
  records.Begin(0, 2);
  EXPECT_TRUE(LateGpu::Get().is_idle()) << "the reader may overwrite all its memory";
  EXPECT_EQ(OnGpu(records), std::vector<Seen>(first.begin() + 2, first.end()));
}

TEST_F(GpuBatches, LetNoMemoryGoThatIsStillCopiedFrom) {
  std::optional<Records> records(ForTraining(gpu_));
  records->Next();
  EXPECT_FALSE(LateGpu::Get().is_idle());
  records.reset();
  EXPECT_TRUE(LateGpu::Get().is_idle());
}

/// Batches before the error, and the error.
std::pair<int, std::string> UntilItFails(Records& records) {
  int given = 0;
  try {
    while (records.Next()) ++given;
  } catch (const std::exception& error) {
    return {given, error.what()};
  }
  return {given, "none"};
}

TEST_F(GpuBatches, FailAfterAsManyAsOnTheCpu) {
  for (const auto& faults : {Faults{.damaged = 13}, Faults{.mislabelled = 13}}) {
    Write("test", faults);
    auto on_cpu = ForTest(cpu_);
    auto on_gpu = ForTest(gpu_);
    const auto expected = UntilItFails(on_cpu);
    EXPECT_EQ(UntilItFails(on_gpu), expected);
    EXPECT_EQ(expected.first, 3);
    EXPECT_THAT(expected.second, HasSubstr("record 13"));
  }
}

using Calls = std::vector<std::vector<int>>;

/// The calls of two backward passes over gradients of these sizes: the last parameter's comes first.
Calls CallsOfTwoPasses(std::int64_t most_bytes, const std::vector<std::int64_t>& bytes) {
  Calls calls;
  GradientBatch batch(most_bytes,
                      [&](std::span<const int> indices) { calls.emplace_back(indices.begin(), indices.end()); });
  for (int pass = 0; pass < 2; ++pass) {
    for (auto index = static_cast<int>(bytes.size()) - 1; index >= 0; --index) {
      batch.Add(index, bytes[static_cast<std::size_t>(index)]);
    }
    batch.HandOver();
  }
  return calls;
}

TEST(GradientBatch, GoesToTheExchangeOnceItIsLargeAndAtTheEndOfThePass) {
  constexpr auto kMost = GradientBatch::kMostBytesOnGpu;
  EXPECT_EQ(CallsOfTwoPasses(kMost, {4, kMost / 2, kMost / 2, 4, 2 * kMost, 4}),
            (Calls{{5, 4}, {3, 2, 1}, {0}, {5, 4}, {3, 2, 1}, {0}}));
  EXPECT_EQ(CallsOfTwoPasses(kMost, {kMost, 4}), (Calls{{1, 0}, {1, 0}})) << "nothing is left at the end";
  EXPECT_EQ(CallsOfTwoPasses(1, {4, 8}), (Calls{{1}, {0}, {1}, {0}})) << "each by itself, as on a CPU";
}

TEST(GradientBatch, ForgetsWhatTheExchangeHasRefused) {
  int calls = 0;
  GradientBatch batch(8, [&](std::span<const int> indices) {
    if (++calls == 1) throw std::runtime_error("refused");
    EXPECT_EQ(std::vector<int>(indices.begin(), indices.end()), std::vector<int>{2});
  });
  batch.Add(0, 4);
  EXPECT_THROW(batch.Add(1, 4), std::runtime_error);
  batch.Add(2, 8);
  EXPECT_EQ(calls, 2);
}

TEST(Gpu, IsTheCurrentOneOnceItIsChosen) {
  LateGpu::Get().Reset();
  Arguments arguments;
  EXPECT_EQ(ChosenDevice(arguments, 3), at::Device(at::kCUDA, 1)) << "the ranks of a node take turns";
  EXPECT_EQ(LateGpu::Get().device, 1);
  arguments.precision = "fp16";
  EXPECT_EQ(ChosenDevice(arguments, 0), at::Device(at::kCUDA, 0));
  arguments.device = "cpu";
  EXPECT_THROW(ChosenDevice(arguments, 0), UsageError) << "fp16 needs a GPU";
}

}  // namespace
}  // namespace trainers
