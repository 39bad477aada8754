/// A bit flip as a bad disk or memory makes it: length and times stay.
#pragma once

#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace slipway::test {

/// Inverts the lowest bit of one byte where it lies, so that whoever has the file mapped keeps all of it.
inline void FlipBit(const std::filesystem::path& path, std::size_t byte) {
  const auto time = std::filesystem::last_write_time(path);
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  const auto place = static_cast<std::streamoff>(byte);
  const auto before = file.seekg(place).get();
  file.seekp(place).put(static_cast<char>(before ^ 1));
  file.close();
  if (!file) throw std::runtime_error("no byte to flip a bit of in " + path.string());
  std::filesystem::last_write_time(path, time);
}

}  // namespace slipway::test
