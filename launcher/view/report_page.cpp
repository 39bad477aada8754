#include "launcher/view/report_page.h"

#include <fmt/format.h>

#include <string_view>

#include "core/clock.h"
#include "core/files.h"
#include "core/json_text.h"
#include "launcher/view/html.h"
#include "launcher/view/packed_text.h"
#include "launcher/view/report_summary.h"
#include "launcher/view/view_reader.h"

// The files of templates/report, as they are in the source tree. The build names them.
#define SLIPWAY_EMBED(name, file)                                                                                  \
  __asm__(".pushsection .rodata\n.global slipway_embedded_" #name "\nslipway_embedded_" #name ":\n.incbin \"" file \
          "\"\n.global slipway_embedded_" #name "_end\nslipway_embedded_" #name "_end:\n.byte 0\n.popsection\n");  \
  extern "C" const char slipway_embedded_##name[];                                                                 \
  extern "C" const char slipway_embedded_##name##_end[]

SLIPWAY_EMBED(skeleton, SLIPWAY_REPORT_TEMPLATES "/skeleton.html");
SLIPWAY_EMBED(style, SLIPWAY_REPORT_TEMPLATES "/dist/report.css");
SLIPWAY_EMBED(script, SLIPWAY_REPORT_TEMPLATES "/dist/report.js");

namespace slipway::launcher {
namespace {

constexpr std::size_t kLargestPlainDocument = std::size_t{1} << 20;

std::string_view Skeleton() { return {slipway_embedded_skeleton, slipway_embedded_skeleton_end}; }
std::string_view Style() { return {slipway_embedded_style, slipway_embedded_style_end}; }
std::string_view Script() { return {slipway_embedded_script, slipway_embedded_script_end}; }

/// What takes the places of the skeleton's comments. The README of the templates lists them.
struct Parts {
  std::string live;
  std::string summary;
  std::string view;
};

std::string Within(std::string_view element, std::string_view content) {
  return fmt::format("<{0}>{1}</{0}>", element, content);
}

/// Each place is filled once, so a text that looks like one is left alone.
std::string Filled(const Parts& parts) {
  const std::pair<std::string_view, std::string> places[] = {
      {"<!-- slipway:live -->", parts.live},
      {"<!-- slipway:style -->", Within("style", Style())},
      {"<!-- slipway:summary -->", parts.summary},
      {"<!-- slipway:view -->", parts.view},
      {"<!-- slipway:script -->", Within("script", Script())},
  };
  std::string page;
  std::string_view rest = Skeleton();
  for (const auto& [place, content] : places) {
    const auto at = rest.find(place);
    page += rest.substr(0, at);
    page += content;
    rest.remove_prefix(at + place.size());
  }
  return page += rest;
}

/// The element that the page's script reads.
std::string DataElement(const std::string& document) {
  constexpr auto kElement = "<script type=\"application/{}\" id=\"slipway-view\">{}</script>";
  const bool is_large = document.size() > kLargestPlainDocument;
  return is_large ? fmt::format(kElement, "gzip", GzipBase64(document))
                  : fmt::format(kElement, "json", JsonWithinScript(document));
}

}  // namespace

std::string ReportPage(const std::vector<RunView>& runs, double made) {
  return Filled({"", SummaryHtml(runs), DataElement(JsonText(ViewDocument(runs, made)))});
}

std::filesystem::path WriteReport(const RunFolder& folder) {
  const auto file = folder.path() / kReportName;
  WriteFileAtomically(file, ReportPage({ViewReader(folder).Read(Depth::kAnalysis)}, UnixSeconds(SystemClock().Now())));
  return file;
}

std::string LivePage() { return Filled({"<meta name=\"slipway-live\" content=\"1\">", "", ""}); }

}  // namespace slipway::launcher
