#pragma once

#include "recipes/recorder.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace hearth::recipes {

// Writes the contents of a recipe, which stand before it in the file.
class Contents {
public:
    Contents(Recorder& recorder, const LogSink& log) : m_recorder(recorder), m_log(log) {}

    // False if it is too large.
    bool add(std::string_view text, const base::Sha256& digest);
    // `read` is asked only if the content is not yet in the file. False if what it reads is not that content: the file
    // has changed since the compile, and its old content is lost.
    bool add(const base::Sha256& digest, const std::function<std::optional<std::string>()>& read);

private:
    Recorder& m_recorder;
    const LogSink& m_log;
};

}  // namespace hearth::recipes
