// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/report/junit.hpp"

#include <fmt/format.h>
#include <pugixml.hpp>

#include <sstream>

#include "harness/base/text.hpp"
#include "harness/report/console.hpp"

namespace stepleak {
namespace {

void add_problem(pugi::xml_node test, const char* element, const ReportCase& report_case) {
  auto problem = test.append_child(element);
  problem.append_attribute("message") = printable(report_case.failure).c_str();
  problem.append_attribute("type") = std::string(to_string(report_case.result->verdict)).c_str();
  problem.text() = printable(to_console(*report_case.result)).c_str();
}

}  // namespace

std::string to_junit(const std::string& suite, const std::vector<ReportCase>& cases) {
  pugi::xml_document document;
  auto declaration = document.append_child(pugi::node_declaration);
  declaration.append_attribute("version") = "1.0";
  declaration.append_attribute("encoding") = "UTF-8";
  auto tests = document.append_child("testsuites").append_child("testsuite");
  int failures = 0;
  int errors = 0;
  double seconds = 0;
  tests.append_attribute("name") = printable(suite).c_str();
  for (const auto& report_case : cases) {
    const auto& result = *report_case.result;
    auto test = tests.append_child("testcase");
    test.append_attribute("classname") = printable(suite).c_str();
    test.append_attribute("name") = printable(result.target).c_str();
    test.append_attribute("time") = fmt::format("{:.3f}", result.seconds).c_str();
    seconds += result.seconds;
    if (report_case.failure.empty()) continue;
    const bool is_error = result.verdict == Verdict::failure || result.verdict == Verdict::inconclusive;
    ++(is_error ? errors : failures);
    add_problem(test, is_error ? "error" : "failure", report_case);
  }
  tests.append_attribute("tests") = static_cast<unsigned>(cases.size());
  tests.append_attribute("failures") = failures;
  tests.append_attribute("errors") = errors;
  tests.append_attribute("time") = fmt::format("{:.3f}", seconds).c_str();
  std::ostringstream text;
  document.save(text, "  ");
  return text.str();
}

}  // namespace stepleak
