#include "staging/dataset/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <type_traits>
#include <utility>

#include "core/error.h"
#include "staging/foreign/foreign_hdf5.h"
#include "staging/formats/convert_numbers.h"
#include "staging/formats/example.h"
#include "staging/formats/table_file.h"
#include "staging/formats/tfrecord.h"

namespace slipway::staging {
namespace {

constexpr std::uint64_t kReportRecordsEvery = 256;  // records
constexpr std::uint64_t kStatisticsReadBytes = 1 << 20;

using Fields = std::map<std::string, FieldStatistics, std::less<>>;

FieldStatistics& FieldOf(Fields& fields, std::string_view name, std::string_view kind) {
  const auto found = fields.find(name);
  if (found != fields.end()) return found->second;
  auto& field = fields[std::string(name)];
  field.name = name;
  field.kind = kind;
  field.classes.emplace();
  return field;
}

void CountClass(FieldStatistics& field, std::int64_t value) {
  if (!field.classes) return;
  ++(*field.classes)[value];
  if (field.classes->size() > kMostClasses) field.classes.reset();
}

/// A number beyond those of classes is no class.
void CountClass(FieldStatistics& field, std::uint64_t value) {
  if (!std::in_range<std::int64_t>(value)) field.classes.reset();
  CountClass(field, static_cast<std::int64_t>(value));
}

void Widen(std::optional<IntegerRange>& range, long double value) {
  range = range ? IntegerRange{std::min(range->min, value), std::max(range->max, value)} : IntegerRange{value, value};
}

template <class Integer>
void AddIntegers(FieldStatistics& field, std::span<const Integer> values) {
  for (const auto value : values) {
    field.values.Add(static_cast<double>(value));
    CountClass(field, value);
  }
  if (values.empty()) return;
  const auto [least, most] = std::ranges::minmax(values);
  Widen(field.integers, static_cast<long double>(least));
  Widen(field.integers, static_cast<long double>(most));
}

/// Counting each of 256 values is quicker than a division for each byte.
void AddBytes(FieldStatistics& field, std::string_view value) {
  std::array<std::uint64_t, 256> counts{};
  for (const char c : value) ++counts[static_cast<unsigned char>(c)];
  field.values.Add(Moments::Of(counts));
  field.lengths.Add(static_cast<double>(value.size()));
}

class TfrecordStatistics {
 public:
  explicit TfrecordStatistics(Fields& fields) : fields_(fields) {}

  void AddRecord(std::span<const std::byte> record) {
    const auto example = ParseExample(record);
    for (const auto& feature : example.features()) {
      // Of several with one name the last counts.
      if (feature.kind() != FeatureKind::kNone && example.Find(feature.name()) == &feature) AddFeature(feature);
    }
  }

 private:
  void AddFeature(const FeatureView& feature) {
    auto& field = FieldOf(fields_, feature.name(), WordOf(feature.kind()));
    if (field.kind != WordOf(feature.kind())) {
      throw Error(ErrorKind::kEnvironment,
                  fmt::format("the feature '{}' is {}, in earlier records it is {}", field.name, WordOf(feature.kind()),
                              field.kind),
                  "write the records with one type for each feature");
    }
    ++field.records;
    if (feature.kind() == FeatureKind::kBytes) {
      field.classes.reset();
      for (const auto value : feature.AllBytes()) AddBytes(field, value);
    } else if (feature.kind() == FeatureKind::kFloat) {
      field.classes.reset();
      floats_.resize(feature.count());
      feature.CopyFloats(floats_);
      for (const auto value : floats_) field.values.Add(value);
    } else {
      AddInts(field, feature);
    }
  }

  void AddInts(FieldStatistics& field, const FeatureView& feature) {
    ints_.resize(feature.count());
    feature.CopyInts(ints_);
    if (ints_.size() != 1) field.classes.reset();
    AddIntegers<std::int64_t>(field, ints_);
  }

  Fields& fields_;
  std::vector<float> floats_;
  std::vector<std::int64_t> ints_;
};

void AddTfrecords(const DatasetFile& listed, Fields& fields, std::uint64_t& done,
                  const std::function<void(std::uint64_t)>& progress) {
  const TfrecordFile file(listed.path);
  TfrecordStatistics statistics(fields);
  for (std::uint64_t i = 0; i < file.record_count(); ++i) {
    WithContext(fmt::format("in '{}': record {}", listed.path.string(), i),
                [&] { statistics.AddRecord(file.Record(i)); });
    if (++done % kReportRecordsEvery == 0) progress(done);
  }
}

/// Calls `use(values)` for all values, a megabyte at a time.
template <class Value, class Use>
void ReadAll(ForeignHdf5& file, const Hdf5Dataset& dataset, NumberType as, Use&& use) {
  const auto row = ValuesPerRow(dataset);
  if (row == 0) return;  // such rows may be any number
  const auto rows = std::max<std::uint64_t>(1, kStatisticsReadBytes / sizeof(Value) / row);
  std::vector<Value> values;
  for (std::uint64_t begin = 0; begin < dataset.shape[0]; begin += rows) {
    const auto end = std::min(dataset.shape[0], begin + rows);
    values.resize((end - begin) * row);
    file.ReadRows(dataset.name, begin, end, as, std::as_writable_bytes(std::span(values)));
    use(std::span<const Value>(values));
  }
}

void AddDataset(ForeignHdf5& file, const Hdf5Dataset& dataset, Fields& fields) {
  auto& field = FieldOf(fields, dataset.name, WordOf(dataset.type));
  field.records += dataset.shape[0];
  if (dataset.shape.size() != 1 || IsFloat(dataset.type)) field.classes.reset();
  if (dataset.type == NumberType::kUint64) {
    ReadAll<std::uint64_t>(file, dataset, NumberType::kUint64, [&](auto values) { AddIntegers(field, values); });
  } else if (!IsFloat(dataset.type)) {
    ReadAll<std::int64_t>(file, dataset, NumberType::kInt64, [&](auto values) { AddIntegers(field, values); });
  } else {
    ReadAll<double>(file, dataset, NumberType::kFloat64, [&field](std::span<const double> values) {
      for (const auto value : values) field.values.Add(value);
    });
  }
}

/// The rows that all datasets of the file have; nothing where they differ.
std::optional<std::uint64_t> AddHdf5(const DatasetFile& listed, Fields& fields) {
  ForeignHdf5 file(listed.path);
  for (const auto& dataset : file.Datasets()) AddDataset(file, dataset, fields);
  return file.Datasets().empty() ? 0 : CommonRows(file.Datasets());
}

void AddHdf5Files(const std::vector<DatasetFile>& files, Fields& fields, DatasetStatistics& result,
                  const std::function<void(std::uint64_t)>& progress) {
  std::uint64_t records = 0;
  for (const auto& file : files) {
    const auto rows = AddHdf5(file, fields);
    if (!rows) result.uneven.push_back(file.path);
    records += rows.value_or(0);
    progress(records);
  }
  if (result.uneven.empty()) result.records = records;
}

template <class Number>
void AddNumbers(FieldStatistics& field, const TableField& form, std::span<const std::byte> bytes) {
  std::vector<Number> values(bytes.size() / SizeOf(form.type));
  ConvertNumbers(form.type, bytes, std::span(values));
  if constexpr (std::is_integral_v<Number>) {
    AddIntegers<Number>(field, values);
  } else {
    for (const auto value : values) field.values.Add(value);
  }
}

void AddTableValue(FieldStatistics& field, const TableField& form, std::span<const std::byte> bytes) {
  ++field.records;
  if (form.any_length) return AddBytes(field, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (IsFloat(form.type)) return AddNumbers<double>(field, form, bytes);
  form.type == NumberType::kUint64 ? AddNumbers<std::uint64_t>(field, form, bytes)
                                   : AddNumbers<std::int64_t>(field, form, bytes);
}

void AddTable(const TableFile& table, Fields& fields) {
  std::vector<std::byte> buffer;
  for (std::size_t i = 0; i < table.fields().size(); ++i) {
    const auto& form = table.fields()[i];
    auto& field = FieldOf(fields, form.name, form.any_length ? WordOf(FeatureKind::kBytes) : WordOf(form.type));
    if (form.any_length || !form.shape.empty() || IsFloat(form.type)) field.classes.reset();
    for (std::uint64_t record = 0; record < table.record_count(); ++record) {
      AddTableValue(field, form, table.Value(record, i, buffer));
    }
  }
}

void AddTableFiles(const DatasetFiles& dataset, Fields& fields, DatasetStatistics& result,
                   const std::function<void(std::uint64_t)>& progress) {
  std::uint64_t records = 0;
  for (const auto& table : OpenTableFiles(dataset.format, TableInputsOf(dataset))) {
    AddTable(*table, fields);
    progress(records += table->record_count());
  }
  result.records = records;
}

void AddTfrecordFiles(const std::vector<DatasetFile>& files, Fields& fields, DatasetStatistics& result,
                      const std::function<void(std::uint64_t)>& progress) {
  std::uint64_t records = 0;
  for (const auto& file : files) AddTfrecords(file, fields, records, progress);
  result.records = records;
}

}  // namespace

Moments Moments::Of(std::span<const std::uint64_t> counts) {
  Moments result;
  double sum = 0;
  for (std::size_t value = 0; value < counts.size(); ++value) {
    if (counts[value] == 0) continue;
    if (result.count_ == 0) result.min_ = static_cast<double>(value);
    result.max_ = static_cast<double>(value);
    result.count_ += counts[value];
    sum += static_cast<double>(value) * static_cast<double>(counts[value]);
  }
  if (result.count_ == 0) return result;
  result.mean_ = sum / static_cast<double>(result.count_);
  for (std::size_t value = 0; value < counts.size(); ++value) {
    const auto off = static_cast<double>(value) - result.mean_;
    result.squares_ += off * off * static_cast<double>(counts[value]);
  }
  return result;
}

void Moments::Add(double value) {
  if (!std::isfinite(value)) {
    ++(std::isnan(value) ? nan_ : infinite_);
    return;
  }
  min_ = count_ == 0 ? value : std::min(min_, value);
  max_ = count_ == 0 ? value : std::max(max_, value);
  ++count_;
  const auto before = value - mean_;
  mean_ += before / static_cast<double>(count_);
  squares_ += before * (value - mean_);
}

void Moments::Add(const Moments& other) {
  nan_ += other.nan_;
  infinite_ += other.infinite_;
  if (other.count_ == 0) return;
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = count_ == 0 ? other.max_ : std::max(max_, other.max_);
  const auto total = static_cast<double>(count_ + other.count_);
  const auto apart = other.mean_ - mean_;
  squares_ += other.squares_ + apart * apart * static_cast<double>(count_) * static_cast<double>(other.count_) / total;
  mean_ += apart * static_cast<double>(other.count_) / total;
  count_ += other.count_;
}

double Moments::deviation() const { return count_ == 0 ? 0 : std::sqrt(squares_ / static_cast<double>(count_)); }

DatasetStatistics StatisticsOf(const DatasetFiles& dataset, const std::function<void(std::uint64_t)>& progress) {
  if (dataset.format == DataFormat::kRaw) ThrowNoData(dataset.files.at(0).path);
  DatasetStatistics result;
  Fields fields;
  if (IsTableFormat(dataset.format)) {
    AddTableFiles(dataset, fields, result, progress);
  } else {
    const auto add = dataset.format == DataFormat::kHdf5 ? AddHdf5Files : AddTfrecordFiles;
    add(dataset.files, fields, result, progress);
  }
  for (auto& [name, field] : fields) result.fields.push_back(std::move(field));
  return result;
}

}  // namespace slipway::staging
