#include "bench/staging/print_rates.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

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

}  // namespace

void PrintChecks(const Json& rows) {
  fmt::print("full check of TFRecords in memory, one core, GB/s\n");
  for (const auto& row : rows) {
    fmt::print("  records of {:>9} bytes  {:5.1f}  (slice-by-8 {:.1f}, only reading the memory {:.1f})  {}\n",
               row.at("record_bytes").get<std::uint64_t>(), Number(row, "check"), Number(row, "slice_by_8"),
               Number(row, "memory"), GoalOfCheck(row));
  }
}

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

}  // namespace slipway::bench
