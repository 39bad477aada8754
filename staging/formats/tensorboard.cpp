#include "staging/formats/tensorboard.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <span>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/files.h"
#include "staging/formats/little_endian.h"
#include "staging/formats/tfrecord_frame.h"

namespace slipway::staging {
namespace {

using protozero::data_view;
using protozero::pbf_writer;

constexpr std::string_view kHparamsTag = "_hparams_/";
constexpr std::uint64_t kLargestRecord = std::uint64_t{64} << 20;

data_view ViewOf(std::string_view text) { return {text.data(), text.size()}; }

std::string Framed(std::string_view data) {
  const auto header = MakeTfrecordHeader(data.size());
  const auto footer = MakeTfrecordFooter(Crc32c(data));
  std::string record(reinterpret_cast<const char*>(header.data()), header.size());
  record += data;
  record.append(reinterpret_cast<const char*>(footer.data()), footer.size());
  return record;
}

std::string EventWithSummary(double time, std::int64_t step, const std::string& summary) {
  std::string event;
  pbf_writer writer(event);
  writer.add_double(1, time);
  if (step != 0) writer.add_int64(2, step);
  writer.add_message(5, summary);
  return Framed(event);
}

// ---- google.protobuf.Value

std::string ValueMessage(const HyperParameter& value) {
  std::string message;
  pbf_writer writer(message);
  if (const auto* number = std::get_if<double>(&value)) writer.add_double(2, *number);
  if (const auto* text = std::get_if<std::string>(&value)) writer.add_string(3, *text);
  if (const auto* truth = std::get_if<bool>(&value)) writer.add_bool(4, *truth);
  return message;
}

// ---- the plugin

/// TensorBoard wants a value besides the metadata: one zero as float32.
std::string NullTensor() {
  std::string dimension;
  pbf_writer(dimension).add_int64(1, 1);
  std::string shape;
  pbf_writer(shape).add_message(2, dimension);
  std::string tensor;
  pbf_writer writer(tensor);
  writer.add_enum(1, 1);  // DT_FLOAT
  writer.add_message(2, shape);
  const std::array<float, 1> zero{};
  writer.add_packed_float(5, zero.begin(), zero.end());
  return tensor;
}

/// `content` is field `field` of HParamsPluginData, whose version 0 is left out.
std::string HparamsEvent(double time, std::string_view tag, protozero::pbf_tag_type field, const std::string& content) {
  constexpr std::int32_t kClassTensor = 2;
  std::string data;
  pbf_writer(data).add_message(field, content);
  std::string plugin;
  pbf_writer plugin_writer(plugin);
  plugin_writer.add_string(1, "hparams");
  plugin_writer.add_bytes(2, data);
  std::string metadata;
  pbf_writer metadata_writer(metadata);
  metadata_writer.add_message(1, plugin);
  metadata_writer.add_enum(4, kClassTensor);
  std::string value;
  pbf_writer value_writer(value);
  value_writer.add_string(1, std::string(kHparamsTag) + std::string(tag));
  value_writer.add_message(8, NullTensor());
  value_writer.add_message(9, metadata);
  std::string summary;
  pbf_writer(summary).add_message(1, value);
  return EventWithSummary(time, 0, summary);
}

std::string ColumnMessage(const HyperParameterColumn& column) {
  std::string message;
  pbf_writer writer(message);
  writer.add_string(1, column.name);
  writer.add_enum(4, static_cast<std::int32_t>(column.kind));
  if (!column.values.empty()) {
    std::string list;
    pbf_writer list_writer(list);
    for (const auto& value : column.values) list_writer.add_message(1, ValueMessage(value));
    writer.add_message(5, list);
  } else if (column.interval) {
    std::string interval;
    pbf_writer interval_writer(interval);
    interval_writer.add_double(1, column.interval->first);
    interval_writer.add_double(2, column.interval->second);
    writer.add_message(6, interval);
  }
  return message;
}

std::string MetricMessage(const std::string& tag) {
  std::string name;
  pbf_writer(name).add_string(2, tag);
  std::string message;
  pbf_writer(message).add_message(1, name);
  return message;
}

// ---- reading back

/// Whether the event has a value that is no hyperparameter.
bool HasScalars(data_view event) {
  protozero::pbf_reader fields(event);
  while (fields.next(5)) {
    protozero::pbf_reader summary(fields.get_view());
    while (summary.next(1)) {
      protozero::pbf_reader value(summary.get_view());
      if (!value.next(1)) continue;
      const auto tag = value.get_view();
      return !std::string_view(tag.data(), tag.size()).starts_with(kHparamsTag);
    }
  }
  return false;
}

/// False at the end of the file.
bool ReadFully(int fd, std::span<std::byte> bytes, std::uint64_t offset) {
  const auto read = TryReadAt(fd, offset, bytes);
  if (read.error != 0) throw SystemError(read.error, "cannot read an event file");
  return read.bytes == bytes.size();
}

/// Data and footer of the record at `offset`; nothing when it is torn or damaged.
std::optional<std::vector<std::byte>> RecordAt(int fd, std::uint64_t offset) {
  TfrecordHeader header;
  if (!ReadFully(fd, header, offset) || !IsTfrecordHeader(header)) return {};
  const auto length = LoadLittleEndian<std::uint64_t>(std::span(header).first<8>());
  if (length > kLargestRecord) return {};
  std::vector<std::byte> data(length + kTfrecordFooterBytes);
  if (!ReadFully(fd, data, offset + kTfrecordHeaderBytes)) return {};
  const auto footer = MakeTfrecordFooter(Crc32c(std::span(data).first(length)));
  if (!std::ranges::equal(footer, std::span(data).subspan(length))) return {};
  data.resize(length);
  return data;
}

}  // namespace

std::string EventFileHeader(double time) {
  std::string event;
  pbf_writer writer(event);
  writer.add_double(1, time);
  writer.add_string(3, "brain.Event:2");
  return Framed(event);
}

std::string ScalarsEvent(double time, std::int64_t step,
                         const std::vector<std::pair<std::string_view, double>>& values) {
  std::string summary;
  pbf_writer writer(summary);
  for (const auto& [tag, number] : values) {
    std::string value;
    pbf_writer value_writer(value);
    value_writer.add_string(1, ViewOf(tag));
    value_writer.add_float(2, static_cast<float>(number));
    writer.add_message(1, value);
  }
  return EventWithSummary(time, step, summary);
}

std::string SessionStartEvent(double time, const HyperParameters& parameters, const std::string& group) {
  std::string start;
  pbf_writer writer(start);
  for (const auto& [name, value] : parameters) {
    std::string entry;
    pbf_writer entry_writer(entry);
    entry_writer.add_string(1, name);
    entry_writer.add_message(2, ValueMessage(value));
    writer.add_message(1, entry);
  }
  writer.add_string(4, group);
  writer.add_double(5, time);
  return HparamsEvent(time, "session_start_info", 3, start);
}

std::string SessionEndEvent(double time, SessionStatus status) {
  std::string end;
  pbf_writer writer(end);
  writer.add_enum(1, static_cast<std::int32_t>(status));
  writer.add_double(2, time);
  return HparamsEvent(time, "session_end_info", 4, end);
}

std::string ExperimentEvent(double time, const ExperimentColumns& columns) {
  std::string experiment;
  pbf_writer writer(experiment);
  writer.add_string(1, columns.description);
  writer.add_double(3, time);
  for (const auto& column : columns.parameters) writer.add_message(4, ColumnMessage(column));
  for (const auto& metric : columns.metrics) writer.add_message(5, MetricMessage(metric));
  return HparamsEvent(time, "experiment", 2, experiment);
}

std::optional<EventFileState> InspectEventFile(const std::filesystem::path& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno == ENOENT) return {};
  CheckErrno(file.get(), "cannot open '" + path.string() + "'");
  EventFileState state;
  while (const auto record = RecordAt(file.get(), state.bytes)) {
    state.bytes += kTfrecordHeaderBytes + record->size() + kTfrecordFooterBytes;
    ++state.records;
    try {
      state.scalars += HasScalars({reinterpret_cast<const char*>(record->data()), record->size()}) ? 1 : 0;
    } catch (const protozero::exception&) {  // of another writer, and no event
    }
  }
  return state;
}

}  // namespace slipway::staging
