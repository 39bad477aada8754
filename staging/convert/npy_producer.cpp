#include "staging/convert/record_producer.h"
#include "staging/formats/numpy_table.h"

namespace slipway::staging {
namespace {

class NpyProducer final : public RecordProducer {
 public:
  explicit NpyProducer(const std::vector<std::filesystem::path>& files) {
    for (const auto& path : files) columns_.Add(path);
    columns_.RequireRecords(files.at(0));
  }

  std::uint64_t record_count() const override { return columns_.record_count(); }
  const std::vector<ProducedField>& fields() const override { return columns_.fields(); }
  std::span<const std::byte> Value(std::uint64_t record, std::size_t field) override {
    return columns_.Value(record, field);
  }

 private:
  NpyColumns columns_;
};

}  // namespace

std::unique_ptr<RecordProducer> ProduceFromNpy(const std::vector<std::filesystem::path>& files) {
  return std::make_unique<NpyProducer>(files);
}

}  // namespace slipway::staging
