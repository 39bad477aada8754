#include "staging/reader/batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <deque>
#include <exception>
#include <iterator>
#include <memory>
#include <mutex>
#include <new>
#include <thread>

#include "core/error.h"
#include "core/memory_left.h"
#include "staging/reader/reader_counts.h"
#include "staging/reader/record_loader.h"

namespace slipway::staging {
namespace {

using Clock = std::chrono::steady_clock;
using Part = std::shared_ptr<const EpochPart>;

/// Memory for arrays of numbers: begins at a cache line.
struct FreeMemory {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using AlignedMemory = std::unique_ptr<std::byte, FreeMemory>;

/// Errors: MemoryError when there is not so much.
AlignedMemory AllocateAligned(std::size_t bytes) {
  constexpr std::size_t kAlignment = 64;
  void* memory = nullptr;
  if (::posix_memalign(&memory, kAlignment, std::max<std::size_t>(bytes, 1)) != 0) {
    throw MemoryError(ErrorKind::kEnvironment, fmt::format("there is no memory for {} bytes of a batch", bytes),
                      "take smaller batches or a smaller prefetch");
  }
  return AlignedMemory(static_cast<std::byte*>(memory));
}

/// Records whose bytes are on their way from memory while one is read: measured, more brings nothing.
constexpr std::size_t kAnnouncedAhead = 4;

std::size_t BytesOfArray(const BatchArray& array) { return *CountOf(array.shape) * SizeOf(array.type); }

/// free -> filling -> ready -> free
enum class SlotState { kFree, kFilling, kReady };

/// One batch of the ring.
struct Slot {
  SlotState state = SlotState::kFree;
  BatchMemory memory;
  Part part;
  std::uint64_t step = 0;                 ///< of the part
  std::span<const std::uint64_t> places;  ///< of the part: what the batch holds
  std::size_t chunks_left = 0;
  std::vector<SkippedRecord> skipped;
  std::exception_ptr error;
  std::size_t error_place = 0;
};

/// Some places of one batch, for one thread.
struct Task {
  Slot* slot = nullptr;
  Part part;
  std::uint64_t step = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct TaskResult {
  std::vector<SkippedRecord> skipped;
  std::exception_ptr error;
  std::size_t error_place = 0;
};

}  // namespace

class BatchReader::Engine {
 public:
  Engine(const std::filesystem::path& dataset, const BatchOptions& options,
         const std::vector<std::vector<std::span<std::byte>>>& memory)
      : options_(options), loader_(dataset, options), plan_(options, loader_.source().file_ends()) {
    MakeSlots(memory);
    chunk_ = std::max<std::size_t>(1, options_.batch / (2 * static_cast<std::size_t>(options_.threads)));
    Begin(options_.position, PartAt(options_.position));
  }

  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  ~Engine() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    loader_.source().SetStopped(true);
    work_.notify_all();
    for (auto& thread : threads_) thread.join();
  }

  void StartThreads() {
    for (int i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { Work(); });
  }

  const RecordLoader& loader() const { return loader_; }
  const BatchPlan& plan() const { return plan_; }
  const ReaderStats& stats() const { return counts_.stats(); }
  EpochPosition position() const { return {position_.epoch, position_.records_done, plan_.shares_key()}; }

  const Batch* Next() {
    std::unique_lock lock(mutex_);
    GiveBack();
    if (Ended(position_.epoch)) return nullptr;
    Await(lock, [this] { return !parts_.empty(); });
    const auto part = parts_.front();
    if (handed_out_ == part->steps) {
      EndEpoch(part->begin.epoch);
      return nullptr;
    }
    auto& slot = slots_[consumed_ % slots_.size()];
    Await(lock, [&slot] { return slot.state == SlotState::kReady; });
    if (slot.error) std::rethrow_exception(slot.error);
    return HandOut(slot, *part);
  }

  void Seek(const EpochPosition& position) {
    auto part = PartAt(position);  // a position that cannot be leaves everything as it is
    std::unique_lock lock(mutex_);
    paused_ = true;
    loader_.source().SetStopped(true);
    ready_.wait(lock, [this] { return in_flight_ == 0; });
    loader_.source().SetStopped(false);
    paused_ = false;
    Begin(position, std::move(part));
    work_.notify_all();
  }

 private:
  /// Nothing behind the last epoch.
  Part PartAt(const EpochPosition& position) const {
    return Ended(position.epoch) ? nullptr : std::make_shared<EpochPart>(plan_.PartFrom(position));
  }

  bool Ended(std::uint64_t epoch) const { return options_.epochs != 0 && epoch >= options_.epochs; }

  void MakeSlots(const std::vector<std::vector<std::span<std::byte>>>& memory) {
    slots_.resize(options_.prefetch + 1);
    if (!memory.empty() && memory.size() != slots_.size()) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("memory for {} batches was given, prefetch {} takes {}", memory.size(), options_.prefetch,
                              slots_.size()),
                  "give memory for each batch that is prefetched, and one more");
    }
    if (memory.empty()) RequireMemory(Bytes{slots_.size() * BytesOfBatch()}, "the batches of a reader");
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      slots_[i].memory = loader_.MakeMemory(memory.empty() ? TakeMemory() : CheckedMemory(memory[i]));
    }
  }

  std::vector<std::span<std::byte>> CheckedMemory(const std::vector<std::span<std::byte>>& memory) const {
    if (memory.size() == loader_.arrays().size()) return memory;
    throw Error(ErrorKind::kUsage,
                fmt::format("memory for {} fields was given, a batch has {}", memory.size(), loader_.arrays().size()),
                "give memory for each field");
  }

  std::size_t BytesOfBatch() const {
    std::size_t bytes = 0;
    for (const auto& array : loader_.arrays()) bytes += BytesOfArray(array);
    return bytes;
  }

  std::vector<std::span<std::byte>> TakeMemory() {
    std::vector<std::span<std::byte>> memory;
    for (const auto& array : loader_.arrays()) {
      const auto bytes = BytesOfArray(array);
      memory.push_back({own_memory_.emplace_back(AllocateAligned(bytes)).get(), bytes});
    }
    return memory;
  }

  /// No thread is at work.
  void Begin(const EpochPosition& position, Part part) {
    parts_.clear();
    if (part) {
      loader_.source().Expect(position.epoch, part->places, true);
      parts_.push_back(std::move(part));
    }
    next_epoch_ = position.epoch + 1;
    position_ = position;
    produced_ = consumed_ = 0;
    next_step_ = handed_out_ = 0;
    next_place_ = 0;
    held_ = false;
    broken_ = nullptr;
    for (auto& slot : slots_) slot.state = SlotState::kFree;
  }

  // The caller's side.

  /// Waits until `done()`, counting the time. Errors: that of the thread that could not make the next epoch's order.
  template <class Done>
  void Await(std::unique_lock<std::mutex>& lock, const Done& done) {
    if (done()) return;
    const auto begin = Clock::now();
    ready_.wait(lock, [&] { return done() || broken_; });
    counts_.Waited(std::chrono::duration<double>(Clock::now() - begin).count());
    if (!done()) std::rethrow_exception(broken_);
  }

  /// The batch that was handed out may be filled again.
  void GiveBack() {
    if (!held_) return;
    auto& slot = slots_[consumed_ % slots_.size()];
    slot.state = SlotState::kFree;
    loader_.source().Release(slot.places);
    ++consumed_;
    held_ = false;
    work_.notify_all();
  }

  void EndEpoch(std::uint64_t epoch) {
    parts_.pop_front();
    handed_out_ = 0;
    position_ = {epoch + 1, 0};
  }

  const Batch* HandOut(Slot& slot, const EpochPart& part) {
    held_ = true;
    ++handed_out_;
    position_ = plan_.After(part, handed_out_);
    const auto& memory = slot.memory;
    const auto valid = static_cast<std::uint64_t>(std::ranges::count(memory.valid, 1));
    batch_ = {
        part.begin.epoch, slot.step, consumed_ % slots_.size(), memory.arrays, memory.records, memory.valid, valid,
        memory.payloads};
    counts_.HandedOut(valid, slot.skipped);
    return &batch_;
  }

  // The threads' side.

  void Work() {
    LoaderMemory memory;
    Task task;
    while (TakeTask(task)) Finish(task, Run(task, memory));
  }

  TaskResult Run(const Task& task, LoaderMemory& memory) const {
    TaskResult result;
    for (auto place = task.begin; place < task.end; ++place) {
      const auto index = task.step * options_.batch + place;
      try {
        loader_.Announce(*task.part, index + kAnnouncedAhead);
        loader_.Load(*task.part, index, task.slot->memory, place, memory, result.skipped);
      } catch (...) {
        result.error = std::current_exception();
        result.error_place = place;
        break;
      }
    }
    return result;
  }

  /// The error of the first place counts, whichever thread was first.
  void Finish(const Task& task, TaskResult result) {
    std::unique_lock lock(mutex_);
    auto& slot = *task.slot;
    try {
      std::ranges::move(result.skipped, std::back_inserter(slot.skipped));
    } catch (const std::bad_alloc&) {
      result.error = std::current_exception();
      result.error_place = task.begin;
    }
    if (result.error && (!slot.error || result.error_place < slot.error_place)) {
      slot.error = result.error;
      slot.error_place = result.error_place;
    }
    --in_flight_;
    if (--slot.chunks_left == 0) slot.state = SlotState::kReady;
    const bool tell = slot.chunks_left == 0 || (paused_ && in_flight_ == 0);
    lock.unlock();  // else who is woken would wait for it
    if (tell) ready_.notify_all();
  }

  /// False at the end of the reader.
  bool TakeTask(Task& task) {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (stopping_) return false;
      if (!paused_ && !broken_) {
        if (ClaimPlaces(task)) return true;
        if (NeedsPart()) {
          MakePart(lock);
          continue;
        }
      }
      work_.wait(lock);
    }
  }

  bool ClaimPlaces(Task& task) {
    if (parts_.empty() || next_step_ == parts_.back()->steps) return false;
    auto& slot = slots_[produced_ % slots_.size()];
    if (next_place_ == 0 && !BeginSlot(slot)) return false;
    const auto end = std::min<std::size_t>(next_place_ + chunk_, options_.batch);
    task = {&slot, parts_.back(), next_step_, next_place_, end};
    ++in_flight_;
    next_place_ = end;
    if (end == options_.batch) {
      next_place_ = 0;
      ++next_step_;
      ++produced_;
    }
    return true;
  }

  bool BeginSlot(Slot& slot) {
    if (slot.state != SlotState::kFree) return false;
    slot.state = SlotState::kFilling;
    slot.part = parts_.back();
    slot.step = next_step_;
    slot.places = std::span(slot.part->places).subspan(next_step_ * options_.batch, options_.batch);
    slot.chunks_left = (options_.batch + chunk_ - 1) / chunk_;
    slot.skipped.clear();
    slot.error = nullptr;
    return true;
  }

  /// All batches of the last part are taken, and no thread makes the next one.
  bool NeedsPart() const {
    const bool last_is_taken = parts_.empty() || next_step_ == parts_.back()->steps;
    return last_is_taken && !making_part_ && !Ended(next_epoch_);
  }

  /// The next epoch's order, made without the lock: it may be long.
  void MakePart(std::unique_lock<std::mutex>& lock) {
    making_part_ = true;
    ++in_flight_;
    lock.unlock();
    Part part;
    std::exception_ptr error;
    try {
      part = PartAt({next_epoch_, 0});
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    making_part_ = false;
    --in_flight_;
    if (part && !paused_) error = AddPart(std::move(part));
    broken_ = error;
    ready_.notify_all();
    work_.notify_all();
  }

  std::exception_ptr AddPart(Part part) {
    try {
      loader_.source().Expect(next_epoch_, part->places, false);
      parts_.push_back(std::move(part));
    } catch (...) {
      return std::current_exception();
    }
    ++next_epoch_;
    next_step_ = 0;
    return nullptr;
  }

  BatchOptions options_;
  RecordLoader loader_;
  BatchPlan plan_;
  std::vector<AlignedMemory> own_memory_;
  std::size_t chunk_ = 1;  ///< places that a thread takes at once

  std::mutex mutex_;
  std::condition_variable work_;   ///< threads wait: a slot is free, a part is there, the end
  std::condition_variable ready_;  ///< the caller waits: a slot is ready, a part is there, all threads pause
  bool stopping_ = false;
  bool paused_ = false;
  std::size_t in_flight_ = 0;
  std::vector<Slot> slots_;       ///< batch n of this run lies in slot n % slots_.size()
  std::deque<Part> parts_;        ///< the caller is in the first, the threads are in the last
  std::uint64_t next_epoch_ = 0;  ///< whose part is to be made
  bool making_part_ = false;
  std::exception_ptr broken_;
  std::uint64_t produced_ = 0;  ///< batches whose places are all taken by threads
  std::uint64_t next_step_ = 0;
  std::size_t next_place_ = 0;

  std::uint64_t consumed_ = 0;    ///< batches that came back from the caller
  std::uint64_t handed_out_ = 0;  ///< of the first part
  bool held_ = false;             ///< the caller has a batch
  EpochPosition position_;
  Batch batch_;
  ReaderCounts counts_;

  std::vector<std::thread> threads_;
};

BatchReader::BatchReader(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}
BatchReader::BatchReader(BatchReader&&) noexcept = default;
BatchReader& BatchReader::operator=(BatchReader&&) noexcept = default;
BatchReader::~BatchReader() = default;

BatchReader BatchReader::Open(const std::filesystem::path& path, const BatchOptions& options,
                              std::vector<std::vector<std::span<std::byte>>> memory) {
  auto engine = std::make_unique<Engine>(path, options, memory);
  engine->StartThreads();
  return BatchReader(std::move(engine));
}

std::vector<std::size_t> BatchReader::BytesOf(const std::filesystem::path& path, const BatchOptions& options) {
  const RecordLoader loader(path, options);
  std::vector<std::size_t> bytes;
  for (const auto& array : loader.arrays()) bytes.push_back(BytesOfArray(array));
  return bytes;
}

const std::vector<BatchArray>& BatchReader::fields() const { return engine_->loader().arrays(); }
std::uint64_t BatchReader::steps_per_epoch() const { return engine_->plan().steps_per_epoch(); }
std::uint64_t BatchReader::record_count() const { return engine_->plan().record_count(); }
std::string BatchReader::Describe(std::uint64_t record) const {
  auto& source = engine_->loader().source();
  const auto first = engine_->loader().first_record();
  const auto end = first + source.record_count();
  if (record >= first && record < end) return source.Describe(record - first);
  throw Error(ErrorKind::kUsage,
              first == 0 ? fmt::format("there is no record {}: the files hold {}", record, end)
                         : fmt::format("record {} is not on this node, which holds {} to {}", record, first, end - 1),
              "ask for a record that is here");
}
OrderedPlaces BatchReader::places_of_rank() const { return engine_->plan().places_of_rank(); }
const Batch* BatchReader::Next() { return engine_->Next(); }
EpochPosition BatchReader::Position() const { return engine_->position(); }
void BatchReader::Seek(const EpochPosition& position) { engine_->Seek(position); }
const ReaderStats& BatchReader::stats() const { return engine_->stats(); }

}  // namespace slipway::staging
