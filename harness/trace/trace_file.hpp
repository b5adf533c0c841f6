// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include "harness/trace/run_record.hpp"

namespace stepleak {

/// Stores runs: a gzip file with one JSON object a line, as docs/schema/trace.schema.json describes it. Whole or not at
/// all. Throws a failure error naming the file, the reason and a remedy.
void write_trace_file(const std::filesystem::path& path, const std::vector<RunRecord>& records);

/// Reads what write_trace_file() wrote, in order; one run at least. Throws a failure error naming the file.
[[nodiscard]] std::vector<RunRecord> read_trace_file(const std::filesystem::path& path);

}  // namespace stepleak
