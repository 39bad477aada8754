#include "launcher/run/batch/batch_record.h"

#include <nlohmann/json.hpp>

#include "core/documents.h"
#include "core/files.h"
#include "core/json_fields.h"
#include "core/json_text.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

fs::path RecordFile(const fs::path& folder) { return folder / "batch_job.json"; }

constexpr auto kBatchSchema = "slipway.batch-job/1";

}  // namespace

template <class Visitor, MaybeConst<BatchRecord> Struct>
void Visit(Visitor& visit, Struct& record) {
  visit("job", record.job.id, Presence::kOptional);
  visit("cluster", record.job.cluster, Presence::kOptional);
  visit("comment", record.job.comment, Presence::kOptional);
  visit("owner", record.job.owner, Presence::kOptional);
  visit("task", record.job.task, Presence::kOptional);
  visit("stages_out", record.stages_out, Presence::kOptional);
  visit("lost", record.lost, Presence::kOptional);
  visit("doubt", record.doubt, Presence::kOptional);
}

BatchRecord ReadBatchRecord(const fs::path& folder) try {
  const auto text = ReadDocumentIfPresent(RecordFile(folder));
  if (!text) return {};
  return ReadFields<BatchRecord>(Json::parse(*text, nullptr, false), {RecordFile(folder).string()});
} catch (const Error&) {
  return {};
}

void WriteBatchRecord(const fs::path& folder, const BatchRecord& record) {
  const auto json = WriteFields(kBatchSchema, record);
  WriteFileAtomically(RecordFile(folder), JsonText(json) + "\n");
}

void RemoveBatchRecord(const fs::path& folder) { fs::remove(RecordFile(folder)); }

}  // namespace slipway::launcher
