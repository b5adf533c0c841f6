// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/host/child_memory.hpp"

#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "harness/base/proc_file.hpp"

namespace stepleak {
namespace {

constexpr std::size_t kLongestFile = 4096;  // smaps_rollup has some 700 bytes; 400 children of one thread fit
constexpr std::int64_t kKiB = 1024;

std::string text_of(const std::string& path) {
  std::string text(kLongestFile, '\0');
  text.resize(ProcFile(path.c_str()).read(text.data(), text.size()));
  return text;
}

// Those that any thread of a process has started.
void add_children(pid_t process, std::vector<pid_t>& processes) {
  const auto tasks = fmt::format("/proc/{}/task", process);
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(tasks.c_str()), ::closedir);
  if (folder == nullptr) return;
  while (const auto* entry = ::readdir(folder.get())) {
    if (entry->d_name[0] == '.') continue;
    const auto children = text_of(fmt::format("{}/{}/children", tasks, entry->d_name));
    const char* at = children.c_str();
    char* end = nullptr;
    for (auto child = std::strtol(at, &end, 10); end != at; child = std::strtol(at, &end, 10)) {
      processes.push_back(static_cast<pid_t>(child));
      at = end;
    }
  }
}

// Nothing where it has ended by now.
std::optional<std::int64_t> proportional_bytes(pid_t process) {
  constexpr const char* kName = "\nPss:";
  const auto text = text_of(fmt::format("/proc/{}/smaps_rollup", process));
  const auto at = text.find(kName);
  if (at == std::string::npos) return std::nullopt;
  return std::strtoll(text.c_str() + at + std::strlen(kName), nullptr, 10) * kKiB;
}

}  // namespace

std::optional<std::int64_t> child_memory_bytes() {
  std::vector<pid_t> processes;
  add_children(::getpid(), processes);
  std::optional<std::int64_t> bytes;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    if (const auto of_one = proportional_bytes(processes[i])) bytes = bytes.value_or(0) + *of_one;
    add_children(processes[i], processes);
  }
  return bytes;
}

}  // namespace stepleak
