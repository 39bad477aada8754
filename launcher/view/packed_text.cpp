#include "launcher/view/packed_text.h"

#include <sodium.h>

#include "staging/formats/compression.h"

namespace slipway::launcher {

std::string GzipBase64(std::string_view text) {
  std::string packed;
  const auto keep = [&packed](std::string_view deflated) { packed += deflated; };
  staging::Deflater deflater(staging::Compression::kGzip);
  deflater.Update(text, keep);
  deflater.Finish(keep);
  std::string coded(sodium_base64_ENCODED_LEN(packed.size(), sodium_base64_VARIANT_ORIGINAL), '\0');
  ::sodium_bin2base64(coded.data(), coded.size(), reinterpret_cast<const unsigned char*>(packed.data()), packed.size(),
                      sodium_base64_VARIANT_ORIGINAL);
  coded.pop_back();  // the zero byte
  return coded;
}

}  // namespace slipway::launcher
