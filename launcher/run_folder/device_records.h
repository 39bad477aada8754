/// Documents of a run folder that hold one record for each device.
#pragma once

#include <filesystem>
#include <vector>

#include "core/documents.h"
#include "core/json_fields.h"

namespace slipway::launcher {

/// The records under `member`; none when there is no such file. Errors: those of ParseDocument() and of the fields.
template <class Record>
std::vector<Record> ReadDeviceRecords(const std::filesystem::path& file, const char* schema, const char* member) {
  const auto text = ReadDocumentIfPresent(file);
  if (!text) return {};
  const DocumentName name{file.filename().string()};
  const auto document = ParseDocument(*text, schema, name);
  const JsonPlace place(document, name);
  std::vector<Record> records;
  FieldReader reader(place);
  reader(member, records);
  return records;
}

}  // namespace slipway::launcher
