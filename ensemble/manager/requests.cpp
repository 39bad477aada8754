#include "ensemble/manager/requests.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"

namespace slipway::ensemble {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEnding = ".json";
// Enough for one configuration or 100,000 trials. A larger file is not read into memory.
constexpr std::uintmax_t kLargestRequest = 1 << 20;

Json ToJson(const Enqueue& enqueue) { return Json{{"do", "enqueue"}, {"parameters", ensemble::ToJson(enqueue.point)}}; }
Json ToJson(const Retry& retry) { return Json{{"do", "retry"}, {"trials", retry.trials}}; }

std::variant<Enqueue, Retry, Malformed> Parse(const std::string& text) try {
  const Json json = Json::parse(text);
  const auto what = json.at("do").get<std::string>();
  if (what == "enqueue") return Enqueue{PointFromJson(json.at("parameters"))};
  if (what == "retry") return Retry{json.at("trials").get<std::vector<TrialNumber>>()};
  return Malformed{fmt::format("unknown request '{}'", what)};
} catch (const std::exception& error) {
  return Malformed{error.what()};
}

std::variant<Enqueue, Retry, Malformed> ReadRequest(const fs::path& path) {
  std::error_code error;
  if (fs::file_size(path, error) > kLargestRequest || error) return Malformed{"the file is too large, or no file"};
  return Parse(ReadFileIfPresent(path).value_or(""));
}

}  // namespace

std::string PostRequest(const fs::path& run_folder, const std::variant<Enqueue, Retry>& what) {
  const auto folder = run_folder / kRequestsFolder;
  MakeDirectories(folder);
  const auto nanoseconds = SystemClock().Now().time_since_epoch() / std::chrono::nanoseconds(1);
  const auto name = fmt::format("{:020}-{}-{}{}", nanoseconds, HostName(), ::getpid(), kEnding);
  const Json json = std::visit([](const auto& request) { return ToJson(request); }, what);
  WriteFileDurably(folder / name, json.dump() + "\n");
  return name;
}

std::vector<Request> WaitingRequests(const fs::path& run_folder) {
  std::vector<Request> requests;
  std::error_code error;
  for (fs::directory_iterator at(run_folder / kRequestsFolder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename();
    if (!name.starts_with('.') && name.ends_with(kEnding)) requests.push_back({name, ReadRequest(at->path())});
  }
  std::ranges::sort(requests, {}, &Request::name);
  return requests;
}

void RemoveRequest(const fs::path& run_folder, const std::string& name) {
  std::error_code ignored;  // a request that stays is known by its name and not carried out again
  fs::remove(run_folder / kRequestsFolder / name, ignored);
}

}  // namespace slipway::ensemble
