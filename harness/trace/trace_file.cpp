// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/trace/trace_file.hpp"

#include <fmt/format.h>

#include <sstream>

#include "harness/base/errors.hpp"
#include "harness/base/files.hpp"
#include "harness/base/gzip.hpp"
#include "harness/trace/run_record_json.hpp"

namespace stepleak {

void write_trace_file(const std::filesystem::path& path, const std::vector<RunRecord>& records) {
  std::string text;
  for (const auto& record : records) text += to_json(record);
  write_file(path, gzipped(text));
}

std::vector<RunRecord> read_trace_file(const std::filesystem::path& path) {
  std::string text;
  try {
    text = gunzipped(read_file(path));
  } catch (const Error& error) {
    throw failure_error(fmt::format("{} cannot be read as a trace: {}", path.string(), error.what()),
                        "write it with: stepleak run ... --trace FILE");
  }
  std::vector<RunRecord> records;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    records.push_back(run_record_from_json(line, fmt::format("line {} of {}", records.size() + 1, path.string())));
  }
  if (records.empty()) {
    throw failure_error(fmt::format("{} holds no run", path.string()), "write it with: stepleak run ... --trace FILE");
  }
  return records;
}

}  // namespace stepleak
