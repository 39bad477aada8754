// libexec/slipway/slipway-hdf5: reads HDF5 files for the program at the other end of its standard input. It may crash.
#include <poll.h>
#include <unistd.h>

#include <memory>
#include <new>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "core/json_fields.h"
#include "core/memory_left.h"
#include "staging/foreign/hdf5_limits.h"
#include "staging/foreign/messages.h"

namespace slipway::staging {
namespace {

constexpr int kSocket = STDIN_FILENO;

Json ErrorAnswer(const Error& error) { return {{"error", ErrorToJson(error)}}; }

class Service {
 public:
  explicit Service(const Hdf5Limits& limits) : limits_(limits) {}

  HelperMessage Answer(const Json& request) try {
    Begin(file_bytes_);
    return Do(request);
  } catch (const MemoryError&) {
    return {ErrorAnswer(NoMemory()), {}};
  } catch (const Error& error) {
    return {ErrorAnswer(error), {}};
  } catch (const std::bad_alloc&) {
    return {ErrorAnswer(NoMemory()), {}};
  } catch (const std::length_error&) {
    return {ErrorAnswer(NoMemory()), {}};
  }

 private:
  HelperMessage Do(const Json& request) {
    const auto what = request.at("do").get<std::string>();
    if (what == "open") return Open(request.at("path").get<std::string>());
    if (what == "verify") return {ToJson(file_->Verify([this] { Step(); })), {}};
    const auto dataset = request.at("dataset").get<std::string>();
    if (what == "layout") return Layout(dataset);
    const auto begin = request.at("begin").get<std::uint64_t>();
    const auto end = request.at("end").get<std::uint64_t>();
    if (what == "bytes") return {{{"rows", file_->ReadBytes(dataset, begin, end)}}, {}};
    HelperMessage answer{Json::object(), std::vector<std::byte>(request.at("bytes").get<std::size_t>())};
    Begin(answer.bytes.size());
    file_->ReadRows(dataset, begin, end, static_cast<NumberType>(request.at("as").get<int>()), answer.bytes);
    return answer;
  }

  HelperMessage Open(const std::filesystem::path& path) {
    file_.reset();
    path_ = path;
    file_bytes_ = FileBytes(path);
    Begin(file_bytes_);
    file_ = OpenHdf5(path);
    return {ToJson(Hdf5FileContents{file_->Datasets(), file_->Others()}), {}};
  }

  HelperMessage Layout(const std::string& dataset) {
    const auto layout = file_->Layout(dataset);
    Hdf5StoredAs stored{layout.storage, layout.bytes, layout.chunk_shape, layout.chunks.size(), {}};
    for (const auto& filter : layout.filters) stored.filters.push_back(filter.name);
    return {ToJson(stored), {}};
  }

  void Begin(std::uint64_t bytes) const { LimitProcessorTime(limits_.seconds + bytes / Hdf5Limits::kBytesPerSecond); }

  /// No process waits for the answer any more once the socket has ended.
  void Step() const {
    pollfd watch{kSocket, 0, 0};
    if (::poll(&watch, 1, 0) > 0) ::_exit(0);
    Begin(0);
  }

  Error NoMemory() const {
    return Error(ErrorKind::kEnvironment,
                 "'" + path_.string() + "': the HDF5 library wants more memory than " + FormatBytes(limits_.memory),
                 "the file is probably damaged; a sound file that needs more is read with SLIPWAY_HDF5_MEMORY=32GB");
  }

  Hdf5Limits limits_;
  std::filesystem::path path_;
  std::uint64_t file_bytes_ = 0;
  std::unique_ptr<Hdf5File> file_;
};

int Serve() {
  const auto limits = Hdf5Limits::FromEnvironment();
  LimitMemory(limits.memory);
  Service service(limits);
  while (const auto request = ReceiveHelperMessage(kSocket)) {
    const auto answer = service.Answer(request->head);
    SendHelperMessage(kSocket, answer.head, answer.bytes);
  }
  return 0;
}

}  // namespace
}  // namespace slipway::staging

int main() try { return slipway::staging::Serve(); } catch (const std::exception&) {
  return static_cast<int>(slipway::ErrorKind::kInternal);
}
