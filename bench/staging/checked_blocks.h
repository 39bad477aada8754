/// Checks a file's bytes and keeps the CRC32C of each of its blocks, in one pass over the bytes, as a copy does.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/crc32c.h"
#include "staging/formats/stream_check.h"

namespace slipway::staging {

/// Feed it all bytes of a file in order, in pieces of any size; then Finish(). Errors: those of StreamCheck.
class CheckedBlocks {
 public:
  struct Result {
    StreamSummary summary;
    std::vector<std::uint32_t> crc32c;  ///< one for each block; the last block may be shorter
  };

  CheckedBlocks(std::unique_ptr<StreamCheck> check, std::size_t block_bytes)
      : check_(std::move(check)), block_bytes_(block_bytes) {}

  void Update(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const auto piece = bytes.first(std::min(bytes.size(), block_bytes_ - filled_));
      if (filled_ == 0) crcs_.push_back(0);
      crcs_.back() = Crc32cCombine(crcs_.back(), check_->Update(piece), piece.size());
      filled_ = (filled_ + piece.size()) % block_bytes_;
      bytes = bytes.subspan(piece.size());
    }
  }

  Result Finish() { return {check_->Finish(), std::move(crcs_)}; }

 private:
  std::unique_ptr<StreamCheck> check_;
  std::size_t block_bytes_;
  std::size_t filled_ = 0;  // of the last block
  std::vector<std::uint32_t> crcs_;
};

}  // namespace slipway::staging
