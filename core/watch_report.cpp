#include "core/watch_report.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/files.h"

namespace slipway {

void WriteWatchReport(const std::filesystem::path& path, const std::string& writer, const Json& members,
                      EarlierReport earlier) {
  Json report{{"schema", "slipway.watch/1"}, {"time", UnixSeconds(SystemClock().Now())}};
  report.update(members);
  const auto own = path.string() + "." + writer;
  // Names of hosts and teams may be any bytes.
  WriteFile(own, report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  if (earlier == EarlierReport::kGoes) {
    ::rename(own.c_str(), path.c_str());
  } else {
    ::link(own.c_str(), path.c_str());  // fails if there is a report already
    ::unlink(own.c_str());
  }
}

}  // namespace slipway
