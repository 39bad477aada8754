/// File names are bytes, JSON is UTF-8: the one translation between them.
#pragma once

#include <string>
#include <string_view>

namespace slipway::staging {

/// `bytes` with every byte that is not part of valid UTF-8 as "%XX". Valid UTF-8 stays as it is, '%' and newlines too.
std::string Utf8Name(std::string_view bytes);
/// The same in place: without a copy where all is ASCII.
void MakeUtf8Name(std::string& name);

/// Appends a name that is UTF-8 as a string of JSON.
void AppendQuoted(std::string& text, std::string_view name);

}  // namespace slipway::staging
