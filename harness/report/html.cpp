// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/report/html.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

#include "harness/report/console.hpp"
#include "harness/report/html_values.hpp"
#include "harness/report/page/page_assets.hpp"

namespace stepleak {
namespace {

using nlohmann::json;

// Of the 1.5 MB that a page may have, the charts' library takes one.
constexpr std::size_t kPointsOfAPage = 16000;
constexpr std::size_t kTextOfAPage = 20000;  // for browsers without scripts
constexpr std::size_t kMostPoints = 2000;
constexpr std::size_t kFewestPoints = 8;
constexpr std::size_t kMostLooks = 24;
constexpr std::size_t kCohortsOfAPage = 4000;

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        if (static_cast<unsigned char>(c) >= 0x20 || c == '\n') out += c;
    }
  }
  return out;
}

// In a script's element no text may end it: "<" only comes within strings there.
std::string script_text(const json& value) {
  const auto text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  std::string out;
  for (const char c : text) out += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return out;
}

std::string replaced(std::string_view page, const std::vector<std::pair<std::string_view, std::string>>& parts) {
  std::string out;
  while (true) {
    const auto begin = page.find("{{");
    if (begin == std::string_view::npos) return out + std::string(page);
    const auto end = page.find("}}", begin);
    const auto name = page.substr(begin + 2, end - begin - 2);
    out += page.substr(0, begin);
    for (const auto& [key, value] : parts) out += key == name ? value : "";
    page.remove_prefix(end + 2);
  }
}

json parts_of(const std::string& holder) {
  json parts = json::array();
  std::size_t from = 0;
  constexpr std::string_view kArrow = " -> ";
  for (auto at = holder.find(kArrow); !holder.empty(); at = holder.find(kArrow, from)) {
    parts.push_back(holder.substr(from, at - from));
    if (at == std::string::npos) break;
    from = at + kArrow.size();
  }
  return parts;
}

json findings_of(const Result& result) {
  json findings = json::array();
  for (const auto& finding : result.findings) {
    findings.push_back(
        {{"kind", to_string(finding.kind)}, {"what", finding.what}, {"holder", parts_of(finding.holder)}});
  }
  return findings;
}

json passes_of(const Trace& trace) {
  json passes = json::array();
  for (std::size_t i = 0; i < trace.passes().size(); ++i) {
    const auto& pass = trace.passes()[i];
    const auto end = i + 1 < trace.passes().size() ? trace.passes()[i + 1].first_step - 1 : trace.step_count();
    passes.push_back({{"type", to_string(pass.type)}, {"from", pass.first_step}, {"to", end}});
  }
  return passes;
}

json ledgers_of(const Trace& trace, std::size_t most, bool& is_reduced) {
  json ledgers = json::array();
  for (const auto& ledger : trace.ledgers()) {
    if (ledger.values().empty()) continue;
    // Before the collection: the same but for what only that frees, which is a note of its own.
    if (ledger.key().moment == Moment::before_collection) continue;
    const auto points = drawn_points(ledger, most);
    const auto [low, high] = std::minmax_element(ledger.values().begin(), ledger.values().end());
    is_reduced |= drawn_points(ledger, ledger.values().size()).size() > points.size();
    ledgers.push_back({{"name", to_string(ledger.key())},
                       {"points", points},
                       {"holds", !is_exact(ledger.key().counter)},
                       {"is_constant", *low == *high}});
  }
  return ledgers;
}

// What of few looks, spread over the run, was alive; of many births of a look some.
json ages_of(const Trace& trace, std::size_t most_cohorts) {
  json ages = json::array();
  const auto& looks = trace.looks();
  for (const auto& device : trace.devices()) {
    json columns = json::array();
    const auto columns_count = std::min(looks.size(), kMostLooks);
    for (std::size_t i = 0; i < columns_count; ++i) {
      const auto& look = looks[columns_count < 2 ? 0 : i * (looks.size() - 1) / (columns_count - 1)];
      json births = json::array();
      for (const auto& table : look.cohorts) {
        if (table.device != device) continue;
        const auto stride = 1 + table.cohorts.size() * columns_count / most_cohorts;
        for (std::size_t j = 0; j < table.cohorts.size(); j += stride) {
          if (table.cohorts[j].birth_step == 0) continue;  // the set-up's
          births.push_back({table.cohorts[j].birth_step, table.cohorts[j].bytes});
        }
      }
      columns.push_back({{"step", look.step}, {"cohorts", births}});
    }
    if (!columns.empty()) ages.push_back({{"name", to_string(device)}, {"looks", columns}});
  }
  return ages;
}

json survivors_of(const Trace& trace) {
  json survivors = json::array();
  for (const auto& group : survivor_groups(trace.recording())) {
    survivors.push_back({{"name", group.place}, {"op", group.op}, {"count", group.count}, {"bytes", group.bytes}});
  }
  return survivors;
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

json run_values(const HtmlRun& run, std::size_t count) {
  const auto& result = *run.result;
  const auto& trace = result.trace;
  bool is_reduced = false;
  const auto ledgers = std::max<std::size_t>(1, trace.ledgers().size());
  const auto most = std::clamp(kPointsOfAPage / (count * ledgers), kFewestPoints, kMostPoints);
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
              {"ledgers", ledgers_of(trace, most, is_reduced)},
              {"ages", ages_of(trace, std::max<std::size_t>(32, kCohortsOfAPage / count))},
              {"survivors", survivors_of(trace)},
              {"sources", sources_of(run)},
              {"change", run.change},
              {"differences", run.differences},
              {"conditions", result.conditions}};
  values["reduced"] = is_reduced;
  return values;
}

}  // namespace

std::string to_html(const std::vector<HtmlRun>& runs) {
  json values = json::array();
  std::string report;
  for (const auto& run : runs) {
    values.push_back(run_values(run, runs.size()));
    if (report.size() < kTextOfAPage) report += to_console(*run.result);
  }
  const auto title = runs.size() == 1
                         ? fmt::format("{} · {}", runs.front().result->target, to_string(runs.front().result->verdict))
                         : fmt::format("stepleak: {} runs", runs.size());
  return replaced(page::page_html, {{"TITLE", escaped(title)},
                                    {"VERSION", STEPLEAK_VERSION},
                                    {"CSS", std::string(page::page_css)},
                                    {"REPORT", escaped(report)},
                                    {"DATA", script_text(values)},
                                    {"ECHARTS", std::string(page::echarts_js)},
                                    {"CHARTS", std::string(page::charts_js)},
                                    {"SCRIPT", std::string(page::page_js)}});
}

}  // namespace stepleak
