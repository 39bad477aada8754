#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "core/json.h"
#include "tests/runtime/device/gpu_program.h"
#include "tests/support/temp_directory.h"

namespace slipway::test {

/// A job of this process, with one tensor on the GPU.
class GpuJob : public testing::Test {
 protected:
  GpuJob() { ::setenv("SLIPWAY_METRICS", (folder_.path() / "metrics.jsonl").c_str(), 1); }
  ~GpuJob() override {
    if (slipway_rank() >= 0) End();
    int finalized = 0;
    MPI_Finalized(&finalized);
    // After an error the library has left that out, and mpirun would call it a failure.
    if (together_ && finalized == 0) MPI_Finalize();
  }

  /// With these `gradients`, and in a moment a stall.
  void Begin(const Json& gradients, const Json& trace = Json::object()) {
    const Json config{{"resilience", {{"stall_after_s", 3}}}, {"gradients", gradients}, {"trace", trace}};
    ASSERT_EQ(slipway_init(config.dump().c_str()), SLIPWAY_OK) << slipway_error_message();
    rank_ = slipway_rank();
  }
  int Register() {
    const slipway_tensor tensor{"bias", SLIPWAY_FLOAT32, 1, &kCount, buffer_.data()};
    const std::vector<char> values(kCount * sizeof(float));
    buffer_.Fill(values.data(), nullptr);
    return slipway_register("net", &tensor, 1, 0);
  }
  static void End() { EXPECT_EQ(slipway_finalize(), SLIPWAY_OK) << slipway_error_message(); }
  /// The only team of comm.json, with the report's `bits`. Of rank 0.
  Json ReportAfterEnd() {
    End();
    if (rank_ != 0) return {};
    std::ifstream file(folder_.path() / "comm.json");
    const auto report = Json::parse(file);
    auto team = report["teams"][0];
    team["bits"] = report["bits"];
    return team;
  }
  /// By way, how many collectives comm.json counts in its only group. Of rank 0.
  std::map<std::string, int> CallsByWayAfterEnd() {
    End();
    std::map<std::string, int> calls;
    if (rank_ != 0) return calls;
    std::ifstream file(folder_.path() / "comm.json");
    const auto groups = Json::parse(file)["collectives"]["groups"];
    EXPECT_EQ(groups.size(), 1u) << groups.dump();
    for (const auto& counts : groups[0]["calls"]) calls[counts["way"]] += counts["count"].get<int>();
    return calls;
  }
  /// The sums of the GPUs are in the timeline, of each of the two ranks.
  void ExpectSumsInTheTrace() {
    Begin(Json::object(), {{"chrome", true}});
    ASSERT_EQ(Register(), SLIPWAY_OK) << slipway_error_message();
    for (int step = 0; step < 2; ++step) {
      ASSERT_EQ(slipway_gradients("net"), SLIPWAY_OK) << slipway_error_message();
    }
    End();
    if (rank_ != 0) return;
    std::ifstream file(folder_.path() / "trace.json");
    const auto trace = Json::parse(file);
    std::set<int> ranks;
    for (const auto& event : trace["traceEvents"]) {
      if (event["name"] == "sums" && event["tid"] == 4) ranks.insert(event["pid"].get<int>());
    }
    EXPECT_EQ(ranks, (std::set<int>{0, 1})) << trace.dump();
  }
  void ExpectRefusal(slipway_status status, const std::string& text) {
    EXPECT_EQ(Register(), status);
    EXPECT_NE(std::string(slipway_error_message()).find(text), std::string::npos) << slipway_error_message();
  }

  static constexpr std::int64_t kCount = 100'000;

  TempDirectory folder_;
  int rank_ = 0;
  bool together_ = true;  ///< no rank waits for a message that another one does not send

 private:
  Gpu gpu_;
  GpuBuffer buffer_{kCount * sizeof(float)};
};

}  // namespace slipway::test
