#include "bench/staging/check_rates.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "bench/measure.h"
#include "bench/staging/checked_blocks.h"
#include "core/crc32c.h"
#include "core/error.h"
#include "staging/formats/tfrecord_frame.h"

namespace slipway::bench {
namespace {

using staging::kTfrecordFooterBytes;
using staging::kTfrecordHeaderBytes;

constexpr std::size_t kSetBytes = 256 << 20;  // more than the caches hold
constexpr std::size_t kPiece = 256 << 10;     // what the copy engine reads at once
constexpr std::size_t kBlock = 4 << 20;       // what manifests keep a CRC of
constexpr int kRounds = 7;

/// What the compiler must not leave out.
volatile std::uint64_t kept = 0;

std::vector<std::byte> MakeRecords(std::size_t data_bytes) {
  std::vector<std::byte> data(data_bytes);
  std::uint64_t state = 1;
  for (auto& byte : data) byte = static_cast<std::byte>((state = state * 6364136223846793005U + 1) >> 56);
  const auto header = staging::MakeTfrecordHeader(data.size());
  const auto footer = staging::MakeTfrecordFooter(Crc32c(data));
  std::vector<std::byte> set;
  set.reserve(kSetBytes);
  while (set.size() + kTfrecordHeaderBytes + data.size() + kTfrecordFooterBytes <= kSetBytes) {
    set.insert(set.end(), header.begin(), header.end());
    set.insert(set.end(), data.begin(), data.end());
    set.insert(set.end(), footer.begin(), footer.end());
  }
  return set;
}

template <class Update>
void InPieces(std::span<const std::byte> set, Update&& update) {
  for (; !set.empty(); set = set.subspan(std::min(kPiece, set.size()))) update(set.first(std::min(kPiece, set.size())));
}

void Check(std::span<const std::byte> set) {
  const auto check = staging::MakeStreamCheck(staging::DataFormat::kTfrecord, "memory");
  InPieces(set, [&](auto piece) { check->Update(piece); });
  kept = check->Finish().records.value();
}

void CheckWithBlocks(std::span<const std::byte> set) {
  staging::CheckedBlocks blocks(staging::MakeStreamCheck(staging::DataFormat::kTfrecord, "memory"), kBlock);
  InPieces(set, [&](auto piece) { blocks.Update(piece); });
  kept = blocks.Finish().crc32c.back();
}

void CheckSliceBy8(std::span<const std::byte> set) {
  for (std::uint64_t record = 0; !set.empty(); ++record) {
    const staging::RecordPlace place{"memory", record, 0};
    const auto length = staging::ReadTfrecordLength(set.first<kTfrecordHeaderBytes>(), place);
    const auto crc = Crc32cPortable(set.subspan(kTfrecordHeaderBytes, length));
    set = set.subspan(kTfrecordHeaderBytes + length);
    staging::CheckTfrecordFooter(set.first<kTfrecordFooterBytes>(), crc, place);
    set = set.subspan(kTfrecordFooterBytes);
  }
}

void OnlyRead(std::span<const std::byte> set) {
  constexpr std::size_t kLanes = 8;  // sums that do not wait for each other
  std::uint64_t sums[kLanes] = {};
  for (; set.size() >= sizeof sums; set = set.subspan(sizeof sums)) {
    std::uint64_t words[kLanes];
    std::memcpy(words, set.data(), sizeof words);
    for (std::size_t i = 0; i < kLanes; ++i) sums[i] += words[i];
  }
  for (const auto sum : sums) kept = kept + sum;
}

double Rate(std::span<const std::byte> set, void (*work)(std::span<const std::byte>)) {
  const auto start = std::chrono::steady_clock::now();
  work(set);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  return static_cast<double>(set.size()) / elapsed.count() / 1e9;
}

Json RowFor(std::size_t data_bytes) {
  const auto set = MakeRecords(data_bytes);
  std::vector<double> check, blocks, slices, memory;
  for (int round = 0; round < kRounds; ++round) {
    check.push_back(Rate(set, Check));
    blocks.push_back(Rate(set, CheckWithBlocks));
    memory.push_back(Rate(set, OnlyRead));
    slices.push_back(Rate(set, CheckSliceBy8));
  }
  return {{"record_bytes", data_bytes},
          {"check", Median(check)},
          {"check_and_block_crcs", Median(blocks)},
          {"slice_by_8", Median(slices)},
          {"memory", Median(memory)},
          {"check_of_memory", Median(check) / Median(memory)},
          {"check_over_slice_by_8", Median(check) / Median(slices)}};
}

}  // namespace

Json BenchChecks() {
  Json rows = Json::array();
  for (const std::size_t bytes : {1'000, 8'000, 110'000, 2'000'000}) rows.push_back(RowFor(bytes));
  return rows;
}

}  // namespace slipway::bench
