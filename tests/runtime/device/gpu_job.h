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

  /// With these `gradients`, and after `stall_after_s_` a stall.
  void Begin(const Json& gradients, const Json& trace = Json::object()) {
    const Json config{{"resilience", {{"stall_after_s", stall_after_s_}}}, {"gradients", gradients}, {"trace", trace}};
    ASSERT_EQ(slipway_init(config.dump().c_str()), SLIPWAY_OK) << slipway_error_message();
    rank_ = slipway_rank();
  }
  int Register() { return Register("net", buffer_); }
  /// Another team, of kCount float32 in `buffer`.
  static int Register(const char* team, GpuBuffer& buffer) {
    const slipway_tensor tensor{"bias", SLIPWAY_FLOAT32, 1, &kCount, buffer.data()};
    const std::vector<char> values(kCount * sizeof(float));
    buffer.Fill(values.data(), nullptr);
    return slipway_register(team, &tensor, 1, 0);
  }
  static void End() { EXPECT_EQ(slipway_finalize(), SLIPWAY_OK) << slipway_error_message(); }
  /// comm.json. Of rank 0; an empty object of others.
  Json CommAfterEnd() {
    End();
    if (rank_ != 0) return Json::object();
    std::ifstream file(folder_.path() / "comm.json");
    return Json::parse(file);
  }
  /// The only team of comm.json, with the report's `bits`. Of rank 0.
  Json ReportAfterEnd() {
    const auto report = CommAfterEnd();
    if (rank_ != 0) return {};
    auto team = report["teams"][0];
    team["bits"] = report["bits"];
    return team;
  }
  /// By way, how many collectives comm.json counts in its only group. Of rank 0.
  std::map<std::string, int> CallsByWayAfterEnd() {
    const auto report = CommAfterEnd();
    std::map<std::string, int> calls;
    if (rank_ != 0) return calls;
    const auto groups = report["collectives"]["groups"];
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
  int stall_after_s_ = 6;  ///< for longer than a rank of a busy machine is late
  bool together_ = true;   ///< no rank waits for a message that another one does not send

 private:
  Gpu gpu_;
  GpuBuffer buffer_{kCount * sizeof(float)};
};

}  // namespace slipway::test
