#!/usr/bin/env python3
"""Makes docs/openapi.json from answers that a master gave:

    RGM_OPENAPI_DUMP=answers build/src/master/openapi_test
    python3 scripts/openapi.py answers > docs/openapi.json

openapi_test holds the result against the server in every build.
"""
import json
import sys

# Fields that may be null, or a number that JSON lacks, whatever the answers of one run had.
NUMBER = ["number", "string", "null"]
TYPES = {
    "message": ["string", "null"], "start_time": ["string", "null"], "end_time": ["string", "null"],
    "next_time": ["string", "null"], "parent_id": ["integer", "null"], "metric": NUMBER, "best_metric": NUMBER,
    "code": ["string", "null"], "saved_unit": ["string", "null"], "waits": ["string", "null"], "ranks": ["integer", "null"],
    "pid": ["integer", "null"], "job": ["integer", "null"], "source_checkpoint": ["string", "null"],
    "source_checkpoint_uuid": ["string", "null"], "share": ["integer", "null"], "job_state": ["string", "null"],
    "job_reason": ["string", "null"], "best_trial": ["object", "null"], "from": ["string", "null"], "at": ["string", "null"],
    "entrypoint": ["string", "null"], "object": ["string", "null"],
    "progress": "number", "weight": "number", "silent_seconds": "number", "seconds": "number", "silent": "number",
    "at_work": ["number", "null"], "git_commit": ["string", "null"], "git_branch": ["string", "null"],
    "diff": ["string", "null"], "origin": ["object", "null"], "code_dir": ["string", "null"],
}
FREE = {"hyperparameters", "trials_by_state", "metrics", "resources", "body"}  # whose keys are the user's


def type_name(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    for kind, name in ((int, "integer"), (float, "number"), (str, "string"), (list, "array"), (dict, "object")):
        if isinstance(value, kind):
            return name
    raise TypeError(value)


def infer(values, key, where):
    """The schema of all values that were seen at a place."""
    if key in FREE and not where.endswith("/run"):
        return {} if key in ("metrics", "body") else {"type": "object", "additionalProperties": {}}
    seen = {type_name(v) for v in values}
    if "number" in seen:
        seen.discard("integer")
    types = TYPES.get(key)
    if key == "metric" and "string" in seen and "valid" in "".join(v for v in values if isinstance(v, str)):
        types = "string"  # of an experiment: its name
    if key == "origin" and all(isinstance(v, str) for v in values):
        types = "string"  # the folder
    if where.endswith("shares") and key == "waits":
        types = "integer"  # slots
    if where.endswith("webhooks") and key == "experiment_id":
        types = ["integer", "null"]
    if types is None:
        types = sorted(seen)[0] if len(seen) == 1 else sorted(seen)
    schema = {"type": types}
    objects = [v for v in values if isinstance(v, dict)]
    lists = [v for v in values if isinstance(v, list)]
    if objects:
        keys = list(dict.fromkeys(k for o in objects for k in o))
        schema["properties"] = {k: infer([o[k] for o in objects if k in o], k, where) for k in keys}
        schema["required"] = [k for k in keys if all(k in o for o in objects)]
        schema["additionalProperties"] = False
    if lists:
        items = [i for v in lists for i in v]
        schema["items"] = infer(items, None, where) if items else {}
    return schema


def parameters(path):
    what = {"id": {"type": "integer", "minimum": 1}, "uuid": {"type": "string", "format": "uuid"},
            "name": {"type": "string"}}
    names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
    return [{"name": n, "in": "path", "required": True, "schema": what[n]} for n in names]


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        told = [json.loads(line) for line in file]
    requests = next(t["answer"]["requests"] for t in told if t["path"] == "/api/v1/requests")
    error = {"description": "an error", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}
    paths = {}
    for r in requests:
        answers = {}
        for t in told:
            if (t["method"], t["path"]) == (r["method"], r["path"]):
                answers.setdefault(str(t["status"]), []).append(t["answer"])
        operation = {"summary": r["help"], "responses": {
            code: {"description": "done", "content": {"application/json": {"schema": infer(values, None, r["path"])}}}
            for code, values in sorted(answers.items())}}
        operation["responses"]["default"] = error
        if r["method"] in ("POST", "PATCH"):
            operation["requestBody"] = {"content": {"application/json": {"schema": {"type": "object"}}}}
        paths.setdefault(r["path"], {})
        if parameters(r["path"]):
            paths[r["path"]]["parameters"] = parameters(r["path"])
        paths[r["path"]][r["method"].lower()] = operation
    print(json.dumps({
        "openapi": "3.1.0",
        "info": {"title": "Regimen's master", "version": "1",
                 "description": "Requests over the socket in the master's folder, and over TCP with a token. "
                                "docs/master.md says what they mean; a summary has the query and the body of each."},
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Error": {
                "type": "object", "required": ["code", "message"], "additionalProperties": False,
                "properties": {"code": {"type": "string"}, "message": {"type": "string"},
                               "details": {"type": ["string", "null"]}}}}},
    }, indent=1))


main()
