// Random schedules of a program and its GPU: teams of all settings, and other collectives between their steps.

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tests/runtime/device/gpu_program.h"
#include "tests/runtime/device/twin_teams.h"
#include "tests/runtime/device/uneven_shares.h"

namespace slipway::test {
namespace {

using namespace fake_gpu;  // the entries that the program calls

/// What a schedule is made of.
struct Schedule {
  explicit Schedule(unsigned seed) : random(seed) {}
  std::size_t Below(std::size_t bound) { return random() % bound; }
  unsigned Seed() { return static_cast<unsigned>(random()); }
  const std::string& OneOf(const std::vector<std::string>& words) { return words[Below(words.size())]; }

  std::mt19937 random;
};

/// The random numbers of a schedule, and the program's streams.
struct Draws {
  explicit Draws(int number)
      : of_job(static_cast<unsigned>(number)), own(static_cast<unsigned>(number * 64 + Rank() + 1)) {}
  void* Stream() { return streams[own.Below(std::size(streams))].handle(); }
  void StepSometimes(std::size_t one_in) {
    if (own.Below(one_in) == 0) fake_gpu_step();
  }

  Schedule of_job;  ///< the same on all ranks
  Schedule own;     ///< the GPU's and the program's
  GpuStream streams[3];
};

/// Settings of a team. Two at once where the CPU combines: a way that is named takes no other.
std::string RandomSettings(Schedule& of_job) {
  static const std::vector<std::string> kOfAnyWay = {
      R"("clip_norm": 4)",     R"("check_finite": true)", R"("accumulate": 2)", R"("mode": "delayed", "lag": 1)",
      R"("compress": "fp16")", R"("compress": "bf16")",   R"("op": "sum")"};
  // The quotient of a mean needs the kernel of the sums.
  static const std::vector<std::string> kWays = {
      R"("gpu_exchange": "staged")", R"("gpu_exchange": "auto")", R"("gpu_exchange": "nccl")",
      IsHip() ? R"("gpu_exchange": "mpi", "op": "sum")" : R"("gpu_exchange": "mpi")"};
  const auto first = "{\"bucket_bytes\": " + std::to_string(1000 + of_job.Below(11000)) + ", ";
  if (of_job.Below(kOfAnyWay.size() + kWays.size()) >= kOfAnyWay.size()) return first + of_job.OneOf(kWays) + "}";
  // Where the environment names a way, it is that of the allreduces alone.
  const auto one = first + R"("gpu_exchange": "auto", )" + of_job.OneOf(kOfAnyWay);
  return one + (of_job.Below(2) == 0 ? ", " + of_job.OneOf(kOfAnyWay) : "") + "}";
}

/// Of up to 80 KB: some may be for the GPUs, some are for the CPU.
void Allreduce(Draws& draws) {
  const auto op = draws.of_job.Below(3) == 0 ? SLIPWAY_MAX : SLIPWAY_SUM;
  const auto count = static_cast<std::int64_t>(1 + draws.of_job.Below(20'000));
  void* stream = draws.Stream();
  auto here = RandomBytes(SLIPWAY_FLOAT32, count, draws.own.Seed());
  GpuBuffer there(here.size());
  there.Fill(here.data(), stream);
  ASSERT_EQ(slipway_allreduce_on_stream(there.data(), count, SLIPWAY_FLOAT32, op, SLIPWAY_ALL, stream), SLIPWAY_OK)
      << slipway_error_message();
  draws.StepSometimes(2);
  ASSERT_EQ(slipway_allreduce(here.data(), count, SLIPWAY_FLOAT32, op, SLIPWAY_ALL), SLIPWAY_OK);
  ASSERT_TRUE(there.Read(stream) == here) << "op " << op << " of " << count;
}

void Broadcast(Draws& draws) {
  const auto count = static_cast<std::int64_t>(1 + draws.of_job.Below(3000));
  const auto root = static_cast<int>(draws.of_job.Below(static_cast<std::size_t>(Ranks())));
  const auto of_root = RandomBytes(SLIPWAY_FLOAT32, count, draws.of_job.Seed());
  void* stream = draws.Stream();
  GpuBuffer there(of_root.size());
  const slipway_tensor tensor{"copies", SLIPWAY_FLOAT32, 1, &count, there.data()};
  const auto own = RandomBytes(SLIPWAY_FLOAT32, count, draws.own.Seed());
  there.Fill(Rank() == root ? of_root.data() : own.data(), stream);
  ASSERT_EQ(slipway_broadcast_on_stream(&tensor, 1, root, SLIPWAY_ALL, stream), SLIPWAY_OK) << slipway_error_message();
  draws.StepSometimes(2);
  ASSERT_TRUE(there.Read(stream) == of_root) << "broadcast of " << count << " by rank " << root;
}

void ExchangeShares(Draws& draws) {
  const auto kind = static_cast<SharesKind>(draws.of_job.Below(3));
  const UnevenShares shares(kind);
  void* stream = draws.Stream();
  const auto values =
      RandomBytes(SLIPWAY_FLOAT32, static_cast<std::int64_t>(shares.sent() / sizeof(float)), draws.own.Seed());
  std::vector<char> wanted(shares.received());
  GpuBuffer send(shares.sent());
  GpuBuffer receive(shares.received());
  send.Fill(values.data(), stream);
  ASSERT_EQ(shares.CarryOut(send.data(), receive.data(), stream), SLIPWAY_OK) << slipway_error_message();
  draws.StepSometimes(2);
  ASSERT_EQ(shares.CarryOut(values.data(), wanted.data(), nullptr), SLIPWAY_OK) << slipway_error_message();
  ASSERT_TRUE(receive.Read(stream) == wanted) << "kind " << static_cast<int>(kind);
}

/// Behind a team's copies or sums, which may still be queued.
void CollectiveSometimes(Draws& draws) {
  switch (draws.of_job.Below(12)) {
    case 0:
    case 1:
    case 2:
    case 3: return Allreduce(draws);
    case 4: return Broadcast(draws);
    case 5: return ExchangeShares(draws);
    default: return;
  }
}

/// The team on the GPU, with some tensors handed over as soon as they are queued. The last stream gets the result.
void StepOfTeam(TwinTeams& teams, int step, Draws& draws, void* last) {
  std::vector<int> tensors(static_cast<std::size_t>(teams.tensors()));
  std::iota(tensors.begin(), tensors.end(), 0);
  std::ranges::shuffle(tensors, draws.own.random);
  for (const int tensor : tensors) {
    const bool submitted = draws.own.Below(2) == 0;
    void* stream = submitted ? draws.Stream() : last;
    teams.Fill(tensor, static_cast<unsigned>(1000 * step + 50 * tensor + Rank()), stream);
    draws.StepSometimes(4);
    if (!submitted) continue;
    ASSERT_EQ(slipway_submit_on_stream(teams.on_gpu().c_str(), tensor, stream), SLIPWAY_OK) << slipway_error_message();
  }
  ASSERT_EQ(slipway_wait_on_stream(teams.on_gpu().c_str(), last), SLIPWAY_OK) << slipway_error_message();
}

void CarryOut(Draws& draws) {
  fake_gpu_set_order(static_cast<fake_gpu_order>(draws.own.Below(3)), draws.own.random());
  std::vector<std::int64_t> sizes(1 + draws.of_job.Below(5));
  for (auto& size : sizes) size = static_cast<std::int64_t>(draws.of_job.Below(3000));
  const auto settings = RandomSettings(draws.of_job);
  SCOPED_TRACE(settings);
  TwinTeams teams("random", sizes, settings);
  for (int step = 0; step < 3; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    void* last = draws.Stream();
    ASSERT_NO_FATAL_FAILURE(StepOfTeam(teams, step, draws, last));
    ASSERT_NO_FATAL_FAILURE(CollectiveSometimes(draws));
    ASSERT_EQ(slipway_gradients(teams.cpu().c_str()), SLIPWAY_OK) << slipway_error_message();
    ASSERT_EQ(teams.Differences(last), "");
    for (auto& stream : draws.streams) cuStreamSynchronize(stream.handle());
  }
  ASSERT_EQ(Gpu::Violations(), "");
}

/// mpi_main.cpp ends a test after a minute: here each schedule.
constexpr unsigned kSecondsOfSchedule = 60;

/// SLIPWAY_TEST_SCHEDULES: how many; the full tier takes 10,000.
TEST_F(OnDevice, RandomSchedulesGiveTheBitsOfTheCpu) {
  const char* asked = std::getenv("SLIPWAY_TEST_SCHEDULES");
  const int schedules = asked != nullptr ? std::atoi(asked) : 60;
  for (int number = 0; number < schedules; ++number) {
    SCOPED_TRACE("schedule " + std::to_string(number));
    ::alarm(kSecondsOfSchedule);
    Draws draws(number);
    ASSERT_NO_FATAL_FAILURE(CarryOut(draws));
  }
}

}  // namespace
}  // namespace slipway::test
