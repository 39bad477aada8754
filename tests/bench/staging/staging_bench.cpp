// slipway bench staging: staging with verification beside cp -r, rsync -a and rclone copy, which verify less or
// nothing.
//
// The data is made here. Every figure is the wall time of a whole process; sides take turns in each round, so that what
// else the machine does hits all of them. For cold data the page cache is dropped before each process.
//
// Two more parts are rates within one process: the check of records, and the batch reader.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tests/bench/measure.h"
#include "tests/bench/run_main.h"
#include "tests/bench/staging/check_rates.h"
#include "tests/bench/staging/copy_part.h"
#include "tests/bench/staging/page_cache.h"
#include "tests/bench/staging/reader_rates.h"
#include "tests/bench/staging/sides.h"

namespace slipway::bench {
namespace {

struct Options {
  CopyPart copy;
  std::string part;
  std::vector<std::string> stage;
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
  app.add_flag("--quick", options.copy.quick, "A tenth of the data: says that it works, not how fast");
  app.add_flag("--json", options.json, "One JSON document");
  app.add_option("--stage", options.stage, "SOURCE ROOT FORMAT")->expected(3)->group("");  // the process of our side
  app.parse(argc, argv);
  return options;
}

int Main(int argc, char** argv) {
  CLI::App app(
      "Measures staging into RAM, with verification, beside cp, rsync and rclone; the check of records; the reader.",
      "slipway bench staging");
  Options options;
  try {
    options = Parse(app, argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  }
  if (!options.stage.empty()) return StageOnce(options.stage[0], options.stage[1], options.stage[2]);
  Json document{{"schema", "slipway.bench.staging/1"},
                {"machine", DescribeMachine()},
                {"rounds", options.copy.rounds},
                {"quick", options.copy.quick},
                {"cold_by", CanDropAll() ? "drop_caches" : "fadvise"}};
  const auto wanted = [&](std::string_view part) { return options.part.empty() || options.part == part; };
  if (wanted("copy")) document["copy"] = BenchCopies(options.copy);
  if (wanted("checks")) document["checks"] = BenchChecks();
  if (wanted("reader")) document["reader"] = BenchReader();
  if (options.json) {
    fmt::print("{}\n", document.dump(2));
    return 0;
  }
  if (wanted("copy")) PrintCopies(document["copy"]);
  for (const char* part : {"checks", "reader"}) {
    if (wanted(part)) fmt::print("{}: {}\n", part, document[part].dump(2));
  }
  return 0;
}

}  // namespace
}  // namespace slipway::bench

int main(int argc, char** argv) { return slipway::bench::RunMain(slipway::bench::Main, argc, argv); }
