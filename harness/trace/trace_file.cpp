// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/trace/trace_file.hpp"

#include <fmt/format.h>

#include <sstream>
#include <string>
#include <string_view>

#include "harness/base/errors.hpp"
#include "harness/base/files.hpp"
#include "harness/base/gzip.hpp"
#include "harness/trace/run_record_json.hpp"

namespace stepleak {
namespace {

// What --json writes is one result, or a list of them.
bool is_json(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
}

}  // namespace

void write_trace_file(const std::filesystem::path& path, const std::vector<RunRecord>& records) {
  std::string text;
  for (const auto& record : records) text += to_json(record);
  write_file(path, gzipped(text));
}

StoredRuns read_trace_file(const std::filesystem::path& path) {
  constexpr const char* kWriteIt = "write it with: stepleak run ... --trace FILE";
  const auto unreadable = [&path](std::string_view why) {
    return failure_error(fmt::format("{} cannot be read as a trace: {}", path.string(), why), kWriteIt);
  };
  std::string bytes;
  Unfolded file;
  try {
    bytes = read_file(path);
    file = gunzipped_so_far(bytes);
  } catch (const Error& error) {
    if (is_json(bytes)) {
      throw failure_error(fmt::format("{} is JSON, and no trace", path.string()),
                          fmt::format("show a result with: stepleak report {}", path.string()));
    }
    throw unreadable(error.what());
  }
  StoredRuns runs;
  if (file.is_cut) {
    runs.error = unreadable("it is cut short");
    // A part of a run.
    file.text.resize(file.text.rfind('\n') + 1);
  }
  std::istringstream lines(file.text);
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    try {
      runs.records.push_back(run_record_from_json(line, fmt::format("line {} of {}", ++number, path.string())));
    } catch (const Error& error) {
      if (!runs.error) runs.error = error;
    }
  }
  if (!runs.records.empty()) return runs;
  throw runs.error ? *runs.error : failure_error(fmt::format("{} holds no run", path.string()), kWriteIt);
}

}  // namespace stepleak
