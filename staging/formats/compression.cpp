#include "staging/formats/compression.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <string>

#include "core/error.h"

namespace slipway::staging {
namespace {

constexpr std::size_t kInflateBlock = 64 << 10;
constexpr int kLargestWindow = 15;
constexpr int kGzipFraming = 16;  // added to the window's bits: zlib's way to say gzip
constexpr int kDeflateLevel = 6;
constexpr int kDeflateMemory = 8;

int WindowBits(Compression compression) {
  return compression == Compression::kGzip ? kLargestWindow + kGzipFraming : kLargestWindow;
}

Bytef* AsZlib(const std::byte* bytes) { return reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes)); }

/// zlib counts in 32 bits.
uInt PieceOf(std::size_t size) {
  return static_cast<uInt>(std::min<std::size_t>(size, std::numeric_limits<uInt>::max()));
}

}  // namespace

WordTable<Compression> WordsOf(Compression) {
  static constexpr Word<Compression> kWords[] = {
      {Compression::kNone, "none"}, {Compression::kGzip, "gzip"}, {Compression::kZlib, "zlib"}};
  return kWords;
}

bool HasGzipMagic(std::span<const std::byte> head) {
  return head.size() >= 2 && head[0] == std::byte{0x1f} && head[1] == std::byte{0x8b};
}

bool HasZlibHeader(std::span<const std::byte> head) {
  if (head.size() < 2) return false;
  const auto method = std::to_integer<unsigned>(head[0]);
  const auto flags = std::to_integer<unsigned>(head[1]);
  constexpr unsigned kPresetDictionary = 0x20;
  return (method & 0x0f) == Z_DEFLATED && method >> 4 <= 7 && (method << 8 | flags) % 31 == 0 &&
         (flags & kPresetDictionary) == 0;
}

struct Inflater::State {
  Compression compression;
  std::filesystem::path name;
  z_stream stream{};
  std::uint64_t read = 0;     // bytes of the file so far
  bool at_end = false;        // of a gzip member, or of the zlib stream
  std::uint64_t members = 0;  // of them, complete
  std::array<std::byte, kInflateBlock> block;

  State(Compression kind, std::filesystem::path file) : compression(kind), name(std::move(file)) {
    if (inflateInit2(&stream, WindowBits(kind)) != Z_OK) throw std::bad_alloc();
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { inflateEnd(&stream); }

  [[noreturn]] void Fail(std::string_view what) const {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("'{}': its {} stream {}", name.string(), WordOf(compression), what),
                "the file is damaged: copy it again from its source");
  }

  /// Zeros that fill up the last block of a tape or disk may follow the members of a gzip file.
  void SkipPadding() {
    if (compression != Compression::kGzip) return;
    for (; stream.avail_in > 0 && *stream.next_in == 0; --stream.avail_in, ++stream.next_in) ++read;
  }

  /// Something follows the end: another member of a gzip file, or what does not belong there.
  void Continue() {
    if (compression != Compression::kGzip) Fail(fmt::format("ends at byte {}, but the file goes on", read));
    inflateReset(&stream);
    at_end = false;
  }

  /// One call of zlib; returns what it inflated.
  std::span<const std::byte> Step() {
    const auto before = stream.avail_in;
    stream.next_out = AsZlib(block.data());
    stream.avail_out = static_cast<uInt>(block.size());
    const int code = inflate(&stream, Z_NO_FLUSH);
    read += before - stream.avail_in;
    if (code == Z_MEM_ERROR) throw std::bad_alloc();
    if (code == Z_STREAM_END) {
      at_end = true;
      ++members;
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
      Fail(fmt::format("is damaged at byte {}: {}{}", read, stream.msg == nullptr ? "needs a dictionary" : stream.msg,
                       members == 0 ? "" : fmt::format(", after {} intact members", members)));
    }
    return std::span(block).first(block.size() - stream.avail_out);
  }

  void Inflate(std::span<const std::byte> piece, const Sink& sink) {
    stream.next_in = AsZlib(piece.data());
    stream.avail_in = static_cast<uInt>(piece.size());
    // A full block may mean that zlib holds more than it could hand out.
    for (bool full = false; stream.avail_in > 0 || full;) {
      if (at_end) SkipPadding();
      if (at_end && stream.avail_in == 0) return;
      if (at_end) Continue();
      const auto inflated = Step();
      full = inflated.size() == block.size();
      if (!inflated.empty()) sink(inflated);
    }
  }
};

Inflater::Inflater(Compression compression, std::filesystem::path name)
    : state_(std::make_unique<State>(compression, std::move(name))) {}

Inflater::~Inflater() = default;

void Inflater::Update(std::span<const std::byte> bytes, const Sink& sink) {
  while (!bytes.empty()) {
    const auto piece = bytes.first(PieceOf(bytes.size()));
    state_->Inflate(piece, sink);
    bytes = bytes.subspan(piece.size());
  }
}

void Inflater::Finish() const {
  if (!state_->at_end) state_->Fail(fmt::format("is torn: the file ends inside it, after {} bytes", state_->read));
}

struct Deflater::State {
  z_stream stream{};
  std::array<char, kInflateBlock> block;

  explicit State(Compression compression) {
    if (deflateInit2(&stream, kDeflateLevel, Z_DEFLATED, WindowBits(compression), kDeflateMemory, Z_DEFAULT_STRATEGY) !=
        Z_OK) {
      throw std::bad_alloc();
    }
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { deflateEnd(&stream); }

  void Deflate(std::string_view piece, int flush, const Sink& sink) {
    stream.next_in = AsZlib(std::as_bytes(std::span(piece)).data());
    stream.avail_in = static_cast<uInt>(piece.size());
    do {
      stream.next_out = reinterpret_cast<Bytef*>(block.data());
      stream.avail_out = static_cast<uInt>(block.size());
      deflate(&stream, flush);
      if (stream.avail_out < block.size()) sink({block.data(), block.size() - stream.avail_out});
    } while (stream.avail_out == 0);
  }
};

Deflater::Deflater(Compression compression) : state_(std::make_unique<State>(compression)) {}

Deflater::Deflater(Deflater&&) noexcept = default;
Deflater& Deflater::operator=(Deflater&&) noexcept = default;
Deflater::~Deflater() = default;

void Deflater::Update(std::string_view bytes, const Sink& sink) {
  while (!bytes.empty()) {
    const auto piece = bytes.substr(0, PieceOf(bytes.size()));
    state_->Deflate(piece, Z_NO_FLUSH, sink);
    bytes.remove_prefix(piece.size());
  }
}

void Deflater::Finish(const Sink& sink) { state_->Deflate({}, Z_FINISH, sink); }

}  // namespace slipway::staging
