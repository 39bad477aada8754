/// Reading what torch::save wrote. Includes libtorch.
#pragma once

#include <fmt/format.h>
#include <torch/torch.h>

#include <filesystem>
#include <stdexcept>

namespace trainers {

/// torch::load onto `device`, whatever it was saved from. Errors: std::runtime_error naming the file, for whatever is
/// wrong with it.
template <class Target>
void LoadFile(Target& target, const std::filesystem::path& file, at::Device device = at::kCPU) try {
  torch::load(target, file.string(), device);
} catch (const c10::Error& error) {
  throw std::runtime_error(
      fmt::format("the checkpoint's '{}' cannot be read: {}", file.string(), error.what_without_backtrace()));
}

}  // namespace trainers
