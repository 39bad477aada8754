#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/reduction/reduction.h"
#include "tests/runtime/device/gpu_program.h"

namespace slipway::test {

/// A team on the GPU, and what the CPU makes of the same values.
class GpuTeam {
 public:
  GpuTeam(std::vector<std::int64_t> sizes, const std::string& settings, slipway_dtype dtype)
      : sizes_(std::move(sizes)), dtype_(dtype) {
    std::vector<slipway_tensor> there;
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      names_.push_back("t" + std::to_string(i));
      buffers_.push_back(std::make_unique<GpuBuffer>(Bytes(i)));
      here_.emplace_back(Bytes(i));
    }
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      there.push_back({names_[i].c_str(), dtype, 1, &sizes_[i], buffers_[i]->data()});
    }
    EXPECT_EQ(slipway_register("net", there.data(), static_cast<int>(there.size()), 0), SLIPWAY_OK)
        << slipway_error_message();
    EXPECT_EQ(slipway_configure_team("net", settings.c_str()), SLIPWAY_OK) << slipway_error_message();
  }
  ~GpuTeam() { EXPECT_EQ(slipway_unregister("net"), SLIPWAY_OK) << slipway_error_message(); }
  GpuTeam(const GpuTeam&) = delete;
  GpuTeam& operator=(const GpuTeam&) = delete;

  /// One step. The tensors that differ from what the CPU gives.
  std::string Step(unsigned seed, slipway_op op, void* stream) {
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      here_[i] = RandomBytes(dtype_, sizes_[i], seed + static_cast<unsigned>(50 * i));
      buffers_[i]->Fill(here_[i].data(), stream);
      if (i % 2 == 0) {
        EXPECT_EQ(slipway_submit_on_stream("net", static_cast<int>(i), stream), SLIPWAY_OK) << slipway_error_message();
      }
    }
    EXPECT_EQ(slipway_wait_on_stream("net", stream), SLIPWAY_OK) << slipway_error_message();
    std::string different;
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      EXPECT_EQ(slipway_allreduce(here_[i].data(), sizes_[i], dtype_, op, SLIPWAY_ALL), SLIPWAY_OK);
      if (buffers_[i]->Read(stream) != here_[i]) different += names_[i] + " ";
    }
    return different;
  }

 private:
  std::size_t Bytes(std::size_t i) const { return static_cast<std::size_t>(sizes_[i]) * runtime::SizeOf(dtype_); }

  std::vector<std::int64_t> sizes_;
  slipway_dtype dtype_;
  std::vector<std::string> names_;
  std::vector<std::unique_ptr<GpuBuffer>> buffers_;
  std::vector<std::vector<char>> here_;
};

}  // namespace slipway::test
