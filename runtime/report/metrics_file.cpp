#include "runtime/report/metrics_file.h"

#include <fcntl.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/metrics_line.h"
#include "runtime/status.h"

namespace slipway::runtime {
MetricsFile::MetricsFile(const std::filesystem::path& path) try {
  if (!path.empty()) fd_ = OpenFile(path, O_WRONLY | O_CREAT | O_APPEND);
} catch (const Error& error) {
  throw RuntimeError(SLIPWAY_ERROR_IO, error.what());
}

void MetricsFile::Report(std::int64_t step, std::optional<double> epoch, std::string_view name, double value) try {
  if (!fd_) return;
  MetricsLine line;
  line.step = step;
  line.epoch = epoch;
  line.values[std::string(name)] = value;
  WriteAll(fd_.get(), FormatMetricsLine(line, UnixSeconds(SystemClock().Now())), "metrics.jsonl");
} catch (const Error& error) {
  throw RuntimeError(SLIPWAY_ERROR_IO, error.what());
}

}  // namespace slipway::runtime
