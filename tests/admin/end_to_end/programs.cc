#include "admin/end_to_end/programs.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <sstream>

#include "support/watchdog.h"

namespace grpc_resilience::test {
namespace {

[[noreturn]] void Die(const std::string& what) {
  std::fprintf(stderr, "program: %s: %s\n", CurrentTestName().c_str(),
               what.c_str());
  std::abort();
}

std::vector<char*> Pointers(std::vector<std::string>* words) {
  std::vector<char*> pointers;
  for (std::string& word : *words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

struct Files {
  int in = -1;  ///< -1: the test's own
  int out = -1;
  int err = -1;
};

pid_t Spawn(std::vector<std::string> words, const Files& files,
            std::vector<std::string> environment = {}) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const int wanted[] = {files.in, files.out, files.err};
  for (int i = 0; i < 3; ++i) {
    if (wanted[i] >= 0)
      posix_spawn_file_actions_adddup2(&actions, wanted[i], i);
  }
  for (char** own = environ; *own != nullptr; ++own) {
    environment.emplace_back(*own);
  }
  pid_t pid = -1;
  const int failed =
      posix_spawn(&pid, words[0].c_str(), &actions, nullptr,
                  Pointers(&words).data(), Pointers(&environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) Die("can't start " + words[0]);
  return pid;
}

int ExitStatusOf(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string ContentOf(int fd) {
  std::string text(static_cast<std::size_t>(lseek(fd, 0, SEEK_END)), '\0');
  if (pread(fd, text.data(), text.size(), 0) < 0) Die("can't read");
  close(fd);
  return text;
}

int NewFile() { return memfd_create("output", MFD_CLOEXEC); }

}  // namespace

Finished RunProgram(const std::vector<std::string>& words,
                    const std::vector<std::string>& environment) {
  const Files files{-1, NewFile(), NewFile()};
  Finished finished;
  finished.exit_status = ExitStatusOf(Spawn(words, files, environment));
  finished.out = ContentOf(files.out);
  finished.err = ContentOf(files.err);
  return finished;
}

Finished RunOnTerminal(const std::vector<std::string>& words) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) {
    Die("no terminal");
  }
  const int end = open(ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC);
  const Files files{-1, end, NewFile()};
  const pid_t pid = Spawn(words, files);
  close(end);
  Finished finished;
  char buffer[4096];
  // The read fails when the program has closed its end.
  for (ssize_t got; (got = read(terminal, buffer, sizeof(buffer))) > 0;) {
    finished.out.append(buffer, static_cast<std::size_t>(got));
  }
  close(terminal);
  finished.exit_status = ExitStatusOf(pid);
  finished.err = ContentOf(files.err);
  return finished;
}

Subject::Subject(const std::string& backend, int breakers) {
  char folder[] = "/tmp/admin_e2e_XXXXXX";
  if (mkdtemp(folder) == nullptr) Die("no folder");
  folder_ = folder;
  socket_path_ = folder_ + "/admin.sock";
  int in[2];
  int out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) Die("no pipe");
  pid_ = Spawn({SubjectPath(), backend, socket_path_, std::to_string(breakers)},
               {in[0], out[1], -1});
  close(in[0]);
  close(out[1]);
  to_ = in[1];
  from_ = out[0];
  address_ = ReadAnswer("ADMIN");
}

Subject::~Subject() {
  close(to_);
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  close(from_);
  unlink(socket_path_.c_str());
  rmdir(folder_.c_str());
}

Subject::Stats Subject::TakeStats() {
  if (write(to_, "\n", 1) != 1) Die("the subject is gone");
  std::istringstream text(ReadAnswer("STATS"));
  Stats stats;
  text >> stats.calls >> stats.failed >> stats.rejected >> stats.p99_us >>
      stats.resident_kib;
  return stats;
}

std::string Subject::ReadAnswer(const std::string& word) {
  while (true) {
    const std::string line = ReadLine();
    if (line.rfind(word + " ", 0) == 0) return line.substr(word.size() + 1);
    if (line.rfind("LOG ", 0) == 0) log_.push_back(line.substr(4));
  }
}

std::string Subject::ReadLine() {
  const auto end =
      std::chrono::steady_clock::now() + Scaled(std::chrono::seconds(20));
  std::size_t line_end = 0;
  while ((line_end = read_.find('\n')) == std::string::npos) {
    pollfd waiting{from_, POLLIN, 0};
    if (std::chrono::steady_clock::now() > end) Die("the subject is silent");
    if (poll(&waiting, 1, 100) <= 0) continue;
    char buffer[4096];
    const ssize_t got = read(from_, buffer, sizeof(buffer));
    if (got <= 0) Die("the subject has ended");
    read_.append(buffer, static_cast<std::size_t>(got));
  }
  const std::string line = read_.substr(0, line_end);
  read_.erase(0, line_end + 1);
  return line;
}

}  // namespace grpc_resilience::test
