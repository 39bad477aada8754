#include "launcher/spec/project_settings.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/documents.h"
#include "core/files.h"
#include "core/ownership.h"
#include "launcher/spec/changes.h"
#include "launcher/spec/secrets.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

/// What is below them decides which code runs.
constexpr std::array kCodeFields = {std::string_view("launch.env"), std::string_view("launch.modules"),
                                    std::string_view("launch.container"), std::string_view("launch.slurm.extra"),
                                    std::string_view(kNotify)};

bool IsBelowField(std::string_view path, std::string_view field) {
  if (!path.starts_with(field)) return false;
  const auto rest = path.substr(field.size());
  return rest.empty() || rest.front() == '.' || rest.front() == '[';
}

bool DecidesOnCode(std::string_view path) {
  return std::ranges::any_of(kCodeFields, [&](std::string_view field) { return IsBelowField(path, field); });
}

[[noreturn]] void Refuse(const std::string& why) {
  const auto path = fs::absolute(kProjectSettings).string();
  throw Error(ErrorKind::kEnvironment,
              fmt::format("'{}' may not decide what runs as {}: {}", path, UserName(::geteuid()), why),
              "call slipway in another folder; to use these settings read them, and copy them to a folder of your own");
}

bool IsSpecItself(const SpecDocument& document) {
  std::error_code error;
  return fs::equivalent(document.file, kProjectSettings, error);
}

}  // namespace

std::string ReadProjectSettings() {
  if (IsOpenToAll(".")) Refuse("any user can write to its folder");
  if (const auto why = WhyNotOwn(fs::path(kProjectSettings)); !why.empty()) Refuse(why);
  const auto fd = OpenFile(kProjectSettings, O_RDONLY);
  if (const auto why = WhyNotOwn(fd.get()); !why.empty()) Refuse(why);
  return ReadDocument(fmt::format("/proc/self/fd/{}", fd.get()));
}

std::vector<std::string> CodeFromProjectSettings(const SpecDocument& document) {
  std::vector<std::string> lines;
  if (IsSpecItself(document)) return lines;
  const auto resolved = WithoutSecrets(*document.resolved);
  for (const auto& [path, origin] : document.origins) {
    if (!origin.starts_with(std::string(kProjectSettings) + ":") || !DecidesOnCode(path)) continue;
    const auto* value = ValueAt(resolved, path);
    const bool is_leaf = value != nullptr && !value->is_object() && !value->is_null();
    if (!is_leaf) continue;
    lines.push_back(
        fmt::format("{} sets {}: {}", origin, path, value->is_string() ? value->get<std::string>() : value->dump()));
  }
  return lines;
}

}  // namespace slipway::launcher
