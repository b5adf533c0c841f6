// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "harness/base/errors.hpp"
#include "harness/trace/run_record.hpp"

namespace stepleak {

/// Stores runs: a gzip file with one JSON object a line, as docs/schema/trace.schema.json describes it. Whole or not at
/// all. Throws a failure error naming the file, the reason and a remedy.
void write_trace_file(const std::filesystem::path& path, const std::vector<RunRecord>& records);

/// The runs of a file that can be read, in order.
struct StoredRuns {
  std::vector<RunRecord> records;
  std::optional<Error> error;  ///< of the first line that cannot; none: all can
};

/// Reads what write_trace_file() wrote; one run at least. A line that is wrong, or an end that is missing, costs none
/// of the other runs. Throws a failure error naming the file where no run can be read.
[[nodiscard]] StoredRuns read_trace_file(const std::filesystem::path& path);

}  // namespace stepleak
