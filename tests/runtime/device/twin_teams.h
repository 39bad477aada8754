#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/reduction/reduction.h"
#include "tests/runtime/device/gpu_program.h"

namespace slipway::test {

/// Tensors of one team, in CPU memory and on the GPU with the same values.
class TwinTeams {
 public:
  TwinTeams(const std::string& name, std::vector<std::int64_t> sizes, const std::string& settings,
            slipway_dtype dtype = SLIPWAY_FLOAT32, std::int64_t total_steps = 0)
      : name_(name), sizes_(std::move(sizes)), dtype_(dtype), total_steps_(total_steps) {
    std::vector<slipway_tensor> here;
    std::vector<slipway_tensor> there;
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      names_.push_back("t" + std::to_string(i));
      cpu_.emplace_back(Bytes(i));
      gpu_.push_back(std::make_unique<GpuBuffer>(Bytes(i)));
    }
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      here.push_back({names_[i].c_str(), dtype, 1, &sizes_[i], cpu_[i].data()});
      there.push_back({names_[i].c_str(), dtype, 1, &sizes_[i], gpu_[i]->data()});
    }
    Register(cpu(), here, settings);
    Register(on_gpu(), there, settings);
  }
  ~TwinTeams() {
    EXPECT_EQ(slipway_unregister(cpu().c_str()), SLIPWAY_OK) << slipway_error_message();
    EXPECT_EQ(slipway_unregister(on_gpu().c_str()), SLIPWAY_OK) << slipway_error_message();
  }
  TwinTeams(const TwinTeams&) = delete;
  TwinTeams& operator=(const TwinTeams&) = delete;

  std::string cpu() const { return name_ + " cpu"; }
  std::string on_gpu() const { return name_ + " gpu"; }
  int tensors() const { return static_cast<int>(sizes_.size()); }

  std::int64_t CountOf(int tensor) const { return sizes_[static_cast<std::size_t>(tensor)]; }

  void Fill(int tensor, unsigned seed, void* stream) {
    Fill(tensor, RandomBytes(dtype_, CountOf(tensor), seed), stream);
  }
  void Fill(int tensor, const std::vector<char>& bytes, void* stream) {
    const auto i = static_cast<std::size_t>(tensor);
    std::ranges::copy(bytes, cpu_[i].begin());
    gpu_[i]->Fill(cpu_[i].data(), stream);
  }
  /// The tensors that differ, with the violations so far.
  std::string Differences(void* stream) {
    std::string different;
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      if (gpu_[i]->Read(stream) != cpu_[i]) different += names_[i] + " ";
    }
    return different.empty() ? different : different + Gpu::Violations();
  }

 private:
  std::size_t Bytes(std::size_t i) const { return static_cast<std::size_t>(sizes_[i]) * runtime::SizeOf(dtype_); }
  void Register(const std::string& name, const std::vector<slipway_tensor>& tensors, const std::string& settings) {
    EXPECT_EQ(slipway_register(name.c_str(), tensors.data(), static_cast<int>(tensors.size()), total_steps_),
              SLIPWAY_OK)
        << slipway_error_message();
    EXPECT_EQ(slipway_configure_team(name.c_str(), settings.c_str()), SLIPWAY_OK) << slipway_error_message();
  }

  std::string name_;
  std::vector<std::int64_t> sizes_;
  slipway_dtype dtype_;
  std::int64_t total_steps_;
  std::vector<std::string> names_;
  std::vector<std::vector<char>> cpu_;
  std::vector<std::unique_ptr<GpuBuffer>> gpu_;
};

}  // namespace slipway::test
