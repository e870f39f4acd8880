#include "fuzz/fuzz.hpp"
#include "headers/macros.hpp"
#include "headers/scan.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    using namespace hearth;
    const std::string_view text = fuzz::text_of(data, size);
    const std::string joined = headers::join_lines(text);
    fuzz::require(joined.size() <= text.size(), "joining lines adds nothing");
    const headers::Scan found = headers::scan(joined);
    headers::Macros macros;
    for (const headers::Macro& macro : found.macros)
        macros.add(macro);
    for (const headers::Include& include : found.includes) {
        fuzz::require(!include.name.empty() && include.name.size() <= joined.size(), "a name stands in the source");
        fuzz::require(include.name.find('\n') == std::string::npos || include.form == headers::Include::Form::computed,
                      "a name is on one line");
        if (include.form == headers::Include::Form::computed)
            static_cast<void>(macros.expand(include.name));
    }
    // An include that is plain to see is seen, whatever stands around it.
    const std::string with = headers::join_lines(std::string(text) + "\n\n#include <plain/to_see.h>\n");
    bool seen = false;
    for (const headers::Include& include : headers::scan(with).includes)
        seen |= include.name == "plain/to_see.h";
    fuzz::require(seen, "nothing before an include hides it");
    return 0;
}
