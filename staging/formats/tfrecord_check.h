/// Checks the records of a TFRecord file while its bytes stream past, plain or compressed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "staging/formats/compression.h"
#include "staging/formats/stream_check.h"
#include "staging/formats/tfrecord_frame.h"

namespace slipway::staging {

/// The frames of records, uncompressed: header -> data -> footer -> header ..., whatever the borders of the pieces are.
/// Errors: those of StreamCheck.
class TfrecordFrames {
 public:
  TfrecordFrames(std::filesystem::path name, RecordContents contents) : name_(std::move(name)), contents_(contents) {}

  /// Returns the CRC32C of these bytes: it falls out of those of the records, so that the bytes are read once.
  std::uint32_t Update(std::span<const std::byte> bytes);
  StreamSummary Finish();

  /// True when the length of a first record agreed with its CRC.
  bool HasBegun() const { return part_ != Part::kHeader || record_at_ != 0; }
  /// The record that is being read.
  RecordPlace Place() const { return {name_, offsets_.size(), record_at_}; }

 private:
  enum class Part { kHeader, kData, kFooter };

  std::size_t Take(std::span<const std::byte> bytes, std::uint32_t& crc);
  std::size_t TakeHeader(std::span<const std::byte> bytes, std::uint32_t& crc);
  std::size_t TakeData(std::span<const std::byte> bytes, std::uint32_t& crc);
  std::size_t TakeFooter(std::span<const std::byte> bytes, std::uint32_t& crc);
  std::size_t Collect(std::span<const std::byte> bytes, std::span<std::byte> buffer, std::uint32_t& crc);
  void Enter(Part part);

  std::filesystem::path name_;
  RecordContents contents_;
  Part part_ = Part::kHeader;
  TfrecordHeader header_{};
  TfrecordFooter footer_{};
  std::size_t held_ = 0;         // bytes of the present header or footer that have arrived
  std::uint64_t length_ = 0;     // of the present record
  std::uint64_t left_ = 0;       // of its data
  std::uint32_t crc_ = 0;        // of the data so far
  std::uint64_t record_at_ = 0;  // offset of the present record's header
  std::vector<std::uint64_t> offsets_;
};

/// What `head`, the first bytes of a TFRecord file (12, or all), says: a valid header of a record means kNone. kZlib is
/// a guess that holds only if the first record comes out of it.
Compression GuessCompression(std::span<const std::byte> head);

/// Decides by the first bytes what the file is: records; else gzip; else zlib, if it inflates to a valid record header.
/// All other files are checked as plain records.
class TfrecordCheck : public StreamCheck {
 public:
  /// `inflated` is given what a compressed file inflates to, piece by piece, each piece after it was checked.
  explicit TfrecordCheck(std::filesystem::path name, Inflater::Sink inflated = {},
                         RecordContents contents = RecordContents::kChecked)
      : name_(std::move(name)), sink_(std::move(inflated)), frames_(name_, contents) {}

  /// True when the length of a first record agreed with its CRC.
  bool HasBegun() const { return frames_.HasBegun(); }

  std::uint32_t Update(std::span<const std::byte> bytes) override;
  StreamSummary Finish() override;

 private:
  void Decide();
  void Inflate(std::span<const std::byte> bytes);
  template <class Action>
  void WithInflatedPlace(Action&& action);
  [[noreturn]] void ThrowAsPlain() const;

  std::filesystem::path name_;
  Inflater::Sink sink_;
  TfrecordFrames frames_;
  std::array<std::byte, kTfrecordHeaderBytes> head_{};  // of the file
  std::size_t head_size_ = 0;
  bool decided_ = false;
  Compression compression_ = Compression::kNone;
  std::unique_ptr<Inflater> inflater_;
};

}  // namespace slipway::staging
