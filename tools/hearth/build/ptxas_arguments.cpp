#include "build/ptxas_arguments.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

namespace hearth::cli {

namespace {

struct Known {
    std::string_view name;
    std::string_view spelling;  // the short one
    bool takes_value = false;
};

// The options of ptxas 12.0 to 13.0, without those that read or write other files or only print something.
constexpr std::array k_known{
    Known{"--Ofast-compile", "-Ofc", true},
    Known{"--allow-expensive-optimizations", "-allow-expensive-optimizations", true},
    Known{"--compile-as-tools-patch", "-astoolspatch"},
    Known{"--compile-only", "-c"},
    Known{"--compiler-annotations", "-annotate"},
    Known{"--def-load-cache", "-dlcm", true},
    Known{"--def-store-cache", "-dscm", true},
    Known{"--device-debug", "-g"},
    Known{"--device-function-maxrregcount", "-func-maxrregcount", true},
    Known{"--device-stack-protector", "-device-stack-protector", true},
    Known{"--disable-optimizer-constants", "-disable-optimizer-consts"},
    Known{"--disable-warnings", "-w"},
    Known{"--dont-merge-basicblocks", "-no-bb-merge"},
    Known{"--entry", "-e", true},
    Known{"--extensible-whole-program", "-ewp"},
    Known{"--fmad", "-fmad", true},
    Known{"--force-load-cache", "-flcm", true},
    Known{"--force-store-cache", "-fscm", true},
    Known{"--g-tensor-memory-access-check", "-g-tmem-access-check"},
    Known{"--generate-line-info", "-lineinfo"},
    Known{"--gno-tensor-memory-access-check", "-gno-tmem-access-check"},
    Known{"--gpu-name", "-arch", true},
    Known{"--legacy-bar-warp-wide-behavior", "-legacy-bar-warp-wide-behavior"},
    Known{"--machine", "-m", true},
    Known{"--make-errors-visible-at-exit", "-make-errors-visible-at-exit"},
    Known{"--maxntid", "-maxntid", true},
    Known{"--maxrregcount", "-maxrregcount", true},
    Known{"--minnctapersm", "-minnctapersm", true},
    Known{"--opt-level", "-O", true},
    Known{"--optimize-float-atomics", "-opt-fp-atomics"},
    Known{"--output-file", "-o", true},
    Known{"--override-directive-values", "-override-directive-values"},
    Known{"--position-independent-code", "-pic", true},
    Known{"--preserve-relocs", "-preserve-relocs"},
    Known{"--register-usage-level", "-regUsageLevel", true},
    Known{"--return-at-end", "-ret-end"},
    Known{"--sanitize", "-sanitize", true},
    Known{"--sp-bounds-check", "-sp-bounds-check"},
    Known{"--split-compile", "-split-compile", true},
    Known{"--suppress-async-bulk-multicast-advisory-warning", "-suppress-async-bulk-multicast-advisory-warning"},
    Known{"--suppress-debug-info", "-suppress-debug-info"},
    Known{"--suppress-double-demote-warning", "-suppress-double-demote-warning"},
    Known{"--suppress-sparse-mma-advisory-info", "-suppress-sparse-mma-advisory-info"},
    Known{"--suppress-stack-size-warning", "-suppress-stack-size-warning"},
    Known{"--verbose", "-v"},
    Known{"--warn-on-double-precision-use", "-warn-double-usage"},
    Known{"--warn-on-local-memory-usage", "-warn-lmem-usage"},
    Known{"--warn-on-spills", "-warn-spills"},
    Known{"--warning-as-error", "-Werror"},
};

// With any of these options, ptxas compiles nothing.
constexpr std::array<std::string_view, 8> k_telling{"--help",         "-h",          "--list-arch", "-arch-ls",
                                                    "--list-version", "-version-ls", "--version",   "-V"};

const Known* find(std::string_view name)
{
    const auto* const known = std::find_if(k_known.begin(), k_known.end(),
                                           [&](const Known& one) { return one.name == name || one.spelling == name; });
    return known == k_known.end() ? nullptr : known;
}

}  // namespace

std::optional<PtxasCall> read_ptxas_call(const std::vector<std::string>& words)
{
    PtxasCall call;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string_view word = words[i];
        if (!word.starts_with('-')) {
            call.inputs.emplace_back(word);
            continue;
        }
        const std::size_t equals = word.find('=');
        std::string_view name = word.substr(0, equals);
        std::optional<std::string> value;
        if (equals != std::string_view::npos)
            value = word.substr(equals + 1);
        // "-O3": the only short option whose value is written directly after it.
        if (name.size() == 3 && name.starts_with("-O") && name[2] >= '0' && name[2] <= '9') {
            value = name.substr(2);
            name = "-O";
        }
        const Known* const known = find(name);
        if (known == nullptr || (!known->takes_value && value && known->name != "--device-debug"))
            return std::nullopt;
        if (known->takes_value && !value) {
            if (++i == words.size())
                return std::nullopt;  // ptxas says what is missing
            value = words[i];
        }
        if (known->name == "--output-file") {
            call.output = *value;
            continue;
        }
        if (known->name == "--gpu-name")
            call.target = *value;
        call.names_matter |= known->name == "--device-debug";
        call.options.emplace_back(known->name);
        if (value)
            call.options.push_back(*value);
    }
    // ptxas writes to standard output and to devices in its own way.
    std::error_code none;
    const std::filesystem::file_status there = std::filesystem::status(call.output, none);
    const bool is_file = !std::filesystem::exists(there) || std::filesystem::is_regular_file(there);
    if (call.inputs.empty() || call.output.empty() || call.output == "-" || !is_file)
        return std::nullopt;
    return call;
}

bool only_tells(const std::vector<std::string>& words)
{
    return words.empty() ||
           std::find_first_of(words.begin(), words.end(), k_telling.begin(), k_telling.end()) != words.end();
}

}  // namespace hearth::cli
