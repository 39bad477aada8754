/// Reading what torch::save wrote. Includes libtorch.
#pragma once

#include <fmt/format.h>
#include <torch/torch.h>

#include <filesystem>
#include <stdexcept>

namespace trainers {

/// torch::load; std::runtime_error naming the file for whatever it finds wrong with it.
template <class Target>
void LoadFile(Target& target, const std::filesystem::path& file) try {
  torch::load(target, file.string());
} catch (const c10::Error& error) {
  throw std::runtime_error(
      fmt::format("the checkpoint's '{}' cannot be read: {}", file.string(), error.what_without_backtrace()));
}

}  // namespace trainers
