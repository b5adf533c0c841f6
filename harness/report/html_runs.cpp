// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/report/html_runs.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "harness/base/index_in.hpp"
#include "harness/report/console.hpp"
#include "harness/report/html_values.hpp"
#include "harness/trace/largest_groups.hpp"

namespace stepleak {
namespace {

using nlohmann::json;

// The page halves them where they are too many for it.
constexpr std::size_t kPointsOfAPage = 100'000;
constexpr std::size_t kMostPoints = 2000;
constexpr std::size_t kFewestPoints = 8;
constexpr std::size_t kMostLooks = 24;
constexpr std::size_t kCohortsOfAPage = 8000;
constexpr std::size_t kFewestCohorts = 32;
constexpr std::size_t kGroupsOfAPage = 3000;
constexpr std::size_t kFewestGroups = 8;

// In a script's element no text may end it: "<" only comes within strings there.
std::string script_text(const json& value) {
  const auto text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  std::string out;
  for (const char c : text) out += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return out;
}

// Of results that stepleak stored before it kept paths object by object.
json parts_of(const std::string& holder) {
  json parts = json::array();
  std::size_t from = 0;
  constexpr std::string_view kArrow = " -> ";
  for (auto at = holder.find(kArrow); !holder.empty(); at = holder.find(kArrow, from)) {
    parts.push_back({"", holder.substr(from, at - from), false});
    if (at == std::string::npos) break;
    from = at + kArrow.size();
  }
  return parts;
}

json values_of(const std::vector<HolderPart>& path) {
  json values = json::array();
  for (const auto& part : path) values.push_back({part.by, part.what, part.is_container});
  return values;
}

json path_of(const Finding& finding) {
  return finding.holder_path.empty() ? parts_of(finding.holder) : values_of(finding.holder_path);
}

json findings_of(const Result& result) {
  json findings = json::array();
  for (const auto& finding : result.findings) {
    findings.push_back({{"kind", to_string(finding.kind)},
                        {"what", finding.what},
                        {"holder", path_of(finding)},
                        {"fix", finding.fix}});
  }
  return findings;
}

// What is no screen pass: the rest of a run is one.
json passes_of(const Trace& trace) {
  json passes = json::array();
  for (std::size_t i = 0; i < trace.passes().size(); ++i) {
    const auto& pass = trace.passes()[i];
    if (pass.type == PassType::screen) continue;
    const auto end = i + 1 < trace.passes().size() ? trace.passes()[i + 1].first_step - 1 : trace.step_count();
    passes.push_back({to_string(pass.type), pass.first_step, end});
  }
  return passes;
}

// The first as it is, of each other by how much it is more than the one before: fewer digits.
void add_differences(const std::vector<Point>& points, json& ledger) {
  json steps = json::array();
  json values = json::array();
  Point before{0, 0};
  for (const auto& point : points) {
    steps.push_back(point.first - before.first);
    values.push_back(point.second - before.second);
    before = point;
  }
  ledger["steps"] = std::move(steps);
  ledger["values"] = std::move(values);
}

json ledgers_of(const Trace& trace, std::size_t most, bool& is_reduced) {
  json ledgers = json::array();
  for (const auto& ledger : trace.ledgers()) {
    if (ledger.values().empty()) continue;
    // Before the collection: the same but for what only that frees, which is a note of its own.
    if (ledger.key().moment == Moment::before_collection) continue;
    const auto points = drawn_points(ledger, most);
    is_reduced |= drawn_points(ledger, ledger.values().size()).size() > points.size();
    json value{{"name", to_string(ledger.key())}};
    if (!is_exact(ledger.key().counter)) value["holds"] = true;
    add_differences(points, value);
    ledgers.push_back(std::move(value));
  }
  return ledgers;
}

// What of few looks, spread over the run, was alive; of many births of a look some.
json ages_of(const Trace& trace, std::size_t most_cohorts) {
  json ages = json::array();
  const auto& looks = trace.looks();
  for (const auto& device : trace.devices()) {
    json columns = json::array();
    bool has_births = false;
    const auto columns_count = std::min(looks.size(), kMostLooks);
    for (std::size_t i = 0; i < columns_count; ++i) {
      const auto& look = looks[columns_count < 2 ? 0 : i * (looks.size() - 1) / (columns_count - 1)];
      json births = json::array();
      json sizes = json::array();
      for (const auto& table : look.cohorts) {
        if (table.device != device) continue;
        const auto stride = 1 + table.cohorts.size() * columns_count / most_cohorts;
        for (std::size_t j = 0; j < table.cohorts.size(); j += stride) {
          if (table.cohorts[j].birth_step == 0) continue;  // the set-up's
          births.push_back(table.cohorts[j].birth_step);
          sizes.push_back(table.cohorts[j].bytes);
        }
      }
      has_births |= !births.empty();
      columns.push_back({look.step, std::move(births), std::move(sizes)});
    }
    if (has_births) ages.push_back({{"name", to_string(device)}, {"looks", std::move(columns)}});
  }
  return ages;
}

// Stacks share most of their frames: each frame once, and the stacks by number.
void add_survivors(const Result& result, std::size_t most, json& run) {
  std::vector<Frame> frames;
  json groups = json::array();
  for (const auto& group : largest_groups(result.survivors, most)) {
    json stack = json::array();
    for (const auto& frame : group.stack) stack.push_back(index_in(frames, frame));
    groups.push_back({std::move(stack), group.count, group.bytes, group.op, group.folded_count});
  }
  json texts = json::array();
  for (const auto& frame : frames) {
    const auto name = frame.file.substr(frame.file.rfind('/') + 1);
    texts.push_back({fmt::format("{}:{} in {}", name, frame.line, frame.function), frame.owner == FrameOwner::user});
  }
  run["frames"] = std::move(texts);
  run["survivors"] = std::move(groups);
}

// And the ways to what is held most of their objects. Fewer places keep something than make it.
void add_held(const Result& result, std::size_t most, json& run) {
  std::vector<HolderPart> parts;
  json held = json::array();
  for (const auto& group : largest_groups(result.held, most / 2)) {
    json path = json::array();
    for (const auto& part : group.path) path.push_back(index_in(parts, part));
    held.push_back({std::move(path), group.count, group.bytes, group.folded_count});
  }
  run["objects"] = values_of(parts);
  run["held"] = std::move(held);
}

json sources_of(const HtmlRun& run) {
  json sources = json::array();
  for (const auto& source : run.sources) {
    sources.push_back({{"file", source.file},
                       {"line", source.line},
                       {"role", source.role},
                       {"first", source.first},
                       {"lines", source.lines}});
  }
  return sources;
}

// In which what leaks shows, of those that have a value: first what the finding counts, then bytes.
std::string telling_ledger(const Result& result) {
  std::vector<SeriesKey> keys;
  if (!result.findings.empty()) {
    const auto& finding = result.findings.front();
    switch (finding.kind) {
      case Kind::host_heap:
        if (finding.counted == Counted::python_objects) keys.push_back({Counter::python_objects});
        keys.push_back({Counter::heap_bytes});
        keys.push_back({Counter::mapped_bytes});
        keys.push_back({Counter::resident_bytes});
        break;
      case Kind::raw_cuda:
        if (finding.counted == Counted::cuda_objects) keys.push_back({Counter::cuda_objects, finding.device});
        keys.push_back({Counter::outside_bytes, finding.device});
        break;
      case Kind::pinned_host:
        keys.push_back({Counter::pinned_bytes});
        break;
      case Kind::fragmentation_drift:
        keys.push_back({Counter::reserved_bytes, finding.device});
        break;
      case Kind::stuck_free:
        keys.push_back({Counter::active_bytes, finding.device});
        break;
      default:
        break;
    }
    keys.push_back({Counter::live_bytes, finding.device});
  }
  keys.push_back({Counter::live_bytes, result.device});
  const auto told = std::find_if(keys.begin(), keys.end(), [&](const SeriesKey& key) {
    const auto* ledger = result.trace.ledger(key);
    return ledger != nullptr && !ledger->values().empty();
  });
  return told == keys.end() ? std::string() : to_string(*told);
}

json run_values(const HtmlRun& run, const PageDetail& detail) {
  const auto& result = *run.result;
  const auto& trace = result.trace;
  bool is_reduced = false;
  json looks = json::array();
  for (const auto& look : trace.looks()) looks.push_back(look.step);
  json marks = json::array();
  for (const auto& mark : trace.marks()) marks.push_back({mark.step, to_string(mark.type)});
  double loss = 0;
  for (const auto& each : result.losses) loss = std::max(loss, each.bytes_per_step);
  json values{{"target", result.target},
              {"verdict", to_string(result.verdict)},
              {"reason", result.reason},
              {"report", to_console(result)},
              {"steps", result.steps},
              {"loss", loss},
              {"notes", result.notes},
              {"findings", findings_of(result)},
              {"passes", passes_of(trace)},
              {"looks", looks},
              {"marks", marks},
              {"ledgers", ledgers_of(trace, detail.points, is_reduced)},
              {"telling", telling_ledger(result)},
              {"ages", ages_of(trace, detail.cohorts)},
              {"sources", sources_of(run)},
              {"change", run.change},
              {"differences", run.differences},
              {"conditions", result.conditions}};
  add_survivors(result, detail.groups, values);
  add_held(result, detail.groups, values);
  values["reduced"] = is_reduced;
  return values;
}

}  // namespace

PageDetail detail_for(const std::vector<HtmlRun>& runs) {
  const auto count = std::max<std::size_t>(1, runs.size());
  std::size_t ledgers = 1;
  for (const auto& run : runs) ledgers += run.result->trace.ledgers().size();
  return {std::clamp(kPointsOfAPage / ledgers, kFewestPoints, kMostPoints),
          std::max(kFewestCohorts, kCohortsOfAPage / count), std::max(kFewestGroups, kGroupsOfAPage / count)};
}

PageDetail halved(const PageDetail& detail) {
  return {std::max(kFewestPoints, detail.points / 2), std::max(kFewestCohorts, detail.cohorts / 2),
          std::max(kFewestGroups, detail.groups / 2)};
}

std::string runs_text(const std::vector<HtmlRun>& runs, const PageDetail& detail) {
  json values = json::array();
  for (const auto& run : runs) values.push_back(run_values(run, detail));
  return script_text(values);
}

}  // namespace stepleak
