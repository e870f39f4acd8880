#pragma once

#include "headers/closure.hpp"
#include "support/scratch_directory.hpp"
#include "watch/source_file.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <gtest/gtest.h>

namespace hearth::test {

// A folder of headers to look things up in.
class HeaderTree : public ::testing::Test {
protected:
    std::string write(const std::string& name, std::string_view text)
    {
        const std::string path = m_scratch / name;
        std::filesystem::create_directories(std::filesystem::path(path).parent_path());
        write_file(path, text);
        return path;
    }
    // As if written long ago: then its time stamps are trusted. A file's time of change cannot be set.
    static void let_settle(format::Manifest& manifest)
    {
        for (format::ManifestFile& file : manifest.files)
            file.settled = true;
    }

    // Until a file that is written now has a later time of change than this one.
    void wait_for_the_file_clock(const std::string& file)
    {
        while (watch::identify(write("tick", ""))->changed_ns <= watch::identify(file)->changed_ns) {
        }
    }

    std::string path(const std::string& name) const { return m_scratch / name; }

    headers::Sources sources(std::string_view program, std::vector<std::string> directories = {}) const
    {
        headers::Sources all;
        all.program = program;
        all.program_name = m_scratch / "program/main.cu";
        for (const std::string& directory : directories)
            all.include_directories.push_back(m_scratch / directory);
        return all;
    }

    // Labels in the order they were found.
    static std::vector<std::string> labels(const format::Manifest& manifest)
    {
        std::vector<std::string> all;
        for (const format::ManifestFile& file : manifest.files)
            all.push_back(file.label);
        return all;
    }
    bool lacks(const format::Manifest& manifest, const std::string& name) const
    {
        return std::find(manifest.absent.begin(), manifest.absent.end(), path(name)) != manifest.absent.end();
    }
    static const format::ManifestFile* find(const format::Manifest& manifest, const std::string& label)
    {
        for (const format::ManifestFile& file : manifest.files)
            if (file.label == label)
                return &file;
        return nullptr;
    }

    ScratchDirectory m_scratch;
};

}  // namespace hearth::test
