/// Compressed files: which kind one is, and inflating it piece by piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>

#include "core/words.h"

namespace slipway::staging {

/// The values stand in documents as words: "none", "gzip", "zlib".
enum class Compression { kNone, kGzip, kZlib };

WordTable<Compression> WordsOf(Compression);

/// True when `head`, the first bytes of a file, begins as a gzip member with deflated content does.
bool HasGzipMagic(std::span<const std::byte> head);
/// True when `head` begins as a zlib stream does: one chance in 500 for other bytes, so ask what it inflates to.
bool HasZlibHeader(std::span<const std::byte> head);

/// Inflates the bytes of one file in order, in pieces of any size, then Finish(). A gzip file may have several members,
/// and zeros behind each.
/// Checks what the format promises: CRC32 and length of every gzip member, Adler-32 of a zlib stream.
///
/// Memory: some 100 KB, whatever the file inflates to.
/// Errors: Error(kEnvironment) naming the file, the byte offset in it and zlib's reason: damaged, torn, something
///         behind the end.
class Inflater {
 public:
  using Sink = std::function<void(std::span<const std::byte> inflated)>;

  /// `name` is what messages call the file.
  Inflater(Compression compression, std::filesystem::path name);
  ~Inflater();

  void Update(std::span<const std::byte> bytes, const Sink& sink);
  /// The file is complete.
  void Finish() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Compresses what is written piece by piece. `compression` is not kNone.
class Deflater {
 public:
  using Sink = std::function<void(std::string_view deflated)>;

  explicit Deflater(Compression compression);
  Deflater(Deflater&&) noexcept;
  Deflater& operator=(Deflater&&) noexcept;
  ~Deflater();

  void Update(std::string_view bytes, const Sink& sink);
  /// Writes the end of the stream with its checksum.
  void Finish(const Sink& sink);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace slipway::staging
