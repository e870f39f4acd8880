#pragma once

#include <string>
#include <string_view>

namespace hearth::cli {

// TMPDIR if that is an absolute path, else /tmp.
std::string temporary_folder();

// A new directory for this command alone, in the temporary folder. Removed when destroyed. Fails with a sentence.
class ScratchFolder {
public:
    ScratchFolder();
    ~ScratchFolder();
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;

    std::string operator/(std::string_view name) const { return m_path + "/" + std::string(name); }

private:
    std::string m_path;
};

}  // namespace hearth::cli
