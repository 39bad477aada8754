// slipway bench staging: staging with verification beside cp -r, rsync -a and rclone copy. These verify less or
// nothing. Also the check of TFRecords beside the speed of memory, and the batch reader beside a reader in plain
// Python.
//
// The data is made here. Every figure is the wall time of a whole process, or its processor time a byte. Sides take
// turns in each round, so that other load of the machine hits all of them. --beside adds such load. For cold data the
// page cache is dropped before each process.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/measure.h"
#include "bench/run_main.h"
#include "bench/staging/check_rates.h"
#include "bench/staging/copy_part.h"
#include "bench/staging/page_cache.h"
#include "bench/staging/print_rates.h"
#include "bench/staging/reader_rates.h"

namespace slipway::bench {
namespace {

struct Options {
  CopyPart copy;
  std::string part;
  bool json = false;
};

Options Parse(CLI::App& app, int argc, char** argv) {
  Options options;
  options.copy.directory = std::filesystem::temp_directory_path();
  options.copy.target = "/dev/shm";
  app.option_defaults()->always_capture_default();
  app.add_option("--directory", options.copy.directory, "Where to make the data: a directory on a disk, 3 GB");
  app.add_option("--target", options.copy.target, "Where to stage to: a directory in RAM");
  app.add_option("--rounds", options.copy.rounds, "Rounds of each case")->check(CLI::Range(1, 1000));
  app.add_option("--part", options.part, "Only this part")->check(CLI::IsMember({"copy", "checks", "reader"}));
  app.add_option("--data", options.copy.data, "Copy only this data set")->check(CLI::IsMember({"large", "small"}));
  app.add_option("--cache", options.copy.cache, "Copy only with this page cache")
      ->check(CLI::IsMember({"cold", "warm"}));
  app.add_option("--beside", options.copy.beside, "Busy loops that use a processor each meanwhile")
      ->check(CLI::Range(0, 1024));
  app.add_flag("--quick", options.copy.quick, "A tenth of the data: says that it works, not how fast");
  app.add_flag("--json", options.json, "One JSON document");
  app.parse(argc, argv);
  return options;
}

int Main(int argc, char** argv) {
  CLI::App app("Measures staging into RAM beside cp, rsync and rclone, the check of records, and the batch reader.",
               "slipway bench staging");
  Options options;
  try {
    options = Parse(app, argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  }
  Json document{{"schema", "slipway.bench.staging/1"},
                {"machine", DescribeMachine()},
                {"rounds", options.copy.rounds},
                {"quick", options.copy.quick},
                {"cold_by", CanDropAll() ? "drop_caches" : "fadvise"}};
  const auto wanted = [&](const char* part) { return options.part.empty() || options.part == part; };
  if (wanted("checks")) document["checks"] = BenchChecks();
  if (wanted("reader")) document["reader"] = BenchReader();
  if (wanted("copy")) document["copy"] = BenchCopies(options.copy);
  if (options.json) {
    fmt::print("{}\n", document.dump(2));
  } else {
    if (wanted("checks")) PrintChecks(document["checks"]);
    if (wanted("reader")) PrintReader(document["reader"]);
    if (wanted("copy")) PrintCopies(document["copy"]);
  }
  return 0;
}

}  // namespace
}  // namespace slipway::bench

int main(int argc, char** argv) { return slipway::bench::RunMain(slipway::bench::Main, argc, argv); }
