"""Reasoning Gym as the platform uses it: imported without the packages that no served family needs, and with its
scorers made safe for answers that were written to harm.

The library's own scores are kept, with these exceptions, each of which an answer could exploit:

* n_queens, spiral_matrix, binary_matrix, string_insertion call eval() on the answer. Here it reads Python literals only,
  which is all that those scorers have a use for.
* countdown gives the answer to sympy's parse_expr(), which evaluates. Here an expression has only integers, + - * / and
  brackets, as the question asks; anything else is unreadable, which the library pays 0.01.
* complex_arithmetic takes "nan" for a perfect answer, since min(1.0, nan) is 1.0. Here an answer is a finite number.
* coin_flip divides the matching leading characters by the shorter text's length, so "0" would be a perfect answer to
  every question. Here a value outside the tolerance that the library pays 1 is divided by the longer text's length.
"""

import ast
import importlib
import math
import re
import sys
import types
from fractions import Fraction

FAMILIES = frozenset(
    # Training families.
    "maze sudoku tower_of_hanoi countdown n_queens kakurasu knights_knaves syllogism circuit_logic shortest_path "
    "course_schedule family_relationships base_conversion caesar_cipher spiral_matrix word_ladder binary_matrix "
    "string_insertion chain_sum calendar_arithmetic bitwise_arithmetic simple_equations number_sequence simple_geometry "
    "list_functions arc_1d "
    # Unseen families.
    "futoshiki survo sokoban knight_swap zebra_puzzles self_reference aiw largest_island quantum_lock cryptarithm jugs "
    "palindrome_partitioning ab rotten_oranges time_intervals dice complex_arithmetic color_cube_rotation needle_haystack "
    "advanced_geometry coin_flip".split()
)

# Families draw item i from the seed s + i, so the size only bounds the index. No family accepts more.
SIZE = 20000

EVALUATES = {
    "n_queens": "games.n_queens",
    "spiral_matrix": "algorithmic.spiral_matrix",
    "binary_matrix": "algorithmic.binary_matrix",
    "string_insertion": "algorithmic.string_insertion",
}
EXPRESSION = re.compile(r"[0-9+\-*/() \t\r\n]*")
DANGEROUS = {"eval", "exec", "compile", "__import__", "parse_expr", "sympify"}


def load():
    """Imports the library and returns its registry of data sets: name -> (class, configuration class)."""
    for name in ("cellpylib", "zss"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["pycosat"] = _pycosat()
    from reasoning_gym.factory import DATASETS

    served = {name: DATASETS[name] for name in FAMILIES}
    _guard(served)
    return served


def create(served, family, config, seed):
    """The data set (family, config, seed); the library's errors for a configuration that it refuses come through."""
    dataset, configuration = served[family]
    for name in ("seed", "size"):
        if name in config:
            raise ValueError(name + " can't be part of a configuration")
    built = configuration(seed=seed, size=SIZE, **config)
    if hasattr(built, "validate"):
        built.validate()
    return dataset(config=built)


def _pycosat():
    from pysat.solvers import Solver

    def itersolve(clauses):
        with Solver(name="minisat22", bootstrap_with=clauses) as solver:
            yield from solver.enum_models()

    module = types.ModuleType("pycosat")
    module.itersolve = itersolve
    return module


def _guard(served):
    guarded = set()
    for family, module in EVALUATES.items():
        importlib.import_module("reasoning_gym." + module).eval = ast.literal_eval
        guarded.add((family, "eval"))

    countdown = importlib.import_module("reasoning_gym.games.countdown")
    library_parse = countdown.parse_expr

    def parse_expr(text):
        if not EXPRESSION.fullmatch(text) or "**" in text:
            raise ValueError("not an expression of integers, + - * / and brackets")
        return library_parse(text)

    countdown.parse_expr = parse_expr
    guarded.add(("countdown", "parse_expr"))

    numbers = served["complex_arithmetic"][0]
    library_number = numbers.parse_string_to_complex

    def parse_string_to_complex(text):
        value = library_number(text)
        return value if value is not None and math.isfinite(value.real) and math.isfinite(value.imag) else None

    numbers.parse_string_to_complex = staticmethod(parse_string_to_complex)

    coin_flip = served["coin_flip"][0]
    library_score = coin_flip.score_answer

    def score_answer(self, answer, entry, tol=1e-4):
        score = library_score(self, answer, entry, tol)
        if score < 1.0:
            return score
        value = float(Fraction(answer.replace(",", "")))
        expected = float(Fraction(entry["answer"].replace(",", "")))
        if abs(value - expected) <= tol:
            return 1.0
        lengths = sorted((len(f"{value:.10g}"), len(f"{expected:.10g}")))
        return lengths[0] / lengths[1] if lengths[0] < lengths[1] else 0.0

    coin_flip.score_answer = score_answer

    # A release of the library whose scorers evaluate anything else must not be served unread.
    for family, (dataset, _) in served.items():
        names = set(dataset.score_answer.__code__.co_names) & DANGEROUS
        unknown = {name for name in names if (family, name) not in guarded}
        if unknown:
            raise RuntimeError(f"the scorer of {family} calls {sorted(unknown)}")
    missing = {pair for pair in guarded if pair[1] not in served[pair[0]][0].score_answer.__code__.co_names}
    if missing:
        raise RuntimeError(f"these scorers changed: {sorted(missing)}")
