#include "compilers/opencl/request.hpp"

#include "base/error.hpp"
#include "compilers/common/given_text.hpp"
#include "compilers/common/text_questions.hpp"
#include "format/request.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <unistd.h>

namespace hearth::opencl {

namespace {

constexpr std::uint64_t k_request_version = 1;

Error refuse(std::string message)
{
    return error(Code::invalid_argument, "{}", std::move(message));
}

Status check(const Device& device, const Source& source)
{
    if (source.text.empty() && source.il.empty())
        return refuse("The source is empty. Give OpenCL C or IL.");
    if (!source.text.empty() && !source.il.empty())
        return refuse("Both OpenCL C and IL are given, and a program is made of one. Leave one out.");
    if (!source.il.empty() && device.il_version.empty())
        return refuse(fmt::format("Device \"{}\" takes no IL. Give OpenCL C, or choose another device.", device.name));
    HEARTH_TRY(compilers::check_text("The source", source.text));
    for (const std::string& option : source.options)
        HEARTH_TRY(compilers::check_text("An option", option));
    return {};
}

// It is not known which files a driver reads: OpenCL does not say where headers are searched for, and cannot be asked.
std::string why_past_the_cache(const Source& source)
{
    for (const std::string_view directive : {"include", "import", "embed"})
        if (compilers::may_have_directive(source.text, directive))
            return fmt::format("the source has an #{}, and which file that is only the driver knows", directive);
    std::vector<compilers::TextFacts> facts{compilers::TextFacts::of_source(source.text)};
    for (const std::string& option : source.options)
        facts.push_back(compilers::TextFacts::of_option(option));
    std::vector<compilers::SourceText> texts;
    texts.reserve(facts.size());
    for (std::size_t i = 0; i < facts.size(); ++i)
        texts.push_back({&facts[i], i == 0 ? source.text : source.options[i - 1]});
    const compilers::TextAnswers answers = compilers::ask_texts(texts);
    if (answers.may_hold_the_time)
        return "the source mentions the time or date of its build";
    if (answers.may_hold_any_path ||
        std::ranges::find(answers.may_hold_its_own_path, true) != answers.may_hold_its_own_path.end())
        return "the source mentions the path of its file, which drivers make up";
    // The driver gets one text, in which an element of the list may be several options, or begin with a blank.
    const std::string all = joined_options(source);
    constexpr std::string_view k_between = " \t\n\v\f\r\"'";
    for (std::size_t at = 0; (at = all.find_first_not_of(k_between, at)) != std::string::npos;) {
        const std::string option = all.substr(at, all.find_first_of(k_between, at) - at);
        at += option.size();
        for (const std::string_view reads :
             {"-include", "--include", "-imacros", "--imacros", "-save-temps", "--save-temps", "@"})
            if (option.starts_with(reads))
                return fmt::format("the option {} reads or writes files", option);
    }
    return {};
}

// Environment variables that change what drivers compile. Variables that only concern their own caches and logs are
// left out.
std::vector<std::string> driver_settings()
{
    static constexpr std::array k_families{"POCL_", "IGC_", "AMD_OCL_", "CL_CONFIG_", "SYCL_",     "RUSTICL_",
                                           "CLC_",  "HSA_", "NEO_",     "MESA_",      "AMD_COMGR_"};
    static constexpr std::array k_harmless{"POCL_CACHE_DIR=", "POCL_KERNEL_CACHE=", "POCL_DEBUG=",
                                           "POCL_DEVICES=",   "MESA_SHADER_CACHE_", "NEO_CACHE_",
                                           "MESA_LOG",        "AMD_COMGR_CACHE"};
    std::vector<std::string> settings;
    for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
        const std::string_view text(*variable);
        const auto begins = [&](const char* prefix) { return text.starts_with(prefix); };
        if (std::any_of(k_families.begin(), k_families.end(), begins) &&
            std::none_of(k_harmless.begin(), k_harmless.end(), begins))
            settings.emplace_back(text);
    }
    std::sort(settings.begin(), settings.end());
    return settings;
}

// What this processor can do. A driver that compiles for the CPU it runs on names the model at most, and a virtual
// machine may hide instructions that the model has.
std::string processor_features()
{
    std::ifstream lines("/proc/cpuinfo");
    for (std::string line; std::getline(lines, line) && !line.empty();)
        if (line.starts_with("flags") || line.starts_with("Features"))
            return line.substr(line.find(':') + 1);
    return {};
}

// Each member of Source enters here but its name, which no output holds.
Request request_of(const Device& device, const Source& source)
{
    // A member that is left out here does not compile.
    const auto& [text, il, name, options] = source;
    static_cast<void>(name);
    KeyBuilder key("opencl");
    key.number("request version", k_request_version)
        .text("platform", device.platform)
        .text("platform version", device.platform_version)
        .text("device", device.name)
        .text("device vendor", device.vendor)
        .number("device vendor id", device.vendor_id)
        .text("device version", device.version)
        .text("driver version", device.driver_version)
        .number("address bits", device.address_bits)
        .text("processor", device.type == DeviceType::cpu ? processor_features() : std::string{})
        .list("driver settings", driver_settings())
        .text("source", text)
        .bytes("il", il);
    format::add_words(key, "options", options);
    return key.build();
}

}  // namespace

std::string joined_options(const Source& source)
{
    return fmt::format("{}", fmt::join(source.options, " "));
}

Result<compilers::Question> question_of(const Device& device, const Source& source)
{
    HEARTH_TRY(check(device, source));
    return compilers::Question{request_of(device, source), source.name, {}, why_past_the_cache(source)};
}

Result<Explanation> explain(Cache& cache, const Device& device, const Source& source)
{
    HEARTH_TRY_SET(const compilers::Question question, question_of(device, source));
    return compilers::explain(cache, question);
}

}  // namespace hearth::opencl
