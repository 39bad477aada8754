#include "staging/reader/record_loader.h"

#include <fmt/format.h>

#include <algorithm>

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

/// Where to look for a record that can stand at `index`: there, after it, and at last before it, backwards. So it is
/// one that is at hand, or comes soon, where files come and go.
std::size_t CandidateFor(std::size_t index, std::size_t attempt, std::size_t places) {
  const auto after = places - index;
  return attempt < after ? index + attempt : places - 1 - attempt;
}

}  // namespace

RecordLoader::RecordLoader(const std::filesystem::path& path, const BatchOptions& options)
    : options_(options),
      first_(FirstRecordOf(options.shares)),
      source_(OpenFields(path, options, WantedOf(options), PatternOf(options))) {
  if (options_.payloads) source_->RequireWholeRecords();
  for (std::size_t i = 0; i < options_.fields.size(); ++i) {
    auto& field = options_.fields[i];
    chains_.push_back(WithContext(fmt::format("in field '{}'", field.name),
                                  [&] { return TransformChain(std::move(field.transforms), source_->types()[i]); }));
    arrays_.push_back(ArrayOf(field.name, chains_.back().output(), options_.batch));
    if (!CountOf(arrays_.back().shape)) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("a batch of {} records of '{}' is too large: {}", options_.batch, field.name,
                              TypeText(chains_.back().output())),
                  "choose a smaller batch, or crop the field");
    }
  }
}

BatchMemory RecordLoader::MakeMemory(std::span<const std::span<std::byte>> values) const {
  BatchMemory memory;
  memory.arrays = arrays_;
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    const auto bytes = chains_[i].output_bytes() * options_.batch;
    if (values[i].size() < bytes) {
      throw Error(
          ErrorKind::kUsage,
          fmt::format("the memory for '{}' has {} bytes, a batch takes {}", arrays_[i].name, values[i].size(), bytes),
          "give memory for a whole batch");
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

void RecordLoader::Load(const EpochPart& part, std::size_t index, BatchMemory& batch, std::size_t place,
                        LoaderMemory& memory, std::vector<SkippedRecord>& skipped) const {
  if (part.places[index] == kPaddingRecord) return Pad(batch, place);
  for (std::size_t attempt = 0; attempt < part.places.size(); ++attempt) {
    const auto record = part.places[CandidateFor(index, attempt, part.places.size())];
    if (record == kPaddingRecord) continue;
    try {
      return LoadRecord(part.begin.epoch, record, batch, place, memory);
    } catch (Error& error) {
      if (options_.on_corrupt == OnCorrupt::kFail || !IsDamage(error)) {
        error.AddContext("in " + source_->Describe(record));
        throw;
      }
      skipped.push_back({place, {first_ + record, source_->Describe(record), error.message()}});
    }
  }
  throw Error(ErrorKind::kEnvironment,
              fmt::format("none of the {} records of this rank can be read, the last is {}: {}", part.places.size(),
                          skipped.back().record.where, skipped.back().record.reason),
              "check the files: slipway data verify");
}

void RecordLoader::LoadRecord(std::uint64_t epoch, std::uint64_t record, BatchMemory& batch, std::size_t place,
                              LoaderMemory& memory) const {
  if (options_.payloads) batch.payloads[place] = source_->Payload(record, batch.payload_bytes[place]);
  if (!chains_.empty()) LoadFields(epoch, record, batch, place, memory);
  batch.records[place] = first_ + record;
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
      chains_[i].Apply(memory.fields[i].values, {options_.seed, epoch, first_ + record}, memory.transform, out);
    } catch (Error& error) {
      // What fits the field's type and not this record is damage of the record.
      const auto kind = error.kind() == ErrorKind::kUsage ? ErrorKind::kEnvironment : error.kind();
      throw Error(kind, fmt::format("field '{}': {}", arrays_[i].name, error.message()), error.next_step());
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
