#include <fmt/format.h>

#include <utility>

#include "core/error.h"
#include "staging/convert/files_in_turn.h"
#include "staging/convert/record_producer.h"

namespace slipway::staging {
namespace {
namespace fs = std::filesystem;

struct OpenTable {
  std::unique_ptr<TableFile> file;
  std::uint64_t record_count() const { return file->record_count(); }
};

class TableProducer final : public RecordProducer {
 public:
  TableProducer(DataFormat format, const std::vector<fs::path>& paths)
      : files_(paths, [this, format, paths](std::size_t number) { return Open(format, paths[number]); }) {}

  std::uint64_t record_count() const override { return files_.record_count(); }
  const std::vector<ProducedField>& fields() const override { return fields_; }

  std::span<const std::byte> Value(std::uint64_t record, std::size_t field) override {
    const auto place = files_.Find(record);
    return WithContext(fmt::format("in '{}': record {}", files_.path(place.number).string(), place.record),
                       [&] { return files_.At(place.number).file->Value(place.record, field, buffer_); });
  }

  std::optional<std::span<const std::byte>> Sample(std::uint64_t record) override {
    const auto place = files_.Find(record);
    return files_.At(place.number).file->Whole(place.record, buffer_);
  }

 private:
  OpenTable Open(DataFormat format, const fs::path& path) {
    OpenTable opened{std::move(OpenTableFiles(format, {{path}}).front())};
    if (opened.record_count() == 0) return opened;
    if (fields_.empty()) fields_ = opened.file->fields();
    RequireFields(opened.file->fields(), fields_, path);
    return opened;
  }

  std::vector<ProducedField> fields_;  ///< of the first file with records
  std::vector<std::byte> buffer_;
  FilesInTurn<OpenTable> files_;  ///< last: it opens files
};

}  // namespace

std::unique_ptr<RecordProducer> ProduceFromTables(DataFormat format, const std::vector<fs::path>& files) {
  return std::make_unique<TableProducer>(format, files);
}

}  // namespace slipway::staging
