/// Pictures as JPEG files, by libjpeg-turbo.
#pragma once

#include <cstddef>
#include <vector>

#include "staging/make/labelled_picture.h"

namespace slipway::staging {

/// The bytes of a JPEG file with halved colour resolution (4:2:0), the same on every machine with the same library.
/// `quality`: 1 to 100. Errors: Error(kInternal) with what the library says.
std::vector<std::byte> EncodeJpeg(const Picture& picture, int quality);

}  // namespace slipway::staging
