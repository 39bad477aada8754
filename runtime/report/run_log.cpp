#include "runtime/report/run_log.h"

#include "core/error.h"
#include "runtime/status.h"

namespace slipway::runtime {

RunLog::RunLog(const std::filesystem::path& path) try {
  if (!path.empty()) file_.emplace(path);
} catch (const Error& error) {
  throw RuntimeError(SLIPWAY_ERROR_IO, error.what());
}

void RunLog::Write(MllogEvent event, const std::string& key, const Json& value, const Json& metadata) try {
  if (file_) file_->Write(event, key, value, metadata);
} catch (const Error& error) {
  throw RuntimeError(SLIPWAY_ERROR_IO, error.what());
}

}  // namespace slipway::runtime
