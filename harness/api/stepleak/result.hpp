// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What a run comes to. Plain values of the standard library; C++17 and later.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#if defined(_GLIBCXX_USE_CXX11_ABI) && !_GLIBCXX_USE_CXX11_ABI
#error "stepleak has the C++11 ABI of libstdc++, as torch has from 2.8 on: compile without -D_GLIBCXX_USE_CXX11_ABI=0"
#endif

namespace stepleak {
/// The names of this interface's version: `stepleak::Result` is `stepleak::v0::Result`.
namespace v0 {

enum class Verdict : std::uint8_t { clean, leak, inconclusive, failure };

/// The mistakes that are told apart; docs/kinds.md describes each.
enum class Kind : std::uint8_t {
  growth,
  graph_retention,
  attached_activation,
  detached_activation,
  growing_buffer,
  view_pins_storage,
  reference_cycle,
  optimizer_state,
  fragmentation_drift,
  stuck_free,
  pinned_host,
  raw_cuda,
  host_heap,
};

/// "graph_retention", as reports and JSON write it.
[[nodiscard]] const char* to_string(Kind kind);
[[nodiscard]] const char* to_string(Verdict verdict);

/// A place in code. Needs debug information (`-g`) and `addr2line`.
struct Frame {
  std::string file;
  int line = 0;
  std::string function;
};

/// One leak.
struct Finding {
  Kind kind = Kind::growth;
  std::string device;           ///< "cpu", "cuda:0"
  double bytes_per_step = 0;    ///< of its own ledger; what the process loses in all stands in Result::json
  std::int64_t since_step = 0;  ///< first step whose survivors stay
  std::string what;             ///< one clause: "3 autograd nodes, kept by a tensor (float, 0-dim), survive every step"
  std::vector<Frame> where;     ///< innermost frame of yours first; may be empty
  std::string holder;           ///< what keeps it, as a person reads it; empty where it was not found
  std::string fix;              ///< one sentence; may be empty
  std::string fingerprint;      ///< 16 hex digits, stable over runs, machines and line shifts
};

struct Result {
  Verdict verdict = Verdict::inconclusive;
  std::string device;   ///< what was judged: "cpu" where no GPU is visible
  std::string reason;   ///< one sentence; empty for a plain clean or leak
  std::string failure;  ///< what failed, before a verdict or after it; empty where nothing did
  std::int64_t steps = 0;
  double seconds = 0;
  std::vector<Finding> findings;
  std::vector<std::string> notes;
  std::string report;  ///< as a person reads it, of several lines
  std::string json;    ///< the whole, as docs/schema/result.schema.json describes it

  [[nodiscard]] bool is_clean() const { return verdict == Verdict::clean; }
};

/// Wrong options, or a device that is not there.
class Error : public std::runtime_error {
 public:
  Error(const std::string& what, std::string remedy) : std::runtime_error(what), remedy_(std::move(remedy)) {}
  /// One sentence on what to do; may be empty.
  [[nodiscard]] const std::string& remedy() const noexcept { return remedy_; }

 private:
  std::string remedy_;
};

}  // namespace v0

#ifndef STEPLEAK_BUILDS_ITSELF  // whose own types go by these names
using v0::Error;
using v0::Finding;
using v0::Frame;
using v0::Kind;
using v0::Result;
using v0::to_string;
using v0::Verdict;
#endif

}  // namespace stepleak
