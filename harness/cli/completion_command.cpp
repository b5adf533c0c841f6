// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// Scripts for a shell, made of the verbs and options that the command line has: they cannot fall behind.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/cli/commands.hpp"
#include "harness/cli/reporting.hpp"

namespace stepleak {
namespace {

std::vector<const CLI::App*> verbs_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* verb) { return !verb->get_name().empty(); });
}

// "--junit", "-j"; none of a positional.
std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const auto& name : option.get_lnames()) names.push_back("--" + name);
  for (const auto& name : option.get_snames()) names.push_back("-" + name);
  return names;
}

// Of CLI::IsMember, which tells them as "TEXT:{auto,always,never}".
std::vector<std::string> choices_of(const CLI::Option& option) {
  const auto type = option.get_type_name();
  const auto begin = type.find('{');
  const auto end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos) return {};
  return CLI::detail::split(type.substr(begin + 1, end - begin - 1), ',');
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

// In single quotes, of zsh's `NAME[DESCRIPTION]` too.
std::string quoted(const std::string& text, std::string_view special = {}) {
  std::string out;
  for (const char letter : text) {
    if (letter == '\'') {
      out += "'\\''";
      continue;
    }
    if (special.find(letter) != std::string_view::npos) out += '\\';
    out += letter;
  }
  return out;
}

// --- bash: words for the verb, and for the option before the cursor; file names where there are none

void add_bash_case(const std::string& path, const CLI::App& verb, std::string& words, std::string& values) {
  std::vector<std::string> all;
  for (const auto* below : verbs_of(verb)) all.push_back(below->get_name());
  for (const auto* option : verb.get_options()) {
    const auto names = names_of(*option);
    all.insert(all.end(), names.begin(), names.end());
    const auto choices = choices_of(*option);
    if (names.empty() || !takes_value(*option)) {
      if (names.empty()) all.insert(all.end(), choices.begin(), choices.end());
      continue;
    }
    for (const auto& name : names) {
      values += fmt::format("    '{} {}') words='{}' ;;\n", path, name, fmt::join(choices, " "));
    }
  }
  words += fmt::format("    '{}') words='{}' ;;\n", path, fmt::join(all, " "));
  for (const auto* below : verbs_of(verb)) add_bash_case(path + " " + below->get_name(), *below, words, values);
}

std::string bash_script(const CLI::App& app) {
  std::string words;
  std::string values;
  add_bash_case("stepleak", app, words, values);
  return fmt::format(R"(# bash completion for stepleak, of `stepleak completion bash`
_stepleak() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD - 1]}}" path=stepleak words= i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path ${{COMP_WORDS[i]}}" in
{}    esac
  done
  case "$path $before" in
{}    *)
      case "$path" in
{}      esac
      ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _stepleak stepleak
)",
                     [&] {
                       std::string paths;
                       for (const auto* verb : verbs_of(app)) {
                         const auto path = "stepleak " + verb->get_name();
                         paths += fmt::format("      '{0}') path='{0}' ;;\n", path);
                         for (const auto* below : verbs_of(*verb)) {
                           paths += fmt::format("      '{0}') path='{0}' ;;\n", path + " " + below->get_name());
                         }
                       }
                       return paths;
                     }(),
                     values, words);
}

// --- zsh: _arguments for each verb, with what --help says

std::string zsh_action(const CLI::Option& option) {
  const auto choices = choices_of(option);
  return choices.empty() ? "_files" : fmt::format("({})", fmt::join(choices, " "));
}

std::string zsh_argument(const CLI::Option& option) {
  const auto described = quoted(option.get_description(), "[]:\\");
  const auto names = names_of(option);
  if (names.empty()) return fmt::format(" '*:{}:{}'", described, zsh_action(option));
  std::string arguments;
  for (const auto& name : names) {
    const auto value = takes_value(option) ? fmt::format(":value:{}", zsh_action(option)) : std::string();
    arguments += fmt::format(" '{}[{}]{}'", name, described, value);
  }
  return arguments;
}

// `depth`: how many words lead here.
std::string zsh_body(const CLI::App& verb, int depth) {
  const auto below = verbs_of(verb);
  const auto indent = std::string(static_cast<std::size_t>(depth) * 4 - 2, ' ');
  if (below.empty()) {
    std::string arguments;
    for (const auto* option : verb.get_options()) arguments += zsh_argument(*option);
    return fmt::format("{}_arguments -s{}\n", indent, arguments);
  }
  std::string described;
  std::string cases;
  for (const auto* each : below) {
    described += fmt::format(" '{}:{}'", each->get_name(), quoted(each->get_description(), ":\\"));
    cases += fmt::format("{0}  {1})\n{2}{0}    ;;\n", indent, each->get_name(), zsh_body(*each, depth + 1));
  }
  return fmt::format(
      "{0}if ((CURRENT == {1})); then\n{0}  verbs=({2})\n{0}  _describe verb verbs\n{0}  return\n{0}fi\n"
      "{0}case $words[{1}] in\n{3}{0}esac\n",
      indent, depth + 1, described, cases);
}

std::string zsh_script(const CLI::App& app) {
  return fmt::format(
      "#compdef stepleak\n# zsh completion for stepleak, of `stepleak completion zsh`\n"
      "_stepleak() {{\n  local -a verbs\n{}}}\n"
      "if [[ $funcstack[1] == _stepleak ]]; then _stepleak \"$@\"; else compdef _stepleak stepleak; fi\n",
      zsh_body(app, 1));
}

}  // namespace

void add_completion_command(CLI::App& app, Command& chosen) {
  auto* verb = app.add_subcommand("completion", "Print a script that completes verbs and options in your shell");
  auto shell = std::make_shared<std::string>();
  verb->add_option("shell", *shell, "bash or zsh")->required()->check(CLI::IsMember({"bash", "zsh"}));
  verb->footer(
      "bash: source <(stepleak completion bash), in ~/.bashrc\n"
      "zsh:  stepleak completion zsh > \"${fpath[1]}/_stepleak\"\n"
      "Example: stepleak completion bash > /etc/bash_completion.d/stepleak");
  verb->callback([&app, &chosen, shell] {
    chosen = [&app, shell] {
      print_text(*shell == "bash" ? bash_script(app) : zsh_script(app));
      return ExitCode::clean;
    };
  });
}

}  // namespace stepleak
