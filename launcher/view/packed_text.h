/// Text that takes less space in a page.
#pragma once

#include <string>
#include <string_view>

namespace slipway::launcher {

/// Base64 of gzip. Cost: 10 MB in 0.3 s.
std::string GzipBase64(std::string_view text);

}  // namespace slipway::launcher
