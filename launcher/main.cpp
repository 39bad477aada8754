#include "launcher/cli/command_line.h"

int main(int argc, char** argv) { return slipway::launcher::RunCommandLine(argc, argv); }
