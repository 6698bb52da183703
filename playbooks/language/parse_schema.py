"""The language of a reproducer's `parse`: a format, its options, and what its outcomes mean."""

from typing import Annotated

from playbooks.language.fieldtypes import OutcomeRegex, SearchedRegex, Text, alone
from playbooks.language.shapes import ONE_OF, Shape, Variant, entry


class OutcomesShape(Shape):
    fail: list[Text] = entry("outcomes", "The outcomes in which the failure showed.", least=1)
    passed: list[Text] = entry("outcomes", "The outcomes in which it did not.", [], key="pass")
    censored: list[Text] = entry("outcomes", "The outcomes cut short before it could show.", [])


class OwnOutcomesShape(OutcomesShape):
    """For formats whose outcomes have their usual meanings: what is said here wins."""

    fail: list[Text] = entry("outcomes", "The outcomes in which the failure showed.", [])


class RegexShape(OwnOutcomesShape):
    match: OutcomeRegex = entry("regex", "Finds a trial's `outcome`, or the `fail` and `total`.")


class _FieldsShape(OutcomesShape):
    id: Text | None = entry("field", "The field that identifies a trial.", None)
    key: Text | None = entry("field", "The field of the keys that join a trial to log lines.", None)
    seconds: Text | None = entry("field", "The field that holds a trial's duration.", None)
    attempts: Text | None = entry("field", "The field that says how often a trial tried.", None)
    attributes: list[Text] = entry("fields", "Fields kept with a trial, to split by.", [])


class JsonlShape(_FieldsShape):
    outcome: Text = entry("field", "The field that holds a trial's outcome.")


class JsonShape(_FieldsShape):
    path: Text | None = entry("field", "Where the trials or totals are, such as `a.b`.", None)
    outcome: Text | None = entry("field", "The field of a trial's outcome; else `outcome`.", None)


class TestsShape(OwnOutcomesShape):
    match: SearchedRegex | None = entry("regex", "Counts only tests whose name this finds.", None)


class GoTestShape(TestsShape):
    subtests: bool = entry("true or false", "Whether subtests are trials of their own.", False)


class GoStressShape(Shape):
    """No options."""


class HyperfineShape(Shape):
    match: SearchedRegex | None = entry(
        "regex", "Counts only benchmarks whose command this finds.", None
    )


class K6Shape(OwnOutcomesShape):
    metric: Text = entry("metric", "The rate that counts.", "checks")


class ServingBenchShape(OwnOutcomesShape):
    reject: SearchedRegex | None = entry(
        "regex", "A generated text in which this is found is garbled.", None
    )
    require: SearchedRegex | None = entry(
        "regex", "A generated text in which this is not found is garbled.", None
    )


class CountsParseShape(Shape):
    counts: OutcomesShape = entry("outcomes", 'Reads a line like counts={"leak": 3, "done": 37}.')


class RegexParseShape(Shape):
    regex: RegexShape = entry("options", "Reads lines that a regular expression finds.")


class JsonlParseShape(Shape):
    jsonl: JsonlShape = entry("options", "Reads one JSON object a line.")


class JsonParseShape(Shape):
    json_: JsonShape = entry("options", "Reads one JSON document.", key="json")


class PytestParseShape(Shape):
    pytest: TestsShape = entry("options", "Reads what pytest prints.")


class JunitParseShape(Shape):
    junit: TestsShape = entry("options", "Reads JUnit's XML.")


class GoTestParseShape(Shape):
    go_test_json: GoTestShape = entry("options", "Reads the events of go test -json.")


class GoStressParseShape(Shape):
    go_stress: GoStressShape = entry("options", "Reads what x/tools' stress prints; no options.")


class NextestParseShape(Shape):
    nextest: TestsShape = entry("options", "Reads what cargo nextest prints.")


class BazelParseShape(Shape):
    bazel: TestsShape = entry("options", "Reads what bazel test prints.")


class HyperfineParseShape(Shape):
    hyperfine: HyperfineShape = entry("options", "Reads hyperfine's JSON.")


class K6ParseShape(Shape):
    k6: K6Shape = entry("options", "Reads k6's summary.")


class ServingBenchParseShape(Shape):
    serving_bench: ServingBenchShape = entry("options", "Reads a serving benchmark's JSON.")


_ALONE = ("pytest", "junit", "go_test_json", "go_stress", "nextest", "bazel", "hyperfine", "k6")

AnyParseShape = (
    Annotated[CountsParseShape, Variant("counts")]
    | Annotated[RegexParseShape, Variant("regex")]
    | Annotated[JsonlParseShape, Variant("jsonl")]
    | Annotated[JsonParseShape, Variant("json")]
    | Annotated[PytestParseShape, Variant("pytest")]
    | Annotated[JunitParseShape, Variant("junit")]
    | Annotated[GoTestParseShape, Variant("go_test_json")]
    | Annotated[GoStressParseShape, Variant("go_stress")]
    | Annotated[NextestParseShape, Variant("nextest")]
    | Annotated[BazelParseShape, Variant("bazel")]
    | Annotated[HyperfineParseShape, Variant("hyperfine")]
    | Annotated[K6ParseShape, Variant("k6")]
    | Annotated[ServingBenchParseShape, Variant("serving_bench")]
)

ParseShape = Annotated[
    Annotated[AnyParseShape, ONE_OF],
    *alone(*_ALONE, "serving_bench"),
]
