// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/cli/server_start.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "harness/base/errors.hpp"
#include "harness/cli/layout.hpp"
#include "harness/cli/observing.hpp"
#include "harness/drive/server_threads.hpp"

namespace stepleak {
namespace {

// Between this program and itself, and stepleak/__main__.py; gone before a step can see it.
constexpr const char* kStartsInWorkers = "STEPLEAK_STARTS_IN_WORKERS";

std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> arguments;
  for (std::size_t begin = 0; begin < text.size(); begin += arguments.back().size() + 1) {
    arguments.emplace_back(text.c_str() + begin);
  }
  return arguments;
}

void start_anew() {
  auto arguments = own_arguments();
  std::vector<char*> words;
  for (auto& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  unset_for_import();
  ::setenv(kStartsInWorkers, "1", 1);
  ::execv("/proc/self/exe", words.data());
  throw failure_error(fmt::format("stepleak cannot start anew: {}", std::strerror(errno)),
                      "a thread was started while torch was imported: set OPENBLAS_NUM_THREADS=1, look into "
                      "sitecustomize.py");
}

}  // namespace

bool starts_in_workers() {
  static const bool is_asked_for = [] {
    const bool is_set = std::getenv(kStartsInWorkers) != nullptr;
    ::unsetenv(kStartsInWorkers);
    return is_set || layout().starts_in_workers;
  }();
  return is_asked_for;
}

void start_server() {
  if (!starts_in_workers()) {
    observing().start();
    if (thread_names().size() != 1) start_anew();
  }
}

}  // namespace stepleak
