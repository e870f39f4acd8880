"""A plugin of pytest: of each file only HEARTH_TRACE_TESTS tests, spread over all, and always the same ones."""

import os


def pytest_collection_modifyitems(config, items):
    count = int(os.environ["HEARTH_TRACE_TESTS"])
    if len(items) > count:
        chosen = {i * len(items) // count for i in range(count)}
        config.hook.pytest_deselected(items=[item for i, item in enumerate(items) if i not in chosen])
        items[:] = [item for i, item in enumerate(items) if i in chosen]
