#include "tests/staging/tar_support.h"

#include <cstdio>
#include <numeric>

namespace slipway::staging {
namespace {

constexpr std::size_t kBlock = 512;

std::string Octal(std::size_t number, int digits) {
  std::string text(static_cast<std::size_t>(digits) + 1, '\0');
  std::snprintf(text.data(), text.size(), "%0*zo", digits, number);
  return text;
}

}  // namespace

std::string TarMemberText(std::string_view path, std::string_view content, char type, std::string_view link) {
  std::string header(kBlock, '\0');
  const auto put = [&](std::size_t at, std::string_view text) { header.replace(at, text.size(), text); };
  put(0, path);
  put(100, Octal(0644, 7));
  put(108, Octal(0, 7));
  put(116, Octal(0, 7));
  put(124, Octal(content.size(), 11));
  put(136, Octal(0, 11));
  put(148, "        ");
  header[156] = type;
  put(157, link);
  put(257, std::string_view("ustar\0"
                            "00",
                            8));
  const auto sum = std::accumulate(header.begin(), header.end(), 0u,
                                   [](unsigned so_far, char c) { return so_far + static_cast<unsigned char>(c); });
  put(148, Octal(sum, 6) + ' ');
  return header + std::string(content) + std::string((kBlock - content.size() % kBlock) % kBlock, '\0');
}

std::string TarText(const std::vector<std::pair<std::string, std::string>>& members) {
  std::string text;
  for (const auto& [path, content] : members) text += TarMemberText(path, content);
  return text + TarEnd();
}

}  // namespace slipway::staging
