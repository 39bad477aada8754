#include "runtime/exchange/peer_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <optional>
#include <string>

#include "runtime/exchange/shares.h"
#include "runtime/exchange/team_errors.h"
#include "runtime/group/agreement.h"

namespace slipway::runtime {
namespace {

constexpr std::int64_t kCount = kPeerTrialBytes / sizeof(float);
constexpr std::int64_t kPeriod = 1021;  ///< no power of two: rows of memory that are exchanged show

/// Small whole numbers: their sums are exact.
float ValueAt(std::int64_t index, int rank) { return static_cast<float>((index % kPeriod + 1) * (rank + 1)); }

std::vector<float> ValuesOf(int rank) {
  std::vector<float> values(kCount);
  for (std::int64_t i = 0; i < kCount; ++i) values[static_cast<std::size_t>(i)] = ValueAt(i, rank);
  return values;
}

/// What a rank has found, for all others.
struct Finding {
  char bus[32] = {};
  int wrong_share = -1;  ///< the rank whose GPU has added up the first wrong number; -1: none
};

Finding FindingOf(const std::vector<float>& sums, const DevicePlace& place, int ranks) {
  Finding finding;
  BusOf(place).copy(finding.bus, sizeof finding.bus - 1);
  for (int rank = 0; rank < ranks && finding.wrong_share < 0; ++rank) {
    const auto share = ShareOf(kCount, ranks, rank);
    for (auto i = share.first; i < share.end(); ++i) {
      // The sum of the factors of all ranks: 1 + 2 + ...
      const float wanted = ValueAt(i, 0) * static_cast<float>(ranks * (ranks + 1) / 2);
      if (sums[static_cast<std::size_t>(i)] != wanted) finding.wrong_share = rank;
    }
  }
  return finding;
}

void Warn(const std::string& bus, int rank) {
  static std::atomic<bool> warned = false;
  if (warned.exchange(true)) return;
  std::fputs(
      fmt::format("slipway: warning: GPU {} of rank {} gives wrong sums of the other ranks' GPU memory: the exchange "
                  "goes through the CPU; switch off the IOMMU or ACS of this machine, and see nvidia-smi topo "
                  "-p2p rw\n",
                  bus, rank)
          .c_str(),
      stderr);
}

/// By the events of all ranks: the watch names one whose GPU does not get there, where the driver would wait for ever.
void AwaitSums(StepEvents& events, const DevicePlace& place, const DeviceStream& stream, Communicator& ranks) {
  OnAllRanks(ranks, [&] {
    const InContext here(place);
    events.Release(stream.handle());
  });
  Parting([&] {
    const InContext here(place);
    events.Await(ranks.waiter());
  });
}

}  // namespace

bool PeerSumsAreRight(const DevicePlace& place, const std::vector<char*>& blocks, DeviceStream& stream, Group& group,
                      StepEvents* events) {
  auto& communicator = group.communicator();
  char* const own = blocks[static_cast<std::size_t>(group.rank())];
  auto values = ValuesOf(group.rank());
  OnAllRanks(communicator, [&] {
    const InContext here(place);
    stream.CopyToDevice(own, values.data(), kPeerTrialBytes);
    if (events != nullptr) return events->Made(0, stream.handle());
    stream.Synchronize();
  });
  std::optional<SumTable> table;  // to free it waits for this GPU, which may wait for those of other ranks
  OnAllRanks(communicator, [&] {
    const auto share = ShareOf(kCount, group.size(), group.rank());
    SumPart part{share.count, blocks};
    for (auto& address : part.at) address += BytesOf(share.first, sizeof(float));
    table.emplace(place, std::span(&part, 1), stream);
    const InContext here(place);
    if (events != nullptr) events->AwaitValues(0, stream.handle());
    SumKernel::Of(place)->Launch(*table, SLIPWAY_FLOAT32, 1, stream);
    if (events != nullptr) return events->Summed(stream.handle());
    stream.Synchronize();
  });
  if (events != nullptr) AwaitSums(*events, place, stream, communicator);
  Finding own_finding;
  OnAllRanks(communicator, [&] {
    const InContext here(place);
    stream.CopyToCpu(values.data(), own, kPeerTrialBytes);
    stream.Synchronize();
    own_finding = FindingOf(values, place, group.size());
  });
  const auto findings = AllgatherValues(communicator, own_finding);
  const auto wrong = std::ranges::find_if(findings, [](const auto& each) { return each.wrong_share >= 0; });
  if (wrong == findings.end()) return true;
  const auto culprit = static_cast<std::size_t>(wrong->wrong_share);
  if (group.rank() == 0) Warn(findings[culprit].bus, communicator.job_ranks()[culprit]);
  return false;
}

}  // namespace slipway::runtime
