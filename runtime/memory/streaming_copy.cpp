#include "runtime/memory/streaming_copy.h"

#include <unistd.h>

#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace slipway::runtime {
namespace {

constexpr std::size_t kLine = 64;

/// Of whole lines to aligned memory. Returns the bytes copied.
std::size_t StreamLines(char* to, const char* from, std::size_t bytes) {
#if defined(__SSE2__)
  const auto whole = bytes / kLine * kLine;
  for (std::size_t done = 0; done < whole; done += kLine) {
    const auto* source = reinterpret_cast<const __m128i*>(from + done);
    auto* line = reinterpret_cast<__m128i*>(to + done);
    const auto a = _mm_loadu_si128(source);
    const auto b = _mm_loadu_si128(source + 1);
    const auto c = _mm_loadu_si128(source + 2);
    const auto d = _mm_loadu_si128(source + 3);
    _mm_stream_si128(line, a);
    _mm_stream_si128(line + 1, b);
    _mm_stream_si128(line + 2, c);
    _mm_stream_si128(line + 3, d);
  }
  _mm_sfence();  // before whatever says that the data are there
  return whole;
#else
  std::memcpy(to, from, bytes);
  return bytes;
#endif
}

}  // namespace

void StreamingCopy(void* to, const void* from, std::size_t bytes) {
  auto* target = static_cast<char*>(to);
  const auto* source = static_cast<const char*>(from);
  const auto past = reinterpret_cast<std::uintptr_t>(target) % kLine;
  const auto head = past == 0 ? 0 : kLine - past;
  if (bytes < head + kLine) {
    std::memcpy(target, source, bytes);
    return;
  }
  std::memcpy(target, source, head);
  const auto done = head + StreamLines(target + head, source + head, bytes - head);
  std::memcpy(target + done, source + done, bytes - done);
}

bool OutgrowsTheCache(std::size_t bytes) {
  const long cache = ::sysconf(_SC_LEVEL2_CACHE_SIZE);
  return cache > 0 && bytes > static_cast<std::size_t>(cache);
}

}  // namespace slipway::runtime
