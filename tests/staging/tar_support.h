/// Small tar archives as text.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slipway::staging {

/// One header block (ustar) with the right checksum, then the content in whole blocks.
std::string TarMemberText(std::string_view path, std::string_view content, char type = '0', std::string_view link = {});
/// Plain files, and the two blocks of zeros that end an archive.
std::string TarText(const std::vector<std::pair<std::string, std::string>>& members);
inline std::string TarEnd() { return std::string(1024, '\0'); }

}  // namespace slipway::staging
