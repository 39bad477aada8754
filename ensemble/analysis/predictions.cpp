#include "ensemble/analysis/predictions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/files.h"
#include "core/numpy_header.h"

namespace slipway::ensemble {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kLargestDocument = 64 * 1024;
constexpr const char* kWriteAgain = "write it again, or remove it: then the order of records is not compared";

[[noreturn]] void Refuse(const fs::path& path, const std::string& why, const std::string& next_step = {}) {
  throw Error(ErrorKind::kEnvironment, fmt::format("'{}' {}", path.string(), why), next_step);
}

/// A file in memory, its header read.
struct Array {
  std::string content;
  NumpyHeader header;

  std::span<const std::byte> values() const { return std::as_bytes(std::span(content)).subspan(header.values_at); }
};

Array ReadArray(const fs::path& path) {
  if (fs::exists(path) && !fs::is_regular_file(path)) Refuse(path, "is no file", "name a .npy file");
  Array array{ReadFile(path), {}};
  array.header = ParseNumpyHeader(std::as_bytes(std::span(array.content)), path.string());
  if (array.header.swapped) Refuse(path, "has the other byte order", "save it with array.astype('<f4')");
  return array;
}

std::string Shape(const NumpyHeader& header) { return fmt::format("({})", fmt::join(header.shape, ", ")); }

void TakeShape(const Array& array, RecordsFile& file) {
  const auto& shape = array.header.shape;
  const bool fits = (shape.size() == 1 || shape.size() == 2) && std::ranges::count(shape, 0u) == 0;
  if (!fits) {
    Refuse(file.path, fmt::format("has the shape {}: it must be (records,) or (records, outputs)", Shape(array.header)),
           "save an array with one row for each record");
  }
  file.records = static_cast<std::size_t>(shape[0]);
  file.outputs = shape.size() == 2 ? static_cast<std::size_t>(shape[1]) : 1;
  file.crc = Crc32c(array.content);
}

std::vector<float> FloatsOf(const Array& array, const RecordsFile& file) {
  if (array.header.kind != 'f' || array.header.size != 4) {
    Refuse(file.path, fmt::format("holds values of type {}{}, not float32", array.header.kind, array.header.size),
           "save it with array.astype('float32')");
  }
  std::vector<float> values(file.records * file.outputs);
  std::memcpy(values.data(), array.values().data(), values.size() * sizeof(float));
  const auto odd = std::ranges::find_if(values, [](float value) { return !std::isfinite(value); });
  if (odd != values.end()) {
    const auto record = static_cast<std::size_t>(odd - values.begin()) / file.outputs;
    Refuse(file.path, fmt::format("holds {} for record {}", *odd, record), "save finite values for every record");
  }
  return values;
}

template <class Integer>
std::vector<std::int64_t> Widened(std::span<const std::byte> bytes) {
  std::vector<std::int64_t> labels;
  labels.reserve(bytes.size() / sizeof(Integer));
  for (; !bytes.empty(); bytes = bytes.subspan(sizeof(Integer))) {
    Integer value = 0;
    std::memcpy(&value, bytes.data(), sizeof value);
    labels.push_back(static_cast<std::int64_t>(value));  // beyond 2^63 it becomes negative, which is no label either
  }
  return labels;
}

std::vector<std::int64_t> LabelsOf(const Array& array) {
  const bool is_signed = array.header.kind == 'i';
  const auto bytes = array.values();
  switch (array.header.size) {
    case 1: return is_signed ? Widened<std::int8_t>(bytes) : Widened<std::uint8_t>(bytes);
    case 2: return is_signed ? Widened<std::int16_t>(bytes) : Widened<std::uint16_t>(bytes);
    case 4: return is_signed ? Widened<std::int32_t>(bytes) : Widened<std::uint32_t>(bytes);
    default: return is_signed ? Widened<std::int64_t>(bytes) : Widened<std::uint64_t>(bytes);
  }
}

bool IsHash(const std::string& text) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() >= 8 && text.size() <= 128 && std::ranges::all_of(text, is_digit);
}

/// Takes the order from the document beside the file, if there is one.
void TakeOrder(RecordsFile& file, const std::string& schema) {
  const auto path = fs::path(file.path).replace_extension(".json");
  std::error_code ignored;
  if (const auto size = fs::file_size(path, ignored); !ignored && size > kLargestDocument)
    Refuse(path, "is too large", kWriteAgain);
  const auto text = ReadFileIfPresent(path);
  if (!text) return;
  const Json document = Json::parse(*text, nullptr, false);
  if (!document.is_object() || document.value("schema", Json()) != schema) {
    Refuse(path, fmt::format("is no {} document", schema), kWriteAgain);
  }
  if (document.value("records", Json()) != file.records) {
    Refuse(path,
           fmt::format("speaks of {} records, '{}' has {}", document.value("records", Json()).dump(),
                       file.path.filename().string(), file.records),
           kWriteAgain);
  }
  const Json order = document.value("order", Json());
  if (!order.is_string() || !IsHash(order.get<std::string>())) {
    Refuse(path, "names no order of the records: \"order\" must be 8 to 128 hexadecimal digits", kWriteAgain);
  }
  file.order = order.get<std::string>();
}

}  // namespace

Predictions ReadPredictions(const fs::path& path) {
  const auto array = ReadArray(path);
  Predictions predictions;
  predictions.path = path;
  TakeShape(array, predictions);
  predictions.values = FloatsOf(array, predictions);
  TakeOrder(predictions, "slipway.predictions/1");
  return predictions;
}

Targets ReadTargets(const fs::path& path) {
  const auto array = ReadArray(path);
  Targets targets;
  targets.path = path;
  TakeShape(array, targets);
  if (array.header.kind == 'f') {
    targets.values = FloatsOf(array, targets);
  } else if (targets.outputs == 1) {
    targets.labels = LabelsOf(array);
  } else {
    Refuse(path, fmt::format("has class labels of shape {}: there must be one for each record", Shape(array.header)),
           "save one label for each record");
  }
  TakeOrder(targets, "slipway.targets/1");
  return targets;
}

void RequireSameRecords(const RecordsFile& predictions, const RecordsFile& targets) {
  if (predictions.records != targets.records) {
    Refuse(predictions.path,
           fmt::format("has {} records, '{}' has {}", predictions.records, targets.path.string(), targets.records),
           "predict all records of the targets, in their order");
  }
  if (!predictions.order.empty() && !targets.order.empty() && predictions.order != targets.order) {
    Refuse(predictions.path,
           fmt::format("has its records in the order {}, '{}' in the order {}", predictions.order,
                       targets.path.string(), targets.order),
           "let all trials predict the same validation records in the same order");
  }
}

}  // namespace slipway::ensemble
