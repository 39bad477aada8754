#include "launcher/spec/secrets.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

namespace slipway::launcher {
namespace {

constexpr std::string_view kMask = "/***";
constexpr std::string_view kWebhook = "webhook";
constexpr std::size_t kLongestUrl = 2000;

/// Where the host begins; npos: it is no URL.
std::size_t HostBegin(std::string_view url) {
  for (const std::string_view scheme : {"https://", "http://"}) {
    if (url.starts_with(scheme)) return scheme.size();
  }
  return std::string_view::npos;
}

std::vector<std::string> UrlsIn(const Json& notify) {
  std::vector<std::string> urls;
  if (!notify.is_array()) return urls;
  for (const auto& entry : notify) {
    const auto webhook = entry.is_object() ? entry.value("webhook", Json()) : Json();
    const auto url = webhook.is_object() ? webhook.value("url", Json()) : Json();
    if (url.is_string()) urls.push_back(url.get<std::string>());
  }
  return urls;
}

std::vector<std::string> UrlsOf(const Json& resolved) {
  return resolved.is_object() ? UrlsIn(resolved.value(kNotify, Json())) : std::vector<std::string>();
}

/// Of a webhook that has changed since: what follows its key on the line.
void MaskUrlBehind(std::size_t key, std::string& text) {
  const auto begin = text.find("http", key);
  if (begin == std::string::npos || begin > text.find('\n', key)) return;
  const auto end = std::min(text.find_first_of(" \t\r\n\"'},]", begin), text.size());
  text.replace(begin, end - begin, MaskedUrl(std::string_view(text).substr(begin, end - begin)));
}

void ReplaceAll(std::string& text, const std::string& from, const std::string& to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

}  // namespace

bool IsWebUrl(std::string_view text) {
  const auto host = HostBegin(text);
  if (host == std::string_view::npos || text.size() > kLongestUrl || host == text.size()) return false;
  const bool has_host = text[host] != '/' && text[host] != '?' && text[host] != '#';
  return has_host && std::ranges::all_of(text, [](unsigned char c) { return c > ' ' && c != 0x7f; });
}

std::string MaskedUrl(std::string_view url) {
  const auto host = HostBegin(url);
  if (host == std::string_view::npos) return "***";
  auto authority = url.substr(host, url.find_first_of("/?#", host) - host);
  authority = authority.substr(std::min(authority.size(), authority.rfind('@') + 1));
  return std::string(url.substr(0, host)) + std::string(authority) + std::string(kMask);
}

Json WithoutSecretsIn(Json notify) {
  if (!notify.is_array()) return notify;
  for (auto& entry : notify) {
    const bool has_one = entry.is_object() && entry.contains("webhook") && entry["webhook"].is_object();
    if (!has_one || !entry["webhook"].value("url", Json()).is_string()) continue;
    auto& url = entry["webhook"]["url"];
    url = MaskedUrl(url.get<std::string>());
  }
  return notify;
}

Json WithoutSecrets(Json resolved) {
  if (resolved.is_object() && resolved.contains(kNotify)) resolved[kNotify] = WithoutSecretsIn(resolved[kNotify]);
  return resolved;
}

std::string WithoutSecretsOf(const Json& resolved, std::string text) {
  for (const auto& url : UrlsOf(resolved)) ReplaceAll(text, url, MaskedUrl(url));
  for (auto at = text.find(kWebhook); at != std::string::npos; at = text.find(kWebhook, at + 1))
    MaskUrlBehind(at, text);
  return text;
}

bool HoldsSecrets(const Json& resolved) { return !UrlsOf(resolved).empty(); }

}  // namespace slipway::launcher
