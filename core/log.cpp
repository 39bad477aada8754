#include "core/log.h"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdlib>

#include "core/environment.h"
#include "core/error.h"

namespace slipway::log {
namespace {

spdlog::logger& Logger() {
  static const auto logger = [] {
    auto created = std::make_shared<spdlog::logger>("slipway", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    const char* level = std::getenv("SLIPWAY_LOG");
    created->set_level(level != nullptr ? spdlog::level::from_str(level) : spdlog::level::off);
    created->set_pattern("%Y-%m-%dT%H:%M:%S.%e %P %l: %v");
    return created;
  }();
  return *logger;
}

spdlog::level::level_enum LevelOf(Level level) {
  switch (level) {
    case Level::kDebug: return spdlog::level::debug;
    case Level::kInfo: return spdlog::level::info;
    case Level::kWarn: return spdlog::level::warn;
  }
  return spdlog::level::off;
}

}  // namespace

void RequireKnownLevel() {
  const auto level = Variable("SLIPWAY_LOG");
  for (const std::string_view known : {"", "debug", "info", "warn", "error", "off"}) {
    if (level == known) return;
  }
  throw Error(ErrorKind::kUsage,
              fmt::format("the environment variable SLIPWAY_LOG is '{}', not debug, info, warn, error or off", level),
              "correct it or unset it");
}

bool IsOn(Level level) { return Logger().should_log(LevelOf(level)); }
void Write(Level level, std::string_view line) { Logger().log(LevelOf(level), line); }

}  // namespace slipway::log
