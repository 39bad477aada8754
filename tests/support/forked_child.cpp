#include "tests/support/forked_child.h"

#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <stdexcept>

namespace slipway::test {
namespace {

struct Ends {
  int read = -1;
  int write = -1;
};

Ends MakePipe() {
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("cannot create a pipe");
  return {ends[0], ends[1]};
}

Ends MakeTerminal() {
  Ends ends;
  if (::openpty(&ends.read, &ends.write, nullptr, nullptr, nullptr) != 0) {
    throw std::runtime_error("cannot create a pseudo terminal");
  }
  return ends;
}

/// All that is there when nobody holds the writing end any more; a terminal then answers EIO.
std::string ReadAll(int fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t count; (count = ::read(fd, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(count));
  }
  ::close(fd);
  return text;
}

}  // namespace

ForkedChild::ForkedChild(const std::function<void()>& body) {
  const auto ready = MakePipe();
  pid_ = ::fork();
  if (pid_ == 0) {
    ::close(ready.read);
    body();
    ::close(ready.write);
    while (true) ::pause();
  }
  ::close(ready.write);
  ReadAll(ready.read);
}

void ForkedChild::Kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

Printed PrintedBy(const std::function<void()>& body, ErrorsTo errors_to) {
  const auto output = MakePipe();
  const auto errors = errors_to == ErrorsTo::kTerminal ? MakeTerminal() : MakePipe();
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(output.write, STDOUT_FILENO);
    ::dup2(errors.write, STDERR_FILENO);
    body();
    ::_exit(0);
  }
  ::close(output.write);
  Printed printed;
  printed.output = ReadAll(output.read);
  // The parent keeps the terminal's other side open until the child has written: else what it holds is lost.
  ::waitpid(pid, nullptr, 0);
  ::close(errors.write);
  printed.errors = ReadAll(errors.read);
  return printed;
}

}  // namespace slipway::test
