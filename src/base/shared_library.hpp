#pragma once

#include "hearth/result.hpp"

#include <string>

namespace hearth::base {

// A shared library of somebody else's, loaded at run time into a namespace of its own and never unloaded: what it
// started may outlive us.
class SharedLibrary {
public:
    static Result<SharedLibrary> load(const std::string& path);

    // Null when it has no such function.
    template <class Function>
    Function* find(const char* name) const
    {
        return reinterpret_cast<Function*>(symbol(name));
    }

private:
    explicit SharedLibrary(void* handle) : m_handle(handle) {}
    void* symbol(const char* name) const;

    void* m_handle;
};

}  // namespace hearth::base
