#include "launcher/run_folder/record_provenance.h"

#include <nlohmann/json.hpp>

#include "core/documents.h"
#include "core/error.h"
#include "core/log.h"
#include "core/process.h"
#include "launcher/provenance/collect.h"

namespace slipway::launcher {
namespace {

void Write(const RunFolder& folder, const Provenance& provenance) {
  const auto text = ToJson(provenance).dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  WriteFileAtomically(folder.provenance_file(), text, kPlanMode);
}

bool KnowsHost(const Provenance& provenance, const std::string& host) {
  return std::ranges::any_of(provenance.hosts, [&](const HostFacts& each) { return each.host == host; });
}

}  // namespace

void RecordProvenance(const RunFolder& folder, const Plan& plan) try {
  if (plan.spec().provenance != Recorded::kOff) Write(folder, CollectProvenance(plan));
} catch (const std::exception& error) {
  log::Warn("provenance.json of run {}: {}", folder.id(), error.what());
}

void RecordMachine(const RunFolder& folder, const Plan& plan, bool in_batch_job) try {
  const auto text = ReadDocumentIfPresent(folder.provenance_file());
  if (!text) return;
  auto provenance = ProvenanceFromJson(Json::parse(*text));
  if (!in_batch_job && KnowsHost(provenance, HostName())) return;
  CollectMachine(plan, provenance);
  Write(folder, provenance);
} catch (const std::exception& error) {
  log::Warn("provenance.json of run {}: {}", folder.id(), error.what());
}

}  // namespace slipway::launcher
