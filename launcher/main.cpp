#include "core/descriptor_limit.h"
#include "core/standard_streams.h"
#include "core/write_signals.h"
#include "launcher/cli/command_line.h"
#include "launcher/plan/python_path.h"

int main(int argc, char** argv) {
  slipway::OpenStandardStreams();
  slipway::RaiseDescriptorLimit();
  slipway::IgnoreFileSizeSignal();
  slipway::launcher::SettleInheritedPythonPath();
  return slipway::launcher::RunCommandLine(argc, argv);
}
