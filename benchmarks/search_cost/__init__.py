"""What it costs to find the cause: the shipped planner against other ways to search.

Simulated systems with K suspects; a restart costs 75 s, a trial 4 s; 80 baseline trials are free.
Each search ends with an answer (a set of causes, or none of the listed) or gives up after 40
restarts. Printed for each world and method: the mean and the 90th percentile of the seconds, the
restarts, the shares of wrong and undecided answers, all with their standard errors; the seconds
that no method beats; and the gates that the planner has to pass. git-bayesect's own engine is
compared with where its package is installed.

    python -m benchmarks.search_cost --quick     the three main worlds, about a minute on two cores
    python -m benchmarks.search_cost             all worlds, an hour or so

`worlds` draws systems, `peers` and `ours` search them, `bound` says what is possible, `report`
counts and prints.
"""

import os

# The matrices are small: threads for each of them only get in each other's way.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
