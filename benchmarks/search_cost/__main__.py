"""The command line of the benchmark."""

import argparse
import os
import sys
from concurrent.futures import ProcessPoolExecutor

import benchmarks.search_cost
from benchmarks.search_cost.report import compare
from benchmarks.search_cost.worlds import MAIN, all_worlds


def main() -> None:
    options = argparse.ArgumentParser(
        prog="python -m benchmarks.search_cost",
        description=benchmarks.search_cost.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.add_argument("--quick", action="store_true", help="the main worlds, fewer searches")
    options.add_argument("--searches", type=int, help="searches a world and method")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--world", default="", help="only worlds whose name contains this")
    options.add_argument("--method", default="", help="only methods whose name contains this")
    options.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at a time")
    given = options.parse_args()
    worlds = [one for one in (MAIN if given.quick else all_worlds()) if given.world in one.name]
    searches = given.searches or (40 if given.quick else 1000)
    with ProcessPoolExecutor(given.jobs) as workers:
        gates = list(compare(worlds, given.method, searches, given.seed, workers))
    sys.exit(not all(gates))


if __name__ == "__main__":
    main()
