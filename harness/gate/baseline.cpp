// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/gate/baseline.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "harness/base/files.hpp"
#include "harness/trace/fingerprint.hpp"
#include "harness/trace/frames.hpp"

namespace stepleak {
namespace {

using Json = nlohmann::ordered_json;

bool is_above(double now, double stored) {
  return now > stored + static_cast<double>(kToleranceBytes) && now > stored * (1 + kTolerancePart);
}

// Counts (nodes, tensors, blocks, objects) have no bytes to tolerate: one more a step would be a leak, and a
// few more of set-up are not worth a red build; the part decides alone.
bool is_level_above(const std::string& name, std::int64_t now, std::int64_t stored) {
  if (name.find("_bytes") != std::string::npos) return is_above(static_cast<double>(now), static_cast<double>(stored));
  constexpr std::int64_t kFewObjects = 16;
  return now > stored + kFewObjects && static_cast<double>(now) > static_cast<double>(stored) * (1 + kTolerancePart);
}

int badness(Verdict verdict) {
  switch (verdict) {
    case Verdict::clean:
      return 0;
    case Verdict::inconclusive:
      return 1;
    case Verdict::leak:
      return 2;
    case Verdict::failure:
      break;
  }
  return 3;
}

struct Tally {
  std::vector<std::string> worse;
  std::vector<std::string> better;
};

// Of a leak without either the fingerprint says no more than the kind.
bool is_told(const LeakPlace& leak) { return !leak.where.empty() || !leak.holder.empty(); }

std::string place_text(const LeakPlace& leak) { return leak.where.empty() ? "no known place" : leak.where; }

std::string holder_text(const LeakPlace& leak) { return leak.holder.empty() ? "nothing known" : leak.holder; }

std::string text_of(const LeakPlace& leak) {
  return fmt::format("made in {}, held by {}", place_text(leak), holder_text(leak));
}

// What differs between two leaks of one kind, and it alone.
std::string change_text(const LeakPlace& stored, const LeakPlace& now) {
  std::vector<std::string> clauses;
  if (now.where != stored.where) {
    clauses.push_back(fmt::format("made in {}, was {}", place_text(now), place_text(stored)));
  }
  if (now.holder != stored.holder) {
    clauses.push_back(fmt::format("held by {}, was {}", holder_text(now), holder_text(stored)));
  }
  return fmt::format("{}", fmt::join(clauses, "; "));
}

std::string where_text(const Finding& finding) {
  std::vector<std::string> places;
  for (const auto& frame : fingerprint_frames(finding.where)) {
    const auto file = std::filesystem::path(frame.file).filename().string();
    places.push_back(fmt::format("{} in {}", file, frame.function));
  }
  return fmt::format("{}", fmt::join(places, " <- "));
}

void compare_findings(const Baseline& stored, const Baseline& now, Tally& tally) {
  for (const auto& kind : now.kinds) {
    if (!std::binary_search(stored.kinds.begin(), stored.kinds.end(), kind)) {
      tally.worse.push_back(fmt::format("new finding {}", kind));
    }
  }
  for (const auto& kind : stored.kinds) {
    if (!std::binary_search(now.kinds.begin(), now.kinds.end(), kind)) {
      tally.better.push_back(fmt::format("finding {} is gone", kind));
    }
  }
  for (const auto& [kind, rate] : now.bytes_per_step) {
    const auto before = stored.bytes_per_step.find(kind);
    if (before == stored.bytes_per_step.end()) continue;
    // A host heap's rate is an estimate: a tenth is within its noise.
    if (rate > before->second * 1.1 + 64) {
      tally.worse.push_back(fmt::format("{} grows {:.0f} B/step, was {:.0f}", kind, rate, before->second));
    } else if (before->second > rate * 1.1 + 64) {
      tally.better.push_back(fmt::format("{} grows {:.0f} B/step, was {:.0f}", kind, rate, before->second));
    }
  }
}

std::vector<LeakPlace> leaks_missing_in(const Baseline& other, const Baseline& baseline, const std::string& kind) {
  std::vector<LeakPlace> missing;
  for (const auto& [fingerprint, place] : baseline.leaks) {
    if (place.kind == kind && !other.leaks.contains(fingerprint)) missing.push_back(place);
  }
  return missing;
}

// Whether what is known of two leaks agrees: one run may know less, the place or the holder.
bool may_be_same(const LeakPlace& stored, const LeakPlace& now) {
  const auto agree = [](const std::string& a, const std::string& b) { return a.empty() || b.empty() || a == b; };
  return agree(stored.where, now.where) && agree(stored.holder, now.holder);
}

// Takes out of both lists what stands in both, less or better known.
void match(std::vector<LeakPlace>& gone, std::vector<LeakPlace>& fresh) {
  std::erase_if(gone, [&](const LeakPlace& stored) {
    const auto now =
        std::find_if(fresh.begin(), fresh.end(), [&](const LeakPlace& place) { return may_be_same(stored, place); });
    if (now == fresh.end()) return false;
    fresh.erase(now);
    return true;
  });
}

void compare_leaks(const Baseline& stored, const Baseline& now, Tally& tally) {
  for (const auto& kind : now.kinds) {
    if (!std::binary_search(stored.kinds.begin(), stored.kinds.end(), kind)) continue;
    auto fresh = leaks_missing_in(stored, now, kind);
    auto gone = leaks_missing_in(now, stored, kind);
    if (!std::all_of(fresh.begin(), fresh.end(), is_told) || !std::all_of(gone.begin(), gone.end(), is_told)) continue;
    match(gone, fresh);
    const auto both = std::min(fresh.size(), gone.size());
    for (std::size_t i = 0; i < both; ++i) {
      tally.worse.push_back(fmt::format("another {}: {}", kind, change_text(gone[i], fresh[i])));
    }
    for (auto i = both; i < fresh.size(); ++i) {
      tally.worse.push_back(fmt::format("one more {}: {}", kind, text_of(fresh[i])));
    }
    for (auto i = both; i < gone.size(); ++i) {
      tally.better.push_back(fmt::format("one {} is gone: {}", kind, text_of(gone[i])));
    }
  }
}

void compare_levels(const Baseline& stored, const Baseline& now, Tally& tally) {
  for (const auto& [name, level] : now.steady) {
    const auto before = stored.steady.find(name);
    // How large the largest free block is says nothing by itself: a random load leaves another one at each step, and
    // what is reserved and what lies split and unused have levels of their own.
    const bool is_of_chance = name.starts_with("largest_free_block_bytes@");
    if (before == stored.steady.end() || is_of_chance) continue;
    if (is_level_above(name, level, before->second)) {
      tally.worse.push_back(fmt::format("{} is {}, was {}", name, level, before->second));
    } else if (is_level_above(name, before->second, level)) {
      tally.better.push_back(fmt::format("{} is {}, was {}", name, level, before->second));
    }
  }
}

// Beside a GPU the graph is watched in record passes only, and a clean run may have none; and where it has one, the
// level of Python objects is not known.
bool is_always_read(const std::string& name, const Baseline& baseline) {
  if (name.starts_with("python_objects@")) return false;
  const bool is_of_the_graph = name.starts_with("live_nodes@") || name.starts_with("live_tensors@");
  return !is_of_the_graph || std::none_of(baseline.steady.begin(), baseline.steady.end(), [](const auto& level) {
    return level.first.find("@cuda") != std::string::npos;
  });
}

// No reason for red: another stepleak may have one ledger more.
std::vector<std::string> uncompared_levels(const Baseline& stored, const Baseline& now) {
  std::vector<std::string> lines;
  if (stored.verdict != Verdict::clean || now.verdict != Verdict::clean) return lines;
  for (const auto& [name, level] : now.steady) {
    if (stored.steady.contains(name) || !is_always_read(name, now)) continue;
    lines.push_back(fmt::format("{} is {}, and the baseline has no such level: stepleak baseline update", name, level));
  }
  for (const auto& [name, level] : stored.steady) {
    if (now.steady.contains(name) || !is_always_read(name, stored)) continue;
    lines.push_back(fmt::format("{} was {}, and this run did not observe it", name, level));
  }
  return lines;
}

Error malformed(const std::string& origin, std::string_view key, const std::string& what) {
  return failure_error(fmt::format("{} is no baseline: {} {}", origin, key, what),
                       "restore it from version control, or remove it and write another: stepleak baseline update");
}

template <typename Value>
Value value_of(const Json& json, const char* key, const std::string& origin) try {
  return json.at(key).get<Value>();
} catch (const Json::exception& error) {
  throw malformed(origin, key, fmt::format("cannot be read: {}", error.what()));
}

// More bytes, and more of anything, than a machine has: beside such a number every run would be better.
constexpr std::uint64_t kMost = std::uint64_t{1} << 60U;

// What is read as another number than the file says would be compared as that one.
std::int64_t count_from(const Json& number, const std::string& key, const std::string& origin) {
  if (!number.is_number_unsigned()) {
    throw malformed(origin, key, fmt::format("is {}, and no count", number.dump()));
  }
  if (number.get<std::uint64_t>() > kMost) {
    throw malformed(origin, key, fmt::format("is {}, more than any machine has", number.dump()));
  }
  return number.get<std::int64_t>();
}

// Without one every run would be of another key, and compared with nothing.
void check_key(const Baseline& baseline, const std::string& origin) {
  for (const auto* part : {"scenario hash", "threads", "torch"}) {
    if (!baseline.key.contains(part)) throw malformed(origin, "key", fmt::format("has no '{}'", part));
  }
}

void check_findings(const Baseline& baseline, const std::string& origin) {
  for (const auto& kind : baseline.kinds) {
    if (!parse_kind(kind)) throw malformed(origin, "kinds", fmt::format("has no known kind '{}'", kind));
  }
  for (const auto& [kind, rate] : baseline.bytes_per_step) {
    const auto key = fmt::format("bytes_per_step.{}", kind);
    if (std::find(baseline.kinds.begin(), baseline.kinds.end(), kind) == baseline.kinds.end()) {
      throw malformed(origin, key, "is of none of its kinds");
    }
    if (rate < 0) throw malformed(origin, key, fmt::format("is {}, and a leak grows", rate));
    if (rate > static_cast<double>(kMost)) {
      throw malformed(origin, key, fmt::format("is {}, more than any machine has", rate));
    }
  }
  // What is left out would not be compared.
  for (const auto& kind : baseline.kinds) {
    if (!baseline.bytes_per_step.contains(kind)) throw malformed(origin, "bytes_per_step", "has no " + kind);
  }
  if (baseline.verdict != Verdict::clean && baseline.verdict != Verdict::leak) {
    throw malformed(origin, "verdict", fmt::format("is {}, which no baseline has", to_string(baseline.verdict)));
  }
  const bool has_leak = baseline.verdict == Verdict::leak;
  if (has_leak == baseline.kinds.empty()) {
    throw malformed(origin, "kinds", has_leak ? "is empty, and a leak has one" : "has a leak's, and it is clean");
  }
}

}  // namespace

std::string_view to_string(Change change) {
  static constexpr std::string_view kNames[] = {"same", "worse", "better", "new", "gone", "other key"};
  return kNames[static_cast<std::size_t>(change)];
}

Baseline baseline_of(const Result& result, const std::map<std::string, std::string>& key_parts) {
  Baseline baseline;
  baseline.key = key_parts;
  for (const auto* name : {"torch", "threads", "env PYTORCH_CUDA_ALLOC_CONF", "env PYTORCH_ALLOC_CONF", "gpu",
                           "gpu capability", "cuda driver", "cuda runtime", "cuda allocator"}) {
    if (const auto found = result.conditions.find(name); found != result.conditions.end()) {
      baseline.key[name] = found->second;
    }
  }
  baseline.scenario = result.target;
  baseline.verdict = result.verdict;
  baseline.fingerprint_rule = kFingerprintRule;
  baseline.steps = result.steps;
  if (result.verdict == Verdict::clean) baseline.steady = result.steady;
  for (const auto& finding : result.findings) {
    baseline.kinds.emplace_back(to_string(finding.kind));
    baseline.fingerprints.push_back(finding.fingerprint);
    baseline.leaks[finding.fingerprint] = {std::string(to_string(finding.kind)), where_text(finding),
                                           finding.holder_shape};
    baseline.bytes_per_step[std::string(to_string(finding.kind))] += finding.bytes_per_step;
  }
  std::sort(baseline.kinds.begin(), baseline.kinds.end());
  std::sort(baseline.fingerprints.begin(), baseline.fingerprints.end());
  return baseline;
}

Comparison compare(const Baseline& stored, const Baseline& now) {
  if (stored.key != now.key) {
    Comparison comparison{Change::other_key, {}};
    for (const auto& [name, value] : now.key) {
      const auto before = stored.key.find(name);
      const auto was = before == stored.key.end() ? std::string("not set") : before->second;
      if (was != value) comparison.differences.push_back(fmt::format("{} is {}, was {}", name, value, was));
    }
    return comparison;
  }
  Tally tally;
  if (badness(now.verdict) != badness(stored.verdict)) {
    auto& side = badness(now.verdict) > badness(stored.verdict) ? tally.worse : tally.better;
    side.push_back(fmt::format("{}, was {}", to_string(now.verdict), to_string(stored.verdict)));
  }
  compare_findings(stored, now, tally);
  const bool is_comparable = stored.fingerprint_rule == now.fingerprint_rule;
  if (is_comparable) compare_leaks(stored, now, tally);
  compare_levels(stored, now, tally);
  if (!tally.worse.empty()) return {Change::worse, tally.worse};
  const auto uncompared = uncompared_levels(stored, now);
  if (!tally.better.empty()) {
    tally.better.insert(tally.better.end(), uncompared.begin(), uncompared.end());
    return {Change::better, tally.better};
  }
  if (is_comparable || stored.fingerprints.empty()) return {Change::same, uncompared};
  return {Change::same, {"its leak was not told from others: the baseline's fingerprints are of another rule"}};
}

std::string to_json(const Baseline& baseline) {
  Json json = {{"schema", kBaselineSchema},
               {"scenario", baseline.scenario},
               {"key", baseline.key},
               {"verdict", to_string(baseline.verdict)},
               {"kinds", baseline.kinds},
               {"fingerprints", baseline.fingerprints},
               {"bytes_per_step", baseline.bytes_per_step},
               {"steps", baseline.steps},
               {"steady", baseline.steady}};
  if (!baseline.scenarios.empty()) json["scenarios"] = baseline.scenarios;
  if (!baseline.leaks.empty()) {
    json["fingerprint_rule"] = baseline.fingerprint_rule;
    for (const auto& [fingerprint, leak] : baseline.leaks) {
      json["leaks"][fingerprint] = {{"kind", leak.kind}, {"where", leak.where}, {"holder", leak.holder}};
    }
  }
  // A folder's name need not be UTF-8.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Baseline baseline_from_json(std::string_view text, const std::string& origin) try {
  const Json json = Json::parse(text);
  if (json.at("schema") != kBaselineSchema) {
    throw failure_error(
        fmt::format("{} has schema {}, this stepleak reads {}", origin, json.at("schema").dump(), kBaselineSchema),
        "remove it and write another: stepleak baseline update");
  }
  Baseline baseline;
  baseline.scenario = value_of<std::string>(json, "scenario", origin);
  if (json.contains("scenarios")) baseline.scenarios = value_of<std::string>(json, "scenarios", origin);
  baseline.key = value_of<std::map<std::string, std::string>>(json, "key", origin);
  check_key(baseline, origin);
  const auto verdict = parse_verdict(value_of<std::string>(json, "verdict", origin));
  if (!verdict) throw malformed(origin, "verdict", fmt::format("is {}", json.at("verdict").dump()));
  baseline.verdict = *verdict;
  baseline.kinds = value_of<std::vector<std::string>>(json, "kinds", origin);
  baseline.fingerprints = value_of<std::vector<std::string>>(json, "fingerprints", origin);
  if (json.contains("fingerprint_rule")) {
    const auto rule = count_from(json.at("fingerprint_rule"), "fingerprint_rule", origin);
    if (rule != static_cast<int>(rule)) throw malformed(origin, "fingerprint_rule", "is too large");
    baseline.fingerprint_rule = static_cast<int>(rule);
  }
  const Json leaks = json.value("leaks", Json::object());
  if (!leaks.is_object()) throw malformed(origin, "leaks", "is no table");
  for (const auto& [fingerprint, leak] : leaks.items()) {
    baseline.leaks[fingerprint] = {leak.at("kind"), leak.at("where"), leak.at("holder")};
  }
  baseline.bytes_per_step = value_of<std::map<std::string, double>>(json, "bytes_per_step", origin);
  check_findings(baseline, origin);
  baseline.steps = count_from(value_of<Json>(json, "steps", origin), "steps", origin);
  for (const auto& [name, level] : value_of<std::map<std::string, Json>>(json, "steady", origin)) {
    baseline.steady[name] = count_from(level, "steady." + name, origin);
  }
  // Without levels nothing would be compared with those of the next run.
  if (baseline.verdict == Verdict::clean && baseline.steady.empty()) {
    throw malformed(origin, "steady", "is empty, and a clean scenario has levels");
  }
  return baseline;
} catch (const Json::exception& error) {
  throw failure_error(fmt::format("{} is no baseline: {}", origin, error.what()),
                      "restore it from version control, or remove it and write another: stepleak baseline update");
}

std::filesystem::path BaselineStore::file_of(const std::string& scenario) const {
  return folder_ / (scenario + ".json");
}

std::optional<Baseline> BaselineStore::load(const std::string& scenario) const {
  const auto file = file_of(scenario);
  std::error_code unusable;  // a name too long, a loop of links
  if (!std::filesystem::exists(file, unusable)) return std::nullopt;
  // A pipe would be waited for, and what is huge is no baseline either: they take kilobytes.
  constexpr std::uintmax_t kMostBytes = 16 << 20;
  if (!std::filesystem::is_regular_file(file, unusable) || std::filesystem::file_size(file, unusable) > kMostBytes) {
    throw malformed(file.string(), "the file", "is no regular one of a few kilobytes");
  }
  auto baseline = baseline_from_json(read_file(file), file.string());
  if (baseline.scenario != scenario) {
    throw malformed(file.string(), "scenario", fmt::format("is '{}', another one's name", baseline.scenario));
  }
  return baseline;
}

std::vector<std::string> BaselineStore::scenarios() const {
  std::vector<std::string> names;
  std::error_code error;
  const std::filesystem::directory_iterator entries(folder_, error);
  if (error && error != std::errc::no_such_file_or_directory) {
    throw failure_error(fmt::format("cannot read {}: {}", folder_.string(), error.message()), "check its permissions");
  }
  for (const auto& entry : entries) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

void BaselineStore::check_writable() const {
  auto folder = folder_;
  std::error_code ignored;
  const auto is_missing = [&] {
    return std::filesystem::symlink_status(folder, ignored).type() == std::filesystem::file_type::not_found;
  };
  while (!folder.empty() && is_missing()) folder = folder.parent_path();
  stepleak::check_writable(folder / "baseline.json");
}

void BaselineStore::save(const Baseline& baseline) const { write_file(file_of(baseline.scenario), to_json(baseline)); }

void BaselineStore::remove(const std::string& scenario) const { std::filesystem::remove(file_of(scenario)); }

}  // namespace stepleak
