#include "staging/reader/record_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/error.h"
#include "staging/reader/supplied_fields.h"

namespace slipway::staging {

namespace {

std::vector<WantedField> WantedOf(const BatchOptions& options) {
  if (options.fields.empty() && !options.payloads) {
    throw Error(ErrorKind::kUsage, "the reader's options name no fields", "name them, or ask for payloads");
  }
  std::vector<WantedField> wanted;
  for (const auto& field : options.fields) {
    const bool encoded = !field.transforms.empty() && std::holds_alternative<DecodeJpeg>(field.transforms[0]);
    wanted.push_back({field.name, field.type, field.shape, encoded});
  }
  return wanted;
}

AccessPattern PatternOf(const BatchOptions& options) {
  return options.order == RecordOrder::kGlobal ? AccessPattern::kAtRandom : AccessPattern::kInOrder;
}

BatchArray ArrayOf(const std::string& name, const FieldType& type, std::uint64_t batch) {
  BatchArray array{name, type.type, {batch}, {}};
  array.shape.insert(array.shape.end(), type.shape.begin(), type.shape.end());
  return array;
}

std::span<std::byte> PlaceIn(const BatchArray& array, std::size_t place, std::size_t bytes) {
  return array.values.subspan(place * bytes, bytes);
}

/// The next place that holds a record; `index` itself when there is no other.
std::size_t NextPlace(const RecordNumbers& places, std::size_t index) {
  do {
    index = (index + 1) % places.size();
  } while (places[index] == kPaddingRecord);
  return index;
}

}  // namespace

RecordLoader::RecordLoader(const std::filesystem::path& path, const BatchOptions& options)
    : options_(options), source_(OpenFields(path, options, WantedOf(options), PatternOf(options))) {
  for (std::size_t i = 0; i < options_.fields.size(); ++i) {
    auto& field = options_.fields[i];
    chains_.push_back(WithContext(fmt::format("in field '{}'", field.name),
                                  [&] { return TransformChain(std::move(field.transforms), source_->types()[i]); }));
    arrays_.push_back(ArrayOf(field.name, chains_.back().output(), options_.batch));
    if (!CountOf(arrays_.back().shape)) {
      throw Error(ErrorKind::kUsage, fmt::format("a batch of {} records of '{}' is too large: {}", options_.batch,
                                                 field.name, TypeText(chains_.back().output())));
    }
  }
}

BatchMemory RecordLoader::MakeMemory(std::span<const std::span<std::byte>> values) const {
  BatchMemory memory;
  memory.arrays = arrays_;
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    const auto bytes = chains_[i].output_bytes() * options_.batch;
    if (values[i].size() < bytes) {
      throw Error(ErrorKind::kUsage, fmt::format("the memory for '{}' has {} bytes, a batch takes {}", arrays_[i].name,
                                                 values[i].size(), bytes));
    }
    memory.arrays[i].values = values[i].first(bytes);
  }
  memory.records.resize(options_.batch);
  memory.valid.resize(options_.batch);
  if (options_.payloads) {
    memory.payloads.resize(options_.batch);
    memory.payload_bytes.resize(options_.batch);
  }
  return memory;
}

/// What `skip` may pass over: a record that is not what it should be. A staging that has ended, a file that cannot be
/// read and a reader that is being closed are none of that.
static bool IsDamage(const Error& error) {
  return error.kind() == ErrorKind::kEnvironment && dynamic_cast<const SystemError*>(&error) == nullptr;
}

void RecordLoader::Load(const EpochPart& part, std::size_t index, BatchMemory& batch, std::size_t place,
                        LoaderMemory& memory, std::vector<SkippedRecord>& skipped) const {
  if (part.places[index] == kPaddingRecord) return Pad(batch, place);
  for (std::size_t attempt = 0; attempt < part.places.size(); ++attempt) {
    const auto record = part.places[index];
    try {
      return LoadRecord(part.begin.epoch, record, batch, place, memory);
    } catch (Error& error) {
      if (options_.on_corrupt == OnCorrupt::kFail || !IsDamage(error)) {
        error.AddContext("in " + source_->Describe(record));
        throw;
      }
      skipped.push_back({place, {record, source_->Describe(record), error.message()}});
    }
    index = NextPlace(part.places, index);
  }
  throw Error(ErrorKind::kEnvironment,
              fmt::format("none of the {} records of this rank can be read, the last is {}: {}", part.places.size(),
                          skipped.back().record.where, skipped.back().record.reason));
}

void RecordLoader::LoadRecord(std::uint64_t epoch, std::uint64_t record, BatchMemory& batch, std::size_t place,
                              LoaderMemory& memory) const {
  if (options_.payloads) batch.payloads[place] = source_->Payload(record, batch.payload_bytes[place]);
  if (!chains_.empty()) LoadFields(epoch, record, batch, place, memory);
  batch.records[place] = record;
  batch.valid[place] = 1;
}

void RecordLoader::LoadFields(std::uint64_t epoch, std::uint64_t record, BatchMemory& batch, std::size_t place,
                              LoaderMemory& memory) const {
  memory.fields.resize(chains_.size());
  for (std::size_t i = 0; i < chains_.size(); ++i) {
    const auto& chain = chains_[i];
    memory.fields[i].target = {};
    if (chain.empty()) memory.fields[i].target = PlaceIn(batch.arrays[i], place, chain.output_bytes());
  }
  source_->Fetch(record, memory.fetch, memory.fields);
  for (std::size_t i = 0; i < chains_.size(); ++i) {
    const auto out = PlaceIn(batch.arrays[i], place, chains_[i].output_bytes());
    try {
      chains_[i].Apply(memory.fields[i].values, {options_.seed, epoch, record}, memory.transform, out);
    } catch (Error& error) {
      throw Error(ErrorKind::kEnvironment, fmt::format("field '{}': {}", arrays_[i].name, error.message()),
                  error.next_step());
    }
  }
}

void RecordLoader::Pad(BatchMemory& batch, std::size_t place) const {
  for (std::size_t i = 0; i < chains_.size(); ++i) {
    std::ranges::fill(PlaceIn(batch.arrays[i], place, chains_[i].output_bytes()), std::byte{0});
  }
  if (options_.payloads) batch.payloads[place] = {};
  batch.records[place] = kPaddingRecord;
  batch.valid[place] = 0;
}

}  // namespace slipway::staging
