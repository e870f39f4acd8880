// put and get: bytes come back equal, from another process, whatever key and bytes they are (10, 25).
#include "command.hpp"

#include <sys/stat.h>

namespace hearth::test {

using PutAndGet = Command;

TEST_F(PutAndGet, bytes_come_back_equal_in_another_process)
{
    const std::string bytes = noise(200000);
    const auto file = write("kernel.cubin", bytes);
    EXPECT_TRUE(ends_printing(hearth({"put", "saxpy", file.string()}), 0, "disk"));

    const ProcessResult found = hearth({"get", "saxpy"});
    EXPECT_EQ(found.exit_code, 0) << found.err;
    EXPECT_EQ(found.out, bytes);
}

TEST_F(PutAndGet, keys_of_any_bytes_are_told_apart)
{
    const std::vector<std::string> keys{"",
                                        " ",
                                        "a/b/../c",
                                        "Grüße",
                                        "漢字",
                                        "\x1b[31m",
                                        "\xff\xfe\x80",
                                        "[a,b]",
                                        "a,b",
                                        "--json",
                                        "-",
                                        "++",
                                        "put",
                                        "%%",
                                        "'quoted'",
                                        "\"q\"",
                                        "{}",
                                        "*",
                                        "a\nb\tc",
                                        std::string(100000, 'k')};
    for (const std::string& key : keys)
        put(key, "value of " + key);
    for (const std::string& key : keys) {
        const ProcessResult found = hearth({"get", "-o", "-", "--", key});
        EXPECT_EQ(found.exit_code, 0) << key << ": " << found.err;
        EXPECT_EQ(found.out, "value of " + key);
    }
    EXPECT_EQ(json_lines_of({"ls", "--json"}).size(), keys.size());
}

TEST_F(PutAndGet, empty_bytes_are_an_entry_too)
{
    put("nothing", "");
    const ProcessResult found = hearth({"get", "nothing"});
    EXPECT_EQ(found.exit_code, 0) << found.err;
    EXPECT_EQ(found.out, "");
}

TEST_F(PutAndGet, the_second_put_replaces_the_first)
{
    put("k", "old");
    put("k", "new");
    EXPECT_EQ(hearth({"get", "k"}).out, "new");
    EXPECT_EQ(json_lines_of({"ls", "--json"}).size(), 1U);
}

TEST_F(PutAndGet, a_miss_says_why_and_exits_1)
{
    const ProcessResult missed = hearth({"get", "no such key"});
    EXPECT_EQ(missed.exit_code, 1);
    EXPECT_EQ(missed.out, "");
    EXPECT_NE(missed.err.find("absent"), std::string::npos) << missed.err;
}

TEST_F(PutAndGet, a_key_is_found_by_its_digits_and_by_their_beginning)
{
    const std::string key = put("saxpy", "bytes");
    ASSERT_EQ(key.size(), 64U);
    EXPECT_EQ(hearth({"get", key}).out, "bytes");
    EXPECT_EQ(hearth({"get", key.substr(0, 8)}).out, "bytes");
    EXPECT_EQ(hearth({"get", key.substr(0, 7)}).exit_code, 1) << "seven digits could be a word";
}

TEST_F(PutAndGet, digits_shared_by_two_keys_are_refused_as_ambiguous)
{
    const std::string beginning(60, 'a');
    put(beginning + "0001", "one");
    put(beginning + "0002", "two");
    const ProcessResult result = hearth({"get", beginning});
    EXPECT_EQ(result.exit_code, 2);
    for (const char* end : {"0001", "0002"})
        EXPECT_NE(result.err.find(beginning + end), std::string::npos) << result.err;
    EXPECT_EQ(hearth({"get", beginning + "0002"}).out, "two");
}

TEST_F(PutAndGet, output_file_appears_whole_with_the_usual_permissions)
{
    put("k", "fresh");
    const auto target = write("out", "stale and longer");
    const ProcessResult found = hearth({"get", "k", "-o", "out"});
    EXPECT_EQ(found.exit_code, 0) << found.err;
    EXPECT_EQ(read(target), "fresh");
    const auto files = snapshot(scratch);
    for (const auto& [path, bytes] : files)
        EXPECT_EQ(path.find("out."), std::string::npos) << "left behind: " << path;

    EXPECT_EQ(hearth({"get", "k", "-o", "new"}).exit_code, 0);
    struct stat status {};
    ASSERT_EQ(::stat((scratch / "new").c_str(), &status), 0);
    const mode_t mask = ::umask(0);
    ::umask(mask);
    EXPECT_EQ(status.st_mode & 0777U, 0666U & ~mask);
}

TEST_F(PutAndGet, output_through_a_link_replaces_its_target)
{
    put("k", "bytes");
    const auto target = write("target", "old");
    std::filesystem::create_symlink("target", scratch / "link");
    EXPECT_EQ(hearth({"get", "k", "-o", "link"}).exit_code, 0);
    EXPECT_TRUE(std::filesystem::is_symlink(scratch / "link"));
    EXPECT_EQ(read(target), "bytes");
}

TEST_F(PutAndGet, output_that_cannot_be_written_is_a_failure_with_a_sentence)
{
    put("k", "bytes");
    for (const std::string& target : {std::string("no/such/folder/out"), scratch.string()}) {
        const ProcessResult result = hearth({"get", "k", "-o", target});
        EXPECT_EQ(result.exit_code, 3);
        EXPECT_EQ(result.err.rfind("hearth: ", 0), 0U) << result.err;
    }
}

TEST_F(PutAndGet, hit_and_miss_are_facts_in_json_beside_an_output_file)
{
    put("k", "bytes");
    const auto hit = json_of({"get", "k", "-o", "out", "--json"});
    EXPECT_EQ(hit.at("hit"), true);
    EXPECT_EQ(hit.at("tier"), "disk");
    EXPECT_EQ(hit.at("bytes"), 5);
    const ProcessResult missed = hearth({"get", "other", "-o", "out", "--json"});
    EXPECT_EQ(missed.exit_code, 1);
    EXPECT_EQ(nlohmann::json::parse(missed.out).at("reason"), "absent");
    EXPECT_EQ(hearth({"get", "k", "--json"}).exit_code, 2) << "bytes and facts on one stream";
}

TEST_F(PutAndGet, a_section_that_is_not_there_is_nothing_found)
{
    put("k", "bytes");
    EXPECT_EQ(hearth({"get", "k", "--section", ""}).out, "bytes") << "put stores one section without a name";
    EXPECT_TRUE(ends_saying(hearth({"get", "k", "--section", "ptx"}), 1, "ptx"));
}

TEST_F(PutAndGet, a_file_that_cannot_be_read_is_a_failure_with_a_sentence)
{
    for (const std::string& file : {std::string("no-such-file"), scratch.string()}) {
        const ProcessResult result = hearth({"put", "k", file});
        EXPECT_EQ(result.exit_code, 3);
        EXPECT_EQ(result.err.rfind("hearth: ", 0), 0U) << result.err;
        EXPECT_NE(result.err.find(file), std::string::npos) << result.err;
    }
    EXPECT_TRUE(json_lines_of({"ls", "--json"}).empty()) << "nothing was stored";
}

TEST_F(PutAndGet, an_entry_larger_than_the_limit_is_refused_with_the_limit)
{
    ProcessOptions options{.environment = {{"HEARTH_MAX_BYTES", "64KiB"}, {"HEARTH_MEMORY_BYTES", "64KiB"}}};
    options.input = noise(1 << 20);
    EXPECT_TRUE(ends_saying(hearth({"put", "big", "-"}, options), 3, "65536"));
}

TEST_F(PutAndGet, the_directory_can_be_given_before_and_after_the_command)
{
    const std::string other = (scratch / "other").string();
    const auto file = write("file", "bytes");
    EXPECT_EQ(hearth({"--dir", other, "put", "k", file.string()}).exit_code, 0);
    EXPECT_EQ(hearth({"get", "k", "--dir", other}).out, "bytes");
    EXPECT_EQ(hearth({"get", "k"}).exit_code, 1) << "HEARTH_DIR is another cache";
}

TEST_F(PutAndGet, input_is_read_to_the_limit_of_an_entry_and_no_further)
{
    const std::string command = "head -c 8388608 /dev/zero | HEARTH_MAX_ENTRY_BYTES=64KiB HEARTH_DIR='" +
                                cache.string() + "' '" HEARTH_COMMAND "' put k -";
    EXPECT_TRUE(
        ends_saying(run_process({"/bin/sh", "-c", command}), 3, "Standard input has more than the 65536 bytes"));

    const ProcessOptions options{.environment = {{"HEARTH_MAX_ENTRY_BYTES", "64KiB"}}};
    write("long.cu", std::string(65537, ' '));
    EXPECT_TRUE(ends_saying(hearth({"put", "k", "long.cu"}, options), 3, "has more than the 65536 bytes"));
    EXPECT_EQ(hearth({"compile", "long.cu"}, options).exit_code, 0) << "a source is no entry";
    write("full", std::string(65536, ' '));
    EXPECT_EQ(hearth({"put", "k", "full"}, options).exit_code, 0);
}

TEST_F(PutAndGet, a_device_is_no_file)
{
    std::filesystem::create_symlink("/dev/null", scratch / "k.cu");
    for (const auto& words : std::vector<std::vector<std::string>>{{"put", "k", "/dev/null"}, {"compile", "k.cu"}}) {
        EXPECT_TRUE(ends_saying(hearth(words), 3, "is a device"));
    }
}

}  // namespace hearth::test
