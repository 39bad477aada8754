#include "launcher/cli/commands/trials_throughput.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "core/output.h"
#include "core/units.h"
#include "launcher/trials/throughput.h"

namespace slipway::launcher {
namespace fs = std::filesystem;

namespace {

/// Instances that did not converge are kept apart, as the rules have it.
void CopyLogs(const std::vector<LoggedRun>& runs, const fs::path& results) {
  if (fs::exists(results)) {
    throw Error(ErrorKind::kUsage, fmt::format("'{}' is there already", results.string()), "name a new folder");
  }
  MakeDirectories(results);
  std::size_t converged = 0;
  std::size_t pruned = 0;
  for (const auto& run : runs) {
    const auto folder = run.converged ? results : results / "pruned_results";
    MakeDirectories(folder);
    fs::copy_file(run.log, folder / fmt::format("result_{}.txt", run.converged ? converged++ : pruned++));
  }
}

Json Maybe(const std::optional<double>& number) { return number ? Json(*number) : Json(); }

Json DocumentOf(const Throughput& throughput) {
  return Json{{"schema", "slipway.trials.throughput/1"},
              {"system_scale", throughput.system_scale},
              {"instance_scale", throughput.instance_scale},
              {"models", throughput.models},
              {"converged", throughput.converged},
              {"time_to_train_all_s", Maybe(throughput.time_to_train_all_s)},
              {"models_per_minute", Maybe(throughput.models_per_minute)},
              {"staging_s", throughput.staging_s},
              {"run_start_spread_s", throughput.start_spread_s},
              {"time_to_train_s",
               {{"min", throughput.fastest_s}, {"median", throughput.median_s}, {"max", throughput.slowest_s}}},
              {"remark", throughput.remark}};
}

std::string Row(std::string_view name, const std::string& value) { return fmt::format("  {:<20}  {}\n", name, value); }

std::string TextOf(const Throughput& throughput) {
  auto text = fmt::format("T = {}, S = {}, M = {} ({} converged)\n", throughput.system_scale, throughput.instance_scale,
                          throughput.models, throughput.converged);
  if (throughput.time_to_train_all_s) {
    text += Row("time to train all", FormatDuration(Seconds(*throughput.time_to_train_all_s)));
    text += Row("models per minute", fmt::format("{:.4g}", throughput.models_per_minute.value_or(0)));
    text +=
        Row("time to train one",
            fmt::format("{} (fastest {}, slowest {})", FormatDuration(Seconds(throughput.median_s)),
                        FormatDuration(Seconds(throughput.fastest_s)), FormatDuration(Seconds(throughput.slowest_s))));
  }
  text += Row("run_start spread", FormatDuration(Seconds(throughput.start_spread_s)));
  text += Row("staging, before it", FormatDuration(Seconds(throughput.staging_s)));
  if (!throughput.remark.empty()) text += "  not by the rules: " + throughput.remark + "\n";
  return text;
}

}  // namespace

int TrialsThroughput(const TrialsThroughputOptions& options, Output& output) {
  const auto runs = ReadLoggedRuns(options.run_folder);
  if (runs.empty()) {
    throw Error(ErrorKind::kUsage, fmt::format("no trial in '{}' has an MLPerf log", options.run_folder.string()),
                "run the ensemble with: --set mllog.write=true");
  }
  const auto throughput = MeasureThroughput(runs, ReadLoggedSystem(options.run_folder));
  if (!options.results.empty()) CopyLogs(runs, options.results);
  output.Print({DocumentOf(throughput), TextOf(throughput),
                throughput.models_per_minute ? fmt::format("{:.6g}", *throughput.models_per_minute) : ""});
  return 0;
}

}  // namespace slipway::launcher
