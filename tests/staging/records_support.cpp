#include "tests/staging/records_support.h"

#include <gmock/gmock.h>

#include <span>

#include "staging/formats/example.h"
#include "staging/reader/batches.h"
#include "staging/reader/elements.h"

namespace slipway::staging {
namespace fs = std::filesystem;

namespace {

BatchOptions OneEpochInOrder() {
  BatchOptions options;
  options.order = RecordOrder::kInOrder;
  options.epochs = 1;
  options.threads = 1;
  return options;
}

template <class Value>
std::vector<Value> ValuesIn(const fs::path& dataset, const std::string& field, ElementType to,
                            const std::vector<ElementType>& stored) {
  auto options = OneEpochInOrder();
  options.fields = {{field, {}, {}, {}}};
  auto reader = BatchReader::Open(dataset, options);
  EXPECT_THAT(stored, testing::Contains(reader.fields()[0].type)) << field;
  std::vector<Value> values;
  while (const auto* batch = reader.Next()) {
    const auto& read = batch->fields[0];
    const auto before = values.size();
    values.resize(before + read.values.size() / SizeOf(read.type));
    ConvertElements(read.type, read.values, to, std::as_writable_bytes(std::span(values).subspan(before)));
  }
  return values;
}

}  // namespace

std::vector<std::byte> BytesIn(const fs::path& dataset, const std::string& field) {
  return ValuesIn<std::byte>(dataset, field, ElementType::kUint8, {ElementType::kUint8});
}

std::vector<std::int64_t> IntsIn(const fs::path& dataset, const std::string& field) {
  return ValuesIn<std::int64_t>(dataset, field, ElementType::kInt64, {ElementType::kUint8, ElementType::kInt64});
}

std::vector<float> FloatsIn(const fs::path& dataset, const std::string& field) {
  return ValuesIn<float>(dataset, field, ElementType::kFloat32, {ElementType::kFloat32, ElementType::kFloat64});
}

std::vector<std::string> TextsIn(const fs::path& dataset, const std::string& field) {
  auto options = OneEpochInOrder();
  options.payloads = true;
  auto reader = BatchReader::Open(dataset, options);
  std::vector<std::string> texts;
  while (const auto* batch = reader.Next()) {
    texts.emplace_back(FindFeature(batch->payloads[0], field).value().FirstBytes());
  }
  return texts;
}

}  // namespace slipway::staging
