// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// The parts of the HTML report, each a file of this folder.
namespace stepleak::page {

extern const std::string_view page_html;
extern const std::string_view page_css;
extern const std::string_view page_js;
extern const std::string_view charts_js;
extern const std::string_view icicle_js;
extern const std::string_view prism_js;
extern const std::string_view echarts_js;  ///< gzip, in base64

}  // namespace stepleak::page
