// doctor --program: whether `hearth run` can serve a program, told without running it.
#include "command.hpp"
#include "doctor/program_facts.hpp"

#include <algorithm>
#include <array>
#include <elf.h>
#include <fstream>
#include <random>

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace hearth::test {

namespace fs = std::filesystem;
using cli::Compiler;
using cli::compiler_of;
using cli::look_at_program;
using cli::ProgramFacts;

namespace {

const fs::path k_variants = HEARTH_VARIANTS;

bool mentions(const nlohmann::json& sentences, const std::string& words)
{
    return std::any_of(sentences.begin(), sentences.end(), [&](const nlohmann::json& sentence) {
        return sentence.get<std::string>().find(words) != std::string::npos;
    });
}

}  // namespace

class Program : public Command {
protected:
    Program()
    {
        // Where the drop-in libraries are not built, as under sanitizers, the loader has nobody to ask.
        fs::create_directories(scratch / "dropin");
        write("dropin/libhearth_audit.so", "");
        dropins = *HEARTH_DROPINS != '\0' ? HEARTH_DROPINS : (scratch / "dropin").string();
    }

    ProcessResult ask(const Words& words, ProcessOptions options = {})
    {
        options.environment.try_emplace("HEARTH_DROPIN", dropins);
        options.environment.try_emplace("LD_LIBRARY_PATH", std::nullopt);
        return hearth(joined({"doctor", "--program"}, words), options);
    }

    // What is said of a program as JSON, whose exit code is to agree with it.
    nlohmann::json verdict_on(const std::string& program, const ProcessOptions& options = {})
    {
        auto report = object_of(ask({program, "--json"}, options));
        EXPECT_EQ(report.value("exit", -1), report.value("servable", false) ? 0 : 1) << report;
        EXPECT_EQ(report.value("verdict", "") == "no", !report.value("servable", true));
        return report;
    }

    // The same, with these words among the problems, or among the advice where it is not refused.
    nlohmann::json expect(const std::string& verdict, const std::string& words, const fs::path& program,
                          const ProcessOptions& options = {})
    {
        auto report = verdict_on(program.string(), options);
        EXPECT_EQ(report.at("verdict"), verdict) << report;
        EXPECT_TRUE(mentions(report.at(verdict == "no" ? "problems" : "advice"), words)) << report;
        return report;
    }

    nlohmann::json verdict_on_variant(const std::string& name) { return verdict_on((k_variants / name).string()); }

    // A copy of a variant that may be changed.
    fs::path copy(const std::string& name, const std::string& as)
    {
        fs::copy_file(k_variants / name, scratch / as, fs::copy_options::overwrite_existing);
        return scratch / as;
    }

    fs::path write_executable(const std::string& name, const std::string& bytes)
    {
        const fs::path path = write(name, bytes);
        fs::permissions(path, fs::perms::owner_exec, fs::perm_options::add);
        return path;
    }

    std::string dropins;
};

TEST_F(Program, linked_with_nvrtc_12_or_13_will_be_served)
{
    for (const std::string version : {"12", "13"}) {
        const auto report = verdict_on_variant("links_" + version);
        EXPECT_EQ(report.at("verdict"), "served") << report;
        EXPECT_EQ(report.at("problems"), nlohmann::json::array());
        EXPECT_TRUE(holds(report.at("compilers").at(0), {{"kind", "NVRTC"}, {"how", "linked"}}));
        EXPECT_EQ(report.at("compilers").at(0).at("names"), nlohmann::json::array({"libnvrtc.so." + version}));
        const auto& libraries = report.at("libraries");
        EXPECT_TRUE(std::any_of(libraries.begin(), libraries.end(),
                                [&](const nlohmann::json& library) {
                                    return library.at("path") == (k_variants / ("libnvrtc.so." + version)).string();
                                }))
            << "found by RUNPATH and $ORIGIN: " << libraries;
    }
}

TEST_F(Program, is_judged_by_what_is_found_in_it_and_in_its_libraries)
{
    struct Judged {
        const char* variant;
        const char* verdict;
        const char* words;
    };
    const char* const nothing = "No use of NVRTC, nvJitLink or libNVVM was found";
    for (const auto& [variant, verdict, words] :
         std::initializer_list<Judged>{{"links_11.2", "no", "libnvrtc.so.11.2; Hearth serves versions 12 and 13"},
                                       {"opens_old", "no", "libnvrtc.so.11.2; Hearth serves versions 12 and 13"},
                                       {"opens_old_nvvm", "no", "libnvvm.so.3; Hearth serves version 4"},
                                       {"plain", "unknown", nothing},
                                       {"opens_builtins", "unknown", nothing},
                                       {"points", "unknown", nothing},
                                       {"includes_nvjitlink", "unknown", nothing},
                                       {"defines", "no", "NVRTC is inside"},
                                       {"stripped", "no", "NVRTC is inside"},
                                       {"defines_nvjitlink", "no", "nvJitLink is inside"},
                                       {"links_inside", "no", "libinner.so"},
                                       {"links_deeper", "no", "libinner.so"},
                                       {"static", "no", "is a static program"},
                                       {"static_pie", "no", "is a static program"},
                                       {"musl", "no", "does not know LD_AUDIT"},
                                       {"libinner.so", "no", "NVRTC is inside"},
                                       {"libnvrtc.so.13", "no", "is the library of NVRTC itself"}}) {
        const auto report = expect(verdict, words, k_variants / variant);
        if (words == nothing) {
            EXPECT_EQ(report.at("compilers"), nlohmann::json::array());
        }
    }
    EXPECT_EQ(verdict_on_variant("defines_nvjitlink").at("problems").size(), 1U);
    EXPECT_EQ(verdict_on_variant("static").at("kind"), "static_program");
    EXPECT_EQ(verdict_on_variant("libinner.so").at("kind"), "library");
    EXPECT_EQ(verdict_on_variant("musl").at("loader"), "/lib/ld-musl-any.so.1");
    EXPECT_TRUE(holds(verdict_on_variant("links_both"), {{"verdict", "partly"}, {"servable", true}}));
}

TEST_F(Program, that_names_a_compiler_will_most_likely_be_served)
{
    for (const char* name : {"opens", "hands_on", "reads_logs", "opens_nvvm"}) {
        const auto report = verdict_on_variant(name);
        EXPECT_EQ(report.at("verdict"), "likely") << report;
        const char* const kind = name == std::string("opens_nvvm") ? "libNVVM" : "NVRTC";
        EXPECT_TRUE(holds(report.at("compilers").at(0), {{"kind", kind}, {"how", "opened"}}));
    }
    EXPECT_EQ(verdict_on(HEARTH_COMMAND).at("verdict"), "likely") << "this command is no compiler itself";
}

TEST_F(Program, whose_library_is_not_found_is_told_which)
{
    const fs::path alone = copy("links_inside", "alone");
    expect("unknown", "needs libinner.so, which was not found", alone);
    expect("no", "libinner.so", alone, {.environment = {{"LD_LIBRARY_PATH", k_variants.string()}}});
}

TEST_F(Program, that_takes_another_identity_is_not_served)
{
    const fs::path program = copy("links_13", "program");
    copy("libnvrtc.so.13", "libnvrtc.so.13");
    EXPECT_EQ(verdict_on(program.string()).at("verdict"), "served");
    for (const auto& [mode, words] : {std::pair<mode_t, const char*>{04755, "set-user-id"}, {02755, "set-group-id"}}) {
        ASSERT_EQ(::chmod(program.c_str(), mode), 0);
        expect("no", words, program);
    }
    ASSERT_EQ(::chmod(program.c_str(), 0755), 0);
    // Revision 2 of the attribute, with CAP_NET_BIND_SERVICE.
    const std::array<std::uint32_t, 5> capability{0x02000001, 1U << 10U, 0, 0, 0};
    if (::setxattr(program.c_str(), "security.capability", capability.data(), sizeof capability, 0) != 0)
        GTEST_SKIP() << "this user or this file system cannot give a file capabilities";
    expect("no", "file capabilities", program);
}

TEST_F(Program, for_another_processor_or_32_bits_is_not_served)
{
    std::string bytes = read(k_variants / "plain");
    bytes[EI_CLASS] = ELFCLASS32;
    expect("no", "is for 32 bits", write("narrow", bytes));
    bytes[EI_CLASS] = ELFCLASS64;
    bytes[18] = static_cast<char>(EM_RISCV);
    bytes[19] = 0;
    EXPECT_EQ(expect("no", "is for RISC-V, this Hearth for", write("other", bytes)).at("machine"), "RISC-V");
}

TEST_F(Program, that_is_a_script_is_judged_by_its_interpreter)
{
    copy("links_13", "mypython");
    copy("libnvrtc.so.13", "libnvrtc.so.13");
    const ProcessOptions options{.environment = {{"PATH", scratch.string()}}};
    for (const std::string& line :
         {"#!" + (scratch / "mypython").string() + " -u", std::string("#!/usr/bin/env mypython"),
          std::string("#! /usr/bin/env -S A=1 mypython -u\r")}) {
        const fs::path script = write_executable("script", line + "\nprint(1)\n");
        const auto report = verdict_on(script.string(), options);
        EXPECT_EQ(report.at("path"), (scratch / "mypython").string()) << line;
        EXPECT_EQ(report.at("scripts"), nlohmann::json::array({script.string()}));
        EXPECT_EQ(report.at("verdict"), "served") << report;
        EXPECT_NE(ask({script.string()}, options).out.find("the program that was examined"), std::string::npos);
    }
    EXPECT_TRUE(ends_saying(ask({write_executable("script", "#!/nowhere/python\n").string()}), 3,
                            "is to be read by \"/nowhere/python\", which was not found"));
    expect("no", "script", write_executable("endless", "#!" + (scratch / "endless").string() + "\n"));
}

// As execvp() has it, which `hearth run` calls.
TEST_F(Program, that_is_text_without_an_interpreter_is_judged_by_the_shell)
{
    for (const std::string& text :
         {std::string("exec ./simulation\n"), std::string(), std::string("#! \n"), std::string("MZ")}) {
        const fs::path script = write_executable("script", text);
        const auto report = verdict_on(script.string());
        EXPECT_EQ(report.at("path"), "/bin/sh") << text;
        EXPECT_EQ(report.at("scripts"), nlohmann::json::array({script.string()}));
        EXPECT_EQ(report.at("verdict"), "unknown") << report;
        EXPECT_EQ(hearth({"run", "--", script.string()}).exit_code, text.starts_with("exec") || text == "MZ" ? 127 : 0);
    }
}

TEST_F(Program, that_may_not_be_executed_is_not_served)
{
    const fs::path program = copy("links_13", "program");
    copy("libnvrtc.so.13", "libnvrtc.so.13");
    fs::permissions(program, fs::perms::owner_read | fs::perms::owner_write);
    const fs::path script = write("script", "#!" + (k_variants / "plain").string() + "\n");
    for (const fs::path& file : {program, script}) {
        expect("no", file.string() + "\" may not be executed", file);
        EXPECT_EQ(hearth({"run", "--", file.string()}).exit_code, 126);
    }
    const fs::path library = copy("libinner.so", "libinner.so");
    fs::permissions(library, fs::perms::owner_read);
    EXPECT_FALSE(mentions(verdict_on(library.string()).at("problems"), "may not be executed"));
}

TEST_F(Program, whose_library_is_newer_than_hearth_is_not_served)
{
    if (*HEARTH_DROPINS == '\0')
        GTEST_SKIP() << "the drop-in libraries are not built, and only they tell";
    const auto report = expect("no", "used as it is: it has nvrtcCompileInTheFuture", k_variants / "links_newer");
    EXPECT_EQ(report.at("compilers").at(0).at("served"), false);
}

TEST_F(Program, that_names_an_auditor_is_not_given_to_the_loader)
{
    const ProcessOptions options{.environment = {{"AUDITOR_WAS_HERE", (scratch / "mark").string()}}};
    expect("likely", "DT_AUDIT", k_variants / "audited", options);
    EXPECT_FALSE(fs::exists(scratch / "mark"));
    run_process({(k_variants / "audited").string()}, options);
    EXPECT_TRUE(fs::exists(scratch / "mark")) << "the auditor is one";
}

TEST_F(Program, is_found_as_a_shell_finds_it)
{
    copy("plain", "tool");
    ProcessOptions options{.environment = {{"PATH", "/nowhere:" + scratch.string()}}};
    EXPECT_EQ(verdict_on("tool", options).at("path"), (scratch / "tool").string());
    EXPECT_EQ(verdict_on("./tool").at("path"), "./tool");

    options.environment["PATH"] = "/nowhere";
    EXPECT_TRUE(ends_saying(ask({"tool"}, options), 3, "write \"./tool\""));
    const ProcessResult lost = ask({"/nowhere/tool", "--json"});
    EXPECT_TRUE(ends_saying(lost, 3, "There is no file \"/nowhere/tool\""));
    EXPECT_EQ(object_of(lost).at("found"), false);
    EXPECT_EQ(ask({scratch.string()}).exit_code, 3) << "a directory is no program";
    EXPECT_EQ(ask({""}).exit_code, 2);
}

TEST_F(Program, cannot_be_served_without_the_drop_in_libraries)
{
    const auto report = expect("no", "HEARTH_DROPIN", k_variants / "links_13",
                               {.environment = {{"HEARTH_DROPIN", (scratch / "nowhere").string()}}});
    EXPECT_EQ(report.at("dropin"), "");
}

TEST_F(Program, says_to_people_what_it_found_and_what_to_do)
{
    EXPECT_TRUE(ends_printing(ask({(k_variants / "links_13").string()}), 0, "It will be served: hearth run -- "));
    EXPECT_TRUE(ends_printing(ask({(k_variants / "stripped").string()}), 1, "It cannot be served.",
                              "Link with the shared library"));
}

TEST_F(Program, that_is_no_elf_file_is_told_so)
{
    for (const std::string& bytes : {std::string("#!"), std::string("MZ\0\1", 4), std::string(1, '\0') + noise(5000)})
        expect("no", "neither an ELF file nor", write("file", bytes));
    expect("no", "cut short or damaged", write("file", std::string("\x7f") + "ELF"));
}

TEST_F(Program, cut_anywhere_gets_an_answer)
{
    for (const char* name : {"static", "links_13"}) {
        const fs::path file = copy(name, name);
        const ProgramFacts whole = look_at_program(file.string());
        for (std::uintmax_t size = fs::file_size(file); size-- > 0;) {
            fs::resize_file(file, size);
            const ProgramFacts facts = look_at_program(file.string());
            // Behind what is loaded there are only tables for debuggers and linkers.
            ASSERT_TRUE(facts.kind == whole.kind || facts.kind == ProgramFacts::Kind::damaged ||
                        (size < SELFMAG && facts.kind == ProgramFacts::Kind::script))
                << name << " of " << size << " bytes is " << to_string(facts.kind);
        }
    }
}

TEST_F(Program, with_any_bytes_changed_gets_an_answer)
{
    for (const char* name : {"static", "links_13", "defines"}) {
        const fs::path path = copy(name, name);
        const std::string sound = read(path);
        std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
        const auto set = [&](std::size_t at, char byte) { file.seekp(static_cast<std::streamoff>(at)).put(byte); };
        // Any answer will do: a crash or a hang ends the test.
        const auto try_with = [&](const std::map<std::size_t, char>& changes) {
            for (const auto& [at, byte] : changes)
                set(at, byte);
            file.flush();
            (void)look_at_program(path.string());
            for (const auto& [at, byte] : changes)
                set(at, sound[at]);
        };
        std::mt19937 random(20261115);
        for (int round = 0; round < 2000; ++round) {
            std::map<std::size_t, char> changes;
            for (int change = 0; change < 4; ++change) {
                // Headers are at both ends; what lies between is mostly code.
                const std::size_t near = random() % std::min<std::size_t>(sound.size(), 2048);
                changes[random() % 2 == 0 ? near : sound.size() - 1 - near] = static_cast<char>(random());
            }
            try_with(changes);
        }
        for (std::size_t at = SELFMAG; at < sizeof(Elf64_Ehdr) + 10 * sizeof(Elf64_Phdr); ++at)
            try_with({{at, '\xff'}});
        file.flush();
        EXPECT_EQ(read(path), sound);
    }
}

TEST_F(Program, text_at_the_edge_of_a_piece_is_found)
{
    const std::string sound = read(k_variants / "plain");
    const std::string first = "nvrtc: error: failed to load builtins for compute_";
    const std::string second = "nvrtc: error: unrecognized option ";
    const std::size_t piece = 1U << 20U;
    for (std::size_t before = 0; before <= first.size(); ++before) {
        std::string bytes = sound;
        bytes.resize(2 * piece - before, '\0');
        bytes += first + std::string(1, '\0') + second;
        EXPECT_TRUE(look_at_program(write("edge", bytes).string()).of(Compiler::nvrtc).inside()) << before;
    }
}

TEST(CompilerNames, are_told_apart_from_others)
{
    EXPECT_EQ(compiler_of("libnvrtc.so")->major, 0);
    EXPECT_EQ(compiler_of("libnvrtc.so.13")->major, 13);
    EXPECT_EQ(compiler_of("libnvrtc.so.11.2")->major, 11);
    EXPECT_EQ(compiler_of("libnvrtc-1a2b3c4d.so.12")->major, 12);
    EXPECT_EQ(compiler_of("libnvJitLink.so.13")->compiler, Compiler::nvjitlink);
    EXPECT_EQ(compiler_of("libnvvm.so.4")->compiler, Compiler::nvvm);
    for (const char* other : {"", "lib", "libnvrtc", "libnvrtc-builtins.so.13.0", "libnvrtc-1a2b.so.12",
                              "libnvrtc.so.x", "libnvrtc_static.a", "xlibnvrtc.so", "libnvrtc.so.12 "})
        EXPECT_FALSE(compiler_of(other)) << other;
    EXPECT_GT(compiler_of("libnvrtc.so.99999999999999999999")->major, 13);
}

}  // namespace hearth::test
