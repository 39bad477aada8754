#include "tests/end_to_end/random_program.h"

#include <fmt/format.h>
#include <signal.h>

#include <array>
#include <limits>

namespace slipway::test {
namespace {

class Author {
 public:
  explicit Author(std::mt19937_64& random) : random_(random) {}

  RandomProgram Write() {
    for (int steps = Below(7); steps > 0; --steps) WriteStep();
    WriteEnd();
    return {text_, Judge()};
  }

 private:
  int Below(int bound) { return static_cast<int>(random_() % static_cast<std::uint64_t>(bound)); }
  void Line(const std::string& line) { text_ += line + "\n"; }

  void WriteStep() {
    switch (Below(8)) {
      case 0: return WriteNoise();
      case 1: return WriteFile();
      case 2: return Fork();
      case 3: return Line(fmt::format("sleep 0.0{}", Below(6)));
      case 4: return ReportNothing();
      default: return Report();
    }
  }

  void WriteNoise() {
    constexpr std::array kNoise = {
        "echo some words",
        "echo \"FoM 3\"; echo fom: 4; echo 'FoM:'",
        "printf 'a\\001\\033[31m\\377\\000b\\n'",
        "printf '10%%\\r50%%\\r100%%\\n'",
        "echo to the errors >&2",
        "head -c 70000 /dev/zero | tr '\\\\0' x; echo",
        "i=0; while [ $i -lt 200 ]; do echo line $i; i=$((i+1)); done",
    };
    Line(kNoise[static_cast<std::size_t>(Below(kNoise.size()))]);
  }

  void WriteFile() {
    const auto* if_it_fails = Below(2) == 0 ? " || exit 9" : "";
    Line(fmt::format("head -c {} /dev/zero > \"$SLIPWAY_OUTPUT_DIR/f{}\"{}", 1 + Below(60'000), Below(4), if_it_fails));
  }

  void Fork() {
    constexpr std::array kChildren = {
        "(exit 7) &",
        "(sleep 0.02; echo from a child) & wait $!",
        "(sleep 30) &",  // outlives its parent, and goes with its group
        "(trap '' TERM; sleep 30) &",
        "(kill -9 $(sh -c 'echo $PPID')) & wait $!",  // a child that kills itself
    };
    Line(kChildren[static_cast<std::size_t>(Below(kChildren.size()))]);
  }

  void Report() {
    const double value = Below(1000) / 8.0;
    switch (Below(4)) {
      case 0: Line(fmt::format("printf 'FoM: 1\\rFoM: {}\\n'", value)); break;
      case 1: Line(fmt::format("echo 'epoch 3 FoM: {} and more'", value)); break;
      default: Line(fmt::format("echo FoM: {}", value));
    }
    reported_ = value;
  }

  void ReportNothing() {
    const bool is_number = Below(2) == 0;
    Line(is_number ? "echo FoM: nan" : "echo FoM: pending");
    if (is_number) reported_ = std::numeric_limits<double>::quiet_NaN();
  }

  void WriteEnd() {
    constexpr std::array kSignals = {SIGKILL, SIGTERM, SIGSEGV, SIGABRT, SIGUSR1};
    switch (Below(6)) {
      case 0:
        end_.exit_code = 1 + Below(70);
        Line(fmt::format("exit {}", end_.exit_code));
        break;
      case 1:
        end_.signal = kSignals[static_cast<std::size_t>(Below(kSignals.size()))];
        Line(fmt::format("kill -{} $$; sleep 5", end_.signal));
        break;
      case 2:
        Line("printf 'FoM: 7'");  // without an end of line
        reported_ = 7;
        break;
      default: Line("exit 0");
    }
  }

  TrueEnd Judge() {
    end_.state = "failed";
    if (end_.signal != 0) {
      end_.outcome = "killed";
    } else if (end_.exit_code != 0) {
      end_.outcome = "failed";
    } else if (!reported_ || *reported_ != *reported_) {
      end_.outcome = "no_objective";
    } else {
      end_.state = end_.outcome = "complete";
      end_.objective = reported_;
    }
    return end_;
  }

  std::mt19937_64& random_;
  std::string text_;
  TrueEnd end_;
  std::optional<double> reported_;
};

}  // namespace

RandomProgram MakeRandomProgram(std::mt19937_64& random) { return Author(random).Write(); }

}  // namespace slipway::test
