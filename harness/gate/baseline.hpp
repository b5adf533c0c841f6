// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/trace/result.hpp"

namespace stepleak {

inline constexpr int kBaselineSchema = 1;

/// What a fingerprint was made of, for people to read where another leak takes its place.
struct LeakPlace {
  std::string kind;
  std::string where;   ///< "meters.py in update <- train.py in step"; empty where it was not known
  std::string holder;  ///< its shape; empty where it was not known
};

/// The stored, accepted behaviour of one scenario on one kind of machine. A plain value.
struct Baseline {
  std::map<std::string, std::string> key;  ///< what must be the same for a comparison to mean anything
  std::string scenario;
  std::string scenarios;  ///< the folder that it ran from, seen from its project; empty where that was not stored
  Verdict verdict = Verdict::clean;
  std::vector<std::string> kinds;          ///< sorted
  std::vector<std::string> fingerprints;   ///< sorted
  int fingerprint_rule = 0;                ///< kFingerprintRule of the harness that made them; 0: not known
  std::map<std::string, LeakPlace> leaks;  ///< by fingerprint
  std::int64_t steps = 0;
  std::map<std::string, std::int64_t> steady;    ///< settled levels of exact ledgers
  std::map<std::string, double> bytes_per_step;  ///< by kind
};

enum class Change : std::uint8_t { same, worse, better, fresh, gone, other_key };

/// "same", "worse", "better", "new", "gone", "other key".
[[nodiscard]] std::string_view to_string(Change change);

struct Comparison {
  Change change = Change::same;
  /// One clause each, worst first; of what is the same only what could not be compared: fingerprints, a level.
  std::vector<std::string> differences;
};

/// `key_parts`: scenario hash and what else the front door knows of the machine.
[[nodiscard]] Baseline baseline_of(const Result& result, const std::map<std::string, std::string>& key_parts);

/// Worse: a verdict that falls, a new kind, another leak of the same kind, a leak that grows faster, or a level or a
/// peak above the baseline by more than kToleranceBytes and kTolerancePart. Levels of a leak are not compared: they
/// depend on the steps. Leaks are told apart by fingerprints of one rule, where place or holder is known.
[[nodiscard]] Comparison compare(const Baseline& stored, const Baseline& now);

/// Both must be exceeded: libraries of another minor version keep a buffer more or less.
inline constexpr std::int64_t kToleranceBytes = 4096;
inline constexpr double kTolerancePart = 0.02;

[[nodiscard]] std::string to_json(const Baseline& baseline);
/// Throws a failure error naming `origin`, the key, what is wrong and the remedy: corrupt JSON, another schema, a value
/// that no run can give.
[[nodiscard]] Baseline baseline_from_json(std::string_view text, const std::string& origin);

/// The baselines of one device class: a folder with one file a scenario.
class BaselineStore {
 public:
  explicit BaselineStore(std::filesystem::path folder) : folder_(std::move(folder)) {}
  [[nodiscard]] std::filesystem::path file_of(const std::string& scenario) const;
  /// Nothing where none is stored. Throws as baseline_from_json(), and for the baseline of another scenario.
  [[nodiscard]] std::optional<Baseline> load(const std::string& scenario) const;
  /// Names of all stored scenarios, sorted.
  [[nodiscard]] std::vector<std::string> scenarios() const;
  /// Throws what save() would, as far as it shows without making the folder: before minutes of work, not after.
  void check_writable() const;
  void save(const Baseline& baseline) const;
  void remove(const std::string& scenario) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace stepleak
