#include "compilers/common/text_questions.hpp"
#include "fuzz/fuzz.hpp"

#include <array>

namespace {

using namespace hearth;

void try_input(std::string_view input)
{
    const std::string text(input);
    const auto ask = [](const std::string& source) {
        const compilers::TextFacts facts = compilers::TextFacts::of_source(source);
        const std::array<compilers::SourceText, 1> texts{compilers::SourceText{&facts, source, {}}};
        return compilers::ask_texts(texts);
    };
    static_cast<void>(ask(text));
    // Whatever stands before it, a line that no comment can hide is seen.
    fuzz::require(ask(text + "\n\n__TIME__\n").may_hold_the_time, "the time is seen behind any text");
    fuzz::require(ask(text + "\n\n__FILE__\n").may_hold_its_own_path.front(), "the path is seen behind any text");
    static_cast<void>(ask(text + "\n\nvoid f(const char* = __builtin_FILE());\n" + text));
    // Facts that were kept may be damaged.
    if (const std::optional<compilers::TextFacts> read = compilers::TextFacts::decode(as_bytes(text))) {
        const std::array<compilers::SourceText, 1> texts{compilers::SourceText{&*read, text, {}}};
        static_cast<void>(compilers::ask_texts(texts));
    }
    const std::string encoded = compilers::TextFacts::of_source(text).encode();
    const std::optional<compilers::TextFacts> again = compilers::TextFacts::decode(as_bytes(encoded));
    fuzz::require(again && again->encode() == encoded, "facts are the same when they are read again");
}

const fuzz::Added k_added({"texts", 60'000, try_input});

}  // namespace
