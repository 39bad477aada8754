#include "staging/convert/write_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "staging/formats/convert_numbers.h"
#include "staging/formats/example.h"
#include "staging/formats/tfrecord.h"

namespace slipway::staging {
namespace {

constexpr std::uint64_t kWriteBytes = 4 << 20;
constexpr std::uint64_t kReportEvery = 16;  // records

template <class Number>
std::vector<Number> NumbersAs(NumberType type, std::span<const std::byte> bytes) {
  std::vector<Number> values(bytes.size() / SizeOf(type));
  ConvertNumbers(type, bytes, std::span(values));
  return values;
}

template <class Number>
[[noreturn]] void ThrowTooLarge(Number value, std::string_view what) {
  throw Error(ErrorKind::kEnvironment, fmt::format("{} is larger than {} of a TFRecord can be", value, what),
              "convert to hdf5, which keeps the type");
}

std::vector<std::int64_t> Ints(NumberType type, std::span<const std::byte> bytes) {
  if (type == NumberType::kUint64) {
    for (const auto value : NumbersAs<std::uint64_t>(type, bytes)) {
      if (!std::in_range<std::int64_t>(value)) ThrowTooLarge(value, "an int64");
    }
  }
  return NumbersAs<std::int64_t>(type, bytes);
}

/// Smaller precision is the format's; another number is not.
std::vector<float> Floats(NumberType type, std::span<const std::byte> bytes) {
  if (type == NumberType::kFloat64) {
    for (const auto value : NumbersAs<double>(type, bytes)) {
      if (std::isfinite(value) && std::abs(value) > std::numeric_limits<float>::max()) ThrowTooLarge(value, "a float");
    }
  }
  return NumbersAs<float>(type, bytes);
}

void AddFeature(ExampleBuilder& example, const ProducedField& field, std::span<const std::byte> value) {
  // int8 as bytes would be read back as uint8.
  const bool bytes = field.any_length || (field.type == NumberType::kUint8 && !field.shape.empty());
  if (bytes) {
    example.AddBytes(field.name, {reinterpret_cast<const char*>(value.data()), value.size()});
  } else if (IsFloat(field.type)) {
    example.AddFloats(field.name, Floats(field.type, value));
  } else {
    example.AddInts(field.name, Ints(field.type, value));
  }
}

std::string MakeExample(RecordProducer& source, std::uint64_t record) {
  ExampleBuilder example;
  for (std::size_t i = 0; i < source.fields().size(); ++i) {
    WithContext(fmt::format("in field '{}' of record {}", source.fields()[i].name, record),
                [&] { AddFeature(example, source.fields()[i], source.Value(record, i)); });
  }
  return example.Finish();
}

/// A field of any length gets the length of its first value; all others must have it, too.
std::uint64_t BytesInEveryRecord(RecordProducer& source, std::size_t field) {
  const auto& info = source.fields()[field];
  return info.any_length ? source.Value(0, field).size() : BytesPerValue(info);
}

Hdf5Dataset DatasetFor(RecordProducer& source, std::size_t field) {
  const auto& info = source.fields()[field];
  Hdf5Dataset dataset{info.name, info.type, {source.record_count()}};
  dataset.shape.insert(dataset.shape.end(), info.shape.begin(), info.shape.end());
  if (info.any_length) dataset.shape.push_back(BytesInEveryRecord(source, field));
  return dataset;
}

void AppendValue(RecordProducer& source, std::uint64_t record, std::size_t field, std::uint64_t bytes,
                 std::vector<std::byte>& rows) {
  const auto value = source.Value(record, field);
  if (value.size() != bytes) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("record {}: the field '{}' has {} bytes, in the first record it has {}", record,
                            source.fields()[field].name, value.size(), bytes),
                "HDF5 arrays hold values of one length: convert to tfrecord instead");
  }
  rows.insert(rows.end(), value.begin(), value.end());
}

/// Field by field inside a run of records, so that every field is written in large pieces.
class Hdf5Writer {
 public:
  Hdf5Writer(RecordProducer& source, const std::filesystem::path& path) : source_(source), file_(CreateHdf5(path)) {
    std::uint64_t record_bytes = 0;
    for (std::size_t i = 0; i < source.fields().size(); ++i) {
      file_->CreateDataset(DatasetFor(source, i));
      bytes_.push_back(BytesInEveryRecord(source, i));
      record_bytes += bytes_.back();
    }
    run_ = std::max<std::uint64_t>(1, kWriteBytes / std::max<std::uint64_t>(1, record_bytes));
  }

  void Write(const OnRecord& on_record) {
    for (std::uint64_t begin = 0; begin < source_.record_count(); begin += run_) {
      on_record(begin);
      WriteRun(begin, std::min(source_.record_count(), begin + run_));
    }
    file_->Close();
  }

 private:
  /// The source is read record by record: it may hold only one.
  void WriteRun(std::uint64_t begin, std::uint64_t end) {
    std::vector<std::vector<std::byte>> rows(bytes_.size());
    for (auto record = begin; record < end; ++record) {
      for (std::size_t i = 0; i < rows.size(); ++i) AppendValue(source_, record, i, bytes_[i], rows[i]);
    }
    for (std::size_t i = 0; i < rows.size(); ++i) file_->WriteRows(source_.fields()[i].name, begin, rows[i]);
  }

  RecordProducer& source_;
  std::unique_ptr<Hdf5File> file_;
  std::vector<std::uint64_t> bytes_;
  std::uint64_t run_ = 1;
};

}  // namespace

void WriteTfrecords(RecordProducer& source, std::uint64_t begin, std::uint64_t end, const std::filesystem::path& path,
                    Compression compression, const OnRecord& on_record) {
  TfrecordWriter writer(path, compression);
  for (auto record = begin; record < end; ++record) {
    if ((record - begin) % kReportEvery == 0) on_record(record);
    if (const auto payload = source.Payload(record)) {
      writer.Write(*payload);
    } else {
      writer.Write(MakeExample(source, record));
    }
  }
  writer.Close();
}

void WriteHdf5(RecordProducer& source, const std::filesystem::path& path, const OnRecord& on_record) {
  Hdf5Writer(source, path).Write(on_record);
}

}  // namespace slipway::staging
