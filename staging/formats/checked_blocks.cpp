#include "staging/formats/checked_blocks.h"

#include <algorithm>

#include "core/crc32c.h"

namespace slipway::staging {

void CheckedBlocks::Update(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min(bytes.size(), block_bytes_ - filled_));
    if (filled_ == 0) crcs_.push_back(0);
    crcs_.back() = Crc32cCombine(crcs_.back(), check_->Update(piece), piece.size());
    filled_ = (filled_ + piece.size()) % block_bytes_;
    bytes = bytes.subspan(piece.size());
  }
}

CheckedBlocks::Result CheckedBlocks::Finish() { return {check_->Finish(), std::move(crcs_)}; }

}  // namespace slipway::staging
