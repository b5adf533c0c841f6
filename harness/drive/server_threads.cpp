// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/drive/server_threads.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "harness/base/errors.hpp"

namespace stepleak {
namespace {

std::string remedy_of(const std::vector<std::string>& names) {
  const auto is_there = [&](const char* name) { return std::find(names.begin(), names.end(), name) != names.end(); };
  if (is_there("jemalloc_bg_thd")) return "switch jemalloc's thread off: MALLOC_CONF=background_thread:false";
  return "a thread was started before them: set OPENBLAS_NUM_THREADS=1, look into sitecustomize.py";
}

}  // namespace

std::vector<std::string> thread_names() {
  std::vector<int> threads;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    threads.push_back(std::stoi(entry.path().filename()));
  }
  std::sort(threads.begin(), threads.end());
  std::vector<std::string> names;
  for (const auto thread : threads) {
    std::ifstream file(fmt::format("/proc/self/task/{}/comm", thread));
    std::getline(file, names.emplace_back());
  }
  return names;
}

std::vector<std::string> own_thread_names() {
  auto names = thread_names();
  for (int wait = 0; wait < 10 && std::count(names.begin(), names.end(), names.front()) > 1; ++wait) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    names = thread_names();
  }
  return names;
}

void expect_one_thread(const std::vector<std::string>& names) {
  if (names.size() == 1) return;
  throw failure_error(
      fmt::format("the server has {} threads ({}) and cannot fork safely", names.size(), fmt::join(names, ", ")),
      remedy_of(names));
}

}  // namespace stepleak
