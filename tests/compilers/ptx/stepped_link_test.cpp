// Links whose calls are answered one by one, where some of the answers come from the cache and the rest from nvJitLink.

#include "compilers/ptx/stepped_link.hpp"
#include "ptx_test.hpp"

#include <filesystem>

namespace hearth::test {

namespace {

using ptx::SteppedLink;
using Call = SteppedLink::Call;
using Kind = SteppedLink::Kind;

class SteppedLinks : public PtxTest {
protected:
    void SetUp() override
    {
        const Result<ptx::Identity> found = ptx::identify(m_cache, {.linker = ptx::Linker::nvjitlink});
        if (!found)
            GTEST_SKIP() << found.error().message;
        m_library = found->path;
    }

    static Call create() { return {.kind = Kind::create, .options = {"-arch=sm_90"}}; }
    static Call data(std::string text, std::string name = "data.ptx")
    {
        return {.kind = Kind::data, .type = 2, .name = std::move(name), .data = std::move(text)};
    }
    // As the drop-in library makes it: with what the file holds now.
    static Call file(const std::string& path)
    {
        return {.kind = Kind::file, .type = 2, .name = path, .data = read_file(path)};
    }

    compilers::Answer answer(SteppedLink& link, Call call)
    {
        link.add(std::move(call));
        Result<compilers::Answer> answer = link.answer(m_cache);
        EXPECT_TRUE(answer.ok()) << answer.error().message;
        return *std::move(answer);
    }
    compilers::Answer complete(SteppedLink& link) { return answer(link, {.kind = Kind::complete}); }
    std::string cubin_of(const std::string& text)
    {
        SteppedLink link(m_library);
        for (Call call : {create(), data(text)})
            link.add(std::move(call)), link.ask_the_library("a test");
        link.add({.kind = Kind::complete});
        return std::string(link.ask_the_library("a test").text("cubin"));
    }

    Cache m_cache = open();
    std::string m_library;
};

TEST_F(SteppedLinks, a_file_that_is_gone_or_was_edited_is_given_again_as_the_bytes_it_held)
{
    const std::string path = m_scratch / "one.ptx";
    const std::pair<int, std::function<void()>> changes[] = {{1, [&] { std::filesystem::remove(path); }},
                                                             {2, [&] { write_file(path, ptx_text(7)); }}};
    for (const auto& [number, change] : changes) {
        SCOPED_TRACE(number);
        write_file(path, ptx_text(number));
        {
            SteppedLink link(m_library);
            answer(link, create());
            EXPECT_TRUE(answer(link, file(path)).lookup.compiled());
        }
        SteppedLink link(m_library);
        EXPECT_FALSE(answer(link, create()).lookup.compiled());
        EXPECT_FALSE(answer(link, file(path)).lookup.compiled()) << "nvJitLink has had no call so far";
        change();
        const compilers::Answer completed = complete(link);
        EXPECT_TRUE(completed.lookup.compiled());
        EXPECT_EQ(completed.lookup->status, 0);
        EXPECT_TRUE(completed.lookup->text("cubin") == cubin_of(ptx_text(number)));
    }
}

TEST_F(SteppedLinks, a_file_that_is_edited_before_nvjitlink_reads_it_is_not_kept)
{
    const std::string path = m_scratch / "one.ptx";
    write_file(path, ptx_text(1));
    SteppedLink link(m_library);
    answer(link, create());
    Call call = file(path);
    write_file(path, ptx_text(2));
    const compilers::Answer added = answer(link, std::move(call));
    EXPECT_NE(added.why_past_the_cache.find("changed while it was read"), std::string::npos)
        << added.why_past_the_cache;
    EXPECT_FALSE(link.why_past_the_cache().empty()) << "what follows depends on it";
    link.add({.kind = Kind::complete});
    EXPECT_TRUE(link.ask_the_library("a test").text("cubin") == cubin_of(ptx_text(2)));
}

TEST_F(SteppedLinks, a_call_that_nvjitlink_ends_otherwise_than_it_was_answered_fails_the_link)
{
    const std::string garbage = "garbage";
    {
        SteppedLink link(m_library);
        answer(link, create());
        const compilers::Answer refused = answer(link, data(garbage));
        ASSERT_NE(refused.lookup->status, 0);
        // An entry that says otherwise.
        Artifact wrong = *refused.lookup;
        wrong.status = 0;
        ASSERT_TRUE(m_cache.insert(refused.key, wrong).ok());
    }
    SteppedLink link(m_library);
    answer(link, create());
    EXPECT_EQ(answer(link, data(garbage)).lookup->status, 0);
    link.add({.kind = Kind::complete});
    const Result<compilers::Answer> completed = link.answer(m_cache);
    ASSERT_FALSE(completed.ok()) << "nothing is stored";
    const Artifact told = link.ask_the_library(completed.error().message);
    EXPECT_EQ(told.status, ptx::k_link_internal);
    EXPECT_NE(told.text("error log").find("Try it all again"), std::string_view::npos) << told.text("error log");
}

// nvJitLink keeps the pointer to a name that it is given.
TEST_F(SteppedLinks, a_failed_link_names_its_input)
{
    std::string text = ptx_text(1);
    text.insert(text.find(".visible"), ".extern .func helper();\n");
    text.insert(text.find("    ret;"), "    call helper;\n");
    for (const char* time : {"miss", "hit"}) {
        SteppedLink link(m_library);
        answer(link, create());
        answer(link, data(text, "short.ptx"));
        link.add({.kind = Kind::complete});
        const Result<compilers::Answer> completed = link.answer(m_cache);
        const Artifact told = completed ? *completed->lookup : link.ask_the_library("a test");
        EXPECT_NE(told.status, 0) << time;
        EXPECT_NE(told.text("error log").find("'short.ptx'"), std::string_view::npos)
            << time << ": " << told.text("error log");
    }
}

TEST_F(SteppedLinks, calls_in_another_order_are_another_link)
{
    const auto link_of = [&](const std::string& first, const std::string& second) {
        SteppedLink link(m_library);
        answer(link, create());
        answer(link, data(first, "first.ptx"));
        answer(link, data(second, "second.ptx"));
        return complete(link).lookup.compiled();
    };
    std::string other = ptx_text(2);
    other.replace(other.find("store"), 5, "other");
    EXPECT_TRUE(link_of(ptx_text(1), other));
    EXPECT_TRUE(link_of(other, ptx_text(1)));
    EXPECT_FALSE(link_of(ptx_text(1), other));
}

}  // namespace

}  // namespace hearth::test
