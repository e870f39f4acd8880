#pragma once

#include "hearth/result.hpp"

#include <string>

namespace hearth::base {

// Somebody else's shared library, loaded at run time. Its symbols stay local, and it is never unloaded: what it started
// may outlive us.
class SharedLibrary {
public:
    static Result<SharedLibrary> load(const std::string& path);

    // Null when it has no such function.
    template <class Function>
    Function* find(const char* name) const
    {
        return reinterpret_cast<Function*>(symbol(name));
    }

    void* handle() const { return m_handle; }  // as dlopen() gave it

private:
    explicit SharedLibrary(void* handle) : m_handle(handle) {}
    void* symbol(const char* name) const;

    void* m_handle;
};

// The file that the code or data at an address was mapped from; empty if that cannot be found out. The dynamic loader
// knows it by the name it was asked for, which under `hearth run` is that of another library.
std::string mapped_file(const void* address);

// Fills a table of a library's functions, one after the other, and remembers whether one of them is not there.
class FunctionFinder {
public:
    explicit FunctionFinder(const SharedLibrary& library) : m_library(library) {}

    template <class Function>
    void need(Function*& function, const char* name)
    {
        function = m_library.find<Function>(name);
        if (function == nullptr)
            m_missing = name;
    }
    // A function that is needed and not there; empty when all are there.
    const std::string& missing() const { return m_missing; }

private:
    const SharedLibrary& m_library;
    std::string m_missing;
};

}  // namespace hearth::base
