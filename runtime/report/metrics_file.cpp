#include "runtime/report/metrics_file.h"

#include <fcntl.h>

#include "core/clock.h"
#include "core/files.h"
#include "core/metrics_line.h"

namespace slipway::runtime {

MetricsFile::MetricsFile(const std::filesystem::path& path) : fd_(OpenFile(path, O_WRONLY | O_CREAT | O_APPEND)) {}

void MetricsFile::Report(std::int64_t step, std::optional<double> epoch, std::string_view name, double value) {
  MetricsLine line;
  line.step = step;
  line.epoch = epoch;
  line.values[std::string(name)] = value;
  WriteAll(fd_.get(), FormatMetricsLine(line, UnixSeconds(SystemClock().Now())), "metrics.jsonl");
}

}  // namespace slipway::runtime
