#include "hearth/explain.hpp"

#include "base/error.hpp"
#include "compilers/nvrtc/plan.hpp"
#include "hearth/admin.hpp"
#include "hearth/nvrtc.hpp"

namespace hearth::nvrtc {

Result<Explanation> explain(Cache& cache, const Program& program, const CompileOptions& options)
{
    HEARTH_TRY_SET(const Plan plan, make_plan(cache, program, options));
    Explanation explanation;
    explanation.key = plan.request.key();
    explanation.why_past_the_cache = plan.why_past_the_cache;
    if (!explanation.why_past_the_cache.empty())
        return explanation;
    const compilers::Known known = compilers::look_up(cache, plan.question());
    if (!known.result && !known.nearest)
        return hearth::explain(cache, plan.request);
    if (known.result) {
        explanation.key = known.key;
        explanation.tiers = admin::where(cache, known.key);
        return explanation;
    }
    // An entry has the same question: what differs is something that its compile asked.
    admin::list(cache, [&](const EntryRow& row) {
        if (row.key == known.key)
            explanation.nearest = row;
        return !explanation.nearest;
    });
    explanation.differences = {{known.why, {}, {}}};
    return explanation;
}

}  // namespace hearth::nvrtc
