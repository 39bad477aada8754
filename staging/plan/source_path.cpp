#include "staging/plan/source_path.h"

#include <new>

namespace slipway::staging {

SharedText::SharedText(std::string_view text) {
  block_ = new (::operator new(sizeof(Block) + text.size() + 1)) Block{1, static_cast<std::uint32_t>(text.size())};
  text.copy(TextOf(block_), text.size());
  TextOf(block_)[text.size()] = '\0';
}

SharedText::~SharedText() {
  if (block_ == nullptr || --block_->users > 0) return;
  block_->~Block();
  ::operator delete(block_);
}

}  // namespace slipway::staging
