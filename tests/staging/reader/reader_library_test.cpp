// libslipway_reader.so as programs see it.
#include <gmock/gmock.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "staging/formats/hdf5.h"
#include "staging/reader/slipway_reader.h"
#include "tests/staging/hdf5_support.h"
#include "tests/staging/reader/batches_support.h"
#include "tests/support/temp_directory.h"

extern "C" int SumOfLabels(const char* dataset, const char* options, int64_t* sum, char* position);

namespace slipway::staging {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kLibrary[] = SLIPWAY_BUILD_DIR "/lib/libslipway_reader.so";

std::vector<std::string> LinesOf(const std::string& command) {
  FILE* pipe = ::popen(command.c_str(), "r");
  std::string text;
  std::array<char, 4096> buffer;
  while (const auto count = std::fread(buffer.data(), 1, buffer.size(), pipe)) text.append(buffer.data(), count);
  EXPECT_EQ(::pclose(pipe), 0) << command;
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(ReaderLibrary, ExportsTheFunctionsOfItsHeaderAndNothingElse) {
  const auto exported = LinesOf(std::string("nm -D --defined-only ") + kLibrary + " | awk '{print $NF}' | sort");
  const auto declared = LinesOf("grep -oE 'slipway_reader_[a-z_]+\\(' " SLIPWAY_SOURCE_DIR
                                "/staging/reader/slipway_reader.h | tr -d '(' | sort -u");
  EXPECT_GT(declared.size(), 10u);
  EXPECT_EQ(exported, declared);
}

TEST(ReaderLibrary, NeedsNothingThatAProgramMayBringInAnotherVersion) {
  for (const auto& line : LinesOf(std::string("ldd ") + kLibrary + " | sed 's/ (0x.*//'")) {
    for (const char* foreign : {"mpi", "torch", "c10", "yaml", "sqlite", "hdf5", "libfmt", "spdlog", "not found"}) {
      EXPECT_EQ(line.find(foreign), std::string::npos) << line;
    }
  }
}

class ReaderCalls : public testing::Test {
 protected:
  ReaderCalls() { MakeGeneration(directory_.path(), {10}, WithIndex::kYes); }
  const char* Path() const { return path_.c_str(); }

  test::TempDirectory directory_;
  std::string path_ = directory_.path().string();
};

TEST_F(ReaderCalls, AProgramInCReadsAnEpoch) {
  int64_t sum = 0;
  char position[64];
  EXPECT_EQ(
      SumOfLabels(Path(), R"({"fields": ["label"], "batch": 4, "remainder": "pad", "epochs": 1})", &sum, position),
      SLIPWAY_READER_OK);
  EXPECT_EQ(sum, 45);
  EXPECT_STREQ(position, R"({"epoch": 1, "records_done": 0})");
}

TEST_F(ReaderCalls, CopyIntoMemoryAndGoOnElsewhere) {
  slipway_reader* reader = nullptr;
  const char* options = R"({"fields": ["label", "floats"], "batch": 3, "order": "in_order"})";
  ASSERT_EQ(slipway_reader_open(Path(), options, &reader), SLIPWAY_READER_OK) << slipway_reader_error_message();
  const slipway_reader_field* fields = nullptr;
  int count = 0;
  ASSERT_EQ(slipway_reader_fields(reader, &fields, &count), SLIPWAY_READER_OK);
  ASSERT_EQ(count, 2);
  EXPECT_STREQ(fields[1].name, "floats");
  EXPECT_EQ(fields[1].dtype, SLIPWAY_READER_FLOAT32);
  EXPECT_EQ(fields[1].ndim, 2);
  EXPECT_EQ(fields[1].shape[1], 3);
  EXPECT_EQ(fields[1].bytes, 36u);
  int64_t steps = 0;
  EXPECT_EQ(slipway_reader_steps(reader, &steps), SLIPWAY_READER_OK);
  EXPECT_EQ(steps, 3);
  int64_t records = 0;
  EXPECT_EQ(slipway_reader_count(reader, &records), SLIPWAY_READER_OK);
  EXPECT_EQ(records, 10);
  const char* where = nullptr;
  EXPECT_EQ(slipway_reader_describe(reader, 4, &where), SLIPWAY_READER_OK);
  EXPECT_TRUE(std::string(where).ends_with("': record 4")) << where;
  EXPECT_EQ(slipway_reader_describe(reader, UINT64_MAX, &where), SLIPWAY_READER_ERROR_ARGUMENT);
  ASSERT_EQ(slipway_reader_seek(reader, R"({"epoch": 0, "records_done": 6})"), SLIPWAY_READER_OK);
  std::array<int64_t, 3> labels{};
  void* memory[] = {labels.data(), nullptr};
  const slipway_reader_batch* batch = nullptr;
  ASSERT_EQ(slipway_reader_next_into(reader, memory, 2, &batch), SLIPWAY_READER_OK);
  ASSERT_NE(batch, nullptr);
  EXPECT_EQ(labels[2], 8);
  EXPECT_EQ(batch->fields[0].data, nullptr);
  EXPECT_EQ(batch->records[0], 6u);
  ASSERT_EQ(slipway_reader_next(reader, &batch), SLIPWAY_READER_OK);
  EXPECT_EQ(batch, nullptr);
  slipway_reader_numbers numbers;
  EXPECT_EQ(slipway_reader_stats(reader, &numbers), SLIPWAY_READER_OK);
  EXPECT_EQ(numbers.batches, 1);
  const char* corrupt = nullptr;
  EXPECT_EQ(slipway_reader_corrupt(reader, &corrupt), SLIPWAY_READER_OK);
  EXPECT_STREQ(corrupt, "[]");
  slipway_reader_close(reader);
}

TEST_F(ReaderCalls, FillSlotsOfTheCaller) {
  std::vector<std::array<int64_t, 5>> slots(2);
  void* memory[] = {slots[0].data(), slots[1].data()};
  slipway_reader* reader = nullptr;
  const char* options = R"({"fields": ["label"], "batch": 5, "prefetch": 1, "order": "in_order"})";
  const std::size_t bytes[] = {sizeof slots[0], sizeof slots[1]};
  EXPECT_EQ(slipway_reader_open_into(Path(), options, memory, bytes, 1, &reader), SLIPWAY_READER_ERROR_ARGUMENT);
  const std::size_t small[] = {sizeof slots[0], sizeof slots[1] - 1};
  EXPECT_EQ(slipway_reader_open_into(Path(), options, memory, small, 2, &reader), SLIPWAY_READER_ERROR_ARGUMENT);
  EXPECT_THAT(slipway_reader_error_message(), HasSubstr("the memory for 'label' has 39 bytes, a batch takes 40"));
  ASSERT_EQ(slipway_reader_open_into(Path(), options, memory, bytes, 2, &reader), SLIPWAY_READER_OK);
  const slipway_reader_batch* batch = nullptr;
  ASSERT_EQ(slipway_reader_next(reader, &batch), SLIPWAY_READER_OK);
  EXPECT_EQ(slots[static_cast<std::size_t>(batch->slot)][4], 4);
  slipway_reader_close(reader);
}

TEST_F(ReaderCalls, ErrorsAreCodesWithWords) {
  auto* reader = reinterpret_cast<slipway_reader*>(1);  // whatever was there before
  EXPECT_EQ(slipway_reader_open("/nowhere/at/all", R"({"fields": ["x"]})", &reader), SLIPWAY_READER_ERROR_DATA);
  EXPECT_EQ(reader, nullptr);
  EXPECT_THAT(slipway_reader_error_message(), HasSubstr("/nowhere/at/all"));
  EXPECT_EQ(slipway_reader_open(Path(), R"({"fields": ["x"]})", &reader), SLIPWAY_READER_ERROR_ARGUMENT);
  EXPECT_THAT(slipway_reader_error_message(), HasSubstr("no field 'x'"));
  EXPECT_EQ(slipway_reader_open(nullptr, "{}", &reader), SLIPWAY_READER_ERROR_ARGUMENT);
  EXPECT_EQ(slipway_reader_open(Path(), "{}", nullptr), SLIPWAY_READER_ERROR_ARGUMENT);
  EXPECT_EQ(slipway_reader_next(nullptr, nullptr), SLIPWAY_READER_ERROR_ARGUMENT);
  EXPECT_EQ(reader, nullptr);
  slipway_reader_close(nullptr);
  EXPECT_THAT(slipway_reader_version(), StartsWith("0."));
}

TEST_F(ReaderCalls, Hdf5IsFoundBesideTheLibrary) {
  const auto path = directory_ / "a.h5";
  const std::vector<std::int64_t> labels = {1, 2, 3, 4};
  const auto file = CreateHdf5(path);
  WriteDataset(*file, {"label", NumberType::kInt64, {4}}, std::as_bytes(std::span(labels)));
  file->Close();
  int64_t sum = 0;
  char position[64];
  EXPECT_EQ(SumOfLabels(path.c_str(), R"({"fields": ["label"], "batch": 2, "epochs": 1})", &sum, position),
            SLIPWAY_READER_OK);
  EXPECT_EQ(sum, 10);
}

}  // namespace
}  // namespace slipway::staging
