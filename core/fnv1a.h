/// FNV-1a with 64 bits: a short name for a text, no proof against forgery. The values are stored in run folders.
#pragma once

#include <cstdint>
#include <string_view>

namespace slipway {

constexpr std::uint64_t Fnv1a64(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace slipway
