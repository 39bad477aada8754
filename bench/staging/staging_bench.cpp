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
#include "bench/staging/reader_rates.h"
#include "core/json.h"

namespace slipway::bench {
namespace {

constexpr double kGoalSmall = 3;     // GB/s at 1 KB
constexpr double kGoalLarge = 5;     // GB/s at 110 KB
constexpr double kGoalReader = 0.9;  // of the check of the same bytes
constexpr double kGoalPython = 10;

double Number(const Json& row, const char* key) { return row.at(key).get<double>(); }

std::string Verdict(double value, double goal) {
  return fmt::format("goal {}: {}", goal, value >= goal ? "reached" : "not reached");
}

std::string GoalOfCheck(const Json& row) {
  const auto bytes = row.at("record_bytes").get<std::uint64_t>();
  if (bytes == 1'000) return Verdict(Number(row, "check"), kGoalSmall);
  return bytes == 110'000 ? Verdict(Number(row, "check"), kGoalLarge) : "";
}

/// What BenchChecks returned.
void PrintChecks(const Json& rows) {
  fmt::print("full check of TFRecords in memory, one core, GB/s\n");
  for (const auto& row : rows) {
    fmt::print("  records of {:>9} bytes  {:5.1f}  (slice-by-8 {:.1f}, only reading the memory {:.1f})  {}\n",
               row.at("record_bytes").get<std::uint64_t>(), Number(row, "check"), Number(row, "slice_by_8"),
               Number(row, "memory"), GoalOfCheck(row));
  }
}

/// What BenchReader returned.
void PrintReader(const Json& rates) {
  fmt::print("batch reader on staged TFRecords, whole records, GB/s\n");
  for (const auto& row : rates.at("whole_records")) {
    const auto in_order = Number(row, "in_order_1");
    fmt::print("  records of {:>9} bytes  in order {:5.1f}, shuffled {:5.1f}  (check of memory {:.1f})  {}\n",
               row.at("record_bytes").get<std::uint64_t>(), in_order, Number(row, "shuffled_1"), Number(row, "check"),
               Verdict(in_order / Number(row, "check"), kGoalReader));
  }
  const auto& examples = rates.at("examples");
  fmt::print("pictures of 28 x 28 decoded into batches of floats: {:.0f} a second by one thread, {:.0f} by two\n",
             Number(examples, "reader_1"), Number(examples, "reader_2"));
  if (examples.at("plain_python").is_null()) {
    fmt::print("  a plain reader in Python did not run here (it needs python3-numpy)\n");
    return;
  }
  const auto ratio = Number(examples, "reader_1_of_python");
  fmt::print("  a plain reader in Python: {:.0f}; {:.0f} times as fast, {}\n", Number(examples, "plain_python"), ratio,
             Verdict(ratio, kGoalPython));
}

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
