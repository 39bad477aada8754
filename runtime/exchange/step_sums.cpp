#include "runtime/exchange/step_sums.h"

#include <cstdio>

#include "runtime/exchange/content_hash.h"
#include "runtime/reduction/reduction.h"

namespace slipway::runtime {
namespace {

SumsHeader SumsHeaderOf(const SumsSettings& settings, const std::string& team, std::span<const TensorInfo> tensors) {
  SumsHeader header{team, settings.rank, settings.ranks, settings.every, settings.resumed, {}};
  for (const auto& tensor : tensors) {
    header.tensors.push_back({tensor.name, std::string(NameOf(tensor.dtype)), tensor.bytes()});
  }
  return header;
}

}  // namespace

void StepSums::TakeGradient(std::int64_t step, int index, const TensorInfo& tensor) {
  if (!IsDue(step)) return;
  if (open_.empty() || open_.back().step != step) {
    open_.push_back({step, std::vector<std::uint64_t>(file_.header().tensors.size())});
  }
  open_.back().gradients[static_cast<std::size_t>(index)] = ContentHash(tensor.data, tensor.bytes());
}

void StepSums::TakeResult(std::int64_t step, std::span<const TensorInfo> tensors) {
  TakeNoResult(step - 1);
  if (open_.empty() || open_.front().step != step) return;
  auto line = std::move(open_.front());
  open_.pop_front();
  auto& sums = line.exchanged.emplace();
  for (const auto& tensor : tensors) sums.push_back(ContentHash(tensor.data, tensor.bytes()));
  file_.Append(line);
}

void StepSums::TakeNoResult(std::int64_t last_step) {
  while (!open_.empty() && open_.front().step <= last_step) {
    file_.Append(open_.front());
    open_.pop_front();
  }
}

std::unique_ptr<StepSums> MakeStepSums(const SumsSettings& settings, int team_number, const std::string& team,
                                       std::span<const TensorInfo> tensors) {
  if (settings.every == 0 || settings.folder.empty()) return nullptr;
  if (team_number > kMostTeamsWithSums) {
    if (team_number == kMostTeamsWithSums + 1 && settings.rank == 0) {
      std::fprintf(stderr,
                   "slipway: warning: trace.sums covers the first %d teams that a program registers, so not '%s'\n",
                   kMostTeamsWithSums, team.c_str());
    }
    return nullptr;
  }
  SumsFile file(settings.folder / SumsFileName({team_number, settings.rank}), SumsHeaderOf(settings, team, tensors));
  return std::make_unique<StepSums>(settings.every, std::move(file));
}

}  // namespace slipway::runtime
