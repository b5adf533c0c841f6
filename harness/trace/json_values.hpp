// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// For the .cpp files of this folder only: what results and stored runs write alike.

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/base/errors.hpp"
#include "harness/trace/counter.hpp"
#include "harness/trace/object_graph.hpp"
#include "harness/trace/run_failure.hpp"
#include "harness/trace/survivor.hpp"
#include "harness/trace/trace.hpp"

namespace stepleak {

// Ordered: a report reads in the order in which a person asks, and goldens stay stable.
using Json = nlohmann::ordered_json;

template <typename Enum>
Enum parsed(std::optional<Enum> value, std::string_view what, const std::string& text) {
  if (!value) throw failure_error(fmt::format("'{}' is no {}", text, what), "was it written by another stepleak?");
  return *value;
}

/// A count of bytes, steps, blocks or objects, which may be negative where it is a difference. Throws a failure error
/// for what is no integer, which a cast would bend, and beyond 2^53, where sums would overflow.
[[nodiscard]] std::int64_t count_from(const Json& json);
/// The same for what an int holds, such as a line.
[[nodiscard]] int int_from(const Json& json);
/// An address or a set of flags: an integer from 0 on.
[[nodiscard]] std::uint64_t unsigned_from(const Json& json);
/// An index into a list of that size, or -1 for none. Throws a failure error for anything else.
[[nodiscard]] int index_from(const Json& json, std::size_t size);

[[nodiscard]] Json frames_to_json(const std::vector<Frame>& frames);
[[nodiscard]] std::vector<Frame> frames_from_json(const Json& json);
[[nodiscard]] Json statement_to_json(const Statement& statement);
[[nodiscard]] Statement statement_from_json(const Json& json);
[[nodiscard]] Json structure_to_json(const Structure& structure);
[[nodiscard]] Structure structure_from_json(const Json& json);
[[nodiscard]] Json declared_to_json(const std::vector<DeclaredBound>& declared);
[[nodiscard]] std::vector<DeclaredBound> declared_from_json(const Json& json);
[[nodiscard]] Json failure_to_json(const RunFailure& failure);
[[nodiscard]] RunFailure failure_from_json(const Json& json);
[[nodiscard]] SeriesKey series_key_from(std::string name);
[[nodiscard]] Json marks_to_json(const Trace& trace);
/// Of the run that `json` is of, which need not have any.
void add_marks_from(const Json& json, Trace& trace);

}  // namespace stepleak
