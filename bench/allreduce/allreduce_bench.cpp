// slipway bench allreduce: libslipway against MPI_Allreduce in place and against the memory's own speed.
//
// All columns of a size are measured in turn in each round of one run. Every rank rewrites its buffer before each
// operation. Otherwise each slice stays in the cache of the rank that combined it, and zero-copy looks far too good.
// The time of a round is that of the slowest rank; medians over the rounds are shown.

#include <fmt/format.h>
#include <mpi.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "bench/measure.h"
#include "bench/message_size.h"
#include "bench/run_main.h"
#include "bench/start_ranks.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "runtime/api/job.h"
#include "runtime/collectives/allreduce.h"
#include "runtime/collectives/shared_memory.h"

namespace slipway::bench {
namespace {

using namespace slipway::runtime;
using Clock = std::chrono::steady_clock;

/// One side of a comparison: an operation, and how long it took in each round.
struct Column {
  std::string name;
  std::function<void()> rewrite;  ///< gives the buffer new contents, as a training step does
  std::function<void()> operate;
  std::vector<double> seconds{};  ///< of one operation, by round
};

struct Options {
  int ranks = 2;
  std::vector<std::string> sizes{"4", "4096", "64KiB", "1MiB", "16MiB", "100MB"};
  int rounds = 0;
  bool sweep = false;
  bool json = false;
  std::string tune;
};

constexpr Reduction kSum{SLIPWAY_FLOAT32, SLIPWAY_SUM};

/// A buffer of this rank with values that depend on rank and round.
class Buffer {
 public:
  Buffer(float* data, std::int64_t count) : data_(data), count_(count) {}

  float* data() const { return data_; }
  void Rewrite() {
    round_ += 1.0f;
    for (std::int64_t i = 0; i < count_; ++i) data_[i] = round_;
  }
  AllreduceMessage message() const { return {{&piece_, 1}, kSum, 0, nullptr}; }

 private:
  float* data_;
  std::int64_t count_;
  float round_ = 0;
  Piece piece_{reinterpret_cast<char*>(data_), count_};
};

/// What ordinary memory should reach against MPI: measured on two ranks, and never to be slower at any size.
double GoalFor(std::int64_t bytes, int ranks) {
  static const std::map<std::int64_t, double> kGoals{
      {4 << 10, 1.5}, {64 << 10, 2.0}, {1 << 20, 1.5}, {16 << 20, 1.8}, {100'000'000, 2.5}};
  const auto goal = kGoals.find(bytes);
  return ranks == 2 && goal != kGoals.end() ? goal->second : 1.0;
}

/// From 4 bytes to 256 MB, each by the same factor larger than the one before.
std::vector<std::int64_t> SizesOfSweep() {
  constexpr int kSizes = 60;
  std::vector<std::int64_t> sizes;
  for (int i = 0; i < kSizes; ++i) {
    const double bytes = 4 * std::pow(64e6, static_cast<double>(i) / (kSizes - 1));
    sizes.push_back(std::max(i == 0 ? 4 : sizes.back() + 4, static_cast<std::int64_t>(bytes) / 4 * 4));
  }
  return sizes;
}

/// Small operations are repeated, so that the clock does not count.
int RepeatsOf(std::int64_t bytes) { return bytes <= 4096 ? 200 : bytes <= 65536 ? 20 : 1; }
int RoundsOf(std::int64_t bytes) { return bytes <= 65536 ? 101 : bytes <= 4 << 20 ? 101 : bytes <= 32 << 20 ? 31 : 15; }

/// Seconds of one operation, of the slowest rank.
double TimeOf(Column& column, std::int64_t bytes) {
  const int repeats = RepeatsOf(bytes);
  Clock::duration spent{};
  for (int i = 0; i < repeats; ++i) {
    column.rewrite();
    // Where an operation takes long, ranks start together; where it is short, the one before has brought them together.
    if (repeats == 1 || i == 0) MPI_Barrier(MPI_COMM_WORLD);
    const auto start = Clock::now();
    column.operate();
    spent += Clock::now() - start;
  }
  double seconds = std::chrono::duration<double>(spent).count() / repeats;
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

void Measure(std::vector<Column>& columns, std::int64_t bytes, int rounds) {
  for (int round = 0; round <= rounds; ++round) {
    for (auto& column : columns) {
      const double seconds = TimeOf(column, bytes);
      if (round > 0) column.seconds.push_back(seconds);  // the first one touches fresh memory
    }
  }
}

/// All that is measured for one size.
class SizeBench {
 public:
  SizeBench(std::int64_t bytes, Job& job)
      : bytes_(bytes),
        count_(bytes / 4),
        job_(job),
        mpi_memory_(static_cast<std::size_t>(count_)),
        user_memory_(static_cast<std::size_t>(count_)),
        shared_(static_cast<float*>(job.memory().pool.Allocate(bytes))),
        mpi_(mpi_memory_.data(), count_),
        user_(user_memory_.data(), count_),
        alloc_(shared_, count_) {}
  SizeBench(const SizeBench&) = delete;
  SizeBench& operator=(const SizeBench&) = delete;
  ~SizeBench() { job_.memory().pool.Free(shared_); }

  Json Run(int rounds) {
    std::vector<Column> columns{{"mpi", [&] { mpi_.Rewrite(); }, [&] { MpiInPlace(); }},
                                {"alloc", [&] { alloc_.Rewrite(); }, [&] { Allreduce(alloc_.message(), job_.all()); }},
                                {"user", [&] { user_.Rewrite(); }, [&] { Allreduce(user_.message(), job_.all()); }}};
    auto* channel = job_.all().channel();
    if (channel != nullptr && job_.all().topology().nodes() == 1) {
      view_ = MakeSharedView(*channel, alloc_.message().pieces, 4, job_.memory().pool, job_.all().node());
    }
    if (view_) columns.push_back({"limit", [&] { alloc_.Rewrite(); }, [&] { OwnSliceOnly(); }});
    Measure(columns, bytes_, rounds > 0 ? rounds : RoundsOf(bytes_));
    return RowsOf(columns);
  }

 private:
  void MpiInPlace() {
    MPI_Allreduce(MPI_IN_PLACE, mpi_.data(), static_cast<int>(count_), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  }
  /// The memory's work of a zero-copy allreduce without its waits: no such allreduce can be faster.
  void OwnSliceOnly() {
    const auto slice = SliceOf(count_, job_.all().size(), job_.rank());
    std::vector<void*> buffers;
    for (int rank = 0; rank < job_.all().size(); ++rank) buffers.push_back(view_->Of(0)[rank] + slice.first * 4);
    CombineAll(kSum, buffers.data(), job_.all().size(), buffers.data(), job_.all().size(), slice.count, 1);
  }

  Json RowsOf(const std::vector<Column>& columns) const {
    std::map<std::string, double> medians;
    for (const auto& column : columns) medians[column.name] = Median(column.seconds) * 1e6;
    Json rows = Json::array();
    for (const char* memory : {"alloc", "user"}) {
      const bool has_goal = std::string_view(memory) == "user";
      Json row{{"ranks", job_.all().size()},
               {"bytes", bytes_},
               {"memory", memory},
               {"algorithm", NameOf(job_.all().selection().table.Select(bytes_))},
               {"median_us", medians[memory]},
               {"mpi_median_us", medians["mpi"]},
               {"speedup", medians["mpi"] / medians[memory]},
               {"goal", has_goal ? Json(GoalFor(bytes_, job_.all().size())) : Json()},
               {"limit_us", view_ ? Json(medians.at("limit")) : Json()}};
      rows.push_back(std::move(row));
    }
    return rows;
  }

  std::int64_t bytes_;
  std::int64_t count_;
  Job& job_;
  std::vector<float> mpi_memory_;
  std::vector<float> user_memory_;
  float* shared_;
  Buffer mpi_;
  Buffer user_;
  Buffer alloc_;
  std::optional<SharedView> view_;
};

std::int64_t BytesOf(const std::string& text) { return MessageBytes(text, "64KiB"); }

void PrintRow(const Json& row) {
  const auto limit = row["limit_us"].is_null() ? 0 : row["limit_us"].get<double>();
  const auto median = row["median_us"].get<double>();
  const auto goal = row["goal"].is_null() ? "" : fmt::format("{:.1f}x", row["goal"].get<double>());
  fmt::print("{:>11} {:>6} {:<34} {:>11.2f} {:>11.2f} {:>7.2f}x {:>5} {:>10.2f} {:>6.0f} %\n",
             row["bytes"].get<std::int64_t>(), row["memory"].get<std::string>(), row["algorithm"].get<std::string>(),
             median, row["mpi_median_us"].get<double>(), row["speedup"].get<double>(), goal, limit,
             100 * limit / median);
  std::fflush(stdout);
}

/// The row of ordinary memory that gains least, and how many of these rows reach their goal.
Json SummaryOf(const Json& rows) {
  Json summary{{"sizes", 0}, {"reached", 0}, {"lowest_speedup", nullptr}, {"lowest_at_bytes", nullptr}};
  double lowest = std::numeric_limits<double>::max();
  for (const auto& row : rows) {
    if (row["goal"].is_null()) continue;
    const double speedup = row["speedup"];
    summary["sizes"] = summary["sizes"].get<int>() + 1;
    summary["reached"] = summary["reached"].get<int>() + (speedup >= row["goal"].get<double>() ? 1 : 0);
    if (speedup >= lowest) continue;
    lowest = speedup;
    summary["lowest_speedup"] = speedup;
    summary["lowest_at_bytes"] = row["bytes"];
  }
  return summary;
}

std::vector<std::int64_t> SizesFor(const Options& options) {
  if (options.sweep) return SizesOfSweep();
  std::vector<std::int64_t> sizes;
  for (const auto& size : options.sizes) sizes.push_back(BytesOf(size));
  return sizes;
}

void Compare(const Options& options, Job& job) {
  const bool speaks = job.rank() == 0;
  if (speaks && !options.json) {
    fmt::print("{} ranks, float32 sums; microseconds, medians; limit: the memory's work alone\n", job.all().size());
    fmt::print("{:>11} {:>6} {:<34} {:>11} {:>11} {:>8} {:>5} {:>10} {:>8}\n", "bytes", "memory", "algorithm",
               "slipway", "MPI", "speedup", "goal", "limit", "of limit");
  }
  Json document{{"schema", "slipway.bench.allreduce/1"}, {"machine", DescribeMachine()}, {"rows", Json::array()}};
  for (const auto bytes : SizesFor(options)) {
    for (const auto& row : SizeBench(bytes, job).Run(options.rounds)) {
      if (speaks && !options.json) PrintRow(row);
      document["rows"].push_back(row);
    }
  }
  document["summary"] = SummaryOf(document["rows"]);
  const auto& summary = document["summary"];
  if (speaks && options.json) return fmt::print("{}\n", document.dump(2));
  if (!speaks || summary["lowest_speedup"].is_null()) return;
  fmt::print("ordinary memory (user): {} of {} sizes reach their goal; lowest {:.2f}x, at {} bytes\n",
             summary["reached"].get<int>(), summary["sizes"].get<int>(), summary["lowest_speedup"].get<double>(),
             summary["lowest_at_bytes"].get<std::int64_t>());
}

// Tuning: every algorithm at every size, the fastest one wins its range.

std::vector<Choice> Candidates(const Group& group) {
  std::vector<Choice> choices;
  const auto placement = group.placement();
  for (const char* name : {"shared", "shared_copies_32k", "shared_copies_128k", "shared_direct", "recursive_doubling",
                           "rabenseifner", "ring", "torus", "mpi"}) {
    const auto choice = *ChoiceOf(name);
    if (choice.algorithm == Algorithm::kShared && (placement.nodes > 1 || !placement.shared_memory)) continue;
    if (choice.way == SharedWay::kDirect && !placement.direct_copies) continue;
    choices.push_back(choice);
    const bool both_levels = placement.nodes > 1 && placement.ranks > placement.nodes && placement.shared_memory;
    if (both_levels && choice.algorithm != Algorithm::kMpi) choices.push_back({choice.algorithm, true});
  }
  return choices;
}

Choice FastestAt(std::int64_t bytes, Job& job, bool speaks) {
  std::vector<float> memory(static_cast<std::size_t>(bytes / 4));
  Buffer buffer(memory.data(), bytes / 4);
  const auto candidates = Candidates(job.all());
  std::vector<Column> columns;
  for (const auto& choice : candidates) {
    columns.push_back(
        {NameOf(choice), [&] { buffer.Rewrite(); }, [&, choice] { AllreduceBy(choice, buffer.message(), job.all()); }});
  }
  Measure(columns, bytes, bytes <= 65536 ? 21 : 7);
  std::size_t best = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const double median = Median(columns[i].seconds);
    if (speaks) fmt::print(stderr, "{:>11} {:<34} {:>11.2f} us\n", bytes, columns[i].name, median * 1e6);
    // Less than a fifth faster is noise: the earlier candidate stays.
    if (median * 1.2 < Median(columns[best].seconds)) best = i;
  }
  return candidates[best];
}

/// What the file holds so far. Errors: Error for a file with anything but such a table: it belongs to the user.
Json TableIn(const std::string& file) {
  constexpr const char* kTableSchema = "slipway.algorithms/1";
  const auto known = ReadFileIfPresent(file).value_or("");
  if (known.empty()) return Json{{"schema", kTableSchema}, {"rules", Json::array()}};
  auto document = Json::parse(known, nullptr, false);
  const bool is_table = document.is_object() && document.value("schema", Json()) == kTableSchema &&
                        document.value("rules", Json()).is_array();
  if (is_table) return document;
  throw Error(ErrorKind::kUsage, fmt::format("'{}' holds no table of {}: it is left as it is", file, kTableSchema),
              "name another file with --tune");
}

void Tune(const Options& options, Job& job) {
  std::string table;
  std::int64_t first = 0;
  std::optional<Choice> current;
  const auto add = [&](const std::string& last) {
    table += fmt::format("{}{}:{}-{}", table.empty() ? "" : ";", NameOf(*current), first, last);
  };
  for (std::int64_t bytes = 1024; bytes <= 64 << 20; bytes *= 4) {
    const auto fastest = FastestAt(bytes, job, job.rank() == 0 && !options.json);
    if (current && fastest != *current) {
      add(std::to_string(bytes / 2));
      first = bytes / 2 + 1;
    }
    current = fastest;
  }
  add("max");
  if (job.rank() != 0) return;
  const auto placement = job.all().placement();
  auto document = TableIn(options.tune);
  auto& rules = document["rules"];
  for (std::size_t i = rules.size(); i-- > 0;) {
    if (rules[i]["ranks"] == placement.ranks && rules[i]["nodes"] == placement.nodes) rules.erase(i);
  }
  rules.push_back({{"ranks", placement.ranks}, {"nodes", placement.nodes}, {"table", table}});
  WriteFileAtomically(options.tune, document.dump(2) + "\n");
  fmt::print("{}\n", options.json ? document.dump(2) : fmt::format("{}: {}", options.tune, table));
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app(
      "Measures the gradient exchange against MPI_Allreduce in place.\n\nExamples:\n"
      "  slipway bench allreduce\n  slipway bench allreduce --ranks 4 --sizes 4096 1MiB --json\n"
      "  slipway bench allreduce --sweep --rounds 9\n"
      "  slipway bench allreduce --tune algorithms.json",
      "slipway bench allreduce");
  app.option_defaults()->always_capture_default();
  app.add_option("--ranks", options.ranks, "Ranks to start on this machine")->check(CLI::Range(1, 4096));
  app.add_option("--sizes", options.sizes, "Sizes of the messages, such as 4096 or 64KiB");
  app.add_flag("--sweep", options.sweep, "60 sizes from 4 bytes to 256 MB instead of --sizes");
  app.add_option("--rounds", options.rounds, "Rounds of each size; 0: as many as it needs");
  app.add_option("--tune", options.tune, "Measure all algorithms, and write the table of the fastest to this file");
  app.add_flag("--json", options.json, "One JSON document");
  CLI11_PARSE(app, argc, argv);
  for (const auto& size : options.sizes) BytesOf(size);
  if (!options.tune.empty()) TableIn(options.tune);  // before minutes of measuring
  StartRanks("bench allreduce", options.ranks, argc, argv);
  Job job(nullptr);
  options.tune.empty() ? Compare(options, job) : Tune(options, job);
  job.Leave();
  return 0;
}

}  // namespace
}  // namespace slipway::bench

int main(int argc, char** argv) { return slipway::bench::RunMain(slipway::bench::Main, argc, argv); }
