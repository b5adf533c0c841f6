// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/api/result_files.hpp"

#include <functional>
#include <stdexcept>

#include "harness/base/files.hpp"
#include "harness/explain/source_excerpts.hpp"
#include "harness/report/html.hpp"
#include "harness/report/outputs.hpp"
#include "harness/trace/serialise.hpp"
#include "harness/trace/trace_file.hpp"

namespace stepleak {

void check_outputs(const ResultFiles& files) { check_outputs({files.json, files.html, files.trace}, {}); }

std::vector<std::string> write(const ResultFiles& files, const Result& result, const RunRecord& record) {
  std::vector<std::string> unwritten;
  const auto attempt = [&](const std::string& file, const std::function<void()>& action) {
    if (file.empty()) return;
    try {
      action();
    } catch (const std::exception& error) {
      unwritten.emplace_back(error.what());
    }
  };
  attempt(files.json, [&] { write_file(files.json, to_json(result)); });
  attempt(files.html, [&] { write_file(files.html, to_html({{&result, source_excerpts(result)}})); });
  attempt(files.trace, [&] { write_trace_file(files.trace, {record}); });
  return unwritten;
}

}  // namespace stepleak
