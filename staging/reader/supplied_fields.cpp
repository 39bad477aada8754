#include "staging/reader/supplied_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "staging/dataset/stream_state.h"
#include "staging/reader/arriving_files.h"

namespace slipway::staging {
namespace {

constexpr const char* kNotToChange = "leave the files as they are while they are read";

bool CountsAreKnown(const Listing& listing) {
  return std::ranges::all_of(listing.files, [](const ListedFile& file) { return file.records.has_value(); });
}

/// Copies what was fetched to where it is wanted.
void Deliver(std::span<const std::byte> from, std::vector<std::byte>& buffer, FetchedField& out) {
  if (out.target.size() == from.size()) {
    std::ranges::copy(from, out.target.begin());
    out.values.values = out.target;
    return;
  }
  buffer.assign(from.begin(), from.end());
  out.values.values = buffer;
}

}  // namespace

SuppliedFields::SuppliedFields(std::unique_ptr<FileSupply> supply, const std::filesystem::path& place_in,
                               std::vector<WantedField> fields, AccessPattern pattern, std::uint64_t first_epoch)
    : supply_(std::move(supply)), wanted_(std::move(fields)), pattern_(pattern) {
  const auto& files = supply_->listing().files;
  if (!CountsAreKnown(supply_->listing())) {
    throw Error(
        ErrorKind::kUsage,
        fmt::format("'{}': how many records its files have is not known before they have been read: a stream of "
                    "compressed files cannot be shared out",
                    place_in.string()),
        "decompress them, or choose tiers that hold all of the data");
  }
  for (const auto& file : files) AddFile(place_in / file.path, *file.records);
  if (!files.empty()) RequireRecords();
  const auto order = supply_->Order(first_epoch);
  const auto first = std::ranges::find_if(order, [&](std::size_t file) { return borders_.CountOf(file) > 0; });
  const auto place = static_cast<std::size_t>(first - order.begin());
  supply_->Pass(first_epoch, place);
  types_ = OpenFile(first_epoch, place)->types();
  supply_->Pass(first_epoch, place);
}

void SuppliedFields::RequireWholeRecords() const {
  const auto format = supply_->listing().format;
  if (format == DataFormat::kHdf5 || format == DataFormat::kNumpy) ThrowNotWhole(files()[0], format);
}

SupplyWait SuppliedFields::Waiting() const {
  SupplyWait wait;
  wait.tick = [this] {
    if (stopped_) throw Error(ErrorKind::kInterrupted, "the reader was closed");
  };
  return wait;
}

/// A file that does not come or cannot be opened is no matter of single records, whatever becomes of damaged ones.
std::unique_ptr<FieldSource> SuppliedFields::OpenFile(std::uint64_t epoch, std::size_t place) const try {
  return OpenSupplied(*supply_, epoch, place, Waiting(), [&](const DatasetFile& file) {
    auto source = OpenFieldSource({supply_->listing().format, {file}}, wanted_, pattern_);
    const auto number = supply_->FileAt(epoch, place);
    if (source->record_count() != borders_.CountOf(number)) {
      throw Error(ErrorKind::kEnvironment,
                  fmt::format("'{}' has {} records, {} were counted before", file.path.string(), source->record_count(),
                              borders_.CountOf(number)),
                  kNotToChange);
    }
    if (!types_.empty() && source->types() != types_) {
      throw Error(ErrorKind::kEnvironment,
                  fmt::format("the fields of '{}' are others than those of the first file", file.path.string()),
                  kNotToChange);
    }
    return source;
  });
} catch (const Error& error) {
  if (error.kind() != ErrorKind::kEnvironment) throw;
  throw Error(ErrorKind::kFailed, error.message(), error.next_step());
}

ArrivingFields::ArrivingFields(std::unique_ptr<FileSupply> supply, const std::filesystem::path& place_in,
                               std::vector<WantedField> fields, AccessPattern pattern)
    : SuppliedFields(std::move(supply), place_in, std::move(fields), pattern, 0), opened_(borders_.ends().size()) {
  place_of_.resize(borders_.ends().size());
  const auto order = this->supply().Order(0);
  for (std::size_t place = 0; place < order.size(); ++place) place_of_[order[place]] = place;
}

const FieldSource& ArrivingFields::Source(std::size_t file) const {
  auto& opened = opened_[file];
  if (const auto* ready = opened.ready.load()) return *ready;
  const std::lock_guard guard(opened.mutex);
  if (!opened.source) {
    opened.source = OpenFile(0, place_of_[file]);
    opened.ready = opened.source.get();
  }
  return *opened.source;
}

void ArrivingFields::Fetch(std::uint64_t record, FetchMemory& memory, std::span<FetchedField> fields) const {
  const auto place = borders_.Find(record);
  Source(place.file).Fetch(place.record, memory, fields);
}

std::span<const std::byte> ArrivingFields::Payload(std::uint64_t record, std::vector<std::byte>& buffer) const {
  const auto place = borders_.Find(record);
  return Source(place.file).Payload(place.record, buffer);
}

StreamedFields::StreamedFields(std::unique_ptr<FileSupply> supply, const std::filesystem::path& place_in,
                               std::vector<WantedField> fields, bool payloads, std::uint64_t first_epoch)
    : SuppliedFields(std::move(supply), place_in, std::move(fields), AccessPattern::kInOrder, first_epoch),
      payloads_(payloads) {}

void StreamedFields::Expect(std::uint64_t epoch, std::span<const std::uint64_t> places, bool afresh) {
  Part part{epoch, supply().Order(epoch), {}, 0};
  const std::lock_guard guard(mutex_);
  if (afresh) {
    parts_.clear();
    uses_left_.clear();
    held_.clear();
    passed_.clear();
  }
  for (const auto record : places) {
    if (record == kPaddingRecord) continue;
    ++uses_left_[record];
    part.wanted[borders_.Find(record).file].push_back(record);
  }
  parts_.push_back(std::move(part));
}

void StreamedFields::Release(std::span<const std::uint64_t> places) {
  const std::lock_guard guard(mutex_);
  const auto is_good = [&](std::uint64_t record) {
    const auto held = held_.find(record);
    return held != held_.end() && !held->second->error;
  };
  if (std::ranges::any_of(places, is_good)) Forget(std::exchange(passed_, {}));
  passed_.insert(passed_.end(), places.begin(), places.end());
}

void StreamedFields::Forget(std::span<const std::uint64_t> places) {
  for (const auto record : places) {
    const auto uses = uses_left_.find(record);
    if (uses == uses_left_.end() || --uses->second > 0) continue;
    uses_left_.erase(uses);
    held_.erase(record);
  }
}

StreamedFields::Held StreamedFields::Find(std::uint64_t record) const {
  const std::lock_guard guard(mutex_);
  const auto found = held_.find(record);
  return found == held_.end() ? nullptr : found->second;
}

bool StreamedFields::IsExpected(std::uint64_t record) const {
  const std::lock_guard guard(mutex_);
  return uses_left_.contains(record);
}

StreamedFields::Held StreamedFields::Get(std::uint64_t record) const {
  auto held = Find(record);
  if (!held) {
    const std::lock_guard guard(file_mutex_);
    while (!(held = Find(record))) {
      if (IsExpected(record) && TakeFile()) continue;
      throw Error(ErrorKind::kEnvironment, "its file has gone by in the stream", "read its records in their order");
    }
  }
  if (held->error) throw Error(*held->error);
  return held;
}

bool StreamedFields::TakeFile() const {
  Part* part = nullptr;
  {
    const std::lock_guard guard(mutex_);
    // A part is kept as long as it is the last one, whose places may still be wanted.
    while (parts_.size() > 1 && parts_.front().next_place == parts_.front().order.size()) parts_.pop_front();
    if (parts_.empty()) return false;
    part = &parts_.front();  // deque: others are added behind it
  }
  GoOn(*part);
  if (part->next_place == part->order.size()) {
    const std::lock_guard guard(mutex_);
    return parts_.size() > 1;
  }
  TakeRecords(*part, part->order[part->next_place]);
  ++part->next_place;
  GoOn(*part);
  return true;
}

void StreamedFields::GoOn(Part& part) const {
  const auto is_wanted = [&] { return part.wanted.contains(part.order[part.next_place]); };
  while (part.next_place < part.order.size() && !is_wanted()) ++part.next_place;
  supply().Pass(part.epoch, part.next_place);
}

void StreamedFields::TakeRecords(Part& part, std::size_t file) const {
  const auto source = OpenFile(part.epoch, part.next_place);
  auto& records = part.wanted[file];
  std::ranges::sort(records);
  FetchMemory memory;
  for (const auto record : records) {
    if (Find(record)) continue;
    auto stored = Store(*source, record - borders_.FirstOf(file), memory);
    const std::lock_guard guard(mutex_);
    if (uses_left_.contains(record)) held_[record] = std::move(stored);
  }
  records = {};
}

StreamedFields::Held StreamedFields::Store(const FieldSource& source, std::uint64_t record, FetchMemory& memory) const {
  auto stored = std::make_shared<Stored>();
  try {
    std::vector<FetchedField> fields(types_.size());
    if (!fields.empty()) source.Fetch(record, memory, fields);
    for (const auto& field : fields) {
      stored->shapes.push_back(field.values.shape);
      stored->values.emplace_back(field.values.values.begin(), field.values.values.end());
    }
    if (payloads_) {
      const auto payload = source.Payload(record, memory.record);
      stored->payload.assign(payload.begin(), payload.end());
    }
  } catch (const Error& error) {
    if (!IsDamage(error)) throw;
    stored->error = error;
  }
  return stored;
}

void StreamedFields::Fetch(std::uint64_t record, FetchMemory& memory, std::span<FetchedField> fields) const {
  const auto held = Get(record);
  memory.fields.resize(types_.size());
  for (std::size_t i = 0; i < types_.size(); ++i) {
    fields[i].values = {types_[i].type, held->shapes[i], {}};
    Deliver(held->values[i], memory.fields[i], fields[i]);
  }
}

std::span<const std::byte> StreamedFields::Payload(std::uint64_t record, std::vector<std::byte>& buffer) const {
  const auto held = Get(record);
  buffer = held->payload;
  return buffer;
}

std::unique_ptr<FieldSource> OpenFields(const std::filesystem::path& path, const BatchOptions& options,
                                        std::vector<WantedField> fields, AccessPattern pattern) {
  if (Exists(path / kStreamStateName)) {
    if (options.order != RecordOrder::kWindowed) {
      throw Error(ErrorKind::kUsage, fmt::format("'{}' is a stream: it never holds all of its files", path.string()),
                  "set the reader's option \"order\" to \"windowed\"");
    }
    return std::make_unique<StreamedFields>(OpenSupply(path, options.seed), path, std::move(fields), options.payloads,
                                            options.position.epoch);
  }
  if (!Exists(path) && IsBeingStaged(path)) {
    auto supply = OpenSupply(path, options.seed);
    if (CountsAreKnown(supply->listing())) {
      return std::make_unique<ArrivingFields>(std::move(supply), path, std::move(fields), pattern);
    }
    std::fputs(
        fmt::format("slipway: reading '{}' begins when all of it has arrived: how many records its files have is "
                    "not known before\n",
                    path.string())
            .c_str(),
        stderr);
    AwaitPublished(path);
  }
  return OpenFieldSource(FindDatasetFiles(path), std::move(fields), pattern);
}

}  // namespace slipway::staging
