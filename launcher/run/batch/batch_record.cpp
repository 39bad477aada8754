#include "launcher/run/batch/batch_record.h"

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"

namespace slipway::launcher {
namespace {

std::filesystem::path RecordFile(const RunFolder& folder) { return folder.path() / "batch_job.json"; }

}  // namespace

BatchRecord ReadBatchRecord(const RunFolder& folder) try {
  const auto text = ReadFileIfPresent(RecordFile(folder));
  const auto json = text ? Json::parse(*text, nullptr, false) : Json();
  if (!json.is_object()) return {};
  return {json.value("job", std::uint32_t{0}), json.value("stages_out", false), json.value("lost", std::string()),
          json.value("doubt", std::string())};
} catch (const Json::exception&) {
  return {};
} catch (const Error&) {
  return {};
}

void WriteBatchRecord(const RunFolder& folder, const BatchRecord& record) {
  const Json json{{"schema", "slipway.batch-job/1"},
                  {"job", record.job},
                  {"stages_out", record.stages_out},
                  {"lost", record.lost},
                  {"doubt", record.doubt}};
  WriteFileAtomically(RecordFile(folder), json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

void RemoveBatchRecord(const RunFolder& folder) { std::filesystem::remove(RecordFile(folder)); }

}  // namespace slipway::launcher
