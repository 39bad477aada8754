#include "staging/make/encode_jpeg.h"

#include <fmt/format.h>
#include <turbojpeg.h>

#include <memory>

#include "core/error.h"

namespace slipway::staging {
namespace {

struct DestroyEncoder {
  void operator()(void* encoder) const noexcept { tjDestroy(encoder); }
};

struct FreeBuffer {
  void operator()(unsigned char* buffer) const noexcept { tjFree(buffer); }
};

}  // namespace

std::vector<std::byte> EncodeJpeg(const Picture& picture, int quality) {
  const std::unique_ptr<void, DestroyEncoder> encoder(tjInitCompress());
  if (!encoder) throw Error(ErrorKind::kInternal, "libjpeg-turbo gives no encoder");
  unsigned char* allocated = nullptr;
  unsigned long size = 0;  // NOLINT(google-runtime-int): the library's type
  const int status = tjCompress2(encoder.get(), reinterpret_cast<const unsigned char*>(picture.pixels.data()),
                                 static_cast<int>(picture.width), 0, static_cast<int>(picture.height), TJPF_RGB,
                                 &allocated, &size, TJSAMP_420, quality, TJFLAG_ACCURATEDCT);
  const std::unique_ptr<unsigned char, FreeBuffer> buffer(allocated);
  if (status != 0) {
    throw Error(ErrorKind::kInternal, fmt::format("cannot make a JPEG picture: {}", tjGetErrorStr2(encoder.get())));
  }
  const auto* bytes = reinterpret_cast<const std::byte*>(buffer.get());
  return {bytes, bytes + size};
}

}  // namespace slipway::staging
