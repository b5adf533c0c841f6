// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/report/html.hpp"

#include <fmt/format.h>

#include <utility>

#include "harness/report/console.hpp"
#include "harness/report/html_runs.hpp"
#include "harness/report/page/page_assets.hpp"

namespace stepleak {
namespace {

constexpr std::size_t kMostBytes = 1'500'000;
constexpr std::size_t kTextOfAPage = 20000;  // for browsers without scripts

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

std::string replaced(std::string_view page, const std::vector<std::pair<std::string_view, std::string_view>>& parts) {
  std::string out;
  while (true) {
    const auto begin = page.find("{{");
    if (begin == std::string_view::npos) return out + std::string(page);
    const auto end = page.find("}}", begin);
    const auto name = page.substr(begin + 2, end - begin - 2);
    out += page.substr(0, begin);
    for (const auto& [key, value] : parts) {
      if (key == name) out += value;
    }
    page.remove_prefix(end + 2);
  }
}

// For browsers without scripts.
std::string report_of(const std::vector<HtmlRun>& runs) {
  std::string report;
  for (const auto& run : runs) {
    if (report.size() < kTextOfAPage) report += to_console(*run.result);
  }
  return escaped(report);
}

std::string title_of(const std::vector<HtmlRun>& runs) {
  if (runs.size() != 1) return fmt::format("stepleak: {} runs", runs.size());
  const auto& result = *runs.front().result;
  return escaped(fmt::format("{} · {}", result.target, to_string(result.verdict)));
}

}  // namespace

std::string to_html(const std::vector<HtmlRun>& runs) {
  const auto title = title_of(runs);
  const auto report = report_of(runs);
  const auto page_of = [&](const std::string& data) {
    return replaced(page::page_html, {{"TITLE", title},
                                      {"VERSION", STEPLEAK_VERSION},
                                      {"CSS", page::page_css},
                                      {"REPORT", report},
                                      {"DATA", data},
                                      {"ECHARTS", page::echarts_js},
                                      {"PRISM", page::prism_js},
                                      {"CHARTS", page::charts_js},
                                      {"ICICLE", page::icicle_js},
                                      {"SCRIPT", page::page_js}});
  };
  const auto frame = page_of("").size();
  auto detail = detail_for(runs);
  auto data = runs_text(runs, detail);
  for (auto less = halved(detail); frame + data.size() > kMostBytes && less.points < detail.points;
       less = halved(detail)) {
    detail = less;
    data = runs_text(runs, detail);
  }
  return page_of(data);
}

}  // namespace stepleak
