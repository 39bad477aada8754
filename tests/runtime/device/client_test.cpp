// The C++ face on a GPU, of a program that begins and ends the job itself.

#include <utility>
#include <vector>

#include "runtime/slipway.hpp"
#include "tests/runtime/device/gpu_program.h"

namespace slipway::test {
namespace {

constexpr std::int64_t kFloats = 40'000;

std::vector<char> CombinedByCpu(client::Session& session, std::vector<char> values, slipway_op op) {
  session.Allreduce(values.data(), kFloats, SLIPWAY_FLOAT32, op);
  return values;
}

/// Memory on the GPU and of the CPU, for the same floats.
struct Twins {
  Twins(client::Session& session, std::int64_t count)
      : memory(session.AllocOnDevice(count * static_cast<std::int64_t>(sizeof(float)), 0)),
        view(memory.data(), static_cast<std::size_t>(count) * sizeof(float)),
        on_cpu(static_cast<std::size_t>(count) * sizeof(float)) {}
  bool AreAlike(const GpuStream& stream) { return view.Read(stream.handle()) == on_cpu; }

  client::DeviceMemory memory;
  GpuView view;
  std::vector<char> on_cpu;
};

void ExchangeShares(client::Session& session, const GpuStream& stream) {
  const auto ranks = session.size();
  const std::vector<std::int64_t> counts(static_cast<std::size_t>(ranks), kFloats);
  Twins own(session, kFloats);
  Twins of_all(session, kFloats * ranks);
  Twins turned(session, kFloats * ranks);
  own.on_cpu = RandomBytes(SLIPWAY_FLOAT32, kFloats, 9 + static_cast<unsigned>(session.rank()));
  own.view.Fill(own.on_cpu.data(), stream.handle());
  session.Allgather(own.memory.data(), of_all.memory.data(), counts, SLIPWAY_FLOAT32, stream.handle());
  session.Allgather(own.on_cpu.data(), of_all.on_cpu.data(), counts, SLIPWAY_FLOAT32);
  session.Alltoall(of_all.memory.data(), counts, turned.memory.data(), counts, SLIPWAY_FLOAT32, stream.handle());
  session.Alltoall(of_all.on_cpu.data(), counts, turned.on_cpu.data(), counts, SLIPWAY_FLOAT32);
  session.ReduceScatter(turned.memory.data(), own.memory.data(), counts, SLIPWAY_FLOAT32, SLIPWAY_SUM, stream.handle());
  session.ReduceScatter(turned.on_cpu.data(), own.on_cpu.data(), counts, SLIPWAY_FLOAT32, SLIPWAY_SUM);
  for (auto* each : {&own, &of_all, &turned}) EXPECT_TRUE(each->AreAlike(stream));
}

TEST(ClientOnDevice, ExchangesInTheOrderOfAStream) {
  const Gpu gpu;
  client::Session session;
  auto first = session.AllocOnDevice(kFloats * sizeof(float), 0);
  const auto memory = std::move(first);
  GpuView view(memory.data(), kFloats * sizeof(float));
  GpuStream stream;
  const auto values = RandomBytes(SLIPWAY_FLOAT32, kFloats, 5 + static_cast<unsigned>(session.rank()));
  view.Fill(values.data(), stream.handle());
  session.Allreduce(memory.data(), kFloats, SLIPWAY_FLOAT32, SLIPWAY_SUM, stream.handle());
  EXPECT_TRUE(view.Read(stream.handle()) == CombinedByCpu(session, values, SLIPWAY_SUM));

  session.Register("net", std::vector<client::Tensor>{{"w", {kFloats}, memory.floats()}});
  for (const bool together : {false, true}) {
    view.Fill(values.data(), stream.handle());
    if (together) {
      session.Submit("net", std::vector{0}, stream.handle());
    } else {
      session.Submit("net", 0, stream.handle());
    }
    session.Wait("net", stream.handle());
    EXPECT_TRUE(view.Read(stream.handle()) == CombinedByCpu(session, values, SLIPWAY_MEAN)) << together;
  }

  const std::vector<client::Tensor> weights{{"w", {kFloats}, memory.floats()}};
  view.Fill(values.data(), stream.handle());
  session.Broadcast(weights, 0, stream.handle());
  auto of_root = values;
  session.Broadcast(std::vector<client::Tensor>{{"w", {kFloats}, reinterpret_cast<float*>(of_root.data())}});
  EXPECT_TRUE(view.Read(stream.handle()) == of_root);
  ExchangeShares(session, stream);
  EXPECT_THROW(session.Submit("net", 1, stream.handle()), client::Failure);
  EXPECT_EQ(Gpu::Violations(), "");
}

}  // namespace
}  // namespace slipway::test
