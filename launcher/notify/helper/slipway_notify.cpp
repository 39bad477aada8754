/// slipway-notify: sends one notification by HTTP. The launcher starts it (launcher/notify/notifier.cpp).
///
/// Standard input: {"url": "https://...", "body": "..."}. It never stands in the arguments, which every user can see.
/// Exit status 0: the server took it. 1: it did not, and the reason is printed, without the URL.

#include <curl/curl.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "core/files.h"
#include "core/install.h"

namespace slipway::launcher {
namespace {

constexpr long kConnectSeconds = 5;
constexpr long kAllSeconds = 10;
constexpr long kMostRedirects = 3;
constexpr std::size_t kMostOfAnswer = std::size_t{1} << 20;
constexpr std::chrono::milliseconds kPauses[] = {std::chrono::milliseconds(300), std::chrono::milliseconds(900),
                                                 std::chrono::milliseconds(2700)};

struct Request {
  std::string url;
  std::string body;
};

struct Answer {
  CURLcode code = CURLE_OK;
  long status = 0;
  std::string error;

  bool Success() const { return code == CURLE_OK && status >= 200 && status < 300; }
  /// Whether another try may help.
  bool MayPass() const { return code == CURLE_OK ? status >= 500 || status == 429 || status == 408 : !IsRefused(); }
  std::string Describe() const { return code == CURLE_OK ? fmt::format("HTTP status {}", status) : error; }

 private:
  bool IsRefused() const {
    return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_UNSUPPORTED_PROTOCOL ||
           code == CURLE_URL_MALFORMAT || code == CURLE_TOO_MANY_REDIRECTS;
  }
};

/// The answer's text is of no use; one without end is cut off.
std::size_t Discard(char*, std::size_t size, std::size_t count, void* taken) {
  auto& sum = *static_cast<std::size_t*>(taken);
  sum += size * count;
  return sum > kMostOfAnswer ? 0 : size * count;
}

Answer Post(const Request& request) {
  const std::unique_ptr<CURL, decltype(&::curl_easy_cleanup)> curl(::curl_easy_init(), &::curl_easy_cleanup);
  const std::unique_ptr<curl_slist, decltype(&::curl_slist_free_all)> headers(
      ::curl_slist_append(nullptr, "Content-Type: application/json"), &::curl_slist_free_all);
  const auto agent = fmt::format("slipway/{}", Version());
  const bool is_secure = request.url.starts_with("https://");
  char error[CURL_ERROR_SIZE] = "";
  std::size_t taken = 0;
  const auto set = [&](CURLoption option, auto value) { ::curl_easy_setopt(curl.get(), option, value); };
  set(CURLOPT_URL, request.url.c_str());
  set(CURLOPT_POST, 1L);
  set(CURLOPT_POSTFIELDS, request.body.c_str());
  set(CURLOPT_POSTFIELDSIZE, static_cast<long>(request.body.size()));
  set(CURLOPT_HTTPHEADER, headers.get());
  set(CURLOPT_USERAGENT, agent.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_REDIR_PROTOCOLS_STR, is_secure ? "https" : "http");
  set(CURLOPT_FOLLOWLOCATION, 1L);
  set(CURLOPT_POSTREDIR, static_cast<long>(CURL_REDIR_POST_ALL));
  set(CURLOPT_MAXREDIRS, kMostRedirects);
  set(CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  set(CURLOPT_TIMEOUT, kAllSeconds);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_ERRORBUFFER, error);
  set(CURLOPT_WRITEFUNCTION, &Discard);
  set(CURLOPT_WRITEDATA, &taken);
  Answer answer;
  answer.code = ::curl_easy_perform(curl.get());
  ::curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &answer.status);
  answer.error = error[0] != '\0' ? error : ::curl_easy_strerror(answer.code);
  return answer;
}

int Main() {
  const auto input = nlohmann::json::parse(ReadFile("/dev/stdin"));
  const Request request{input.at("url").get<std::string>(), input.at("body").get<std::string>()};
  if (!request.url.starts_with("https://") && !request.url.starts_with("http://")) {
    fmt::print("the URL begins with neither https:// nor http://\n");
    return 1;
  }
  ::curl_global_init(CURL_GLOBAL_DEFAULT);
  auto answer = Post(request);
  int tries = 1;
  for (const auto pause : kPauses) {
    if (answer.Success() || !answer.MayPass()) break;
    std::this_thread::sleep_for(pause);
    answer = Post(request);
    ++tries;
  }
  if (answer.Success()) return 0;
  fmt::print("{} ({} {})\n", answer.Describe(), tries, tries == 1 ? "try" : "tries");
  return 1;
}

}  // namespace
}  // namespace slipway::launcher

int main() {
  try {
    return slipway::launcher::Main();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "slipway-notify: %s\n", error.what());
    return 1;
  }
}
