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

}  // namespace

void Debug(std::string_view line) { Logger().debug(line); }
void Info(std::string_view line) { Logger().info(line); }
void Warn(std::string_view line) { Logger().warn(line); }

}  // namespace slipway::log
