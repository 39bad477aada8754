#include "launcher/run/batch/batch_record.h"

#include <nlohmann/json.hpp>

#include "core/documents.h"
#include "core/error.h"
#include "core/files.h"

namespace slipway::launcher {
namespace {

std::filesystem::path RecordFile(const RunFolder& folder) { return folder.path() / "batch_job.json"; }

/// Older versions noted the number only.
JobIdentity JobIn(const Json& json) {
  JobIdentity job;
  job.id = json.value("job", JobId{0});
  job.cluster = json.value("cluster", std::string());
  job.comment = json.value("comment", std::string());
  if (const auto owner = json.value("owner", Json()); !owner.is_null()) job.owner = owner.get<std::uint32_t>();
  return job;
}

}  // namespace

BatchRecord ReadBatchRecord(const RunFolder& folder) try {
  const auto text = ReadDocumentIfPresent(RecordFile(folder));
  const auto json = text ? Json::parse(*text, nullptr, false) : Json();
  if (!json.is_object()) return {};
  return {JobIn(json), json.value("stages_out", false), json.value("lost", std::string()),
          json.value("doubt", std::string())};
} catch (const Json::exception&) {
  return {};
} catch (const Error&) {
  return {};
}

void WriteBatchRecord(const RunFolder& folder, const BatchRecord& record) {
  const Json json{{"schema", "slipway.batch-job/1"},
                  {"job", record.job.id},
                  {"cluster", record.job.cluster},
                  {"comment", record.job.comment},
                  {"owner", record.job.owner ? Json(*record.job.owner) : Json()},
                  {"stages_out", record.stages_out},
                  {"lost", record.lost},
                  {"doubt", record.doubt}};
  WriteFileAtomically(RecordFile(folder), json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

void RemoveBatchRecord(const RunFolder& folder) { std::filesystem::remove(RecordFile(folder)); }

}  // namespace slipway::launcher
