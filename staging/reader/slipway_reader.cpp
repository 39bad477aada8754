#include "staging/reader/slipway_reader.h"

#include <fmt/format.h>

#include <cstring>
#include <new>
#include <nlohmann/json.hpp>
#include <string>

#include "core/error.h"
#include "core/install.h"
#include "core/memory_left.h"
#include "staging/reader/batches.h"

using slipway::Error;
using slipway::ErrorKind;
using slipway::staging::Batch;
using slipway::staging::BatchArray;
using slipway::staging::BatchOptions;
using slipway::staging::BatchReader;

namespace {

using Slots = std::vector<std::vector<std::span<std::byte>>>;

/// The shape of a field, which C sees as a pointer.
struct NamedShape {
  std::string name;
  std::vector<std::int64_t> shape;
};

std::vector<NamedShape> ShapesOf(const std::vector<BatchArray>& arrays) {
  std::vector<NamedShape> shapes;
  for (const auto& array : arrays) shapes.push_back({array.name, {array.shape.begin(), array.shape.end()}});
  return shapes;
}

}  // namespace

struct slipway_reader {
  slipway_reader(BatchReader opened) : reader(std::move(opened)), shapes(ShapesOf(reader.fields())) {
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const auto& array = reader.fields()[i];
      fields.push_back({shapes[i].name.c_str(), static_cast<int>(array.type), static_cast<int>(shapes[i].shape.size()),
                        shapes[i].shape.data(), nullptr, BytesOf(array)});
    }
    filled = fields;
  }

  static std::size_t BytesOf(const BatchArray& array) {
    return static_cast<std::size_t>(*slipway::staging::CountOf(array.shape) * slipway::staging::SizeOf(array.type));
  }

  const slipway_reader_batch* Next() {
    const Batch* next = reader.Next();
    if (next == nullptr) return nullptr;
    for (std::size_t i = 0; i < filled.size(); ++i) filled[i].data = next->fields[i].values.data();
    payloads.clear();
    for (const auto payload : next->payloads) payloads.push_back({payload.data(), payload.size()});
    batch = {static_cast<std::int64_t>(next->epoch),
             static_cast<std::int64_t>(next->step),
             static_cast<std::int64_t>(next->slot),
             static_cast<std::int64_t>(next->records.size()),
             static_cast<std::int64_t>(next->valid_count),
             next->valid.data(),
             next->records.data(),
             static_cast<int>(filled.size()),
             filled.data(),
             payloads.empty() ? nullptr : payloads.data()};
    return &batch;
  }

  BatchReader reader;
  std::vector<NamedShape> shapes;
  std::vector<slipway_reader_field> fields;
  std::vector<slipway_reader_field> filled;
  std::vector<slipway_reader_bytes> payloads;
  slipway_reader_batch batch = {};
  std::string where;
  std::string corrupt;
};

namespace {

thread_local std::string last_message;

int StatusOf(const Error& error) {
  if (dynamic_cast<const slipway::MemoryError*>(&error) != nullptr) return SLIPWAY_READER_ERROR_OUT_OF_MEMORY;
  switch (error.kind()) {
    case ErrorKind::kUsage: return SLIPWAY_READER_ERROR_ARGUMENT;
    case ErrorKind::kInternal: return SLIPWAY_READER_ERROR_INTERNAL;
    default: return SLIPWAY_READER_ERROR_DATA;
  }
}

int Remember(int status, const char* message) noexcept {
  try {
    last_message = message;
  } catch (...) {
    last_message.clear();
  }
  return status;
}

/// Runs `body`; whatever it throws becomes a code and a message.
template <class Body>
int Guard(Body body) noexcept {
  try {
    last_message.clear();
    body();
    return SLIPWAY_READER_OK;
  } catch (const Error& error) {
    return Remember(StatusOf(error), error.what());
  } catch (const std::bad_alloc&) {
    return Remember(SLIPWAY_READER_ERROR_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception& error) {
    return Remember(SLIPWAY_READER_ERROR_INTERNAL, error.what());
  } catch (...) {
    return Remember(SLIPWAY_READER_ERROR_INTERNAL, "unknown exception");
  }
}

void Require(const void* pointer, const char* name) {
  if (pointer == nullptr) throw Error(ErrorKind::kUsage, fmt::format("{} is NULL", name), "pass a pointer");
}

struct Wanted {
  std::filesystem::path path;
  BatchOptions options;
};

Wanted WantedOf(const char* dataset, const char* options) {
  Require(dataset, "dataset");
  Require(options, "options");
  auto place = slipway::staging::FindDataset(dataset);
  return {place.path, ParseBatchOptions(options, place.defaults, place.local_rank)};
}

/// How many fields there are, and how large they are, the reader checks.
Slots SlotsOf(const BatchOptions& options, void* const* slots, const std::size_t* bytes, std::size_t count) {
  Slots memory(options.prefetch + 1);
  if (count == 0 || count % memory.size() != 0) {
    throw Error(ErrorKind::kUsage,
                fmt::format("{} pointers were given, prefetch {} takes one for each field of {} slots", count,
                            options.prefetch, memory.size()),
                "pass one pointer for each field of each slot");
  }
  for (std::size_t i = 0; i < count; ++i) {
    Require(slots[i], "a slot");
    memory[i / (count / memory.size())].push_back({static_cast<std::byte*>(slots[i]), bytes[i]});
  }
  return memory;
}

void Copy(const slipway_reader_batch* batch, void* const* memory) {
  for (int i = 0; i < batch->nfields; ++i) {
    if (memory[i] != nullptr) std::memcpy(memory[i], batch->fields[i].data, batch->fields[i].bytes);
  }
}

}  // namespace

const char* slipway_reader_error_message(void) { return last_message.c_str(); }

const char* slipway_reader_version(void) { return slipway::Version().data(); }

int slipway_reader_open(const char* dataset, const char* options, slipway_reader** reader) {
  return Guard([&] {
    Require(reader, "reader");
    *reader = nullptr;
    const auto wanted = WantedOf(dataset, options);
    *reader = new slipway_reader(BatchReader::Open(wanted.path, wanted.options));
  });
}

int slipway_reader_open_into(const char* dataset, const char* options, void* const* slots, const size_t* bytes,
                             size_t count, slipway_reader** reader) {
  return Guard([&] {
    Require(reader, "reader");
    *reader = nullptr;
    Require(slots, "slots");
    Require(bytes, "bytes");
    const auto wanted = WantedOf(dataset, options);
    const auto memory = SlotsOf(wanted.options, slots, bytes, count);
    *reader = new slipway_reader(BatchReader::Open(wanted.path, wanted.options, memory));
  });
}

void slipway_reader_close(slipway_reader* reader) { delete reader; }

int slipway_reader_fields(slipway_reader* reader, const slipway_reader_field** fields, int* nfields) {
  return Guard([&] {
    Require(reader, "reader");
    Require(fields, "fields");
    Require(nfields, "nfields");
    *fields = reader->fields.data();
    *nfields = static_cast<int>(reader->fields.size());
  });
}

int slipway_reader_steps(slipway_reader* reader, int64_t* steps) {
  return Guard([&] {
    Require(reader, "reader");
    Require(steps, "steps");
    *steps = static_cast<std::int64_t>(reader->reader.steps_per_epoch());
  });
}

int slipway_reader_count(slipway_reader* reader, int64_t* records) {
  return Guard([&] {
    Require(reader, "reader");
    Require(records, "records");
    *records = static_cast<std::int64_t>(reader->reader.record_count());
  });
}

int slipway_reader_describe(slipway_reader* reader, uint64_t record, const char** where) {
  return Guard([&] {
    Require(reader, "reader");
    Require(where, "where");
    reader->where = reader->reader.Describe(record);
    *where = reader->where.c_str();
  });
}

int slipway_reader_next(slipway_reader* reader, const slipway_reader_batch** batch) {
  return Guard([&] {
    Require(reader, "reader");
    Require(batch, "batch");
    *batch = nullptr;
    *batch = reader->Next();
  });
}

int slipway_reader_next_into(slipway_reader* reader, void* const* memory, int nfields,
                             const slipway_reader_batch** batch) {
  return Guard([&] {
    Require(reader, "reader");
    Require(batch, "batch");
    *batch = nullptr;
    if (nfields != static_cast<int>(reader->fields.size())) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("memory for {} fields was given, a batch has {}", nfields, reader->fields.size()),
                  "pass memory for each field");
    }
    if (nfields > 0) Require(memory, "memory");
    const auto* next = reader->Next();
    if (next == nullptr) return;
    Copy(next, memory);
    reader->batch.fields = reader->fields.data();
    *batch = next;
  });
}

int slipway_reader_position(slipway_reader* reader, char* text, size_t capacity) {
  return Guard([&] {
    Require(reader, "reader");
    Require(text, "text");
    const auto position = PositionText(reader->reader.Position());
    if (position.size() >= capacity) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("the position takes {} bytes, there are {}", position.size() + 1, capacity),
                  "pass a larger buffer");
    }
    std::memcpy(text, position.c_str(), position.size() + 1);
  });
}

int slipway_reader_seek(slipway_reader* reader, const char* position) {
  return Guard([&] {
    Require(reader, "reader");
    Require(position, "position");
    reader->reader.Seek(slipway::staging::ParsePosition(position));
  });
}

int slipway_reader_stats(slipway_reader* reader, slipway_reader_numbers* numbers) {
  return Guard([&] {
    Require(reader, "reader");
    Require(numbers, "numbers");
    const auto& stats = reader->reader.stats();
    *numbers = {static_cast<std::int64_t>(stats.batches),
                static_cast<std::int64_t>(stats.records),
                stats.wait_s,
                stats.last_wait_s,
                stats.longest_wait_s,
                static_cast<std::int64_t>(stats.corrupt_records),
                static_cast<std::int64_t>(stats.replaced)};
  });
}

int slipway_reader_corrupt(slipway_reader* reader, const char** list) {
  return Guard([&] {
    Require(reader, "reader");
    Require(list, "list");
    auto records = slipway::Json::array();
    for (const auto& entry : reader->reader.stats().corrupt) {
      records.push_back({{"record", entry.record}, {"where", entry.where}, {"reason", entry.reason}});
    }
    // Names of files may be any bytes.
    reader->corrupt = records.dump(-1, ' ', false, slipway::Json::error_handler_t::replace);
    *list = reader->corrupt.c_str();
  });
}
