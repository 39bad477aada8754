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
  EXPECT_THROW(session.Submit("net", 1, stream.handle()), client::Failure);
  EXPECT_EQ(Gpu::Violations(), "");
}

}  // namespace
}  // namespace slipway::test
