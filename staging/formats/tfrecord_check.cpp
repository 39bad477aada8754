#include "staging/formats/tfrecord_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/crc32c.h"
#include "core/error.h"

namespace slipway::staging {

std::uint32_t TfrecordFrames::Update(std::span<const std::byte> bytes) {
  std::uint32_t crc = 0;
  while (!bytes.empty()) bytes = bytes.subspan(Take(bytes, crc));
  return crc;
}

StreamSummary TfrecordFrames::Finish() {
  if (part_ != Part::kHeader) ThrowTornRecord(length_, length_ - left_ + held_, Place());
  if (held_ != 0) ThrowTornHeader(std::span(header_).first(held_), Place());
  return {offsets_.size(), std::move(offsets_), record_at_, Compression::kNone};
}

/// Consumes bytes of the present part only; returns how many and appends them to `crc`.
std::size_t TfrecordFrames::Take(std::span<const std::byte> bytes, std::uint32_t& crc) {
  switch (part_) {
    case Part::kHeader: return TakeHeader(bytes, crc);
    case Part::kData: return TakeData(bytes, crc);
    case Part::kFooter: return TakeFooter(bytes, crc);
  }
  return 0;
}

std::size_t TfrecordFrames::TakeHeader(std::span<const std::byte> bytes, std::uint32_t& crc) {
  const auto count = Collect(bytes, header_, crc);
  if (held_ < header_.size()) return count;
  length_ = left_ = ReadTfrecordLength(header_, Place());
  crc_ = 0;
  Enter(length_ == 0 ? Part::kFooter : Part::kData);
  return count;
}

std::size_t TfrecordFrames::TakeData(std::span<const std::byte> bytes, std::uint32_t& crc) {
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), left_));
  const auto part = Crc32c(bytes.first(count));
  crc_ = left_ == length_ ? part : Crc32cCombine(crc_, part, count);
  crc = Crc32cCombine(crc, part, count);
  left_ -= count;
  if (left_ == 0) Enter(Part::kFooter);
  return count;
}

std::size_t TfrecordFrames::TakeFooter(std::span<const std::byte> bytes, std::uint32_t& crc) {
  const auto count = Collect(bytes, footer_, crc);
  if (held_ < footer_.size()) return count;
  if (contents_ == RecordContents::kChecked) CheckTfrecordFooter(footer_, crc_, Place());
  offsets_.push_back(record_at_);
  record_at_ += kTfrecordHeaderBytes + length_ + kTfrecordFooterBytes;
  Enter(Part::kHeader);
  return count;
}

/// Fills `buffer`, of which `held_` bytes are there already.
std::size_t TfrecordFrames::Collect(std::span<const std::byte> bytes, std::span<std::byte> buffer, std::uint32_t& crc) {
  const auto part = bytes.first(std::min(bytes.size(), buffer.size() - held_));
  std::memcpy(buffer.data() + held_, part.data(), part.size());
  crc = Crc32c(part, crc);
  held_ += part.size();
  return part.size();
}

void TfrecordFrames::Enter(Part part) {
  part_ = part;
  held_ = 0;
}

std::uint32_t TfrecordCheck::Update(std::span<const std::byte> bytes) {
  std::uint32_t crc = 0;
  if (!decided_) {
    const auto part = bytes.first(std::min(bytes.size(), head_.size() - head_size_));
    std::ranges::copy(part, head_.begin() + static_cast<std::ptrdiff_t>(head_size_));
    head_size_ += part.size();
    crc = Crc32c(part);
    bytes = bytes.subspan(part.size());
    if (head_size_ == head_.size()) Decide();
  }
  if (bytes.empty()) return crc;
  if (!inflater_) return Crc32cCombine(crc, frames_.Update(bytes), bytes.size());
  Inflate(bytes);
  return Crc32c(bytes, crc);
}

StreamSummary TfrecordCheck::Finish() {
  if (!decided_) Decide();
  if (inflater_) WithInflatedPlace([this] { inflater_->Finish(); });
  StreamSummary summary;
  WithInflatedPlace([&] { summary = frames_.Finish(); });
  summary.compression = compression_;
  return summary;
}

Compression GuessCompression(std::span<const std::byte> head) {
  if (head.size() >= kTfrecordHeaderBytes && IsTfrecordHeader(head.first<kTfrecordHeaderBytes>())) {
    return Compression::kNone;
  }
  if (HasGzipMagic(head)) return Compression::kGzip;
  return HasZlibHeader(head) ? Compression::kZlib : Compression::kNone;
}

void TfrecordCheck::Decide() {
  decided_ = true;
  const auto head = std::span(head_).first(head_size_);
  compression_ = GuessCompression(head);
  if (compression_ == Compression::kNone) {
    frames_.Update(head);
    return;
  }
  inflater_ = std::make_unique<Inflater>(compression_, name_);
  Inflate(head);
}

void TfrecordCheck::Inflate(std::span<const std::byte> bytes) {
  WithInflatedPlace([&] {
    inflater_->Update(bytes, [this](std::span<const std::byte> inflated) {
      frames_.Update(inflated);
      if (sink_) sink_(inflated);
    });
  });
}

/// A zlib stream has no more than two bytes to be known by: as long as no record came out of it, it was none.
template <class Action>
void TfrecordCheck::WithInflatedPlace(Action&& action) {
  try {
    action();
  } catch (Error& error) {
    if (compression_ == Compression::kZlib && !frames_.HasBegun()) ThrowAsPlain();
    if (compression_ != Compression::kNone) {
      error.AddContext(fmt::format("in record {} at byte {} of what the {} stream inflates to", frames_.Place().record,
                                   frames_.Place().offset, WordOf(compression_)));
    }
    throw;
  }
}

void TfrecordCheck::ThrowAsPlain() const {
  const RecordPlace start{name_, 0, 0};
  if (head_size_ == head_.size()) ReadTfrecordLength(head_, start);
  ThrowTornHeader(std::span(head_).first(head_size_), start);
}

}  // namespace slipway::staging
