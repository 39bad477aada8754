#include "launcher/view/report_page.h"

#include <string_view>

#include "launcher/view/html.h"
#include "launcher/view/report_summary.h"

// The files of templates/report, as they are in the source tree. The build names them.
#define SLIPWAY_EMBED(name, file)                                                        \
  __asm__(".pushsection .rodata\n.global slipway_embedded_" #name "\nslipway_embedded_" #name \
          ":\n.incbin \"" file "\"\n.global slipway_embedded_" #name "_end\nslipway_embedded_" #name "_end:\n.byte 0\n.popsection\n"); \
  extern "C" const char slipway_embedded_##name[];                                       \
  extern "C" const char slipway_embedded_##name##_end[]

SLIPWAY_EMBED(skeleton, SLIPWAY_REPORT_TEMPLATES "/skeleton.html");
SLIPWAY_EMBED(style, SLIPWAY_REPORT_TEMPLATES "/dist/report.css");
SLIPWAY_EMBED(script, SLIPWAY_REPORT_TEMPLATES "/dist/report.js");

namespace slipway::launcher {
namespace {

std::string_view Skeleton() { return {slipway_embedded_skeleton, slipway_embedded_skeleton_end}; }
std::string_view Style() { return {slipway_embedded_style, slipway_embedded_style_end}; }
std::string_view Script() { return {slipway_embedded_script, slipway_embedded_script_end}; }

struct Parts {
  std::string title;
  std::string head;     ///< more elements of the head
  std::string summary;  ///< HTML
  std::string data;     ///< the element with the document; empty: a live page
};

/// Each placeholder is replaced once, so text that looks like one is left alone.
std::string Filled(const Parts& parts) {
  const std::pair<std::string_view, std::string_view> places[] = {
      {"<!-- slipway:title -->", parts.title},     {"<!-- slipway:head -->", parts.head},
      {"<!-- slipway:style -->", Style()},         {"<!-- slipway:summary -->", parts.summary},
      {"<!-- slipway:data -->", parts.data},       {"<!-- slipway:script -->", Script()},
  };
  std::string page;
  std::string_view rest = Skeleton();
  while (true) {
    const auto at = rest.find("<!-- slipway:");
    page += rest.substr(0, at);
    if (at == rest.npos) return page;
    rest.remove_prefix(at);
    for (const auto& [name, content] : places) {
      if (!rest.starts_with(name)) continue;
      page += content;
      break;
    }
    rest.remove_prefix(rest.find("-->") + 3);
  }
}

}  // namespace

std::string ReportPage(const std::vector<RunView>& runs, double made) {
  const auto document = ViewDocument(runs, made).dump(-1, ' ', false, Json::error_handler_t::replace);
  return Filled({EscapeHtml(runs.size() == 1 ? runs.front().run : "runs"), "", SummaryHtml(runs),
                 "<script type=\"application/json\" id=\"slipway-view\">" + JsonWithinScript(document) + "</script>"});
}

std::string LivePage() {
  return Filled({"Slipway", "<meta name=\"slipway-live\" content=\"1\">", "", ""});
}

}  // namespace slipway::launcher
