// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/trace/serialise.hpp"

#include <fmt/format.h>

#include <map>
#include <stdexcept>

#include "harness/trace/json_values.hpp"
#include "harness/trace/result_json.hpp"

namespace stepleak {
namespace {

// JSON wants C0 escaped, and lets DEL and C1 pass, which a terminal heeds as well. Outside of strings there is none.
std::string without_controls(const std::string& json) {
  std::string escaped;
  escaped.reserve(json.size());
  for (std::size_t i = 0; i < json.size(); ++i) {
    const int next = i + 1 < json.size() ? static_cast<unsigned char>(json[i + 1]) : 0;
    const bool is_c1 = json[i] == '\xc2' && next >= 0x80 && next < 0xa0;
    if (is_c1 || json[i] == '\x7f') {
      escaped += fmt::format("\\u{:04x}", is_c1 ? next : 0x7f);
      i += is_c1 ? 1 : 0;
    } else {
      escaped += json[i];
    }
  }
  return escaped;
}

Json finding_to_json(const Finding& finding) {
  Json json{{"kind", to_string(finding.kind)},
            {"device", to_string(finding.device)},
            {"bytes_per_step", finding.bytes_per_step},
            {"count_per_step", finding.count_per_step},
            {"counted", to_string(finding.counted)},
            {"since_step", finding.since_step},
            {"what", finding.what},
            {"op", finding.op},
            {"where", frames_to_json(finding.where)},
            {"holder", finding.holder},
            {"holder_shape", finding.holder_shape},
            {"kept_by", finding.kept_by.line == 0 ? ""
                                                  : fmt::format("{}:{}  {}", finding.kept_by.file, finding.kept_by.line,
                                                                finding.kept_by.text)},
            {"kept_expression", finding.kept_by.expression},
            {"kept_at", statement_to_json(finding.kept_by)},
            {"structure", structure_to_json(finding.structure)},
            {"kept_count", finding.kept_count},
            {"explained_steps", finding.explained_steps},
            {"fix", finding.fix},
            {"fingerprint", finding.fingerprint}};
  if (!finding.holder_path.empty()) json["holder_path"] = holder_path_to_json(finding.holder_path);
  if (finding.rank >= 0) json["rank"] = finding.rank;
  return json;
}

Finding finding_from_json(const Json& json) {
  Finding finding;
  finding.kind = parsed(parse_kind(json.at("kind").get<std::string>()), "kind", json.at("kind"));
  finding.device = parse_device(json.at("device").get<std::string>());
  finding.bytes_per_step = json.at("bytes_per_step");
  finding.count_per_step = json.at("count_per_step");
  finding.counted = parsed(parse_counted(json.at("counted").get<std::string>()), "noun", json.at("counted"));
  finding.since_step = count_from(json.at("since_step"));
  finding.what = json.at("what");
  finding.op = json.at("op");
  finding.where = frames_from_json(json.at("where"));
  finding.holder = json.at("holder");
  finding.holder_shape = json.at("holder_shape");
  if (json.contains("kept_at")) finding.kept_by = statement_from_json(json.at("kept_at"));
  if (json.contains("structure")) finding.structure = structure_from_json(json.at("structure"));
  finding.kept_count = count_from(json.at("kept_count"));
  if (json.contains("explained_steps")) finding.explained_steps = count_from(json.at("explained_steps"));
  finding.fix = json.at("fix");
  finding.fingerprint = json.at("fingerprint");
  if (json.contains("holder_path")) finding.holder_path = holder_path_from_json(json.at("holder_path"));
  if (json.contains("rank")) finding.rank = int_from(json.at("rank"));
  return finding;
}

Json losses_to_json(const std::vector<Loss>& losses) {
  Json json = Json::array();
  for (const auto& loss : losses) {
    json.push_back({{"device", to_string(loss.device)},
                    {"bytes_per_step", loss.bytes_per_step},
                    {"full_after_steps", loss.full_after}});
    if (loss.is_least) json.back()["at_least"] = true;
  }
  return json;
}

std::vector<Loss> losses_from_json(const Json& json) {
  std::vector<Loss> losses;
  for (const auto& loss : json) {
    losses.push_back({parse_device(loss.at("device").get<std::string>()), loss.at("bytes_per_step"),
                      count_from(loss.at("full_after_steps")), loss.value("at_least", false)});
  }
  return losses;
}

Json series_to_json(const Trace& trace) {
  Json series = Json::object();
  for (const auto& ledger : trace.ledgers()) {
    // One that was not read before the worker died has no course.
    if (!ledger.steps().empty()) series[to_string(ledger.key())] = trace.series(ledger.key());
  }
  return series;
}

// The series hold a value until the next reading; this tells which of them were read.
Json sampled_to_json(const Trace& trace) {
  Json sampled = Json::object();
  for (const auto& ledger : trace.ledgers()) {
    const auto steps = ledger.steps();
    const bool is_complete = static_cast<std::int64_t>(steps.size()) == trace.step_count();
    if (!is_complete && !steps.empty())
      sampled[to_string(ledger.key())] = std::vector<std::int64_t>(steps.begin(), steps.end());
  }
  return sampled;
}

// The rows of the series, one a step, with the passes and looks that stood between them. Of a worker that died there
// may be fewer rows than looks.
void add_steps_from(const Json& json, const std::vector<std::vector<std::int64_t>>& columns, std::size_t length,
                    Trace& trace) {
  const auto passes = passes_from_json(json.value("passes", Json::array()));
  auto looks = few_looks_from_json(json.value("looks", Json::array()));
  auto pass = passes.begin();
  auto look = looks.begin();
  std::vector<std::int64_t> row(columns.size());
  for (std::size_t step = 0; step <= length; ++step) {
    const auto done = static_cast<std::int64_t>(step);
    for (; look != looks.end() && look->step == done; ++look) trace.add_look(std::move(look->cohorts));
    for (; pass != passes.end() && pass->first_step == done + 1; ++pass) trace.begin_pass(*pass);
    if (step == length) break;
    for (std::size_t column = 0; column < columns.size(); ++column) row[column] = columns[column][step];
    trace.add_boundary(row);
  }
}

Trace trace_from_json(const Json& json) {
  const auto& series = json.at("series");
  const auto sampled = json.value("sampled", Json::object());
  std::vector<SeriesKey> keys;
  std::vector<std::vector<std::int64_t>> columns;
  std::size_t length = 0;
  for (const auto& [name, values] : series.items()) {
    keys.push_back(series_key_from(name));
    auto& read = columns.emplace_back();
    for (const auto& value : values) read.push_back(count_from(value));
    if (!sampled.contains(name)) continue;
    auto& column = columns.back();
    std::vector<std::int64_t> readings(column.size(), kUnread);
    for (const auto& step : sampled.at(name)) {
      const auto at = static_cast<std::size_t>(unsigned_from(step)) - 1;
      readings.at(at) = column.at(at);
    }
    column = std::move(readings);
  }
  for (const auto& column : columns) length = std::max(length, column.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!columns[i].empty() && columns[i].size() != length) {
      throw failure_error(fmt::format("series '{}' has another length than the others", to_string(keys[i])));
    }
    columns[i].resize(length, kUnread);
  }
  Trace trace({}, keys);
  add_marks_from(json, trace);
  add_steps_from(json, columns, length, trace);
  // A record pass of no step is none.
  if (json.contains("explained_from") && count_from(json.at("explained_from")) > 0 &&
      count_from(json.at("explained_steps")) > 0) {
    const auto stride = json.contains("explain_stride") ? count_from(json.at("explain_stride")) : 1;
    if (stride < 1) throw failure_error(fmt::format("explain_stride is {}: give every how many steps", stride));
    trace.add_recording({.pass = {.type = PassType::record,
                                  .first_step = count_from(json.at("explained_from")),
                                  .planned_steps = count_from(json.at("explained_steps")),
                                  .stride = stride},
                         .steps = count_from(json.at("explained_steps"))});
  }
  return trace;
}

}  // namespace

std::string to_json(const Result& result) {
  Json findings = Json::array();
  for (const auto& finding : result.findings) findings.push_back(finding_to_json(finding));
  const auto& recording = result.trace.recording();
  std::map<std::string, double> floors;
  for (const auto& [key, floor] : result.limit.floors) floors[to_string(key)] = floor;
  Json json = {{"schema", kResultSchema},
               {"target", result.target},
               {"device", to_string(result.device)},
               {"verdict", to_string(result.verdict)},
               {"reason", result.reason},
               {"steps", result.steps},
               {"seconds", result.seconds},
               {"limit",
                {{"bytes_per_step", result.limit.bytes_per_step},
                 {"period_steps", result.limit.period_steps},
                 {"floors", floors}}},
               {"findings", findings},
               {"losses", losses_to_json(result.losses)},
               {"notes", result.notes},
               {"steady", result.steady},
               {"explained_from", recording.is_empty() ? -1 : recording.pass.first_step},
               {"explained_steps", recording.steps},
               {"explain_stride", recording.pass.stride},
               {"series", series_to_json(result.trace)},
               {"sampled", sampled_to_json(result.trace)},
               {"conditions", result.conditions}};
  if (result.trace.passes().size() > 1) json["passes"] = passes_to_json(result.trace.passes());
  if (!result.trace.looks().empty()) json["looks"] = few_looks_to_json(result.trace.looks());
  if (!result.survivors.empty()) json["survivors"] = survivors_to_json(result.survivors);
  if (!result.held.empty()) json["held"] = held_to_json(result.held);
  if (!result.trace.marks().empty()) json["marks"] = marks_to_json(result.trace);
  for (const auto verdict : result.rank_verdicts) json["ranks"].push_back(to_string(verdict));
  if (!result.declared.empty()) json["declared"] = declared_to_json(result.declared);
  if (result.failure) json["failure"] = failure_to_json(*result.failure);
  return without_controls(json.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

namespace {

Result result_of(const Json& json) {
  if (json.at("schema") != kResultSchema) {
    throw failure_error(fmt::format("schema {} is not {}", json.at("schema").dump(), kResultSchema),
                        "read it with the stepleak that wrote it");
  }
  Result result;
  result.target = json.at("target");
  result.device = parse_device(json.at("device").get<std::string>());
  result.verdict = parsed(parse_verdict(json.at("verdict").get<std::string>()), "verdict", json.at("verdict"));
  result.reason = json.at("reason");
  result.steps = count_from(json.at("steps"));
  result.seconds = json.at("seconds");
  const auto& limit = json.at("limit");
  result.limit = {count_from(limit.at("bytes_per_step")), count_from(limit.at("period_steps"))};
  const auto floors = limit.value("floors", Json::object());
  for (const auto& [name, floor] : floors.items()) {
    result.limit.floors[series_key_from(name)] = floor;
  }
  for (const auto& finding : json.at("findings")) result.findings.push_back(finding_from_json(finding));
  result.notes = json.at("notes").get<std::vector<std::string>>();
  for (const auto& [name, level] : json.at("steady").items()) result.steady[name] = count_from(level);
  result.losses = losses_from_json(json.value("losses", Json::array()));
  result.trace = trace_from_json(json);
  if (json.contains("survivors")) result.survivors = survivors_from_json(json.at("survivors"));
  if (json.contains("held")) result.held = held_from_json(json.at("held"));
  result.conditions = json.at("conditions").get<std::map<std::string, std::string>>();
  for (const auto& verdict : json.value("ranks", Json::array())) {
    result.rank_verdicts.push_back(parsed(parse_verdict(verdict.get<std::string>()), "verdict", verdict));
  }
  if (json.contains("declared")) result.declared = declared_from_json(json.at("declared"));
  if (json.contains("failure")) result.failure = failure_from_json(json.at("failure"));
  return result;
}

// What is missing, of another type, or contradicts itself.
template <typename Read>
auto read_from(const std::string& origin, const Read& read) {
  const auto refused = [&](const char* why) {
    return failure_error(fmt::format("{}not a stepleak result: {}", origin, why), "write it again with --json");
  };
  try {
    return read();
  } catch (const Json::exception& error) {
    throw refused(error.what());
  } catch (const std::out_of_range& error) {
    throw refused(error.what());
  } catch (const Error& error) {
    throw failure_error(origin + error.what(), error.remedy());
  }
}

}  // namespace

Result result_from_json(std::string_view text) {
  return read_from({}, [&] { return result_of(Json::parse(text)); });
}

StoredResults results_from_json(std::string_view text, const std::string& origin) {
  if (text.starts_with("\x1f\x8b")) {  // gzip
    throw failure_error(fmt::format("{} is compressed, as a trace is, and no result", origin),
                        fmt::format("judge a trace with: stepleak analyze {}", origin));
  }
  const auto json = read_from(origin + ": ", [&] { return Json::parse(text); });
  if (!json.is_array()) return {{read_from(origin + ": ", [&] { return result_of(json); })}, std::nullopt};
  StoredResults stored;
  for (std::size_t i = 0; i < json.size(); ++i) {
    try {
      stored.results.push_back(
          read_from(fmt::format("result {} of {}: ", i + 1, origin), [&] { return result_of(json[i]); }));
    } catch (const Error& error) {
      if (!stored.error) stored.error = error;
    }
  }
  if (stored.results.empty() && stored.error) throw Error(*stored.error);
  return stored;
}

}  // namespace stepleak
