#pragma once

#include <string_view>

namespace hearth::cli {

// The files of this folder, which cmake/HearthPage.cmake puts into the command.
extern const std::string_view k_page_html;
extern const std::string_view k_page_css;
extern const std::string_view k_page_js;

}  // namespace hearth::cli
