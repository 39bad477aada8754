#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "staging/convert/record_producer.h"
#include "staging/formats/npy.h"

namespace slipway::staging {
namespace {
namespace fs = std::filesystem;

class NpyProducer final : public RecordProducer {
 public:
  explicit NpyProducer(const std::vector<fs::path>& files) {
    for (const auto& path : files) {
      for (const auto& array : opened_.emplace_back(path).arrays()) Add(array, path);
    }
    if (arrays_.empty() || record_count() == 0) {
      throw Error(ErrorKind::kEnvironment, fmt::format("'{}' has no records", files.at(0).string()),
                  "name files that hold records");
    }
  }

  std::uint64_t record_count() const override { return arrays_[0].shape[0]; }
  const std::vector<ProducedField>& fields() const override { return fields_; }

  std::span<const std::byte> Value(std::uint64_t record, std::size_t field) override {
    const auto size = arrays_[field].values.size() / record_count();
    return arrays_[field].values.subspan(record * size, size);
  }

 private:
  void Add(const NpyArray& array, const fs::path& file) {
    if (array.shape.empty()) {
      throw Error(ErrorKind::kEnvironment,
                  fmt::format("'{}': '{}' is one number, not one for each record", file.string(), array.name),
                  "save an array with one row for each record");
    }
    if (!arrays_.empty() && array.shape[0] != arrays_[0].shape[0]) {
      throw Error(ErrorKind::kEnvironment,
                  fmt::format("'{}': '{}' has {} records, '{}' has {}", file.string(), array.name, array.shape[0],
                              arrays_[0].name, arrays_[0].shape[0]),
                  "save arrays with the same number of rows");
    }
    if (std::ranges::find(fields_, array.name, &ProducedField::name) != fields_.end()) {
      throw Error(ErrorKind::kUsage, fmt::format("'{}': there are two arrays '{}'", file.string(), array.name),
                  "rename one: the names of the files become the fields of the records");
    }
    fields_.push_back({array.name, array.type, {array.shape.begin() + 1, array.shape.end()}});
    RequireValues(fields_.back(), file);
    arrays_.push_back(array);
  }

  std::vector<NpyFile> opened_;
  std::vector<NpyArray> arrays_;
  std::vector<ProducedField> fields_;
};

}  // namespace

std::unique_ptr<RecordProducer> ProduceFromNpy(const std::vector<fs::path>& files) {
  return std::make_unique<NpyProducer>(files);
}

}  // namespace slipway::staging
