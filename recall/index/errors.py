"""What can be wrong with an index. Recall says so and answers from the rows meanwhile."""


class IndexFault(Exception):
    """Base of all index errors. `code` is stable; the message holds no path and no text."""

    code = "index_fault"


class IndexUnavailable(IndexFault):
    """There is no index, it is damaged or of another format: rebuild it."""

    code = "index_unavailable"


class IndexBusy(IndexFault):
    """Another writer held the index for longer than we wait: try again later."""

    code = "index_busy"
