#include "core/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdlib>

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

bool IsOn(Level level) { return Logger().should_log(LevelOf(level)); }
void Write(Level level, std::string_view line) { Logger().log(LevelOf(level), line); }

}  // namespace slipway::log
