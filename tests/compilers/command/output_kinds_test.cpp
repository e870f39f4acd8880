#include "compilers/command/output_kinds.hpp"

#include "support/process.hpp"
#include "support/scratch_directory.hpp"

#include <gtest/gtest.h>

#include <elf.h>
#include <unistd.h>

namespace hearth::command {

namespace {

bool makes(std::string_view what, std::string_view content)
{
    Call call;
    call.makes = what;
    call.is_linked = what == k_linked;
    return is_what_it_makes(call, as_bytes(content));
}

class OutputKinds : public testing::Test {
protected:
    void SetUp() override
    {
        if (::access("/usr/bin/g++", X_OK) != 0)
            GTEST_SKIP() << "No g++ is installed.";
        test::write_file(scratch / "a.cpp", "#include <vector>\nstd::vector<int> values(int n) { return {n}; }\n"
                                            "int main() { return int(values(1).size()) - 1; }\n");
    }
    std::string made_by(std::vector<std::string> options)
    {
        options.insert(options.begin(), {"/usr/bin/g++", "-o", scratch / "made", scratch / "a.cpp"});
        EXPECT_EQ(test::run_process(options).exit_code, 0);
        return test::read_file(scratch / "made");
    }
    static bool is_object(std::string_view content) { return makes(".o", content); }
    static bool is_linked(std::string_view content) { return makes(k_linked, content); }

    test::ScratchDirectory scratch;
};

}  // namespace

TEST_F(OutputKinds, an_object_is_no_program_and_a_program_no_object)
{
    const std::string program = made_by({});
    EXPECT_TRUE(is_linked(program));
    EXPECT_FALSE(is_object(program));
    EXPECT_TRUE(is_linked(made_by({"-shared", "-fPIC"})));
    EXPECT_TRUE(is_linked(made_by({"-r"}))) << "an object that ld made of others";
    EXPECT_FALSE(is_linked("#!/bin/sh\n"));
}

TEST_F(OutputKinds, a_text_or_the_beginning_of_a_file_is_no_object)
{
    const std::string object = made_by({"-c"});
    EXPECT_TRUE(is_object(object));
    for (std::size_t size = 0; size < EI_NIDENT + 4; ++size)
        EXPECT_FALSE(is_object(object.substr(0, size))) << size;
    EXPECT_FALSE(is_object(made_by({"-S"})));
    EXPECT_FALSE(is_object("INPUT(/fifo)"));
}

TEST_F(OutputKinds, code_for_a_gpu_is_told_from_code_for_hosts)
{
    std::string cubin = made_by({"-c"});
    EXPECT_FALSE(makes(".cubin", cubin));
    cubin[offsetof(Elf64_Ehdr, e_machine)] = static_cast<char>(190);
    cubin[offsetof(Elf64_Ehdr, e_machine) + 1] = 0;
    EXPECT_TRUE(makes(".cubin", cubin));
    EXPECT_FALSE(is_object(cubin));
    EXPECT_TRUE(makes(".fatbin", "\x50\xed\x55\xba and more"));
    EXPECT_FALSE(makes(".fatbin", "text"));
}

}  // namespace hearth::command
