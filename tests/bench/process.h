// Runs another program, for benchmarks that measure between processes.
#ifndef EVENKEEL_TESTS_BENCH_PROCESS_H_
#define EVENKEEL_TESTS_BENCH_PROCESS_H_

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace evenkeel::server {

// A program that runs until this object dies. Its output goes to a file.
class Process {
 public:
  Process(std::vector<std::string> arguments, const std::string& log) {
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    const int error = posix_spawn(&pid_, argv[0], &files, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    if (error == 0) return;
    std::fprintf(stderr, "cannot run %s\n", argv[0]);
    std::exit(1);
  }
  ~Process() {
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

 private:
  pid_t pid_ = 0;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_TESTS_BENCH_PROCESS_H_
