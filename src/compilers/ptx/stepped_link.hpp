#pragma once

#include "compilers/common/stepped_calls.hpp"
#include "compilers/ptx/nvjitlink.hpp"

#include <optional>
#include <string>

namespace hearth::ptx {

inline constexpr compilers::SteppedLibrary k_stepped_nvjitlink{"nvJitLink", "nvjitlink", k_link_internal,
                                                               k_link_null_input};

// One link by nvJitLink.
class SteppedLink : public compilers::SteppedCalls {
public:
    // `library`: the path of a libnvJitLink.
    explicit SteppedLink(std::string library) : SteppedCalls(std::move(library), k_stepped_nvjitlink) {}
    ~SteppedLink() override;

    Artifact failure(const std::string& log) const override;

private:
    Result<compilers::LoadedCompiler*> load() override;
    std::span<const compilers::SteppedOutput> outputs() const override { return m_linker->outputs; }
    int apply(const Call& call, bool again) override;
    bool is_deterministic(int status) const override { return ptx::is_deterministic(status); }
    std::string why_not_cached(const Call& call) const override;
    // A file's result is kept if its bytes are those of the question, and can be given again in place of the file.
    Status check(const Artifact& made, const watch::Conditions& conditions, const watch::Places& places) const override;

    std::optional<NvJitLink> m_linker;
};

}  // namespace hearth::ptx
